// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "devices/regions.h"

#include "base/result.h"

void regions_note(u64 start, u64 length)
{
	struct session *s = session_current();
	u64 end = start + length < start ? ~0ull : start + length;
	u64 seen;

	if (!s)
		return;
	/* The complement is stored, so that zeroed memory means "nothing registered". */
	seen = nic_load(&s->regions_not_low);
	while (~start > seen &&
	       !__atomic_compare_exchange_n(&s->regions_not_low, &seen, ~start, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	seen = nic_load(&s->regions_high);
	while (end > seen && !__atomic_compare_exchange_n(&s->regions_high, &seen, end, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static bool overlaps(const struct nic_mr *mr, u64 start, u64 end)
{
	/* A region that is paged on demand is always checked, where that is possible. */
	return mr->kind == NIC_MR_REGION && !(mr->flags & NIC_MR_ON_DEMAND) && mr->addr < end &&
	       mr->addr + mr->length > start;
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
	if (!s || end <= ~nic_load(&s->regions_not_low) || start >= nic_load(&s->regions_high))
		return;
	for (i = 0; i < s->nnics; i++)
		check_pages(&s->nic[i]->nic, start, end);
}
