// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CRC32C of frames, by the CPU's instructions or by tables, whichever is faster. On emulated
 * CPUs the instructions may take longer than tables, so both are measured once, when the module
 * is loaded.
 */
#include <linux/crc32.h>
#include <linux/crc32c.h>
#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "link.h"

/* About the size of a frame with an MTU of 1500. */
#define VNET_TRIAL_SIZE 1408u
#define VNET_TRIALS 8

static DEFINE_STATIC_KEY_FALSE(vnet_crc_by_table);

/* Returns the shortest of several runs in ns, which was not interrupted. */
static u64 vnet_crc_time(const u8 *data, bool by_table)
{
	u64 begin, took, best = U64_MAX;
	u32 i, crc = 0;

	for (i = 0; i < VNET_TRIALS; i++) {
		begin = ktime_get_ns();
		crc = by_table ? __crc32c_le(crc, data, VNET_TRIAL_SIZE) :
				 crc32c(crc, data, VNET_TRIAL_SIZE);
		OPTIMIZER_HIDE_VAR(crc);
		took = ktime_get_ns() - begin;
		best = min(best, took);
	}
	return best;
}

void vnet_crc_choose(void)
{
	u8 *data = kzalloc(VNET_TRIAL_SIZE, GFP_KERNEL);

	if (!data)
		return;
	if (vnet_crc_time(data, true) < vnet_crc_time(data, false))
		static_branch_enable(&vnet_crc_by_table);
	kfree(data);
}

u32 plat_crc32c(u32 crc, const void *data, u64 length)
{
	if (static_branch_unlikely(&vnet_crc_by_table))
		return ~__crc32c_le(~crc, data, length);
	return ~crc32c(~crc, data, length);
}
