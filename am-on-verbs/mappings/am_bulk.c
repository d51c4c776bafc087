// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Prepares the source of a bulk transfer by RDMA write: copies it, or registers it in place. */
#include <errno.h>
#include <string.h>

#include "am_mappings.h"

#define COPY_AT 128 /* offset in a send buffer, behind the message */

static_assert(COPY_AT + AM_MAX_MEDIUM <= sizeof(((struct am_buffer *)0)->bytes),
	      "a send buffer holds a bulk message and the data that are copied");

static void copy_to(struct am_bulk_write *w, void *to, uint32_t lkey, const struct am_bulk *bulk)
{
	memcpy(to, bulk->source, bulk->nbytes);
	w->sge.addr = (uintptr_t)to;
	w->sge.lkey = lkey;
}

static int find_source(struct am_conn *conn, struct am_message *m, const struct am_bulk *bulk,
		       struct am_bulk_write *w)
{
	struct am_device *device = conn->eb->device;

	w->region = NULL;
	w->waits = false;
	if (bulk->nbytes <= (size_t)am_settings.copy) {
		copy_to(w, (char *)m + COPY_AT, conn->mr->lkey, bulk);
		return 0;
	}
	w->region = am_region_for_copy(device, bulk->nbytes, (unsigned int)am_settings.copies);
	if (w->region) {
		/* The slot of a request holds the buffer until the answer arrives. */
		w->waits = !bulk->slot;
		copy_to(w, am_region_buffer(w->region), am_region_lkey(w->region), bulk);
		return 0;
	}
	w->region = am_region_get(device, bulk->source, bulk->nbytes, 0);
	if (!w->region)
		return errno;
	w->waits = !(bulk->async && bulk->slot);
	w->sge.addr = (uintptr_t)bulk->source;
	w->sge.lkey = am_region_lkey(w->region);
	return 0;
}

int am_bulk_begin(struct am_conn *conn, struct am_message *m, const struct am_bulk *bulk,
		  struct am_bulk_write *w)
{
	w->sge.length = (uint32_t)bulk->nbytes;
	w->wr = (struct ibv_send_wr){ .sg_list = &w->sge,
				      .num_sge = 1,
				      .opcode = IBV_WR_RDMA_WRITE,
				      .wr.rdma = { .remote_addr = bulk->address,
						   .rkey = bulk->rkey } };
	return find_source(conn, m, bulk, w);
}

void am_bulk_finish(struct am_conn *conn, const struct am_bulk *bulk, const struct am_bulk_write *w,
		    uint32_t target)
{
	if (!w->region)
		return;
	if (!w->waits && bulk->slot->outstanding) {
		bulk->slot->region = w->region;
		return;
	}
	while ((int32_t)(conn->sq[0].done - target) < 0 && conn->state != AM_BROKEN)
		conn->eb->mapping->poll(conn->eb);
	am_region_put(conn->eb->device, w->region);
}
