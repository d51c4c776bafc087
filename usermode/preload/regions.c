// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "regions.h"

#include "result.h"

void regions_note(u64 start, u64 length)
{
	struct session *s = session_current();
	u64 end = start + length < start ? ~0ull : start + length;

	if (!s)
		return;
	/* Widened only, and only a hint: a race costs a search at most. */
	if (!s->regions_high || start < s->regions_low)
		__atomic_store_n(&s->regions_low, start, __ATOMIC_RELAXED);
	if (end > s->regions_high)
		__atomic_store_n(&s->regions_high, end, __ATOMIC_RELAXED);
}

static bool overlaps(const struct nic_mr *mr, u64 start, u64 end)
{
	return mr->kind == NIC_MR_REGION && mr->addr < end && mr->addr + mr->length > start;
}

static void check_pages(const struct nic *nic, u64 start, u64 end)
{
	struct nic_mr *mr;
	u32 i;

	for (i = 0; i < nic->max_mr; i++) {
		mr = &nic->mr[i];
		if (nic_load(&mr->key) && mr->space == nic->space && overlaps(mr, start, end))
			(void)nic_fetch_or(&mr->flags, (u8)NIC_MR_CHECK_PAGES);
	}
}

void regions_protected(const void *address, size_t length, int prot)
{
	u64 start = (u64)(unsigned long)address, end = start + length;
	struct session *s;
	u32 i;

	if (likely((prot & (PROT_READ | PROT_WRITE)) == (PROT_READ | PROT_WRITE)))
		return;
	s = session_current();
	if (!s || !s->regions_high || end <= s->regions_low || start >= s->regions_high)
		return;
	for (i = 0; i < s->nnics; i++)
		check_pages(&s->nic[i]->nic, start, end);
}
