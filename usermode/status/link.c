// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Prints the link of a NIC: addresses, counters and injected faults. */
#include "link.h"

#include <stdlib.h>
#include <string.h>

/* Is this counter plain traffic, and no sign of a problem? */
static bool is_traffic(const char *name)
{
	static const char *const names[] = {
		"frames_sent", "bytes_sent", "frames_received", "bytes_received",
		"acks_sent",   "faults",     "loads",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* What a counter means for the user who looks for a reason; "": its name says it. */
static const char *meaning(const char *name)
{
	static const struct {
		const char *name, *text;
	} meanings[] = {
		{ "refusals", " (calls that peers refused: they have another key; see vnet key)" },
		{ "refusals_sent",
		  " (calls of peers that were refused: they have another key; see vnet key)" },
		{ "unknown_key",
		  " (frames with a key that this node does not have; see vnet key)" },
		{ "strangers",
		  " (frames from other machines while this node has no key; see vnet key)" },
		{ "no_key", " (frames not sent: there is no key for their peer; see vnet key)" },
	};

	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (!strcmp(name, meanings[i].name))
			return meanings[i].text;
	return "";
}

static bool is_set(const struct json *value)
{
	if (value->type == JSON_STRING)
		return value->text && *value->text;
	return value->number || (value->text && strtod(value->text, NULL) > 0);
}

/* "loss_percent": print the unit behind the number. */
static void print_fault(FILE *out, const struct json *fault)
{
	const char *unit = strrchr(fault->name, '_');
	int length = unit ? (int)(unit - fault->name) : (int)strlen(fault->name);

	if (fault->type == JSON_BOOL)
		fprintf(out, " %s", fault->name);
	else
		fprintf(out, " %.*s %s%s%s", length, fault->name, fault->text ? fault->text : "",
			unit ? " " : "", unit ? unit + 1 : "");
}

/* peer: NULL for the counters of all peers. */
static void print_counters(FILE *out, const struct json *of, const char *peer)
{
	const struct json *counter = json_first(of, "counters");

	for (; counter; counter = counter->next)
		if (counter->number && counter->name && !is_traffic(counter->name))
			fprintf(out, "  link %s%s%s: %llu%s\n", counter->name, peer ? " of " : "",
				peer ? peer : "", counter->number, meaning(counter->name));
}

static void print_faults(FILE *out, const struct json *of, const char *peer)
{
	const struct json *fault = json_first(of, "faults");
	bool any = false;

	if (peer)
		fprintf(out, "  link faults of %s alone:", peer);
	for (; fault; fault = fault->next) {
		if (!fault->name || !is_set(fault) || !strcmp(fault->name, "seed") ||
		    !strcmp(fault->name, "direction"))
			continue;
		if (!any && !peer)
			fputs("  link faults:", out);
		any = true;
		print_fault(out, fault);
	}
	if (peer && !any)
		fputs(" none", out);
	if (peer || any)
		fputc('\n', out);
}

void link_print(FILE *out, const struct json *device)
{
	const struct json *link = json_get(device, "link");
	const struct json *counters = json_get(link, "counters");
	const struct json *peer = json_first(link, "peer_faults");

	if (!link || link->type != JSON_OBJECT) {
		fprintf(out, "  no link to other nodes: %s\n", json_text(device, "link_problem"));
		return;
	}
	fprintf(out,
		"  link %s port %llu, %llu keys: %llu frames (%llu bytes) sent, "
		"%llu frames (%llu bytes) received\n",
		json_text(link, "address"), json_number(link, "port"), json_number(link, "keys"),
		json_number(counters, "frames_sent"), json_number(counters, "bytes_sent"),
		json_number(counters, "frames_received"), json_number(counters, "bytes_received"));
	print_counters(out, link, NULL);
	print_faults(out, link, NULL);
	for (; peer; peer = peer->next) {
		print_faults(out, peer, json_text(peer, "peer"));
		print_counters(out, peer, json_text(peer, "peer"));
	}
}

/* In the form that "vnet settings" takes; weights only if they are not 1. */
void link_print_settings(FILE *out, const struct json *device)
{
	const struct json *link = json_get(device, "link");
	const struct json *setting = json_first(link, "settings");
	const struct json *weight = json_first(json_get(link, "settings"), "weights");
	const char *before = "  link settings: ";

	for (; setting; setting = setting->next) {
		if (setting->type != JSON_NUMBER)
			continue;
		fprintf(out, "%s%s=%llu", before, setting->name, setting->number);
		before = ",";
	}
	for (int level = 0; weight; weight = weight->next, level++)
		if (weight->number != 1)
			fprintf(out, "%sweight%d=%llu", before, level, weight->number);
	if (*before == ',')
		fputc('\n', out);
}
