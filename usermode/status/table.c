// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "table.h"

#include "link.h"

#include <string.h>

#define TEXT 32

/* "12345", "12.3M": numbers for people, with decimal prefixes. */
static const char *amount(char text[TEXT], double value)
{
	static const char prefixes[] = " kMGTPE";
	size_t i = 0;

	while (value >= 100000 && prefixes[i + 1]) {
		value /= 1000;
		i++;
	}
	if (i)
		snprintf(text, TEXT, "%.1f%c", value, prefixes[i]);
	else
		snprintf(text, TEXT, "%.0f", value);
	return text;
}

/* Amounts of memory, in units of 1024. */
static const char *bytes(char text[TEXT], double value)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	while (value >= 1024 && i + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		i++;
	}
	snprintf(text, TEXT, i ? "%.1f %s" : "%.0f %s", value, units[i]);
	return text;
}

static const char *duration(char text[TEXT], unsigned long long ms)
{
	unsigned long long s = ms / 1000;

	if (s < 60)
		snprintf(text, TEXT, "%llu s", s);
	else if (s < 3600)
		snprintf(text, TEXT, "%llu:%02llu min", s / 60, s % 60);
	else
		snprintf(text, TEXT, "%llu:%02llu h", s / 3600, s / 60 % 60);
	return text;
}

/* Returns the entry of an earlier list with the same QP number, or NULL. */
static const struct json *same(const struct json *list, const char *key, const struct json *item)
{
	const struct json *other;

	for (other = json_first(list, key); other; other = other->next)
		if (json_number(other, "qpn") == json_number(item, "qpn"))
			return other;
	return NULL;
}

static void print_more(FILE *out, size_t total, const struct table_options *options)
{
	if (options->rows && total > options->rows)
		fprintf(out, "  ... and %zu more (--all)\n", total - options->rows);
}

/* Is this row shown? */
static bool shown(size_t row, const struct table_options *options)
{
	return !options->rows || row < options->rows;
}

/* -------------------------------------------------------------- queue pairs */

/* Print totals or, with an earlier status, rates per second. */
static void print_traffic(FILE *out, const struct json *qp, const struct json *before,
			  const struct table_options *options)
{
	static const char *const names[] = { "sent_msgs", "sent_bytes", "got_msgs", "got_bytes" };
	char text[TEXT];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double value = (double)json_number(qp, names[i]);

		if (before && options->elapsed > 0) {
			value -= (double)json_number(before, names[i]);
			value = value > 0 ? value / options->elapsed : 0;
		}
		fprintf(out, " %9s", amount(text, value));
	}
}

static void print_peer(FILE *out, const struct json *qp)
{
	char text[TEXT + 64] = "-";

	if (json_number(qp, "dest_lid"))
		snprintf(text, sizeof(text), "%llu@LID %llu", json_number(qp, "dest_qpn"),
			 json_number(qp, "dest_lid"));
	else if (json_number(qp, "dest_qpn"))
		snprintf(text, sizeof(text), "%llu@%s", json_number(qp, "dest_qpn"),
			 json_text(qp, "dest_gid"));
	fprintf(out, " %-28s", text);
}

static void print_qps(FILE *out, const struct json *device, const struct json *before,
		      const struct table_options *options)
{
	const struct json *qp = json_first(device, "qps");
	const char *each = before ? "/s" : "";
	size_t row = 0;

	if (!qp)
		return;
	fprintf(out,
		"\n  %10s %-4s %-5s %7s %-28s %7s%-2s %7s%-2s %7s%-2s %7s%-2s %6s %6s %6s  %s\n",
		"QPN", "TYPE", "STATE", "PID", "PEER", "SENT", each, "BYTES", each, "GOT", each,
		"BYTES", each, "RNR", "RETRY", "ERRORS", "WAITS");
	for (; qp; qp = qp->next, row++) {
		char text[TEXT];

		if (!shown(row, options))
			continue;
		fprintf(out, "  %10llu %-4s %-5s %7llu", json_number(qp, "qpn"),
			json_text(qp, "type"), json_text(qp, "state"), json_number(qp, "pid"));
		print_peer(out, qp);
		print_traffic(out, qp, same(before, "qps", qp), options);
		fprintf(out, " %6s", amount(text, (double)json_number(qp, "rnr_waits")));
		fprintf(out, " %6s", amount(text, (double)json_number(qp, "retries")));
		fprintf(out, " %6s  %s", amount(text, (double)json_number(qp, "send_errors")),
			json_text(qp, "waits"));
		/*
		 * A lock is usually held by the queue pair's own process, so name the holder only
		 * if it is another.
		 */
		if (json_number(qp, "holder") &&
		    json_number(qp, "holder") != json_number(qp, "pid"))
			fprintf(out, " held by %llu", json_number(qp, "holder"));
		putc('\n', out);
	}
	print_more(out, row, options);
}

/* ------------------------------------------------------------ other objects */

static void print_cqs(FILE *out, const struct json *device)
{
	const struct json *cq = json_first(device, "cqs");
	double completions = 0, errors = 0;
	char text[2][TEXT];

	if (!cq)
		return;
	for (; cq; cq = cq->next) {
		completions += (double)json_number(cq, "completions");
		errors += (double)json_number(cq, "errors");
	}
	fprintf(out, "\n  %zu completion queues: %s completions, %s of them errors\n",
		json_count(device, "cqs"), amount(text[0], completions), amount(text[1], errors));
}

/* Completions by status, where there were any. */
static void print_completions(FILE *out, const struct json *device)
{
	const struct json *status = json_first(device, "completions");
	char text[TEXT];

	for (; status; status = status->next)
		if (status->number && status->name)
			fprintf(out, "  completions %-20s %s\n", status->name,
				amount(text, (double)status->number));
}

static void print_srqs(FILE *out, const struct json *device)
{
	if (json_first(device, "srqs"))
		fprintf(out, "  %zu shared receive queues\n", json_count(device, "srqs"));
}

static void print_mrs(FILE *out, const struct json *device, const struct table_options *options)
{
	const struct json *mr = json_first(device, "mrs");
	size_t row = 0;

	if (!mr)
		return;
	fprintf(out, "\n  %10s %-8s %7s %18s %12s %6s  %s\n", "KEY", "KIND", "PID", "ADDRESS",
		"LENGTH", "ACCESS", "MAPPED");
	for (; mr; mr = mr->next, row++) {
		char text[TEXT];

		if (!shown(row, options))
			continue;
		fprintf(out, "  0x%08llx %-8s %7llu %#18llx %12s %#6llx  %s\n",
			json_number(mr, "key"), json_text(mr, "kind"), json_number(mr, "pid"),
			json_number(mr, "addr"), bytes(text, (double)json_number(mr, "length")),
			json_number(mr, "access"), json_text(mr, "mapped"));
	}
	print_more(out, row, options);
}

/* --------------------------------------------------------------- the devices */

static void print_drops(FILE *out, const struct json *device)
{
	const struct json *counter = json_first(device, "counters");

	for (; counter; counter = counter->next)
		if (counter->number && counter->name && !strncmp(counter->name, "drop_", 5))
			fprintf(out, "  dropped (%s): %llu\n", counter->name + 5, counter->number);
}

static void print_device(FILE *out, const struct json *device, const struct json *before,
			 const struct table_options *options)
{
	const struct json *gid = json_first(device, "gids");
	char text[TEXT];

	fprintf(out, "\n%s  %s  guid %s  %s of memory in use%s\n", json_text(device, "name"),
		json_text(device, "uverbs"), json_text(device, "node_guid"),
		bytes(text, (double)json_number(device, "memory_used")),
		json_number(device, "pending") ? "  (work is waiting)" : "");
	if (json_number(device, "lid"))
		fprintf(out, "  lid 0x%04llx (InfiniBand)\n", json_number(device, "lid"));
	for (; gid; gid = gid->next)
		fprintf(out, "  gid %-2llu %-40s %s\n", json_number(gid, "index"),
			json_text(gid, "gid"), json_text(gid, "ndev"));
	print_drops(out, device);
	link_print(out, device);
	print_qps(out, device, before, options);
	print_cqs(out, device);
	print_completions(out, device);
	print_srqs(out, device);
	print_mrs(out, device, options);
}

static void print_clients(FILE *out, const struct json *status)
{
	const struct json *client = json_first(status, "clients");

	if (!client) {
		fputs("\nno clients\n", out);
		return;
	}
	fprintf(out, "\n%7s  %-8s  %s\n", "PID", "STATE", "COMMAND");
	for (; client; client = client->next)
		fprintf(out, "%7llu  %-8s  %s\n", json_number(client, "pid"),
			json_text(client, "state"), json_text(client, "command"));
}

static void print_waiting(FILE *out, const struct json *status)
{
	const struct json *call = json_first(status, "waiting");

	for (; call; call = call->next)
		fprintf(out, "process %llu waits since %llu ms for somebody who holds a lock\n",
			json_number(call, "pid"), json_number(call, "for_ms"));
}

void table_print(FILE *out, const struct json *status, const struct json *before,
		 const struct table_options *options)
{
	const struct json *device = json_first(status, "devices");
	const struct json *old = json_first(before, "devices");
	char text[TEXT];

	fprintf(out, "vnetd %s  process %llu  node %s  up %s  %s\n", json_text(status, "version"),
		json_number(status, "pid"), json_text(status, "node"),
		duration(text, json_number(status, "uptime_ms")), json_text(status, "directory"));
	print_clients(out, status);
	print_waiting(out, status);
	for (; device; device = device->next) {
		print_device(out, device, old, options);
		old = old ? old->next : NULL;
	}
}
