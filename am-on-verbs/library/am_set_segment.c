// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Sets the segment of an endpoint, and writes segment and tag to the boards of its peers. */
#include "am_library.h"
#include "connections/am_connections.h"
#include "messages/am_messages.h"
#include "objects/am_process.h"

void am_segment_tell_all(struct am_ep *ep)
{
	ep->segment_version++;
	for (struct am_conn *conn = ep->conns; conn; conn = conn->next) {
		if (conn->state == AM_READY || conn->state == AM_ACCEPTED)
			am_segment_tell(conn);
	}
	am_conns_drain(ep);
}

static int set_segment(struct am_ep *ep, void *addr, uintptr_t nbytes)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_mr *mr = NULL, *old = ep->segment_mr;

	if (nbytes) {
		mr = ibv_reg_mr(ep->eb->device->pd, addr, nbytes, access);
		if (!mr)
			return AM_ERR_RESOURCE;
	}
	ep->segment = nbytes ? addr : NULL;
	ep->segment_length = nbytes;
	ep->segment_mr = mr;
	am_segment_tell_all(ep);
	if (old)
		ibv_dereg_mr(old);
	return AM_OK;
}

int AM_SetSeg(ep_t ea, void *addr, uintptr_t nbytes)
{
	int err;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea || (nbytes && !addr) || (uintptr_t)addr + nbytes < (uintptr_t)addr)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	err = ea->eb->running ? AM_ERR_BAD_ARG : set_segment(ea, addr, nbytes);
	am_unlock(ea->eb);
	return err;
}

int AM_GetSeg(ep_t ea, void **addr, uintptr_t *nbytes)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea || !addr || !nbytes)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	*addr = ea->segment;
	*nbytes = ea->segment_length;
	am_unlock(ea->eb);
	return AM_OK;
}

int AM_MaxSegLength(uintptr_t *nbytes)
{
	struct am_device *device = am_the_device();

	if (!device)
		return AM_ERR_NOT_INIT;
	if (!nbytes)
		return AM_ERR_BAD_ARG;
	*nbytes = device->attr.max_mr_size;
	return AM_OK;
}
