// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keeps connection requests (REQ, SIDR_REQ) that arrive before a program listens. Some programs
 * send their port number to the peer as soon as they are bound, and listen afterwards. On a
 * network, the request arrives after that; here it may arrive before. So the first request of each
 * peer is kept for a bound id. If the peer repeats the request, and the id still does not listen,
 * the request is refused.
 *
 * Other programs, perftest among them, destroy the listener of their first connection, over which
 * they ask the peer to connect to the next listener. So a request for a port whose listener was
 * destroyed recently is kept for a while, in any port space.
 */
#include <stdlib.h>

#include "inside.h"

/* Limit of requests kept for one id. */
#define MOST_KEPT 16
/* How long requests are kept for a port without its listener; less than a peer's timeout. */
#define ABSENCE (400 * NSEC_PER_MSEC)
#define MOST_ABSENT 64

/* A port whose listener was destroyed, and the requests kept for it. */
struct cm_early_port {
	struct cm_early_port *next;
	u16 port;
	u64 until;
	struct cm_arrival *early;
};

static_assert((u32)SIDR_REQ_ID == (u32)CM_LOCAL_ID, "the asker's name is in one place");

static bool is_of(const struct cm_arrival *kept, const struct cm_arrival *arrival,
		  enum cm_attribute attribute)
{
	return mad_attribute(&kept->mad) == attribute &&
	       mad_get32(&kept->mad, CM_LOCAL_ID) == mad_get32(&arrival->mad, CM_LOCAL_ID) &&
	       !memcmp(kept->sgid, arrival->sgid, sizeof(kept->sgid));
}

static bool forget(struct cm_arrival **place, const struct cm_arrival *arrival,
		   enum cm_attribute attribute)
{
	struct cm_arrival *kept;

	for (; (kept = *place); place = &kept->next)
		if (is_of(kept, arrival, attribute)) {
			*place = kept->next;
			free(kept);
			return true;
		}
	return false;
}

bool cm_early_forget(struct cm *cm, const struct cm_arrival *arrival, enum cm_attribute attribute)
{
	struct cm_early_port *absence;
	struct cm_id *id;

	for (id = cm->bound; id; id = id->next_bound)
		if (forget(&id->early, arrival, attribute))
			return true;
	for (absence = cm->absent; absence; absence = absence->next)
		if (forget(&absence->early, arrival, attribute))
			return true;
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

static bool keep(struct cm_arrival **place, const struct cm_arrival *arrival)
{
	u32 kept = 0;

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

bool cm_early_keep(struct cm_id *id, const struct cm_arrival *arrival)
{
	return id->state == CM_ID_BOUND && keep(&id->early, arrival);
}

bool cm_early_keep_port(struct cm *cm, const struct cm_arrival *arrival, u64 service_id)
{
	struct cm_early_port *absence;

	for (absence = cm->absent; absence; absence = absence->next)
		if (absence->port == (u16)service_id && clock_now() < absence->until)
			return keep(&absence->early, arrival);
	return false;
}

static void refuse(struct cm *cm, const struct cm_arrival *arrival)
{
	if (mad_attribute(&arrival->mad) == CM_SIDR_REQ)
		cm_refuse_sidr(cm, arrival, CM_SIDR_UNSUPPORTED);
	else
		cm_refuse_req(cm, arrival, CM_REJ_INVALID_SERVICE_ID);
}

/* Passes all kept requests to `handle`, each after it was removed from the list. */
static void drain_early(struct cm *cm, struct cm_arrival **early,
			void (*handle)(struct cm *cm, const struct cm_arrival *arrival))
{
	struct cm_arrival *arrival;

	while ((arrival = *early)) {
		*early = arrival->next;
		handle(cm, arrival);
		free(arrival);
	}
}

void cm_early_refuse(struct cm_id *id)
{
	drain_early(id->cm, &id->early, refuse);
}

/* ----------------------------------------------------------- absent listeners */

void cm_early_leave(const struct cm_id *id)
{
	struct cm_early_port *absence = id->cm->absent;
	u32 count = 0;

	for (; absence; absence = absence->next)
		count++;
	if (id->state != CM_ID_LISTEN || count == MOST_ABSENT)
		return;
	absence = calloc(1, sizeof(*absence));
	if (!absence)
		return;
	absence->port = cm_address_port(&id->src);
	absence->until = clock_now() + ABSENCE;
	absence->next = id->cm->absent;
	id->cm->absent = absence;
}

static void end_early_port(struct cm *cm, struct cm_early_port **place,
			   void (*handle)(struct cm *cm, const struct cm_arrival *arrival))
{
	struct cm_early_port *absence = *place;

	*place = absence->next;
	drain_early(cm, &absence->early, handle);
	free(absence);
}

void cm_early_deliver(struct cm_id *id)
{
	struct cm_early_port **place = &id->cm->absent;

	drain_early(id->cm, &id->early, cm_receive);
	while (*place)
		if ((*place)->port == cm_address_port(&id->src))
			end_early_port(id->cm, place, cm_receive);
		else
			place = &(*place)->next;
}

u64 cm_early_run(struct cm *cm, u64 now)
{
	struct cm_early_port **place = &cm->absent;
	u64 next = NEVER;

	while (*place)
		if ((*place)->until <= now) {
			end_early_port(cm, place, refuse);
		} else {
			next = earlier(next, (*place)->until);
			place = &(*place)->next;
		}
	return next;
}
