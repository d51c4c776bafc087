// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Kills vnetd under traffic and checks what its clients see. Every client reads
 * IBV_EVENT_DEVICE_FATAL, its outstanding requests are flushed, blocked calls return, all
 * objects can be destroyed, and no client hangs or crashes. A device that is opened afterwards,
 * also by the same process, is a new one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "side.h"

/* What the two clients do when vnetd is killed. */
enum traffic {
	/* RDMA writes, one at a time. */
	WRITES,
	/* Messages in both directions, completions polled. */
	PING_PONG,
	/* Each client has a request outstanding for which the peer posts no receive. */
	RNR_WAIT,
	/* Both clients wait in ibv_get_cq_event(). */
	ASLEEP,
	/* No requests, only posted receives. */
	QUIET,
	TRAFFICS,
};

static const char *const traffic_names[] = { "writes", "ping-pong", "RNR wait", "asleep", "quiet" };

#define DEPTH 16

/* ---------------------------------------------------------------- one client */

struct client {
	struct side s;
	enum traffic traffic;
	bool requester;
	/* Sets RDMAV_ALLOW_DISASSOC_DESTROY. */
	bool lets_go;
	/* Socket to the test process, which kills vnetd. */
	int sock;
	bool ready;
	uint64_t rounds;
};

static void *watch_async(void *arg)
{
	struct client *c = arg;
	struct ibv_async_event event;

	do {
		CHECK_EQ(ibv_get_async_event(c->s.context, &event), 0);
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_DEVICE_FATAL);
	return NULL;
}

static bool is_flushed(const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS)
		return false;
	CHECK_EQ(wc->status, IBV_WC_WR_FLUSH_ERR);
	return true;
}

/* Tells the test process, once, that traffic is running and vnetd may be killed. */
static void tell_ready(struct client *c)
{
	char byte = 0;

	if (!c->ready)
		tell(c->sock, &byte, 1);
	c->ready = true;
}

static void write_until_flushed(struct client *c)
{
	struct ibv_wc wc;

	do {
		side_post(&c->s, IBV_WR_RDMA_WRITE, 1, 0, 4096);
		wc = side_wait(&c->s);
		if (++c->rounds == 1000)
			tell_ready(c);
	} while (!is_flushed(&wc));
}

static void ping_pong_until_flushed(struct client *c)
{
	bool mine = c->requester;
	struct ibv_wc wc;

	for (;;) {
		if (mine)
			side_post(&c->s, IBV_WR_SEND, 1, 0, 64);
		mine = false;
		wc = side_wait(&c->s);
		if (is_flushed(&wc))
			return;
		if (wc.opcode != IBV_WC_RECV)
			continue;
		side_receive(&c->s, 2, 0, 64);
		mine = true;
		if (++c->rounds == 1000)
			tell_ready(c);
	}
}

/* Polls without a system call; the flush completion must arrive nevertheless. */
static void await_flush(struct client *c)
{
	struct ibv_wc wc;

	tell_ready(c);
	wc = side_wait(&c->s);
	CHECK(is_flushed(&wc));
}

static void sleep_until_flushed(struct client *c)
{
	struct ibv_cq *cq;
	void *context;
	struct ibv_wc wc;

	CHECK_EQ(ibv_req_notify_cq(c->s.cq, 0), 0);
	tell_ready(c);
	/* The call returns an event, or fails because the device is gone. */
	if (!ibv_get_cq_event(c->s.channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	wc = side_wait(&c->s);
	CHECK(is_flushed(&wc));
}

static void post_receives(struct client *c)
{
	for (int i = 0; i < DEPTH; i++)
		side_receive(&c->s, 2, 0, 64);
}

static void run_traffic(struct client *c)
{
	switch (c->traffic) {
	case WRITES:
		write_until_flushed(c);
		return;
	case PING_PONG:
		ping_pong_until_flushed(c);
		return;
	case RNR_WAIT:
		if (c->requester)
			side_post(&c->s, IBV_WR_SEND, 1, 0, 64);
		else /* The responder needs a request of its own that can be flushed. */
			side_post(&c->s, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 0, 64);
		await_flush(c);
		return;
	case ASLEEP:
		sleep_until_flushed(c);
		return;
	default:
		await_flush(c);
		return;
	}
}

/*
 * Checks that the remaining completions are flushes, and that a request posted now is flushed,
 * too.
 */
static void check_flushed(struct client *c)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(c->s.cq, 1, &wc) == 1)
		CHECK(is_flushed(&wc));
	if (!side_try_post(&c->s, IBV_WR_SEND, 9, 0, 8, IBV_SEND_SIGNALED)) {
		wc = side_wait(&c->s);
		CHECK(is_flushed(&wc));
	}
}

/*
 * Verbs that query or create fail with EIO. Verbs that destroy fail with EIO as well, or
 * succeed if RDMAV_ALLOW_DISASSOC_DESTROY is set, as for hardware that was removed.
 */
static void check_calls(struct client *c)
{
	int gone = getenv("RDMAV_ALLOW_DISASSOC_DESTROY") ? 0 : EIO;
	struct ibv_device_attr attr;
	struct side *s = &c->s;

	CHECK_EQ(ibv_query_device(s->context, &attr), EIO);
	CHECK(!ibv_alloc_pd(s->context));
	CHECK_EQ(errno, EIO);
	CHECK(!ibv_create_cq(s->context, 8, NULL, NULL, 0));
	CHECK_EQ(errno, EIO);
	CHECK_EQ(ibv_destroy_qp(s->qp), gone);
	CHECK_EQ(ibv_destroy_cq(s->cq), gone);
	/* libibverbs counts the CQs of a channel, and this CQ was not destroyed in the EIO case. */
	CHECK_EQ(ibv_destroy_comp_channel(s->channel), gone ? EBUSY : 0);
	CHECK_EQ(ibv_dereg_mr(s->mr), gone);
	CHECK_EQ(ibv_dealloc_pd(s->pd), gone);
	CHECK_EQ(ibv_close_device(s->context), 0);
}

/* Connects two queue pairs of this process. The first client to open the device starts a daemon. */
static void use_new_device(void)
{
	struct side s[2];

	pair_open(s, NULL);
	pair_send(s, 64);
	pair_close(s);
}

static void client_body(int sock, void *arg)
{
	struct client c = *(struct client *)arg;
	pthread_t watcher;
	char byte;

	c.sock = sock;
	if (c.lets_go)
		setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
	side_open(&c.s, &(struct wish){ .events = true });
	if (c.traffic != RNR_WAIT)
		post_receives(&c);
	side_meet(&c.s, sock);
	CHECK_EQ(pthread_create(&watcher, NULL, watch_async, &c), 0);
	run_traffic(&c);
	CHECK_EQ(pthread_join(watcher, NULL), 0);
	check_flushed(&c);
	check_calls(&c);
	hear(sock, &byte, 1);
	use_new_device();
}

/* -------------------------------------------------------------- the test process */

static void connect_both(struct helper h[2])
{
	struct address a[2];

	for (int i = 0; i < 2; i++)
		hear(h[i].sock, &a[i], sizeof(a[i]));
	for (int i = 0; i < 2; i++)
		tell(h[i].sock, &a[1 - i], sizeof(a[i]));
	for (int i = 0; i < 2; i++)
		meet(h[i].sock);
}

static void one_death(enum traffic traffic, int sig)
{
	struct client what[2] = {
		{ .traffic = traffic, .requester = true, .lets_go = random_below(2) },
		{ .traffic = traffic, .lets_go = random_below(2) },
	};
	char byte = 0;
	struct helper h[2];
	uint64_t delay = random_below(3000000);
	pid_t daemon;

	helper_start(&h[0], "requester", client_body, &what[0]);
	helper_start(&h[1], "responder", client_body, &what[1]);
	connect_both(h);
	for (int i = 0; i < 2; i++)
		hear(h[i].sock, &byte, 1);
	daemon = atoi(ask_status(".pid"));
	CHECK(daemon > 1);
	for (uint64_t since = now_ns(); !is_past(since, delay);)
		;
	CHECK_EQ(kill(daemon, sig), 0);
	for (int i = 0; i < 2; i++)
		tell(h[i].sock, &byte, 1);
	for (int i = 0; i < 2; i++)
		helper_join(&h[i]);
	CHECK(atoi(ask_status(".pid")) != daemon);
}

int main(void)
{
	unsigned int n = rounds(2, 40);

	seed_random();
	for (unsigned int i = 0; i < n; i++)
		for (int traffic = 0; traffic < TRAFFICS; traffic++) {
			note("%s", traffic_names[traffic]);
			/* SIGTERM is the regular way to stop vnetd. */
			one_death((enum traffic)traffic, i % 2 ? SIGTERM : SIGKILL);
		}
	return 0;
}
