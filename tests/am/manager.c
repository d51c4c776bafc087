// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests failures of wiring by rdma_cm. Strangers send invalid connection requests to an endpoint's
 * port, and requests go to endpoints that do not exist. They must be rejected or returned, and
 * valid endpoints must stay reachable.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "wirings/am_address.h"
#include "wirings/wiring_cm.h"

#include "check.h"

enum { ASK = 5, ANSWER };

static struct rdma_event_channel *channel;
static eb_t served;
static ep_t server;
static en_t name;
static int answers;

static void ask(void *token)
{
	OK(AM_Reply0(token, ANSWER));
}

static void answer(void *token)
{
	answers++;
}

static void poll_both(void)
{
	OK(AM_Poll(eb));
	OK(AM_Poll(served));
}

/* Returns the next event of @channel, and polls the bundles meanwhile. */
static struct rdma_cm_event *event(enum rdma_cm_event_type wanted)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *e;

	while (!poll(&fd, 1, 0))
		poll_both();
	IS(rdma_get_cm_event(channel, &e), 0);
	IS(e->event, wanted);
	return e;
}

/*
 * Sends a connection request with this private data. Returns the status in the endpoint's
 * rejection.
 */
static int knock(const void *data, size_t length)
{
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC }, to;
	struct rdma_conn_param param = { .private_data = data,
					 .private_data_len = (uint8_t)length,
					 .qp_num = 0x123456 };
	const struct cm_rejection *r;
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;
	int status;

	am_address_of_gid(name.gid, name.port, &none, &to);
	IS(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	IS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 5000), 0);
	rdma_ack_cm_event(event(RDMA_CM_EVENT_ADDR_RESOLVED));
	IS(rdma_resolve_route(id, 5000), 0);
	rdma_ack_cm_event(event(RDMA_CM_EVENT_ROUTE_RESOLVED));
	IS(rdma_connect(id, &param), 0);
	e = event(RDMA_CM_EVENT_REJECTED);
	CHECK(e->param.conn.private_data_len >= sizeof(*r));
	r = e->param.conn.private_data;
	IS(r->magic, CM_MAGIC);
	status = r->status;
	rdma_ack_cm_event(e);
	rdma_destroy_id(id);
	return status;
}

static void knock_all(void)
{
	struct cm_request r = { .magic = CM_MAGIC,
				.mapping = 4,
				.credits = 8,
				.to = name.incarnation,
				.from = 1,
				.to_endpoint = name.endpoint,
				.from_endpoint = 1 };
	uint8_t garbage[CM_REQUEST_ROOM];

	memset(garbage, 0xa5, sizeof(garbage));
	IS(knock(NULL, 0), EUNREACHABLE);
	IS(knock(garbage, sizeof(garbage)), EUNREACHABLE);
	r.index = 200;
	IS(knock(&r, sizeof(r)), EUNREACHABLE);
	r.index = 0;
	r.mapping = 9;
	r.from = 2;
	IS(knock(&r, sizeof(r)), EUNREACHABLE);
	r.mapping = 4;
	r.to++;
	IS(knock(&r, sizeof(r)), EBADENDPOINT);
}

/* Sends an asynchronous request, as this thread polls both sides. Returns true if it was sent. */
static bool sent(ep_t from, int index)
{
	int err = AM_RequestXferAsync0(from, index, 0, ASK, NULL, 0);

	if (err)
		IS(err, AM_ERR_NOT_SENT);
	poll_both();
	return !err;
}

/* Returns the status with which a request to @to is returned. */
static int returned(en_t to)
{
	int before = came_back.count;

	OK(AM_Map(ep, 1, to, 1));
	while (!sent(ep, 1))
		;
	while (came_back.count == before)
		poll_both();
	OK(AM_UnMap(ep, 1));
	return came_back.status;
}

static void send_astray(void)
{
	en_t to = name;

	to.incarnation++;
	IS(returned(to), EBADENDPOINT);
	/* No listener at that port. */
	to.incarnation++;
	to.port = htons(1);
	IS(returned(to), EUNREACHABLE);
	/* A name without a port: not wired by rdma_cm. */
	to.incarnation++;
	to.port = 0;
	IS(returned(to), EUNREACHABLE);
	/* An address that nobody has (RFC 5737). */
	to.port = name.port;
	inet_pton(AF_INET, "203.0.113.1", to.gid + 12);
	IS(returned(to), EUNREACHABLE);
}

/* Both endpoints connect to each other at the same time. */
static void ask_both(const en_t *mine)
{
	bool asked[2] = { false, false };

	OK(AM_Map(ep, 0, name, 1));
	OK(AM_Map(server, 0, *mine, 1));
	while (answers < 2) {
		asked[0] = asked[0] || sent(ep, 0);
		asked[1] = asked[1] || sent(server, 0);
		poll_both();
	}
}

/* An endpoint that is freed tells its peer, which is no failure. */
static void say_goodbye(void)
{
	int before = came_back.count;

	OK(AM_FreeEndpoint(server));
	OK(AM_Poll(eb));
	while (came_back.count == before)
		sent(ep, 0);
	IS(came_back.status, EBADENDPOINT);
}

static ep_t endpoint(eb_t bundle, en_t *itself)
{
	ep_t made;

	OK(AM_AllocateEndpoint(bundle, &made, itself));
	OK(AM_SetTag(made, 1));
	OK(AM_SetHandler(made, 0, keep_returned));
	OK(AM_SetHandler(made, ASK, ask));
	OK(AM_SetHandler(made, ANSWER, answer));
	return made;
}

int main(void)
{
	en_t mine;

	OK(AM_SetOption("wiring", "cm"));
	OK(AM_SetOption("connect-timeout", "500"));
	OK(AM_SetOption("keepalive", "50"));
	OK(AM_Init());
	OK(AM_AllocateBundle(AM_SEQ, &eb));
	OK(AM_AllocateBundle(AM_SEQ, &served));
	ep = endpoint(eb, &mine);
	server = endpoint(served, &name);
	channel = rdma_create_event_channel();
	CHECK(channel);
	knock_all();
	send_astray();
	ask_both(&mine);
	say_goodbye();
	rdma_destroy_event_channel(channel);
	return 0;
}
