// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared record of all rdma_cm ids, by which programs learn of the daemon's death. The daemon
 * cannot send events after its death, so the record is always up to date. The preload library
 * reads it: it reports DEVICE_REMOVAL for each id that is bound to a device, and lets programs
 * destroy ids.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inside.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static_assert(CM_MAX_IDS == VNET_CM_MAX_IDS, "each id has a record");

int cm_orphans_init(struct cm *cm)
{
	int error, fd = memfd_create("vnet-cm-orphans", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(*cm->orphans)) < 0)
		goto err;
	cm->orphans = mmap(NULL, sizeof(*cm->orphans), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (cm->orphans == MAP_FAILED)
		goto err;
	/* From now on, only the existing mapping can be written. */
	if (fcntl(fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
		goto err;
	cm->wills_fd = fd;
	return 0;
err:
	error = -errno;
	close(fd);
	return error;
}

int cm_orphans_fd(const struct daemon *daemon)
{
	return daemon->cm->wills_fd;
}

/* Acquire: later changes of the entry become visible only after file_id is 0. */
void cm_orphan_forget(const struct cm_id *id)
{
	(void)__atomic_exchange_n(&id->cm->orphans->id[id->handle].file_id, 0, __ATOMIC_ACQUIRE);
}

/* Updates an entry. It is read only after the daemon's death, which can occur at any point here. */
void cm_orphan_write(const struct cm_id *id)
{
	struct vnet_cm_orphans *orphans = id->cm->orphans;
	struct vnet_cm_orphan *orphan = &orphans->id[id->handle];

	cm_orphan_forget(id);
	orphan->uid = id->uid;
	orphan->events_reported = id->events_reported;
	orphan->has_device = id->path.device != NULL;
	if (id->handle >= orphans->high)
		orphans->high = id->handle + 1;
	/* Release: pairs with orphan_of() of the preload library. */
	__atomic_store_n(&orphan->file_id, id->file->file->id, __ATOMIC_RELEASE);
}
