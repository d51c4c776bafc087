// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Decides which pages of a region are to be moved, and whether they can be. */
#define _GNU_SOURCE
#include <string.h>

#include "base/entries.h"
#include "base/settings.h"
#include "mapped/inside.h"

static bool is_private_memory(const struct maps_entry *e)
{
	const u64 stack = (u64)__builtin_frame_address(0);

	if (e->shared || e->inode || e->prot != (PROT_READ | PROT_WRITE))
		return false;
	/* The stack grows, and the kernel writes signal frames to it. */
	if (stack >= e->start && stack < e->end)
		return false;
	return !e->name[0] || !strcmp(e->name, "[heap]") || !strncmp(e->name, "[anon:", 6);
}

static bool plan_entry(const struct maps_entry *e, void *arg)
{
	struct mapped_plan *p = arg;
	u64 end = smaller(e->end, p->end);

	if (e->end <= p->at)
		return true;
	if (e->start > p->at)
		p->why = VNET_UNMAPPED_KIND;
	else if (mapped_is_of(p->session, e))
		/* munmap() and others do not find a rest that had no place in the table. */
		p->why = mapped_covers(p->session, p->at, end) ? 0 : VNET_UNMAPPED_MEMORY;
	else if (!is_private_memory(e))
		p->why = VNET_UNMAPPED_KIND;
	else if (e->special)
		p->why = VNET_UNMAPPED_FLAGS;
	else if (p->nparts == MAPPED_PARTS)
		p->why = VNET_UNMAPPED_MEMORY;
	else
		p->part[p->nparts++] = (struct mapped_range){ .start = p->at, .end = end };
	if (!p->why)
		p->at = end;
	return !p->why && p->at < p->end;
}

/*
 * Rings of AIO and io_uring, anywhere in the process: requests write to memory without a system call
 * of any thread. AIO has no descriptors.
 */
static bool look_for_mapped_ring(const struct maps_entry *e, void *arg)
{
	struct mapped_plan *p = arg;

	if (!strncmp(e->name, "/[aio]", 6) || !strncmp(e->name, "anon_inode:[io_uring]", 21))
		p->why = VNET_UNMAPPED_PINNED;
	return !p->why;
}

/* Is the descriptor of io_uring, or of a device whose driver pins pages of the process? */
static bool pins_pages(const char *target)
{
	static const char *const begins[] = { "anon_inode:[io_uring]", "/dev/nvidia", "/dev/kfd",
					      "/dev/vfio/", "/dev/vhost" };

	for (u32 i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(target, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static void look_for_pinning(const char *name, void *arg)
{
	char path[64] = "/proc/self/fd/", text[32];
	struct mapped_plan *p = arg;
	long n;

	if (strlen(name) > 10)
		return;
	strcat(path, name);
	n = sys(SYS_readlinkat, AT_FDCWD, path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (pins_pages(text))
		p->why = VNET_UNMAPPED_PINNED;
}

void mapped_make_plan(struct mapped_plan *p)
{
	if (settings()->host_devices) {
		p->why = VNET_UNMAPPED_PINNED;
		return;
	}
	if (maps_read(false, look_for_mapped_ring, p) ||
	    entries_each("/proc/self/fd", look_for_pinning, p) < 0)
		p->why = VNET_UNMAPPED_PINNED;
	if (!p->why && (maps_read(true, plan_entry, p) || (!p->why && p->at < p->end)))
		p->why = VNET_UNMAPPED_KIND;
}
