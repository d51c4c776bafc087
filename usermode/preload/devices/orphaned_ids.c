// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "devices/orphaned_ids.h"

#include <sys/mman.h>

#include "base/lock.h"

/* enum rdma_cm_event_type */
#define EVENT_DEVICE_REMOVAL 11

/* Bits: the state of an id after its daemon's death. */
enum {
	TOLD = 1,
	DESTROYED = 2,
};

static struct lock orphans_lock;

static void map(struct session *s, int fd)
{
	s->wills_done = sys_mmap(NULL, VNET_CM_MAX_IDS, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!s->wills_done)
		return;
	/* Release: a reader that sees orphans also sees wills_done. */
	__atomic_store_n(&s->orphans,
			 sys_mmap(NULL, sizeof(*s->orphans), PROT_READ, MAP_SHARED, fd, 0),
			 __ATOMIC_RELEASE);
}

void orphans_map(struct session *s, int fd)
{
	raw_sigset_t saved = lock_take(&orphans_lock);

	if (!s->wills_done)
		map(s, fd);
	lock_release(&orphans_lock, saved);
}

/*
 * Acquire: pairs with cm_orphan_write() in the daemon, which may have died in the middle of a
 * write.
 */
static const struct vnet_cm_orphan *orphan_of(const struct vnet_cm_orphans *orphans, u32 file_id,
					      u32 id)
{
	if (__atomic_load_n(&orphans->id[id].file_id, __ATOMIC_ACQUIRE) != file_id)
		return NULL;
	return &orphans->id[id];
}

bool orphan_removal(struct session *s, u32 file_id, struct rdma_ucm_event_resp *event)
{
	const struct vnet_cm_orphans *orphans = __atomic_load_n(&s->orphans, __ATOMIC_ACQUIRE);

	for (u32 id = 0; orphans && id < orphans->high; id++) {
		const struct vnet_cm_orphan *orphan = orphan_of(orphans, file_id, id);

		if (!orphan || !orphan->uid || !orphan->has_device || s->wills_done[id] ||
		    __atomic_fetch_or(&s->wills_done[id], TOLD, __ATOMIC_RELAXED))
			continue;
		*event = (struct rdma_ucm_event_resp){
			.uid = orphan->uid,
			.id = id,
			.event = EVENT_DEVICE_REMOVAL,
		};
		return true;
	}
	return false;
}

int orphan_destroy(struct session *s, u32 file_id, u32 id, u32 *events_reported)
{
	const struct vnet_cm_orphans *orphans = __atomic_load_n(&s->orphans, __ATOMIC_ACQUIRE);
	const struct vnet_cm_orphan *orphan;
	u8 done;

	if (!orphans || id >= VNET_CM_MAX_IDS)
		return -ENOENT;
	orphan = orphan_of(orphans, file_id, id);
	if (!orphan)
		return -ENOENT;
	done = __atomic_fetch_or(&s->wills_done[id], DESTROYED, __ATOMIC_RELAXED);
	if (done & DESTROYED)
		return -ENOENT;
	*events_reported = orphan->events_reported + (done & TOLD);
	return 0;
}
