// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "mapped/maps.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

#define CHUNK 16384
#define NAME 128

struct reading {
	bool details;
	bool (*call)(const struct maps_entry *entry, void *arg);
	void *arg;
	bool stopped;
	/* The mapping whose details are being read; end 0: none. */
	struct maps_entry entry;
	char name[NAME];
};

/*
 * Flags (VmFlags in proc(5)) of ordinary memory: rd wr mr mw me ac sd; nr (no reserve of swap) and
 * nh (no huge pages) lose nothing.
 */
static bool is_ordinary(const char *flag)
{
	static const char known[] = "rd wr mr mw me ac sd nr nh ";

	for (const char *at = known; *at; at += 3)
		if (at[0] == flag[0] && at[1] == flag[1])
			return true;
	return false;
}

static void read_detail(struct reading *r, const char *line)
{
	if (!strncmp(line, "VmFlags:", 8)) {
		for (line += 8; *line; line++)
			if (*line != ' ' && line[1] && line[1] != ' ') {
				r->entry.special |= !is_ordinary(line);
				line++;
			}
	} else if (!strncmp(line, "ProtectionKey:", 14)) {
		r->entry.special |= strtoul(line + 14, NULL, 10) != 0;
	}
}

/* "7f..-7f.. rw-p 00000000 00:01 1234   /path" */
static bool read_entry(struct reading *r, const char *line)
{
	struct maps_entry *e = &r->entry;
	char *at;

	memset(e, 0, sizeof(*e));
	e->start = strtoull(line, &at, 16);
	if (at == line || *at != '-')
		return false;
	e->end = strtoull(at + 1, &at, 16);
	if (*at != ' ' || strlen(at) < 6)
		return false;
	e->prot = (at[1] == 'r' ? PROT_READ : 0) | (at[2] == 'w' ? PROT_WRITE : 0) |
		  (at[3] == 'x' ? PROT_EXEC : 0);
	e->shared = at[4] == 's';
	e->offset = strtoull(at + 5, &at, 16);
	e->major = (u32)strtoul(at, &at, 16);
	e->minor = (u32)strtoul(*at ? at + 1 : at, &at, 16);
	e->inode = strtoull(at, &at, 10);
	while (*at == ' ')
		at++;
	strncpy(r->name, at, sizeof(r->name) - 1);
	e->name = r->name;
	return true;
}

static void deliver(struct reading *r)
{
	if (r->entry.end && !r->stopped)
		r->stopped = !r->call(&r->entry, r->arg);
	r->entry.end = 0;
}

static void read_line(struct reading *r, const char *line)
{
	bool detail = line[0] >= 'A' && line[0] <= 'Z';

	if (detail) {
		read_detail(r, line);
		return;
	}
	/* The next mapping: the one before is complete. */
	deliver(r);
	if (!read_entry(r, line))
		r->entry.end = 0;
	else if (!r->details)
		deliver(r);
}

int maps_read(bool details, bool (*call)(const struct maps_entry *entry, void *arg), void *arg)
{
	struct reading r = { .details = details, .call = call, .arg = arg };
	int fd = sys_open(details ? "/proc/self/smaps" : "/proc/self/maps", O_RDONLY);
	char text[CHUNK] = "";
	size_t have = 0;
	long n = 0;

	if (fd < 0)
		return fd;
	while (!r.stopped && have < sizeof(text)) {
		char *line = text, *end;

		n = sys(SYS_read, fd, text + have, sizeof(text) - have);
		if (n <= 0)
			break;
		have += (size_t)n;
		while (!r.stopped && (end = memchr(line, '\n', have - (size_t)(line - text)))) {
			*end = '\0';
			read_line(&r, line);
			line = end + 1;
		}
		have -= (size_t)(line - text);
		memmove(text, line, have);
	}
	deliver(&r);
	sys_close(fd);
	/* A line that does not fit: the rest is unknown. */
	if (have == sizeof(text))
		return -E2BIG;
	return n < 0 ? (int)n : 0;
}
