// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A forked child gets a private copy of moved pages.
 *
 * The pages are shared and carry MADV_DONTFORK, so the child has nothing there. The parent makes a
 * private copy elsewhere before it forks, and the child moves its copy of that to the address. So
 * it is complete before anyone can run in the child, and nobody has to wait for anybody.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "base/settings.h"
#include "mapped/inside.h"
#include "mapped/quiet.h"

static raw_sigset_t fork_saved;

void mapped_fork_begin(void)
{
	raw_sigset_t saved;

	if (likely(!quiet_wanted))
		return;
	saved = lock_take(&mapped_lock);
	fork_saved = saved;
	(void)mapped_check();
	for (u32 i = 0; i < mapped_count; i++)
		mapped_range[i].copy = mapped_copy_out(mapped_range[i].session,
						       mapped_range[i].start, mapped_range[i].end);
}

void mapped_fork_parent(void)
{
	if (likely(!quiet_wanted))
		return;
	for (u32 i = 0; i < mapped_count; i++) {
		if (mapped_range[i].copy)
			(void)sys(SYS_munmap, mapped_range[i].copy,
				  mapped_range[i].end - mapped_range[i].start);
		mapped_range[i].copy = NULL;
	}
	lock_release(&mapped_lock, fork_saved);
}

void mapped_fork_child(void)
{
	if (likely(!quiet_wanted))
		return;
	for (u32 i = 0; i < mapped_count; i++)
		if (mapped_range[i].copy)
			mapped_put_copy(mapped_range[i].copy, mapped_range[i].start,
					mapped_range[i].end, mapped_range[i].prot);
	nic_store(&mapped_count, 0);
	quiet_forked();
	lock_release(&mapped_lock, fork_saved);
}

static void __attribute__((constructor)) mapped_load(void)
{
	if (settings()->map_regions && !settings()->off)
		pthread_atfork(mapped_fork_begin, mapped_fork_parent, mapped_fork_child);
}
