// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where management datagrams go: to this port, or by queue pair 1 to another node's.
 * Those of queue pair 0 reach this port only: between nodes there is no switch that
 * would carry them. Who asks is told when nobody has answered in time.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "../cm/cm.h"
#include "umad.h"

/* What a file may wait for at a time. */
#define MOST_REQUESTS 1024u

/* In directed routes: how many hops there are. */
enum { DIRECTED_HOPS = 7 };

struct request {
	struct request *next;
	struct umad_file *file;
	struct ib_user_mad_hdr hdr;
	struct mad mad;
	/* Repeat it, or give up. */
	u64 due;
};

static struct request *requests;

/* ------------------------------------------------------------------ on the way */

static bool goes_here(const struct device *device, u16 lid, const struct mad *mad)
{
	if (mad->byte[MAD_CLASS] == MAD_CLASS_DIRECTED)
		return !mad->byte[DIRECTED_HOPS] &&
		       (lid == NIC_LID_PERMISSIVE || lid == device->lid);
	return lid == device->lid;
}

static void transmit(struct device *device, u32 qpn, u16 lid, const struct mad *mad)
{
	if (goes_here(device, lid, mad))
		umad_arrive(device, (u16)device->lid, mad);
	else if (qpn && nic_lid_is_unicast(lid))
		cm_qp1_send_lid(device->daemon->cm, device, lid, mad);
}

static u64 timeout_of(const struct request *request)
{
	return request->hdr.timeout_ms * NSEC_PER_MSEC;
}

static void end(struct request **place)
{
	struct request *request = *place;

	*place = request->next;
	request->file->nrequests--;
	free(request);
}

int umad_send(struct umad_file *file, const struct ib_user_mad_hdr *hdr, const struct mad *mad)
{
	const struct umad_agent *agent = &file->agent[hdr->id];
	struct mad message = *mad;
	struct request *request;

	/* Who answers keeps the number. */
	if (!mad_is_response(mad))
		mad_put32(&message, MAD_TID, agent->tid_high);
	if (hdr->timeout_ms && !mad_is_response(mad)) {
		if (file->nrequests == MOST_REQUESTS)
			return -ENOMEM;
		request = calloc(1, sizeof(*request));
		if (!request)
			return -ENOMEM;
		request->file = file;
		request->hdr = *hdr;
		request->mad = message;
		request->due = clock_now() + timeout_of(request);
		request->next = requests;
		requests = request;
		file->nrequests++;
	}
	transmit(file->file->device, agent->qpn, be16toh(hdr->lid), &message);
	return 0;
}

void umad_forget(struct umad_file *file, u32 agent)
{
	struct request **place = &requests;

	while (*place) {
		if ((*place)->file == file && (agent == UMAD_AGENTS || (*place)->hdr.id == agent))
			end(place);
		else
			place = &(*place)->next;
	}
}

u64 umad_run(struct daemon *daemon, u64 now)
{
	struct request **place = &requests;
	u64 next = NEVER;

	(void)daemon;
	while (*place) {
		struct request *request = *place;

		if (request->due <= now && !request->hdr.retries) {
			request->hdr.status = ETIMEDOUT;
			umad_give(request->file, &request->hdr, &request->mad, MAD_HEADER_SIZE);
			end(place);
			continue;
		}
		if (request->due <= now) {
			request->hdr.retries--;
			request->due = now + timeout_of(request);
			transmit(request->file->file->device,
				 request->file->agent[request->hdr.id].qpn,
				 be16toh(request->hdr.lid), &request->mad);
			/* The answer may have come, and taken it along. */
			return now;
		}
		next = earlier(next, request->due);
		place = &request->next;
	}
	return next;
}

/* -------------------------------------------------------------------- arriving */

static struct request **asked(const struct device *device, const struct mad *answer)
{
	struct request **place = &requests;

	for (; *place; place = &(*place)->next) {
		const struct request *request = *place;

		if (request->file->file->device == device &&
		    mad_get64(&request->mad, MAD_TID) == mad_get64(answer, MAD_TID) &&
		    request->mad.byte[MAD_CLASS] == answer->byte[MAD_CLASS])
			break;
	}
	return place;
}

static void give(struct umad_file *file, u32 agent, u16 from, const struct mad *mad)
{
	struct ib_user_mad_hdr hdr = {
		.id = agent,
		.length = umad_header_size(file) + MAD_SIZE,
		.qpn = htobe32(file->agent[agent].qpn),
		.lid = htobe16(from),
	};

	umad_give(file, &hdr, mad, MAD_SIZE);
}

/* What the port itself answers for. */
static bool answer_here(struct device *device, struct mad *mad)
{
	switch (mad->byte[MAD_CLASS]) {
	case MAD_CLASS_SUBNET:
	case MAD_CLASS_DIRECTED:
		subnet_answer(device, mad);
		return true;
	case MAD_CLASS_PERFORMANCE:
		performance_answer(device, mad);
		return true;
	default:
		return false;
	}
}

void umad_arrive(struct device *device, u16 from, const struct mad *mad)
{
	struct mad answer = *mad;
	struct request **request;
	struct umad_file *file;
	u32 agent;

	if (mad->byte[MAD_VERSION] != MAD_BASE_VERSION)
		return;
	if (mad_is_response(mad)) {
		request = asked(device, mad);
		if (!*request)
			return;
		give((*request)->file, (*request)->hdr.id, from, mad);
		end(request);
		return;
	}
	file = umad_find(device, mad, &agent);
	if (file)
		give(file, agent, from, mad);
	else if (answer_here(device, &answer))
		transmit(device, mad->byte[MAD_CLASS] == MAD_CLASS_PERFORMANCE, from, &answer);
}
