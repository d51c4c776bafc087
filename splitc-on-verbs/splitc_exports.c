// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registrations of this processor's memory, made on demand.
 *
 * They are needed for data that this processor sends, and for RDMA by other processors.
 * Memory is registered in large ranges, and stays registered until it is unmapped. At the
 * next call of the library, this processor revokes the keys to unmapped memory. So other
 * processors stop using them before they can notice anything that happened after the
 * unmapping.
 *
 * Memory whose unmapping would go unnoticed is not registered, but accessed by messages.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "splitc_core.h"

#define WINDOW ((uint64_t)16 << 20) /* bytes that are registered at once */

struct export
{
	struct export *next;
	struct sc_export is;
	struct am_region *region;
	bool lasting; /* the memory is never unmapped */
};

static struct export *exports;

/* A mapping of this process, from /proc/self/maps. */
struct vma {
	uint64_t begin, end;
	bool readable, writable;
};

static bool find_vma(uint64_t address, struct vma *vma)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], permissions[5];
	bool found = false;

	if (!maps)
		sc_fail("cannot read /proc/self/maps: %s", strerror(errno));
	while (!found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &vma->begin, &vma->end,
			   permissions) != 3)
			continue;
		found = address >= vma->begin && address < vma->end;
		vma->readable = permissions[0] == 'r';
		vma->writable = permissions[1] == 'w';
	}
	fclose(maps);
	return found;
}

static bool good(const struct export *e, bool write)
{
	if (write && !e->is.writable)
		return false;
	return e->is.ask || e->lasting || !am_region_stale(&sc.device, e->region);
}

/* Finds a usable export that contains @address, and moves it to the front of the list. */
static struct export *find(uint64_t address, bool write)
{
	for (struct export **at = &exports, *e; (e = *at); at = &e->next) {
		if (address < e->is.begin || address >= e->is.end || !good(e, write))
			continue;
		*at = e->next;
		e->next = exports;
		exports = e;
		return e;
	}
	return NULL;
}

/* Sets the range of @e: the part of @vma around @address that is not registered yet. */
static void trim(struct sc_export *e, const struct vma *vma, uint64_t address, size_t n)
{
	uint64_t low = address / WINDOW * WINDOW,
		 high = (address + n + WINDOW - 1) / WINDOW * WINDOW;

	e->begin = vma->begin > low ? vma->begin : low;
	e->end = vma->end < high ? vma->end : high;
	for (const struct export *o = exports; o; o = o->next) {
		if (o->is.writable < e->writable)
			continue;
		if (o->is.end <= address && o->is.end > e->begin)
			e->begin = o->is.end;
		if (o->is.begin > address && o->is.begin < e->end)
			e->end = o->is.begin;
	}
}

static bool within(uint64_t begin, uint64_t end, uint64_t low, uint64_t high)
{
	return begin >= low && end <= high;
}

static void register_memory(struct export *e)
{
	int access = IBV_ACCESS_REMOTE_READ;

	if (e->is.writable) {
		access |= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
		if (sc.device.attr.atomic_cap != IBV_ATOMIC_NONE)
			access |= IBV_ACCESS_REMOTE_ATOMIC;
	}
	e->lasting = within(e->is.begin, e->is.end, sc.image_begin & ~(uint64_t)4095,
			    (sc.image_end + 4095) & ~(uint64_t)4095) ||
		     within(e->is.begin, e->is.end, sc.heap_begin, sc.heap_end);
	e->region = am_region_get(&sc.device, (const void *)(uintptr_t)e->is.begin,
				  e->is.end - e->is.begin, access);
	if (e->region && !e->lasting && am_region_stale(&sc.device, e->region)) {
		am_region_put(&sc.device, e->region);
		e->region = NULL;
	}
	e->is.ask = !e->region;
	if (e->region) {
		e->is.lkey = am_region_lkey(e->region);
		e->is.rkey = am_region_rkey(e->region);
	}
}

static struct export *make(uint64_t address, size_t n, const struct vma *vma)
{
	struct export *e = calloc(1, sizeof(*e));

	if (!e)
		sc_fail("no memory");
	e->is.writable = vma->writable;
	trim(&e->is, vma, address, n);
	register_memory(e);
	e->next = exports;
	exports = e;
	return e;
}

const struct sc_export *sc_export(uint64_t address, size_t n, bool write, bool *there)
{
	struct export *e = find(address, write);
	struct vma vma;

	*there = true;
	if (e)
		return &e->is;
	*there = find_vma(address, &vma) && vma.readable;
	if (!*there || (write && !vma.writable))
		return NULL;
	return &make(address, n, &vma)->is;
}

void sc_lookup(struct sc_peer *peer, const struct sc_message *m)
{
	struct sc_lookup answer = { .result = SC_MEMORY_KEY };
	bool there;
	const struct sc_export *e = sc_export(m->address, m->length, m->what, &there);

	if (!e) {
		answer.result = there ? SC_MEMORY_CONSTANT : SC_MEMORY_NONE;
	} else {
		answer.begin = e->begin;
		answer.end = e->end;
		answer.writable = e->writable;
		answer.rkey = e->rkey;
		if (e->ask)
			answer.result = SC_MEMORY_ASK;
	}
	memcpy(sc_answer_data(peer, m->slot), &answer, sizeof(answer));
	sc_answer(peer, m->slot, sizeof(answer));
}

static void revoke(const struct export *e)
{
	uint32_t pending = 0;

	for (int i = 0; i < splitc_procs; i++) {
		if (i == splitc_my_proc)
			continue;
		pending++;
		sc_request(
			&(struct sc_request){ .proc = i,
					      .op = SC_REVOKE,
					      .address = e->is.begin,
					      .length = (uint32_t)((e->is.end - e->is.begin) >> 12),
					      .pending = &pending });
	}
	sc_wait_until(!pending);
}

/* Removes the first export whose memory was unmapped from the list. Returns it, or NULL. */
static struct export *take_gone(void)
{
	for (struct export **at = &exports, *e; (e = *at); at = &e->next) {
		if (e->is.ask || e->lasting || !am_region_stale(&sc.device, e->region))
			continue;
		*at = e->next;
		return e;
	}
	return NULL;
}

void sc_revoke_exports(void)
{
	struct export *e;

	if (!sc.ready || sc.serving)
		return;
	sc.gone = __atomic_load_n(&sc.device.regions_gone, __ATOMIC_RELAXED);
	while ((e = take_gone())) {
		revoke(e);
		am_region_put(&sc.device, e->region);
		free(e);
	}
}

void sc_exports_close(void)
{
	struct export *e;

	while ((e = exports)) {
		exports = e->next;
		if (e->region)
			am_region_put(&sc.device, e->region);
		free(e);
	}
}
