// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Table of the pages that were moved, sorted by address. */
#define _GNU_SOURCE
#include "mapped/inside.h"

u32 mapped_count;
struct lock mapped_lock;
struct mapped_range mapped_range[MAPPED_RANGES];
/* Odd while the table changes. */
static u32 changes;
/* Changes that are one for those who read the table without the lock. */
static u32 depth;

void mapped_change_table(void)
{
	if (depth++)
		return;
	nic_store(&changes, changes + 1);
	/* Orders the store before those to the table; pairs with mapped_surely_untouched(). */
	nic_barrier();
}

void mapped_table_changed(void)
{
	if (!--depth)
		nic_store_release(&changes, changes + 1);
}

/* Bounds are stored atomically, because mapped_surely_untouched() reads them without the lock. */
static void put(u32 i, const struct mapped_range *r)
{
	mapped_range[i].session = r->session;
	mapped_range[i].prot = r->prot;
	mapped_range[i].copy = r->copy;
	nic_store(&mapped_range[i].start, r->start);
	nic_store(&mapped_range[i].end, r->end);
}

static void remove_at(u32 i)
{
	mapped_change_table();
	for (; i + 1 < mapped_count; i++)
		put(i, &mapped_range[i + 1]);
	nic_store(&mapped_count, mapped_count - 1);
	mapped_table_changed();
}

bool mapped_insert(u32 i, const struct mapped_range *r)
{
	if (mapped_count == MAPPED_RANGES)
		return false;
	mapped_change_table();
	for (u32 last = mapped_count; last > i; last--)
		put(last, &mapped_range[last - 1]);
	put(i, r);
	nic_store(&mapped_count, mapped_count + 1);
	mapped_table_changed();
	return true;
}

static bool continues(const struct mapped_range *a, const struct mapped_range *b)
{
	return a->end == b->start && a->session == b->session && a->prot == b->prot;
}

bool mapped_enter(struct session *s, u64 start, u64 end)
{
	struct mapped_range add = {
		.session = s, .start = start, .end = end, .prot = PROT_READ | PROT_WRITE
	};
	u32 i = 0;

	while (i < mapped_count && mapped_range[i].start < start)
		i++;
	if (i && continues(&mapped_range[i - 1], &add)) {
		nic_store(&mapped_range[i - 1].end, end);
		if (i < mapped_count && continues(&mapped_range[i - 1], &mapped_range[i])) {
			nic_store(&mapped_range[i - 1].end, mapped_range[i].end);
			remove_at(i);
		}
		return true;
	}
	if (i < mapped_count && continues(&add, &mapped_range[i])) {
		nic_store(&mapped_range[i].start, start);
		return true;
	}
	return mapped_insert(i, &add);
}

u32 mapped_first_after(u64 addr)
{
	u32 i = 0;

	while (i < mapped_count && mapped_range[i].end <= addr)
		i++;
	return i;
}

u64 mapped_bytes(void)
{
	u64 bytes = 0;

	for (u32 i = 0; i < mapped_count; i++)
		bytes += mapped_range[i].end - mapped_range[i].start;
	return bytes;
}

bool mapped_touches(u64 start, u64 end)
{
	u32 i = mapped_first_after(start);

	return i < mapped_count && mapped_range[i].start < end;
}

bool mapped_surely_untouched(u64 start, u64 end)
{
	u32 before = nic_load_acquire(&changes), n = nic_load(&mapped_count);
	bool touched = false;

	for (u32 i = 0; i < n && !touched; i++)
		touched = nic_load(&mapped_range[i].start) < end &&
			  nic_load(&mapped_range[i].end) > start;
	/* Orders the loads above before that below. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !touched && !(before & 1) && nic_load(&changes) == before;
}

bool mapped_covers(const struct session *s, u64 start, u64 end)
{
	for (u32 i = mapped_first_after(start); i < mapped_count && start < end; i++) {
		if (mapped_range[i].start > start || mapped_range[i].session != s)
			break;
		start = mapped_range[i].end;
	}
	return start >= end;
}

void mapped_forget(u64 start, u64 end)
{
	u32 i = mapped_first_after(start);

	mapped_change_table();
	while (i < mapped_count && mapped_range[i].start < end) {
		struct mapped_range rest = mapped_range[i];

		rest.start = end;
		if (mapped_range[i].start < start) {
			nic_store(&mapped_range[i++].end, start);
			if (rest.end > end)
				(void)mapped_insert(i, &rest);
		} else if (mapped_range[i].end > end) {
			nic_store(&mapped_range[i].start, end);
		} else {
			remove_at(i);
		}
	}
	mapped_table_changed();
}
