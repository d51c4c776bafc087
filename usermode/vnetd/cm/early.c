// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests that come before their listener listens: for a connection (REQ), or about a
 * datagram service (SIDR_REQ). There are programs that tell their peer which port they are bound
 * to, and listen then: the peer needs a while on a network, and none here. So the first
 * request of each peer waits for that; when it is repeated, and nobody listens yet, it is
 * refused as any other.
 */
#include <stdlib.h>

#include "cm.h"

/* As many of one id; peers do as they like. */
#define MOST_KEPT 16

static_assert((u32)SIDR_REQ_ID == (u32)CM_LOCAL_ID, "the asker's name is in one place");

static bool is_of(const struct cm_arrival *kept, const struct cm_arrival *arrival,
		  enum cm_attribute attribute)
{
	return mad_attribute(&kept->mad) == attribute &&
	       mad_get32(&kept->mad, CM_LOCAL_ID) == mad_get32(&arrival->mad, CM_LOCAL_ID) &&
	       !memcmp(kept->sgid, arrival->sgid, sizeof(kept->sgid));
}

bool cm_early_forget(struct cm *cm, const struct cm_arrival *arrival, enum cm_attribute attribute)
{
	struct cm_arrival **place, *kept;
	struct cm_id *id;

	for (id = cm->bound; id; id = id->next_bound)
		for (place = &id->early; (kept = *place); place = &kept->next)
			if (is_of(kept, arrival, attribute)) {
				*place = kept->next;
				free(kept);
				return true;
			}
	return false;
}

struct cm_id *cm_early_owner(struct cm *cm, const struct cm_arrival *arrival, u64 service_id,
			     const union cm_address *dst)
{
	bool waited = cm_early_forget(cm, arrival, mad_attribute(&arrival->mad));
	struct cm_id *id = cm_port_owner(cm, CM_ID_LISTEN, service_id, dst, arrival->device);

	if (id || waited)
		return id;
	return cm_port_owner(cm, CM_ID_BOUND, service_id, dst, arrival->device);
}

bool cm_early_keep(struct cm_id *id, const struct cm_arrival *arrival)
{
	struct cm_arrival **place = &id->early;
	u32 kept = 0;

	if (id->state != CM_ID_BOUND)
		return false;
	for (; *place; place = &(*place)->next)
		kept++;
	if (kept == MOST_KEPT)
		return false;
	*place = malloc(sizeof(**place));
	if (!*place)
		return false;
	**place = *arrival;
	(*place)->next = NULL;
	return true;
}

static void refuse(struct cm *cm, const struct cm_arrival *arrival)
{
	if (mad_attribute(&arrival->mad) == CM_SIDR_REQ)
		cm_refuse_sidr(cm, arrival, CM_SIDR_UNSUPPORTED);
	else
		cm_refuse_req(cm, arrival, CM_REJ_INVALID_SERVICE_ID);
}

/* Each is the id's no more before something is done with it. */
static void let_go(struct cm_id *id,
		   void (*handle)(struct cm *cm, const struct cm_arrival *arrival))
{
	struct cm_arrival *arrival;

	while ((arrival = id->early)) {
		id->early = arrival->next;
		handle(id->cm, arrival);
		free(arrival);
	}
}

void cm_early_hear(struct cm_id *id)
{
	let_go(id, cm_receive);
}

void cm_early_refuse(struct cm_id *id)
{
	let_go(id, refuse);
}
