/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Events and answers for rdma_cm ids whose daemon has died. */
#ifndef ORPHANED_IDS_H
#define ORPHANED_IDS_H

#include <rdma/rdma_user_cm.h>

#include "session/session.h"

/*
 * Map the memory of published ids that came with an rdma_cm file, unless it is mapped already. The
 * descriptor remains the caller's.
 */
void orphans_map(struct session *session, int fd);
/*
 * Fill in RDMA_CM_EVENT_DEVICE_REMOVAL for the file's next id that has not had it. Returns false if
 * there is none.
 */
bool orphan_removal(struct session *session, u32 file_id, struct rdma_ucm_event_resp *event);
/* Destroy an id. Returns 0, with the number of its events that were read in all, or -ENOENT. */
int orphan_destroy(struct session *session, u32 file_id, u32 id, u32 *events_reported);

#endif /* ORPHANED_IDS_H */
