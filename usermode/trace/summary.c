// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "summary.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Copy a name and replace unexpected characters: the traced program can write into the counters. */
static void name_of(const struct vnet_trace_row *row, char name[VNET_TRACE_NAME])
{
	unsigned int i;

	for (i = 0; i < VNET_TRACE_NAME - 1 && row->name[i]; i++) {
		unsigned char c = (unsigned char)row->name[i];

		name[i] = isalnum(c) || c == '_' || c == '-' ? (char)c : '?';
	}
	name[i] = '\0';
}

static bool is_used(const struct vnet_trace_row *row)
{
	return row->count || row->completed || row->failed;
}

static void print_text(FILE *to, const struct vnet_trace_counters *counters)
{
	const struct vnet_trace_row *row;
	char name[VNET_TRACE_NAME];
	bool any = false;

	fprintf(to, "%-22s %10s %10s %8s %14s\n", "operation", "posted", "completed", "failed",
		"bytes");
	for (row = counters->operation; row < counters->operation + VNET_TRACE_OPERATIONS; row++) {
		if (!is_used(row))
			continue;
		name_of(row, name);
		fprintf(to, "%-22s %10" PRIu64 " %10" PRIu64 " %8" PRIu64 " %14" PRIu64 "\n", name,
			row->count, row->completed, row->failed, row->bytes);
	}
	for (row = counters->warning; row < counters->warning + VNET_TRACE_WARNINGS; row++) {
		if (!row->count)
			continue;
		name_of(row, name);
		fprintf(to, "warning %-22s %10" PRIu64 "\n", name, row->count);
		any = true;
	}
	if (!any)
		fputs("no warnings\n", to);
}

static void print_json(FILE *to, const struct vnet_trace_counters *counters)
{
	const struct vnet_trace_row *row;
	char name[VNET_TRACE_NAME];
	const char *between = "";

	fputs("{\"event\":\"summary\",\"operations\":{", to);
	for (row = counters->operation; row < counters->operation + VNET_TRACE_OPERATIONS; row++) {
		if (!is_used(row))
			continue;
		name_of(row, name);
		fprintf(to,
			"%s\"%s\":{\"posted\":%" PRIu64 ",\"completed\":%" PRIu64
			",\"failed\":%" PRIu64 ",\"bytes\":%" PRIu64 "}",
			between, name, row->count, row->completed, row->failed, row->bytes);
		between = ",";
	}
	fputs("},\"warnings\":{", to);
	between = "";
	for (row = counters->warning; row < counters->warning + VNET_TRACE_WARNINGS; row++) {
		if (!row->count)
			continue;
		name_of(row, name);
		fprintf(to, "%s\"%s\":%" PRIu64, between, name, row->count);
		between = ",";
	}
	fputs("}}\n", to);
}

void summary_print(FILE *to, const struct vnet_trace_counters *counters, bool json)
{
	if (json)
		print_json(to, counters);
	else
		print_text(to, counters);
	fflush(to);
}
