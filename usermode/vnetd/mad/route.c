// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Routes MADs to this port, or by queue pair 1 to a port of another node. MADs of queue pair 0
 * reach this port only, as there is no switch between nodes. A request without an answer is
 * resent, and then returned to the program as timed out.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "cm/inside.h"
#include "inside.h"

/* Limit of requests of a file that await an answer. */
#define MOST_REQUESTS 256u

/* Offset of the hop count in directed-route SMPs. */
enum { DIRECTED_HOPS = 7 };

struct request {
	struct request *next;
	struct umad_file *file;
	struct ib_user_mad_hdr hdr;
	struct mad mad;
	/* When to resend or time out. */
	u64 due;
};

static struct request *requests;

/* --------------------------------------------------------------------- sending */

static bool is_for_this_port(const struct device *device, u16 lid, const struct mad *mad)
{
	if (mad->byte[MAD_CLASS] == MAD_CLASS_DIRECTED)
		return !mad->byte[DIRECTED_HOPS] &&
		       (lid == NIC_LID_PERMISSIVE || lid == device->lid);
	return lid == device->lid;
}

static void transmit(struct device *device, u32 qpn, u16 lid, const struct mad *mad)
{
	if (is_for_this_port(device, lid, mad))
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

/* Whether a request of this agent with the same transaction id awaits an answer. */
static bool is_under_way(const struct umad_file *file, u32 agent, const struct mad *mad)
{
	for (const struct request *r = requests; r; r = r->next)
		if (r->file == file && r->hdr.id == agent &&
		    mad_get64(&r->mad, MAD_TID) == mad_get64(mad, MAD_TID))
			return true;
	return false;
}

static int await(struct umad_file *file, const struct ib_user_mad_hdr *hdr, const struct mad *mad)
{
	struct request *request;

	if (is_under_way(file, hdr->id, mad))
		return -EINVAL;
	if (file->nrequests == MOST_REQUESTS)
		return -ENOMEM;
	request = calloc(1, sizeof(*request));
	if (!request)
		return -ENOMEM;
	request->file = file;
	request->hdr = *hdr;
	request->mad = *mad;
	request->due = clock_now() + timeout_of(request);
	request->next = requests;
	requests = request;
	file->nrequests++;
	return 0;
}

int umad_send(struct umad_file *file, const struct ib_user_mad_hdr *hdr, const struct mad *mad)
{
	const struct umad_agent *agent = &file->agent[hdr->id];
	struct mad message = *mad;
	int error;

	/* A response keeps the transaction id of its request. */
	if (!mad_is_response(mad)) {
		mad_put32(&message, MAD_TID, agent->tid_high);
		error = hdr->timeout_ms ? await(file, hdr, &message) : 0;
		if (error)
			return error;
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

/* Resends a request. If it is answered at once, it is freed. */
static void repeat(struct request *request)
{
	const struct umad_file *file = request->file;

	request->hdr.retries--;
	transmit(file->file->device, file->agent[request->hdr.id].qpn, be16toh(request->hdr.lid),
		 &request->mad);
}

/* Returns a request to the program as timed out. false: its socket is full, retry later. */
static bool give_up(struct request *request)
{
	request->hdr.status = ETIMEDOUT;
	return umad_give(request->file, &request->hdr, &request->mad, MAD_HEADER_SIZE);
}

u64 umad_run(u64 now)
{
	struct request **place = &requests;
	u64 next = NEVER;

	while (*place) {
		struct request *request = *place;

		if (request->due <= now) {
			request->due = now + timeout_of(request);
			if (request->hdr.retries) {
				repeat(request);
			} else if (give_up(request)) {
				end(place);
				continue;
			}
			if (*place != request)
				continue;
		}
		next = earlier(next, request->due);
		place = &request->next;
	}
	return next;
}

/* ------------------------------------------------------------------- receiving */

static struct request **find_request(const struct device *device, const struct mad *answer)
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

static bool deliver_mad(struct umad_file *file, u32 agent, u16 from, const struct mad *mad)
{
	struct ib_user_mad_hdr hdr = {
		.id = agent,
		.length = umad_header_size(file) + MAD_SIZE,
		.qpn = htobe32(file->agent[agent].qpn),
		.lid = htobe16(from),
	};

	return umad_give(file, &hdr, mad, MAD_SIZE);
}

/*
 * Passes an answer to the program, and ends the request. If the program's socket is full, the
 * request remains, and is resent or times out.
 */
static void end_of(struct device *device, u16 from, const struct mad *answer)
{
	struct request **request = find_request(device, answer);

	if (*request && deliver_mad((*request)->file, (*request)->hdr.id, from, answer))
		end(request);
}

/* Builds the port's own answer. Returns false if it serves no such class. */
static bool answer_locally(struct device *device, struct mad *mad)
{
	if (mad_is_subnet(mad->byte[MAD_CLASS]))
		subnet_answer(device, mad);
	else if (mad->byte[MAD_CLASS] == MAD_CLASS_PERFORMANCE)
		performance_answer(device, mad);
	else
		return false;
	return true;
}

/* Whether the answer says that the port does not support the request. An agent may support it. */
static bool is_unsupported(const struct mad *answer)
{
	switch (mad_get16(answer, MAD_STATUS) & ~(u32)UMAD_STATUS_DIRECTION) {
	case UMAD_STATUS_BAD_VERSION:
	case UMAD_STATUS_NO_METHOD:
	case UMAD_STATUS_NO_ATTRIBUTE:
		return true;
	default:
		return false;
	}
}

void umad_arrive(struct device *device, u16 from, const struct mad *mad)
{
	bool subnet = mad_is_subnet(mad->byte[MAD_CLASS]), answered;
	struct mad answer = *mad;
	struct umad_file *file;
	u32 agent;

	if (mad->byte[MAD_VERSION] != MAD_BASE_VERSION)
		return;
	if (mad_is_response(mad)) {
		end_of(device, from, mad);
		return;
	}
	answered = answer_locally(device, &answer);
	file = answered && !is_unsupported(&answer) ? NULL : umad_find(device, mad, &agent);
	if (file)
		(void)deliver_mad(file, agent, from, mad);
	else if (answered)
		transmit(device, !subnet, from, &answer);
}
