// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Commands on the running link: faults, keys, settings, and its status as JSON. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon.h"
#include "devices/devices.h"
#include "link/link.h"
#include "status.h"

static double percent(u32 share)
{
	return share * 100.0 / 4294967296.0;
}

static void put_faults(const struct link_faults *f, FILE *out)
{
	fprintf(out,
		"{\"loss_percent\": %.6g, \"duplicate_percent\": %.6g, "
		"\"reorder_percent\": %.6g, \"corrupt_percent\": %.6g, \"delay_us\": %u, "
		"\"jitter_us\": %u, \"reorder_by_us\": %u, \"rate_bytes\": %llu, "
		"\"down\": %s, \"seed\": %llu, \"direction\": \"%s\"}",
		percent(f->loss), percent(f->duplicate), percent(f->reorder), percent(f->corrupt),
		f->delay, f->jitter, f->reorder_by, f->rate, f->down ? "true" : "false", f->seed,
		f->directions == LINK_IN  ? "in" :
		f->directions == LINK_OUT ? "out" :
					    "both");
}

static void put_fault_counts(const u64 injected[LINK_FAULT_KINDS], FILE *out)
{
	static const char *const names[LINK_FAULT_KINDS] = {
		[LINK_LOST] = "fault_lost",
		[LINK_DUPLICATED] = "fault_duplicated",
		[LINK_REORDERED] = "fault_reordered",
		[LINK_CORRUPTED] = "fault_corrupted",
		[LINK_DELAYED] = "fault_delayed",
		[LINK_LIMITED] = "fault_limited",
		[LINK_WHILE_DOWN] = "fault_while_down",
	};

	for (u32 i = 0; i < LINK_FAULT_KINDS; i++)
		fprintf(out, "%s\"%s\": %llu", i ? ", " : "", names[i], nic_load(&injected[i]));
}

static void put_peer(const struct link_peer_faults *of, const struct link_course *course, FILE *out)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)of->peer))
		inet_ntop(AF_INET, of->peer + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, of->peer, text, sizeof(text));
	fprintf(out, "{\"peer\": \"%s\", \"faults\": ", text);
	put_faults(&of->faults, out);
	fputs(", \"counters\": {", out);
	put_fault_counts(course->injected, out);
	fputs("}}", out);
}

static void put_peers(const struct link_faulty_peers *peers, const struct link_memory *memory,
		      FILE *out)
{
	const char *before = "";

	fputs("\"peer_faults\": [", out);
	for (u32 i = 0; i < peers->n; i++) {
		if (!link_peer_in_use(peers->one[i].peer))
			continue;
		fputs(before, out);
		put_peer(&peers->one[i], &memory->course[1 + i], out);
		before = ", ";
	}
	putc(']', out);
}

static void put_nic_counters(const struct nic_counters *c, FILE *out)
{
	const struct {
		const char *name;
		const u64 *value;
	} all[] = {
		{ "frames_sent", &c->frames_sent },
		{ "bytes_sent", &c->bytes_sent },
		{ "frames_received", &c->frames_received },
		{ "bytes_received", &c->bytes_received },
		{ "acks_sent", &c->acks_sent },
		{ "nacks_sent", &c->nacks_sent },
		{ "nacks_received", &c->nacks_received },
		{ "retransmitted", &c->retransmitted },
		{ "duplicates", &c->duplicates },
		{ "returned", &c->returned },
		{ "unreachable", &c->unreachable },
		{ "bad_length", &c->bad_length },
		{ "bad_version", &c->bad_version },
		{ "bad_crc", &c->bad_crc },
		{ "bad_field", &c->bad_field },
		{ "bad_incarnation", &c->bad_incarnation },
		{ "bad_row", &c->bad_row },
		{ "bad_gid", &c->bad_gid },
		{ "bad_proof", &c->bad_proof },
		{ "bad_claim", &c->bad_claim },
		{ "reclaimed", &c->reclaimed },
		{ "refusals_sent", &c->refusals_sent },
		{ "refusals", &c->refusals },
		{ "stale_answers", &c->stale_answers },
		{ "no_row", &c->no_row },
		{ "drop_busy", &c->drop_busy },
		{ "faults", &c->faults },
		{ "loads", &c->loads },
		{ "evictions", &c->evictions },
	};

	for (u32 i = 0; i < ARRAY_SIZE(all); i++)
		fprintf(out, "%s\"%s\": %llu", i ? ", " : "", all[i].name, nic_load(all[i].value));
}

static void put_link_counters(const struct link_counters *c, FILE *out)
{
	const struct {
		const char *name;
		const u64 *value;
	} all[] = {
		{ "unsent", &c->unsent },           { "strangers", &c->strangers },
		{ "no_mac", &c->no_mac },           { "no_key", &c->no_key },
		{ "unknown_key", &c->unknown_key }, { "bad_mac", &c->bad_mac },
		{ "replayed", &c->replayed },       { "oversize", &c->oversize },
	};

	for (u32 i = 0; i < ARRAY_SIZE(all); i++)
		fprintf(out, ", \"%s\": %llu", all[i].name, nic_load(all[i].value));
	fputs(", ", out);
	put_fault_counts(c->injected, out);
}

static void put_address(const union link_address *own, FILE *out)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (own->any.sa_family == AF_INET)
		inet_ntop(AF_INET, &own->in.sin_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET6, &own->in6.sin6_addr, text, sizeof(text));
	fprintf(out, "\"address\": \"%s\", \"port\": %u", text, ntohs(own->in.sin_port));
}

void link_status(const struct nic_device *device, FILE *out)
{
	const struct link_memory *memory = device->link_memory;
	const struct nic_header *hdr = device->device.nic.hdr;

	fputs("\"link\": ", out);
	if (device->link.fd < 0) {
		fputs("null, \"link_problem\": ", out);
		json_string(out, device->link_problem);
		return;
	}
	putc('{', out);
	put_address(&memory->own, out);
	fprintf(out,
		", \"mtu\": %u, \"payload\": %u, \"window\": %u, \"keys\": %u, \"held\": %u, "
		"\"rows\": %u, ",
		memory->mtu, nic_load(&hdr->settings.payload), nic_load(&hdr->settings.window),
		link_keys(memory)->n, link_held(memory), nic_load(&hdr->row_high));
	fputs("\"faults\": ", out);
	put_faults(&device->device.daemon->faults, out);
	fputs(",\n   ", out);
	put_peers(&device->device.daemon->faulty_peers, memory, out);
	fputs(",\n   ", out);
	link_settings_put(&hdr->settings, hdr->config.max_frame, out);
	fputs(",\n   \"counters\": {", out);
	put_nic_counters(&hdr->counters, out);
	put_link_counters(&memory->counters, out);
	fputs("}}", out);
}

/* ------------------------------------------------------------------ commands */

static const char *set_faults(struct daemon *daemon, const char *text)
{
	const char *wrong = link_faults_parse(&daemon->faults, &daemon->faulty_peers, text);

	if (wrong)
		return wrong;
	for (u32 i = 0; i < daemon->ndevices; i++)
		link_faults_set(daemon->device[i]->link_memory, &daemon->faults,
				&daemon->faulty_peers);
	device_port(daemon, !daemon->faults.down);
	return NULL;
}

static const char *set_settings(struct daemon *daemon, const char *text)
{
	const char *wrong = NULL;

	for (u32 i = 0; i < daemon->ndevices && !wrong; i++) {
		struct nic_settings *now = &daemon->device[i]->device.nic.hdr->settings;

		wrong = link_settings_parse(now, NULL, text);
		daemon->device[i]->settings = *now;
	}
	return wrong;
}

static const char *set_keys(struct daemon *daemon, const char *files)
{
	struct link_keys keys;
	char *copy;

	if (!daemon->options.key)
		return "this node was started without a key";
	if (!*files) {
		link_keys_reload(daemon);
		return NULL;
	}
	copy = strdup(files);
	if (!copy || link_keys_read(daemon, files, &keys)) {
		free(copy);
		return copy ? daemon->problem : "no memory";
	}
	link_keys_use(daemon, &keys);
	/* Never freed: options.key may also point to the command line. */
	daemon->options.key = copy;
	return NULL;
}

static bool listen_differs(struct daemon *daemon, const char *list)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		if (link_listen_differs(daemon->device[i], list))
			return true;
	return false;
}

static bool port_differs(struct daemon *daemon, const char *text)
{
	return strtoul(text, NULL, 10) != daemon->options.port;
}

static bool faults_differ(struct daemon *daemon, const char *list)
{
	return link_faults_differ(daemon, list);
}

/* NICs without a link have no such settings. */
static bool settings_differ(struct daemon *daemon, const char *list)
{
	for (u32 i = 0; i < daemon->ndevices; i++) {
		const struct nic_header *hdr = daemon->device[i]->device.nic.hdr;

		if (daemon->device[i]->link.fd >= 0 &&
		    link_settings_differ(&hdr->settings, hdr->config.max_frame, list))
			return true;
	}
	return false;
}

/* "NAME VALUE": would a node that starts with the option --NAME VALUE differ from this one? */
static const char *compare(struct daemon *daemon, const char *text)
{
	static const struct {
		const char *name;
		bool (*differs)(struct daemon *daemon, const char *value);
	} options[] = {
		{ "listen ", listen_differs },   { "port ", port_differs },
		{ "peers ", link_peers_differ }, { "key ", link_keys_differ },
		{ "fault ", faults_differ },     { "settings ", settings_differ },
	};

	for (u32 i = 0; i < ARRAY_SIZE(options); i++) {
		size_t length = strlen(options[i].name);

		if (!strncmp(text, options[i].name, length))
			return options[i].differs(daemon, text + length) ? "it differs" : NULL;
	}
	return "no such option";
}

static void put_answer(struct daemon *daemon, const char *problem, FILE *out)
{
	fputs("{\"problem\": ", out);
	json_string(out, problem ? problem : "");
	fputs(", \"links\": [", out);
	for (u32 i = 0; i < daemon->ndevices; i++) {
		fprintf(out, "%s\n {\"device\": ", i ? "," : "");
		json_string(out, daemon->device[i]->device.name);
		fputs(", ", out);
		link_status(daemon->device[i], out);
		putc('}', out);
	}
	fputs("]}\n", out);
}

int link_command(struct daemon *daemon, const char *text)
{
	const char *problem = NULL;
	int fd = memfd_create("vnet-link", MFD_CLOEXEC);
	int copy = fd < 0 ? -1 : dup(fd);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

	if (!out) {
		int error = -errno;

		if (copy >= 0)
			close(copy);
		if (fd >= 0)
			close(fd);
		return error;
	}
	if (!strncmp(text, "fault ", 6))
		problem = set_faults(daemon, text + 6);
	else if (!strncmp(text, "device ", 7))
		problem = device_faults(daemon, text + 7);
	else if (!strncmp(text, "settings ", 9))
		problem = set_settings(daemon, text + 9);
	else if (!strncmp(text, "key ", 4))
		problem = set_keys(daemon, text + 4);
	else if (!strncmp(text, "compare ", 8))
		problem = compare(daemon, text + 8);
	else if (strcmp(text, "show") != 0)
		problem = "no such command";
	put_answer(daemon, problem, out);
	fclose(out);
	lseek(fd, 0, SEEK_SET);
	return fd;
}
