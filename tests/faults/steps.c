// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Kills or stops a process in the middle of an operation, and checks its peer. The process is
 * stopped at a numbered step between taking and releasing a lock in the firmware
 * (libvnet-preload-steps.so), or at a random instant. Its peer checks that nothing is lost,
 * duplicated or blocked.
 *
 *   steps kill|stop|resume STEP COUNT   when the process reaches the step the COUNTth time
 *   steps kill|stop|resume random N     at N random instants
 *
 * Status 3: the process ended before it reached the step so often.
 *
 * stop: all objects are destroyed while the process is stopped; resume: the process continues,
 * and all of its requests succeed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "victim.h"

/* 4.2 ms for each of three attempts. */
#define TIMEOUT 10
#define RETRY_CNT 2
#define STEP_MESSAGES 24
#define RESUMED_MESSAGES 400
/* Many more than can be sent in the few ms before the random instant. */
#define RANDOM_MESSAGES 10000
/* In ns; the retries of a request take 13 ms. */
#define END_OF_RETRIES 500000000ull

/* Exit status: the process ended before it reached the step. */
#define NEVER_CAME_THERE 3

enum what { KILL, STOP, RESUME };

struct survivor {
	struct side s[SIDES];
	struct ibv_mr *window_mr;
	struct ibv_mw *window;
	/* Messages received, and receives posted. */
	uint32_t got[QUEUES];
	uint32_t posted[QUEUES];
	struct helper victim;
	struct progress *progress;
	/* Messages that the victim sends to each queue; 0: no limit. */
	uint32_t messages;
};

/* --------------------------------------------------------------- beginning */

static void post_receive(struct survivor *v, int queue)
{
	uint32_t n = v->posted[queue]++;

	side_receive(&v->s[queue], n, (n % SLOTS) * SLOT_SIZE, SLOT_SIZE);
}

static void bind_window(struct survivor *v)
{
	struct side *s = &v->s[PLAIN];
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	wr.bind_mw.mw = v->window;
	wr.bind_mw.rkey = ibv_inc_rkey(v->window->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = v->window_mr,
		.addr = (uintptr_t)s->buffer,
		.length = 4096,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
	(void)side_expect(s, 0, IBV_WC_SUCCESS);
	v->window->rkey = wr.bind_mw.rkey;
}

/* Opens a window of the survivor, which the victim invalidates by SEND_WITH_INV. */
static void open_window(struct survivor *v)
{
	struct side *s = &v->s[PLAIN];

	v->window_mr =
		MADE(ibv_reg_mr(s->pd, s->buffer, s->length, SIDE_ACCESS | IBV_ACCESS_MW_BIND));
	v->window = MADE(ibv_alloc_mw(s->pd, IBV_MW_TYPE_2));
	bind_window(v);
}

static void survivor_begin(struct survivor *v, uint32_t messages, const char *const *environment)
{
	struct wish wish = {
		.length = SURVIVOR_SIZE,
		.events = true,
		.depth = 2 * SLOTS,
		.timeout = TIMEOUT,
		.retry_cnt = RETRY_CNT,
	};
	struct orders orders = {
		.messages = messages,
		.timeout = TIMEOUT,
		.retry_cnt = RETRY_CNT,
	};

	memset(v, 0, sizeof(*v));
	v->messages = messages;
	victim_start(&v->victim, &v->progress, environment);
	tell(v->victim.sock, &orders, sizeof(orders));
	for (int i = 0; i < SIDES; i++) {
		wish.srq = i == SHARED;
		side_open(&v->s[i], &wish);
		CHECK_EQ(fcntl(v->s[i].channel->fd, F_SETFL, O_NONBLOCK), 0);
		for (int n = 0; n < SLOTS && i < QUEUES; n++)
			post_receive(v, i);
		side_meet(&v->s[i], v->victim.sock);
	}
	open_window(v);
	for (int i = 0; i < QUEUES; i++)
		CHECK_EQ(ibv_req_notify_cq(v->s[i].cq, 0), 0);
}

/*
 * Sends the rkey of the window, which the victim's first message invalidates: the signal to
 * start.
 */
static void survivor_go(struct survivor *v)
{
	tell(v->victim.sock, &v->window->rkey, sizeof(v->window->rkey));
}

/* ----------------------------------------------------------------- service */

static void take_message(struct survivor *v, int queue, const struct ibv_wc *wc)
{
	uint32_t n = v->got[queue];
	const uint8_t *slot = v->s[queue].buffer + (n % SLOTS) * SLOT_SIZE;

	if (wc->status || wc->opcode != IBV_WC_RECV || wc->wr_id != n ||
	    wc->byte_len != message_length(n))
		FAIL("queue %d, message %u: status %d, opcode %d, request %llu, %u bytes", queue, n,
		     (int)wc->status, (int)wc->opcode, (unsigned long long)wc->wr_id, wc->byte_len);
	if (!is_filled(slot, wc->byte_len, n))
		FAIL("queue %d, message %u has wrong bytes", queue, n);
	v->got[queue]++;
	post_receive(v, queue);
}

static unsigned int drain(struct survivor *v, int queue)
{
	unsigned int n = 0;
	struct ibv_wc wc;

	while (ibv_poll_cq(v->s[queue].cq, 1, &wc) == 1) {
		take_message(v, queue, &wc);
		n++;
	}
	return n;
}

/* Polls a CQ only after an event, so a missing event is noticed. */
static bool serve_queue(struct survivor *v, int queue)
{
	struct side *s = &v->s[queue];
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(s->channel, &cq, &context)) {
		CHECK_EQ(errno, EAGAIN);
		return false;
	}
	CHECK(cq == s->cq);
	ibv_ack_cq_events(cq, 1);
	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	(void)drain(v, queue);
	return true;
}

static bool serve(struct survivor *v)
{
	bool some = false;

	for (int i = 0; i < QUEUES; i++)
		some |= serve_queue(v, i);
	return some;
}

/* ------------------------------------------------------------------- death */

static void await_burial(void)
{
	await_status(".clients | length", "1");
}

/* Checks that the count is what the victim has seen, or one more: the operation in progress. */
static void check_count(const char *what, uint32_t is, uint32_t known)
{
	if (is != known && is != known + 1)
		FAIL("%s: %u, where the victim knew of %u", what, is, known);
}

static void check_messages(struct survivor *v)
{
	while (serve(v))
		;
	for (int i = 0; i < QUEUES; i++) {
		if (drain(v, i))
			FAIL("queue %d has completions of which no event told", i);
		check_count("messages", v->got[i], v->progress->sent[i]);
	}
}

/*
 * The window may be bound, invalid or being invalidated when the victim dies. The survivor must
 * be able to invalidate and bind it again.
 */
static void check_window(struct survivor *v)
{
	struct side *s = &v->s[PLAIN];
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = v->window->rkey,
	};
	struct ibv_send_wr *bad;

	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
	(void)side_expect(s, 0, IBV_WC_SUCCESS);
	bind_window(v);
}

/* Checks that all remaining receives are flushed in order. */
static void check_flush(struct survivor *v)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct side *s = &v->s[PLAIN];

	CHECK_EQ(ibv_modify_qp(s->qp, &attr, IBV_QP_STATE), 0);
	for (uint32_t n = v->got[PLAIN]; n < v->posted[PLAIN]; n++)
		(void)side_expect(s, n, IBV_WC_WR_FLUSH_ERR);
	side_expect_silence(s, 1000000);
}

/* Another queue pair uses the shared receive queue, from its present position on. */
static void check_shared(struct survivor *v)
{
	struct side *s = &v->s[SHARED], sender;
	struct address mine, theirs;

	CHECK_EQ(ibv_destroy_qp(s->qp), 0);
	s->qp = MADE(ibv_create_qp(s->pd, &(struct ibv_qp_init_attr){
						  .qp_type = IBV_QPT_RC,
						  .send_cq = s->cq,
						  .recv_cq = s->cq,
						  .srq = s->srq,
						  .cap = { .max_send_wr = 1, .max_send_sge = 1 },
					  }));
	side_to_init(s);
	side_open(&sender, NULL);
	mine = side_address(s);
	theirs = side_address(&sender);
	side_connect(s, &theirs);
	side_connect(&sender, &mine);
	for (int i = 0; i < 2 * SLOTS; i++) {
		uint32_t n = v->got[SHARED];
		struct ibv_wc wc;

		fill(sender.buffer, message_length(n), n);
		side_post(&sender, IBV_WR_SEND, n, 0, message_length(n));
		(void)side_expect(&sender, n, IBV_WC_SUCCESS);
		wc = side_wait(s);
		take_message(v, SHARED, &wc);
	}
	side_close(&sender);
}

/* Other queue pairs can still do atomics on the victim's word. */
static void check_word(struct survivor *v)
{
	struct side *s = &v->s[PLAIN], adder[2];
	uint64_t *word = (uint64_t *)(void *)(s->buffer + WORD_AT);
	struct ibv_mr *mr;

	check_count("the word", (uint32_t)*word, v->progress->added);
	pair_open(adder, NULL);
	mr = MADE(ibv_reg_mr(adder[1].pd, s->buffer, s->length, SIDE_ACCESS));
	adder[0].peer.rkey = mr->rkey;
	adder[0].peer.addr = (uintptr_t)s->buffer + WORD_AT;
	*word = 41;
	side_post(&adder[0], IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8);
	(void)side_expect(&adder[0], 1, IBV_WC_SUCCESS);
	CHECK_EQ(*word, 42);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	pair_close(adder);
}

static void survivor_end(struct survivor *v)
{
	for (int i = 0; i < SIDES; i++)
		side_destroy_qp(&v->s[i]);
	CHECK_EQ(ibv_dealloc_mw(v->window), 0);
	CHECK_EQ(ibv_dereg_mr(v->window_mr), 0);
	for (int i = 0; i < SIDES; i++)
		side_close(&v->s[i]);
	close(v->victim.sock);
}

static void after_death(struct survivor *v)
{
	await_burial();
	check_messages(v);
	check_window(v);
	check_flush(v);
	check_shared(v);
	check_word(v);
	if (v->progress->refused)
		CHECK_EQ(side_state(&v->s[REFUSED]), IBV_QPS_ERR);
	survivor_end(v);
}

/* --------------------------------------------------------------------- stop */

/* Traffic of a pair that is not connected to the victim. */
static void check_unrelated(struct side pair[2])
{
	for (uint64_t n = 0; n < 200; n++) {
		side_receive(&pair[1], n, 0, 4096);
		side_post(&pair[0], IBV_WR_SEND, n, 0, n % 2 ? 4096 : 16);
		(void)side_expect(&pair[0], n, IBV_WC_SUCCESS);
		(void)side_expect(&pair[1], n, IBV_WC_SUCCESS);
	}
}

/* Whether "vnet status" says that the process holds a lock of this queue pair. */
static bool holds_lock_of(pid_t pid, const struct side *s)
{
	char question[256];

	snprintf(question, sizeof(question),
		 ".devices[].qps[] | select(.qpn == %u) | .holder == %d", s->qp->qp_num, (int)pid);
	return !strcmp(ask_status(question), "true");
}

/*
 * Waits for the completion of a request of the survivor, and takes messages meanwhile. Returns
 * false if the completion cannot come, because the stopped process holds a lock of this queue
 * pair.
 */
static bool own_completion(struct survivor *v, int queue, struct ibv_wc *wc)
{
	uint64_t since = now_ns();

	for (;;) {
		while (ibv_poll_cq(v->s[queue].cq, 1, wc) != 1) {
			if (!is_past(since, END_OF_RETRIES))
				continue;
			if (holds_lock_of(v->victim.pid, &v->s[queue]))
				return false;
			if (is_past(since, TIME_LIMIT * 1000000000ull))
				FAIL("a request to a stopped process does not end");
		}
		if (wc->opcode != IBV_WC_RECV || wc->status)
			return true;
		take_message(v, queue, wc);
	}
}

/* The least time after which a request without an answer fails, in ns (InfiniBand 11.6.2). */
static uint64_t all_retries(const struct side *s)
{
	return (4096ull << s->wish.timeout) * (s->wish.retry_cnt + 1u);
}

/* Requests to the stopped process succeed, or fail with RETRY_EXC_ERR, but not too early. */
static void check_connected(struct survivor *v)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_SEND };
	uint64_t since;
	struct ibv_wc wc;

	for (int i = 0; i < QUEUES; i++)
		for (size_t op = 0; op < 2; op++) {
			since = now_ns();
			side_post(&v->s[i], opcodes[op], 1ull << 32, AREA_AT, 8);
			if (!own_completion(v, i, &wc))
				break;
			if (wc.status == IBV_WC_SUCCESS)
				continue;
			if (wc.status != IBV_WC_RETRY_EXC_ERR)
				FAIL("a request to a stopped process: %s",
				     ibv_wc_status_str(wc.status));
			CHECK(is_past(since, all_retries(&v->s[i])));
			break;
		}
}

static void *end_in_thread(void *arg)
{
	survivor_end(arg);
	return NULL;
}

/* Whether "vnet status" lists a waiting command, and names the process as the holder. */
static bool waits_for(pid_t pid)
{
	char question[256];

	snprintf(question, sizeof(question),
		 "(.waiting | length > 0) and ([.devices[], .waiting[] | .. | .holder? // empty]"
		 " | index(%d) != null)",
		 (int)pid);
	return !strcmp(ask_status(question), "true");
}

/*
 * Destroys all objects while the process is stopped. A destruction that needs its locks waits,
 * and "vnet status" names it. Then the process is resumed.
 */
static void destroy_under(struct survivor *v)
{
	uint64_t since = now_ns();
	bool told = false;
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, end_in_thread, v), 0);
	while (pthread_tryjoin_np(thread, NULL)) {
		if (!told && waits_for(v->victim.pid)) {
			told = true;
			CHECK_EQ(kill(v->victim.pid, SIGCONT), 0);
		}
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("destroying %s",
			     told ? "does not end, though the stopped process runs" :
				    "waits, and status does not say for whom");
	}
	if (!told)
		CHECK_EQ(kill(v->victim.pid, SIGCONT), 0);
}

/* Waits until the victim exits with status 0. */
static void await_end(struct survivor *v)
{
	uint64_t since = now_ns();
	int status;
	pid_t pid;

	while (!(pid = waitpid(v->victim.pid, &status, WNOHANG))) {
		if (v->s[PLAIN].qp)
			(void)serve(v);
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("the victim does not end");
	}
	CHECK_EQ(pid, v->victim.pid);
	CHECK_EQ(status, 0);
}

static void after_stop(struct survivor *v)
{
	struct side pair[2];

	pair_open(pair, NULL);
	check_unrelated(pair);
	check_connected(v);
	check_unrelated(pair);
	destroy_under(v);
	await_end(v);
	pair_close(pair);
	await_burial();
}

/* Resumes the process, and checks that no message was lost and no request failed. */
static void after_pause(struct survivor *v)
{
	struct side pair[2];

	pair_open(pair, NULL);
	check_unrelated(pair);
	pair_close(pair);
	CHECK_EQ(kill(v->victim.pid, SIGCONT), 0);
	await_end(v);
	for (int i = 0; i < QUEUES; i++)
		CHECK_EQ(v->progress->sent[i], v->messages);
	after_death(v);
}

/* --------------------------------------------------------------------- main */

/* Serves the victim until it was killed or stopped. Exits with NEVER_CAME_THERE if it exited. */
static void serve_until(struct survivor *v, enum what what)
{
	uint64_t since = now_ns();
	int status;

	for (;;) {
		pid_t pid = waitpid(v->victim.pid, &status, WNOHANG | WUNTRACED);

		CHECK(pid >= 0);
		if (pid)
			break;
		(void)serve(v);
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("the victim neither ends nor stops");
	}
	if (what == KILL ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : WIFSTOPPED(status))
		return;
	if (!status) {
		note("the victim never came there");
		_exit(NEVER_CAME_THERE);
	}
	FAIL("the victim ended otherwise: status %#x", status);
}

static void judge(struct survivor *v, enum what what)
{
	if (what == KILL)
		after_death(v);
	else if (what == STOP)
		after_stop(v);
	else
		after_pause(v);
}

static int signal_of(enum what what)
{
	return what == KILL ? SIGKILL : SIGSTOP;
}

static void at_step(enum what what, const char *step, const char *count)
{
	char plan[64], preload[4096];
	const char *const environment[] = { plan, preload, NULL };
	struct survivor v;

	snprintf(plan, sizeof(plan), "VNET_TEST_STEP=%s:%d:%s", step, signal_of(what), count);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/lib/libvnet-preload-steps.so",
		 getenv("VNET_TREE"));
	survivor_begin(&v, what == RESUME ? RESUMED_MESSAGES : STEP_MESSAGES, environment);
	survivor_go(&v);
	serve_until(&v, what);
	judge(&v, what);
}

static void at_random_instant(enum what what)
{
	struct survivor v;
	uint64_t delay;

	survivor_begin(&v, what == RESUME ? RANDOM_MESSAGES : 0, NULL);
	survivor_go(&v);
	/* A quarter of the time, during the first operations. */
	delay = random_below(4) ? random_below(5000000) : random_below(200000);
	for (uint64_t since = now_ns(); !is_past(since, delay);)
		(void)serve(&v);
	CHECK_EQ(kill(v.victim.pid, signal_of(what)), 0);
	serve_until(&v, what);
	judge(&v, what);
}

static enum what parse_what(const char *text)
{
	if (!strcmp(text, "kill"))
		return KILL;
	if (!strcmp(text, "stop"))
		return STOP;
	CHECK(!strcmp(text, "resume"));
	return RESUME;
}

int main(int argc, char **argv)
{
	enum what what;

	if (argc > 1 && !strcmp(argv[1], "victim"))
		return victim_main(argc, argv);
	if (argc != 4)
		FAIL("usage: steps kill|stop|resume STEP|random COUNT");
	what = parse_what(argv[1]);
	if (strcmp(argv[2], "random") != 0) {
		at_step(what, argv[2], argv[3]);
		return 0;
	}
	seed_random();
	for (int n = atoi(argv[3]); n > 0; n--)
		at_random_instant(what);
	return 0;
}
