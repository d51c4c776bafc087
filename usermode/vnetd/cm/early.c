// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests that come before their listener listens. There are programs that tell their
 * peer which port they are bound to, and listen then: the peer needs a while on a
 * network, and none here. So the first request waits for that; when it is repeated, and
 * nobody listens yet, it is refused as any other.
 */
#include <stdlib.h>

#include "cm.h"

bool cm_early_keep(struct cm *cm, const struct cm_arrival *arrival, u64 service_id,
		   const union cm_address *dst)
{
	struct cm_id *id = cm_port_owner(cm, CM_ID_BOUND, service_id, dst, arrival->device);

	if (!id)
		return false;
	if (id->early) {
		free(id->early);
		id->early = NULL;
		return false;
	}
	id->early = malloc(sizeof(*id->early));
	if (id->early)
		*id->early = *arrival;
	return id->early;
}

void cm_early_hear(struct cm_id *id)
{
	struct cm_arrival *arrival = id->early;

	id->early = NULL;
	if (arrival)
		cm_on_req(id->cm, arrival);
	free(arrival);
}

void cm_early_refuse(struct cm_id *id)
{
	if (id->early)
		cm_refuse_req(id->cm, id->early, CM_REJ_INVALID_SERVICE_ID);
	free(id->early);
}
