/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What ids of rdma_cm still hear and answer when their daemon is gone. */
#ifndef WILL_H
#define WILL_H

#include <rdma/rdma_user_cm.h>

#include "session.h"

/* The memory that came with a file: mapped, if it is the first. The descriptor stays the caller's. */
void will_take(struct session *session, int fd);
/* The next id of the file that has not heard yet that its device is gone; false: all have. */
bool will_removal(struct session *session, u32 file_id, struct rdma_ucm_event_resp *event);
/* The id is destroyed: how many events of it were read in all, or -ENOENT. */
int will_destroy(struct session *session, u32 file_id, u32 id, u32 *events_reported);

#endif /* WILL_H */
