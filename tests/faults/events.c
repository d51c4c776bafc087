// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Destroys objects that have completion events or asynchronous events. The events are unread,
 * read but not acknowledged, or there are none; another thread may be blocked in the call that
 * reads them. The destruction returns at once if all read events are acknowledged, and no event
 * of a destroyed object is read afterwards.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "side.h"

/* Time limit of a case, in seconds: SIGALRM ends a test that hangs. */
#define HANG 20

static struct ibv_context *context;

static void begin(const char *what)
{
	note("%s", what);
	alarm(HANG);
}

/* -------------------------------------------------- completion events, in order */

static bool readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* Opens two connected queue pairs in this process. Tests read the events of s[1]. */
static void open_pair(struct side s[2])
{
	pair_open(s, &(struct wish){ .context = context, .events = true });
}

/* Makes one completion with an unread event at s[1]. */
static void make_event(struct side s[2])
{
	CHECK_EQ(ibv_req_notify_cq(s[1].cq, 0), 0);
	pair_send(s, 64);
}

static void read_event(struct side *s)
{
	struct ibv_cq *cq;
	void *cq_context;

	CHECK_EQ(ibv_get_cq_event(s->channel, &cq, &cq_context), 0);
	CHECK(cq == s->cq && cq_context == s);
}

static void destroy_unread(unsigned int unread, unsigned int read, bool read_first)
{
	struct side s[2];
	unsigned int i;

	open_pair(s);
	for (i = 0; read_first && i < read; i++) {
		make_event(s);
		read_event(&s[1]);
	}
	for (i = 0; i < unread; i++)
		make_event(s);
	for (i = 0; !read_first && i < read; i++)
		read_event(&s[1]);
	ibv_ack_cq_events(s[1].cq, read);
	side_destroy_qp(&s[1]);
	side_destroy_cq(&s[1]);
	CHECK(!readable(s[1].channel->fd));
	pair_close(s);
}

/* Only the event of the second CQ remains on the channel when the first CQ is destroyed. */
static void destroy_one_of_two(unsigned int unread)
{
	struct side s[2];
	struct ibv_cq *other, *cq;
	struct ibv_qp *qp;
	struct side second;
	void *cq_context;

	open_pair(s);
	/* The second receiver has a CQ on the channel of the first. */
	side_open(&second, &(struct wish){ .context = context, .events = true });
	CHECK_EQ(ibv_destroy_qp(second.qp), 0);
	other = MADE(ibv_create_cq(context, 16, &second, s[1].channel, 0));
	qp = MADE(make_rc_qp(second.pd, other, 4));
	second.qp = qp;
	side_to_init(&second);

	for (unsigned int i = 0; i < unread; i++)
		make_event(s);
	/* A flushed receive makes an event without a peer. */
	CHECK_EQ(ibv_req_notify_cq(other, 0), 0);
	side_receive(&second, 7, 0, 8);
	qp_to_error(qp);
	CHECK_EQ(cq_wait(other).status, IBV_WC_WR_FLUSH_ERR);

	side_destroy_qp(&s[1]);
	side_destroy_cq(&s[1]);
	CHECK_EQ(ibv_get_cq_event(s[1].channel, &cq, &cq_context), 0);
	CHECK(cq == other && cq_context == &second);
	CHECK(!readable(s[1].channel->fd));
	ibv_ack_cq_events(other, 1);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	second.qp = NULL;
	CHECK_EQ(ibv_destroy_cq(other), 0);
	side_close(&second);
	pair_close(s);
}

/* ----------------------------------------------- a thread that sleeps in the call */

struct sleeper {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	void *cq_context;
	pid_t tid;
};

static void *sleep_in_get_cq_event(void *arg)
{
	struct sleeper *sleeper = arg;

	__atomic_store_n(&sleeper->tid, gettid(), __ATOMIC_RELEASE);
	CHECK_EQ(ibv_get_cq_event(sleeper->channel, &sleeper->cq, &sleeper->cq_context), 0);
	ibv_ack_cq_events(sleeper->cq, 1);
	return NULL;
}

/* Waits until the thread sleeps in the kernel. */
static void await_sleep(const pid_t *tid)
{
	uint64_t since = now_ns();
	char path[64], state = 0;
	FILE *file;

	while (state != 'S') {
		pid_t id = __atomic_load_n(tid, __ATOMIC_ACQUIRE);

		CHECK(!is_past(since, TIME_LIMIT * 1000000000ull));
		if (!id)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)id);
		file = MADE(fopen(path, "re"));
		CHECK_EQ(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
		fclose(file);
	}
}

static void destroy_while_asleep(unsigned int unread)
{
	struct sleeper sleeper = { 0 };
	struct side s[2];
	pthread_t thread;

	open_pair(s);
	for (unsigned int i = 0; i < unread; i++) {
		make_event(s);
		read_event(&s[1]);
	}
	sleeper.channel = s[1].channel;
	CHECK_EQ(pthread_create(&thread, NULL, sleep_in_get_cq_event, &sleeper), 0);
	await_sleep(&sleeper.tid);

	side_destroy_qp(&s[1]);
	ibv_ack_cq_events(s[1].cq, unread);
	side_destroy_cq(&s[1]);
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);

	/* The thread continues to sleep until another CQ of the channel has an event. */
	s[1].cq = MADE(ibv_create_cq(context, 16, &sleeper, s[1].channel, 0));
	s[1].qp = MADE(make_rc_qp(s[1].pd, s[1].cq, 4));
	side_to_init(&s[1]);
	CHECK_EQ(ibv_req_notify_cq(s[1].cq, 0), 0);
	side_receive(&s[1], 7, 0, 8);
	qp_to_error(s[1].qp);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(sleeper.cq == s[1].cq && sleeper.cq_context == &sleeper);
	pair_close(s);
}

/* ------------------------------------------------------- reading and destroying */

struct life {
	/* The CQ that has this structure as its cq_context exists. */
	bool exists;
	uint32_t read;
};

static struct {
	struct ibv_comp_channel *channel;
	bool stop;
	uint64_t events;
} race;

static void *read_events(void *arg)
{
	struct pollfd pfd = { .fd = race.channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	struct life *life;
	void *cq_context;

	while (!__atomic_load_n(&race.stop, __ATOMIC_ACQUIRE)) {
		if (poll(&pfd, 1, 1) != 1 || ibv_get_cq_event(race.channel, &cq, &cq_context))
			continue;
		life = cq_context;
		/* ibv_destroy_cq() waits until the event is acknowledged. */
		CHECK(__atomic_load_n(&life->exists, __ATOMIC_ACQUIRE));
		__atomic_fetch_add(&life->read, 1, __ATOMIC_RELAXED);
		race.events++;
		ibv_ack_cq_events(cq, 1);
	}
	return NULL;
}

/* Creates a CQ, makes up to three events by flushed receives, and destroys the CQ. */
static void one_life(struct ibv_pd *pd, struct ibv_mr *mr, struct life *life)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = 8, .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct side s = { .wish = { .type = IBV_QPT_RC } };
	unsigned int events = random_below(4);
	struct ibv_wc wc;

	life->exists = true;
	s.cq = MADE(ibv_create_cq(context, 16, life, race.channel, 0));
	s.qp = MADE(make_rc_qp(pd, s.cq, 8));
	side_to_init(&s);
	qp_to_error(s.qp);
	for (unsigned int i = 0; i < events; i++) {
		CHECK_EQ(ibv_req_notify_cq(s.cq, 0), 0);
		CHECK_EQ(ibv_post_recv(s.qp, &wr, &bad), 0);
		wc = cq_wait(s.cq);
		CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	}
	CHECK_EQ(ibv_destroy_qp(s.qp), 0);
	CHECK_EQ(ibv_destroy_cq(s.cq), 0);
	__atomic_store_n(&life->exists, false, __ATOMIC_RELEASE);
}

static void destroy_while_reading(void)
{
	unsigned int n = rounds(2000, 50000);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct life *life = calloc(n, sizeof(*life));
	static char buffer[64];
	struct ibv_mr *mr;
	pthread_t thread;

	CHECK(pd && life);
	mr = MADE(ibv_reg_mr(pd, buffer, sizeof(buffer), SIDE_ACCESS));
	race.channel = MADE(ibv_create_comp_channel(context));
	CHECK_EQ(fcntl(race.channel->fd, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(pthread_create(&thread, NULL, read_events, NULL), 0);
	for (unsigned int i = 0; i < n; i++) {
		if (!(i % 500))
			alarm(HANG);
		one_life(pd, mr, &life[i]);
	}
	__atomic_store_n(&race.stop, true, __ATOMIC_RELEASE);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(!readable(race.channel->fd));
	note("%u queues, %llu events read", n, (unsigned long long)race.events);
	CHECK(race.events > 0);
	CHECK_EQ(ibv_destroy_comp_channel(race.channel), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	free(life);
}

/* -------------------------------------------------------- asynchronous events */

static struct ibv_async_event take_async(struct ibv_context *ctx)
{
	struct ibv_async_event event;

	CHECK_EQ(ibv_get_async_event(ctx, &event), 0);
	return event;
}

/* s[1] refuses a write: IBV_EVENT_QP_ACCESS_ERR for its queue pair only. */
static void make_access_error(struct side s[2])
{
	s[0].peer.rkey ^= 1;
	side_post(&s[0], IBV_WR_RDMA_WRITE, 3, 0, 8);
	(void)side_expect(&s[0], 3, IBV_WC_REM_ACCESS_ERR);
}

static void await_async(struct ibv_context *ctx)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };

	CHECK_EQ(poll(&pfd, 1, TIME_LIMIT * 1000), 1);
}

enum reading { UNREAD, READ };

static void destroy_qp_with_events(bool srq, enum reading reading)
{
	struct wish wish = { .srq = srq };
	struct ibv_async_event event;
	struct side s[2];

	/* A separate context, so that it reads only its own events. */
	pair_open(s, &wish);
	CHECK_EQ(fcntl(s[1].context->async_fd, F_SETFL, O_NONBLOCK), 0);
	/* With an SRQ, there is also IBV_EVENT_QP_LAST_WQE_REACHED. */
	make_access_error(s);
	await_async(s[1].context);
	if (reading == READ) {
		event = take_async(s[1].context);
		CHECK(event.element.qp == s[1].qp);
		ibv_ack_async_event(&event);
	}
	side_destroy_qp(&s[1]);
	CHECK_EQ(ibv_get_async_event(s[1].context, &event), -1);
	CHECK_EQ(errno, EAGAIN);
	pair_close(s);
}

static void destroy_cq_with_event(enum reading reading)
{
	struct ibv_async_event event;
	struct side s[2];

	pair_open(s, NULL);
	CHECK_EQ(fcntl(s[1].context->async_fd, F_SETFL, O_NONBLOCK), 0);
	/* Overruns the CQ. */
	for (int n = 0; n <= s[1].cq->cqe; n++) {
		side_receive(&s[1], (uint64_t)n, 0, 8);
		CHECK_EQ(side_try_post(&s[0], IBV_WR_SEND, 0, 0, 8, IBV_SEND_SIGNALED), 0);
		(void)side_wait(&s[0]);
	}
	await_async(s[1].context);
	if (reading == READ)
		do {
			event = take_async(s[1].context);
			ibv_ack_async_event(&event);
		} while (event.event_type != IBV_EVENT_CQ_ERR);
	side_destroy_qp(&s[1]);
	side_destroy_cq(&s[1]);
	CHECK_EQ(ibv_get_async_event(s[1].context, &event), -1);
	CHECK_EQ(errno, EAGAIN);
	pair_close(s);
}

static void destroy_srq_with_event(enum reading reading)
{
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_async_event event;
	struct side s[2];

	pair_open(s, &(struct wish){ .srq = true });
	CHECK_EQ(fcntl(s[1].context->async_fd, F_SETFL, O_NONBLOCK), 0);
	side_receive(&s[1], 1, 0, 8);
	side_receive(&s[1], 2, 0, 8);
	CHECK_EQ(ibv_modify_srq(s[1].srq, &limit, IBV_SRQ_LIMIT), 0);
	side_post(&s[0], IBV_WR_SEND, 3, 0, 8);
	(void)side_expect(&s[0], 3, IBV_WC_SUCCESS);
	(void)side_expect(&s[1], 1, IBV_WC_SUCCESS);
	await_async(s[1].context);
	if (reading == READ) {
		event = take_async(s[1].context);
		CHECK_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
		CHECK(event.element.srq == s[1].srq);
		ibv_ack_async_event(&event);
	}
	side_destroy_qp(&s[1]);
	side_destroy_srq(&s[1]);
	CHECK_EQ(ibv_get_async_event(s[1].context, &event), -1);
	CHECK_EQ(errno, EAGAIN);
	pair_close(s);
}

struct async_sleeper {
	struct ibv_context *context;
	struct ibv_async_event event;
	pid_t tid;
};

static void *sleep_in_get_async_event(void *arg)
{
	struct async_sleeper *sleeper = arg;

	__atomic_store_n(&sleeper->tid, gettid(), __ATOMIC_RELEASE);
	sleeper->event = take_async(sleeper->context);
	ibv_ack_async_event(&sleeper->event);
	return NULL;
}

/* Destroys a queue pair while another thread sleeps in ibv_get_async_event(). */
static void destroy_while_asleep_for_async(void)
{
	struct async_sleeper sleeper = { 0 };
	struct side s[2], other[2];
	pthread_t thread;

	pair_open(s, NULL);
	sleeper.context = s[1].context;
	CHECK_EQ(pthread_create(&thread, NULL, sleep_in_get_async_event, &sleeper), 0);
	await_sleep(&sleeper.tid);
	side_destroy_qp(&s[1]);
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);

	pair_open(other, &(struct wish){ .context = s[1].context });
	make_access_error(other);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(sleeper.event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	CHECK(sleeper.event.element.qp == other[1].qp);
	pair_close(other);
	pair_close(s);
}

/* ibv_destroy_qp() waits until events of the queue pair that were read are acknowledged. */
static void *destroy_in_thread(void *arg)
{
	CHECK_EQ(ibv_destroy_qp(arg), 0);
	return NULL;
}

static void destroy_waits_for_acknowledgement(void)
{
	struct ibv_async_event event;
	struct side s[2];
	pthread_t thread;

	pair_open(s, NULL);
	make_access_error(s);
	event = take_async(s[1].context);
	CHECK_EQ(pthread_create(&thread, NULL, destroy_in_thread, s[1].qp), 0);
	/* vnetd has destroyed the queue pair, but ibv_destroy_qp() does not return. */
	await_status("[.devices[].qps[]] | length", "1");
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
	ibv_ack_async_event(&event);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	s[1].qp = NULL;
	pair_close(s);
}

int main(void)
{
	seed_random();
	context = open_device();
	begin("completion events: none, one, many unread");
	destroy_unread(0, 0, true);
	destroy_unread(1, 0, true);
	destroy_unread(50, 0, true);
	begin("completion events: read, and unread ones");
	destroy_unread(0, 5, true);
	destroy_unread(3, 5, true);
	destroy_unread(50, 20, false);
	begin("completion events: two queues, one channel");
	destroy_one_of_two(0);
	destroy_one_of_two(1);
	destroy_one_of_two(50);
	begin("a thread inside ibv_get_cq_event()");
	destroy_while_asleep(0);
	destroy_while_asleep(3);
	begin("a thread that reads while queues come and go");
	destroy_while_reading();
	begin("asynchronous events of queue pairs");
	for (int reading = UNREAD; reading <= READ; reading++) {
		destroy_qp_with_events(false, (enum reading)reading);
		destroy_qp_with_events(true, (enum reading)reading);
	}
	begin("asynchronous events of completion and shared receive queues");
	for (int reading = UNREAD; reading <= READ; reading++) {
		destroy_cq_with_event((enum reading)reading);
		destroy_srq_with_event((enum reading)reading);
	}
	begin("a thread inside ibv_get_async_event()");
	destroy_while_asleep_for_async();
	begin("an event that was read and not acknowledged");
	CHECK_EQ(ibv_close_device(context), 0);
	destroy_waits_for_acknowledgement();
	return 0;
}
