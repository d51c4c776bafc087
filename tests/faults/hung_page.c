// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests pages of a registered file whose server delays its answer (FUSE). Process A registers
 * the mapping. A copy from or to such a page sleeps in the kernel until the server answers, so
 * neither the daemon nor a peer may make the copy for A. All others continue: process B (on
 * other queue pairs, to A and to process C), a client that comes and goes, and the daemon.
 * Requests that use the page complete when the page has arrived.
 *
 *   hung_page CASE
 */
#define _GNU_SOURCE
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bystanders.h"
#include "hung_worker.h"

/*
 * Time limits in seconds of a case, shorter than SLOW_FILE_LIFE, and of the end of its
 * processes.
 */
#define CASE_TIME 140
#define END_TIME 15
/* Time limit of the retries after the death of the peer: timeout 14, retry_cnt 7. */
#define GIVE_UP_TIME 60

/* The first sides: A's over the file, and those of B that are connected to them. */
#define HUNG_SIDES 4
/* Side of A and B on ordinary memory; side of B that is connected to C's first side. */
#define ORDINARY_SIDE HUNG_SIDES
#define THIRD_SIDE (HUNG_SIDES + 1)

/* Range of the transfers: a part of one page of the file. */
#define THE_PAGE ((size_t)5 * SLOW_PAGE)
#define WITHIN 512
#define PIECE 3000

/* Pages of the case "many". */
#define MANY_PAGES 16

/* Marks of B's pages, and of messages. */
#define B_MARK 1000
#define MESSAGE_MARK 2000

#define SENT 1
#define RECEIVED 2

struct scene {
	const struct hung_case *about;
	struct slow_file *file;
	struct worker a, b, c;
	pid_t daemon;
};

struct hung_case {
	const char *name;
	void (*run)(struct scene *s);
	/* Sides of A over the file, and how it is mapped and registered; 0 sides: no scene. */
	unsigned int sides;
	int flags;
	bool on_demand;
	/* The call or the transfer that the case tests. */
	enum order_kind call;
	enum ibv_wr_opcode opcode;
};

/* -------------------------------------------------------------- other processes */

static pid_t hear_pid(const struct helper *h, const char *what)
{
	struct pollfd pfd = { .fd = h->sock, .events = POLLIN };
	pid_t pid;

	if (poll(&pfd, 1, OTHER_TIME * 1000) != 1)
		FAIL("%s: nothing is heard of it in %u s", what, OTHER_TIME);
	hear(h->sock, &pid, sizeof(pid));
	return pid;
}

/* Runs in its own process, because the daemon may not answer. */
static void asker(int sock, void *arg)
{
	pid_t daemon = atoi(ask_status(".pid"));

	tell(sock, &daemon, sizeof(daemon));
}

static pid_t ask_daemon(void)
{
	struct helper h;
	pid_t daemon;

	helper_start(&h, "status", asker, NULL);
	daemon = hear_pid(&h, "vnet status");
	helper_join(&h);
	return daemon;
}

static void newcomer(int sock, void *arg)
{
	struct side s[2];
	pid_t self = getpid();

	pair_open(s, NULL);
	fill(s[0].buffer, PIECE, MESSAGE_MARK);
	pair_send(s, PIECE);
	CHECK(is_filled(s[1].buffer, PIECE, MESSAGE_MARK));
	pair_close(s);
	tell(sock, &self, sizeof(self));
}

/* A new client opens the device, uses it, and closes it. */
static void comes_and_goes(void)
{
	struct helper h;

	helper_start(&h, "newcomer", newcomer, NULL);
	CHECK_EQ(hear_pid(&h, "a new client"), h.pid);
	helper_join(&h);
}

static void post(const struct worker *w, unsigned int side, enum ibv_wr_opcode opcode,
		 uint64_t wr_id, size_t offset, size_t length)
{
	struct order o = {
		.kind = ORDER_POST,
		.side = side,
		.opcode = opcode,
		.wr_id = wr_id,
		.offset = offset,
		.length = length,
	};

	CHECK_EQ(worker_ask(w, "ibv_post_send", &o, POST_TIME)->value, 0);
}

static void receive(const struct worker *w, unsigned int side, size_t offset, size_t length)
{
	struct order o = {
		.kind = ORDER_RECEIVE,
		.side = side,
		.wr_id = RECEIVED,
		.offset = offset,
		.length = length,
	};

	(void)worker_ask(w, "ibv_post_recv", &o, POST_TIME);
}

static void fill_buffer(const struct worker *w, unsigned int side, size_t offset, size_t length,
			uint32_t mark)
{
	struct order o = {
		.kind = ORDER_FILL,
		.side = side,
		.offset = offset,
		.length = length,
		.mark = mark,
	};

	(void)worker_ask(w, "fill", &o, OTHER_TIME);
}

static const uint8_t *look(const struct worker *w, unsigned int side, size_t offset)
{
	struct order o = { .kind = ORDER_LOOK, .side = side, .offset = offset };

	return worker_ask(w, "look", &o, OTHER_TIME)->page;
}

static void message(const struct worker *from, unsigned int side, const struct worker *to,
		    unsigned int side_there, size_t length)
{
	size_t shown = length < SLOW_PAGE ? length : SLOW_PAGE;

	fill_buffer(from, side, 0, length, MESSAGE_MARK);
	fill_buffer(to, side_there, 0, length, 0);
	receive(to, side_there, 0, length);
	post(from, side, IBV_WR_SEND, SENT, 0, length);
	worker_completes(from, side, SENT);
	worker_completes(to, side_there, RECEIVED);
	CHECK(is_filled(look(to, side_there, 0), shown, MESSAGE_MARK));
}

static void exchange(const struct worker *a, unsigned int side_a, const struct worker *b,
		     unsigned int side_b)
{
	static const size_t lengths[] = { 8, 3000, 20000 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		message(a, side_a, b, side_b, lengths[i]);
		message(b, side_b, a, side_a, lengths[i]);
	}
}

/* One-sided operations, for which the owner of the memory executes nothing. */
static void write_and_read(const struct worker *w, unsigned int side)
{
	fill_buffer(w, side, 0, SLOW_PAGE, MESSAGE_MARK);
	post(w, side, IBV_WR_RDMA_WRITE, SENT, 0, SLOW_PAGE);
	worker_completes(w, side, SENT);
	fill_buffer(w, side, 0, SLOW_PAGE, 0);
	post(w, side, IBV_WR_RDMA_READ, SENT, 0, SLOW_PAGE);
	worker_completes(w, side, SENT);
	CHECK(is_filled(look(w, side, 0), SLOW_PAGE, MESSAGE_MARK));
}

/* What A can do: everything; nothing, because its own call waits for the page; it is dead. */
enum state_of_a { A_IS_FREE, A_WAITS, A_IS_DEAD };

static void others_go_on(const struct scene *s, enum state_of_a a)
{
	exchange(&s->b, THIRD_SIDE, &s->c, 0);
	if (a != A_IS_DEAD)
		write_and_read(&s->b, ORDINARY_SIDE);
	if (a == A_IS_FREE)
		exchange(&s->a, ORDINARY_SIDE, &s->b, ORDINARY_SIDE);
	comes_and_goes();
	CHECK_EQ(ask_daemon(), s->daemon);
}

/* ---------------------------------------------------------------------- scenes */

static void open_scene(struct scene *s)
{
	const struct hung_case *c = s->about;
	struct slow_file *file = s->file;
	struct order a = { .kind = ORDER_OPEN }, b = { .kind = ORDER_OPEN };

	for (size_t at = 0; at < file->length; at += SLOW_PAGE)
		fill(file->content + at, SLOW_PAGE, (uint32_t)(at / SLOW_PAGE));
	s->daemon = ask_daemon();
	worker_start(&s->a, "A", file);
	worker_start(&s->b, "B", file);
	worker_start(&s->c, "C", file);
	a.flags = c->flags;
	a.on_demand = c->on_demand;
	for (a.side = b.side = 0; a.side < c->sides; a.side = ++b.side)
		workers_connect(&s->a, &a, &s->b, &b);
	a = b = (struct order){ .kind = ORDER_OPEN, .side = ORDINARY_SIDE };
	workers_connect(&s->a, &a, &s->b, &b);
	b.side = THIRD_SIDE;
	a.side = 0;
	workers_connect(&s->c, &a, &s->b, &b);
	others_go_on(s, A_IS_FREE);
}

static void close_scene(struct scene *s)
{
	others_go_on(s, s->a.h.pid ? A_IS_FREE : A_IS_DEAD);
	if (s->a.h.pid)
		worker_stop(&s->a);
	worker_stop(&s->b);
	worker_stop(&s->c);
}

/* Checks that the page has `mark`, and in the transferred range the data of `written`. */
static void check_page(const struct worker *w, unsigned int side, size_t offset, uint32_t mark,
		       uint32_t written)
{
	uint8_t want[SLOW_PAGE], from[SLOW_PAGE];

	fill(want, sizeof(want), mark);
	fill(from, sizeof(from), written);
	memcpy(want + WITHIN, from + WITHIN, PIECE);
	if (memcmp(look(w, side, offset), want, sizeof(want)) != 0)
		FAIL("%s: side %u: the data at %zu are wrong", w->name, side, offset);
}

/* -------------------------------------------------------------------- commands */

static void call_waits(struct scene *s)
{
	struct order o = { .kind = s->about->call, .offset = THE_PAGE };

	slow_file_hold(s->file);
	worker_tell(&s->a, &o);
	slow_file_await_kept(s->file, 1);
	others_go_on(s, A_WAITS);
}

static void call_succeeds(struct scene *s)
{
	const struct ib_uverbs_query_port input = { .port_num = 1 };

	if (s->about->call == ORDER_INPUT)
		memcpy(s->file->content + THE_PAGE, &input, sizeof(input));
	call_waits(s);
	slow_file_release(s->file);
	CHECK_EQ(worker_answer(&s->a, "the call", OTHER_TIME)->value, 0);
}

/* The caller dies before the response. tests/faults/run checks that the new PD is freed. */
static void control_kill(struct scene *s)
{
	call_waits(s);
	helper_kill(&s->a.h);
	others_go_on(s, A_IS_DEAD);
	slow_file_release(s->file);
}

/* Callers die one after the other, more than there are pagers. The next caller still gets one. */
static void control_kill_many(struct scene *s)
{
	const struct order open = { .kind = ORDER_OPEN, .flags = MAP_SHARED };
	struct order o = { .kind = ORDER_RESPONSE };
	struct worker w;

	for (uint32_t i = 0; i < HUNG_PAGES; i++, o.offset += SLOW_PAGE) {
		worker_start(&w, "victim", s->file);
		(void)worker_ask(&w, "open", &open, OTHER_TIME);
		slow_file_hold(s->file);
		worker_tell(&w, &o);
		slow_file_await_kept(s->file, i + 1);
		helper_kill(&w.h);
	}
	slow_file_release(s->file);
	comes_and_goes();
}

static void await_end_of(pid_t pid)
{
	struct pollfd pfd = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	CHECK(pfd.fd >= 0);
	if (poll(&pfd, 1, OTHER_TIME * 1000) != 1)
		FAIL("the daemon does not end in %u s", OTHER_TIME);
	close(pfd.fd);
}

/* vnetd ends while its pager waits for the page. A new daemon can start all the same. */
static void daemon_end(struct scene *s)
{
	pid_t next;

	call_waits(s);
	CHECK_EQ(kill(s->daemon, SIGTERM), 0);
	await_end_of(s->daemon);
	helper_kill(&s->a.h);
	helper_kill(&s->b.h);
	helper_kill(&s->c.h);
	comes_and_goes();
	next = ask_daemon();
	CHECK(next > 0 && next != s->daemon);
	slow_file_release(s->file);
	/* The new daemon lives in the namespaces of this test, so it must not outlive the test. */
	CHECK_EQ(kill(next, SIGTERM), 0);
}

/* ------------------------------------------------------------------- transfers */

/* B writes to, reads from, or sends to A's page. The request must not complete yet. */
static void b_transfers(struct scene *s)
{
	fill_buffer(&s->b, 0, THE_PAGE, SLOW_PAGE, B_MARK);
	if (s->about->opcode == IBV_WR_SEND)
		receive(&s->a, 0, THE_PAGE + WITHIN, PIECE);
	slow_file_hold(s->file);
	post(&s->b, 0, s->about->opcode, SENT, THE_PAGE + WITHIN, PIECE);
	slow_file_await_kept(s->file, 1);
	others_go_on(s, A_IS_FREE);
	worker_is_silent(&s->b, 0);
}

static void check_transfer(const struct scene *s)
{
	uint32_t mark = THE_PAGE / SLOW_PAGE;

	worker_completes(&s->b, 0, SENT);
	if (s->about->opcode == IBV_WR_SEND)
		worker_completes(&s->a, 0, RECEIVED);
	if (s->about->opcode == IBV_WR_RDMA_READ)
		check_page(&s->b, 0, THE_PAGE, B_MARK, mark);
	else
		check_page(&s->a, 0, THE_PAGE, mark, B_MARK);
}

static void transfer(struct scene *s)
{
	b_transfers(s);
	slow_file_release(s->file);
	check_transfer(s);
}

/* The owner of the page dies, so the request must fail. */
static void read_kill(struct scene *s)
{
	struct order wait = { .kind = ORDER_WAIT, .seconds = GIVE_UP_TIME };
	const struct answer *a;
	b_transfers(s);
	helper_kill(&s->a.h);
	a = worker_ask(&s->b, "completion", &wait, GIVE_UP_TIME + POST_TIME);
	CHECK(a->completed);
	CHECK_EQ(a->wc.wr_id, SENT);
	CHECK(a->wc.status != IBV_WC_SUCCESS);
	others_go_on(s, A_IS_DEAD);
	slow_file_release(s->file);
}

static void a_posts(const struct scene *s)
{
	struct order o = {
		.kind = ORDER_POST,
		.opcode = IBV_WR_SEND,
		.wr_id = SENT,
		.offset = THE_PAGE + WITHIN,
		.length = PIECE,
	};

	slow_file_hold(s->file);
	worker_tell(&s->a, &o);
}

/* A's own call copies from the page, so A may wait for it. */
static void a_sends(struct scene *s)
{
	fill_buffer(&s->b, 0, THE_PAGE, SLOW_PAGE, B_MARK);
	receive(&s->b, 0, THE_PAGE + WITHIN, PIECE);
	a_posts(s);
	slow_file_await_kept(s->file, 1);
	worker_is_silent(&s->b, 0);
	others_go_on(s, A_WAITS);
	worker_is_silent(&s->b, 0);
}

static void message_arrives(struct scene *s)
{
	slow_file_release(s->file);
	CHECK_EQ(worker_answer(&s->a, "ibv_post_send", OTHER_TIME)->value, 0);
	worker_completes(&s->a, 0, SENT);
	worker_completes(&s->b, 0, RECEIVED);
	check_page(&s->b, 0, THE_PAGE, B_MARK, THE_PAGE / SLOW_PAGE);
}

static void send_shared(struct scene *s)
{
	a_sends(s);
	message_arrives(s);
}

/* The send first waits for a receive. After that, it is not resumed by A's own call. */
static void send_late(struct scene *s)
{
	fill_buffer(&s->b, 0, THE_PAGE, SLOW_PAGE, B_MARK);
	a_posts(s);
	others_go_on(s, A_WAITS);
	receive(&s->b, 0, THE_PAGE + WITHIN, PIECE);
	worker_is_silent(&s->b, 0);
	slow_file_await_kept(s->file, 1);
	others_go_on(s, A_WAITS);
	worker_is_silent(&s->b, 0);
	message_arrives(s);
}

/* A is killed while its own call waits for the page: A dies only when the page arrives. */
static void send_kill(struct scene *s)
{
	a_sends(s);
	CHECK_EQ(kill(s->a.h.pid, SIGKILL), 0);
	others_go_on(s, A_IS_DEAD);
	slow_file_release(s->file);
	helper_kill(&s->a.h);
}

/*
 * A changes its address space while the pager brings a page of it. If the pager holds mmap_lock
 * meanwhile, A waits for it, but the daemon must not.
 */
static void remap(struct scene *s)
{
	struct order o = { .kind = ORDER_REMAP, .side = ORDINARY_SIDE };
	b_transfers(s);
	worker_tell(&s->a, &o);
	others_go_on(s, A_WAITS);
	slow_file_release(s->file);
	CHECK_EQ(worker_answer(&s->a, "ibv_reg_mr", OTHER_TIME)->value, 0);
	check_transfer(s);
}

/* ----------------------------------------------------------------- many requests */

/* Queue pairs transfer the pages in turn. Each queue pair alternates between write and read. */
static enum ibv_wr_opcode opcode_of(unsigned int page)
{
	return page / HUNG_SIDES % 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
}

static void post_all(const struct worker *b)
{
	for (unsigned int page = 0; page < MANY_PAGES; page++)
		post(b, page % HUNG_SIDES, opcode_of(page), page, (size_t)page * SLOW_PAGE + WITHIN,
		     PIECE);
}

static void check_all(const struct scene *s)
{
	for (unsigned int page = 0; page < MANY_PAGES; page++) {
		unsigned int side = page % HUNG_SIDES;
		size_t offset = (size_t)page * SLOW_PAGE;

		worker_completes(&s->b, side, page);
		if (opcode_of(page) == IBV_WR_RDMA_READ)
			check_page(&s->b, side, offset, B_MARK, page);
		else
			check_page(&s->a, side, offset, page, B_MARK);
	}
}

static void many(struct scene *s)
{
	struct bystanders bystanders;

	bystanders_start(&bystanders);
	for (unsigned int page = 0; page < MANY_PAGES; page++)
		fill_buffer(&s->b, page % HUNG_SIDES, (size_t)page * SLOW_PAGE, SLOW_PAGE, B_MARK);
	slow_file_hold(s->file);
	post_all(&s->b);
	/* The server delivers three pages one by one, then the rest. */
	for (unsigned int i = 0; i < 3; i++) {
		slow_file_await_kept(s->file, 1);
		bystanders_check(&bystanders);
		others_go_on(s, A_IS_FREE);
		bystanders_check(&bystanders);
		slow_file_release_one(s->file);
	}
	slow_file_release(s->file);
	check_all(s);
	bystanders_stop(&bystanders);
}

/* --------------------------------------------------------------- running a case */

static const struct hung_case cases[] = {
	{ "control-response", call_succeeds, .sides = 1, .flags = MAP_SHARED,
	  .call = ORDER_RESPONSE },
	{ "control-input", call_succeeds, .sides = 1, .flags = MAP_PRIVATE, .call = ORDER_INPUT },
	{ "control-advise", call_succeeds, .sides = 1, .flags = MAP_SHARED, .on_demand = true,
	  .call = ORDER_ADVISE },
	{ "control-kill", control_kill, .sides = 1, .flags = MAP_SHARED, .call = ORDER_RESPONSE },
	{ .name = "control-kill-many", .run = control_kill_many },
	{ "daemon-end", daemon_end, .sides = 1, .flags = MAP_SHARED, .call = ORDER_RESPONSE },
	{ "write", transfer, .sides = 1, .flags = MAP_SHARED, .opcode = IBV_WR_RDMA_WRITE },
	{ "write-private", transfer, .sides = 1, .flags = MAP_PRIVATE,
	  .opcode = IBV_WR_RDMA_WRITE },
	{ "read", transfer, .sides = 1, .flags = MAP_SHARED, .opcode = IBV_WR_RDMA_READ },
	{ "read-kill", read_kill, .sides = 1, .flags = MAP_SHARED, .opcode = IBV_WR_RDMA_READ },
	{ "receive", transfer, .sides = 1, .flags = MAP_SHARED, .opcode = IBV_WR_SEND },
	{ "send", send_shared, .sides = 1, .flags = MAP_SHARED },
	{ "send-late", send_late, .sides = 1, .flags = MAP_SHARED },
	{ "send-kill", send_kill, .sides = 1, .flags = MAP_SHARED },
	{ "remap", remap, .sides = 1, .flags = MAP_SHARED, .opcode = IBV_WR_RDMA_WRITE },
	{ "many", many, .sides = HUNG_SIDES, .flags = MAP_SHARED },
};

/* Starts the case in its own process group, so that all its processes can be killed. */
static pid_t start_case(size_t number, struct slow_file *file)
{
	struct scene s = { .about = &cases[number], .file = file };
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
		CHECK_EQ(setpgid(0, 0), 0);
		if (s.about->sides)
			open_scene(&s);
		s.about->run(&s);
		/* A case that ends the daemon has ended the workers, too. */
		if (s.b.h.pid)
			close_scene(&s);
		_exit(0);
	}
	/* Parent and child both call setpgid(). The child may have ended by now. */
	(void)setpgid(pid, pid);
	return pid;
}

/* Returns false if the case exceeds CASE_TIME. */
static bool await_case(pid_t pid)
{
	struct pollfd pfd = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int n;

	CHECK(pfd.fd >= 0);
	n = poll(&pfd, 1, CASE_TIME * 1000);
	close(pfd.fd);
	return n == 1;
}

/* Waits for all processes of the case. Returns true if each ended with status 0. */
static bool await_all(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t since = now_ns();
	bool well = true;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) >= 0) {
		if (pid)
			well = well && !status;
		else if (is_past(since, END_TIME * 1000000000ull))
			FAIL("processes are left that SIGKILL does not end");
		else
			(void)nanosleep(&pause, NULL);
	}
	CHECK_EQ(errno, ECHILD);
	return well;
}

/*
 * The server of the file is stopped first: until then, processes that wait for a page cannot
 * die.
 */
static bool run_case(size_t number, struct slow_file *file)
{
	pid_t pid = start_case(number, file);
	bool in_time = await_case(pid);

	if (!in_time)
		note("no end after %u s", CASE_TIME);
	slow_file_stop(file);
	if (kill(-pid, SIGKILL) < 0)
		CHECK_EQ(errno, ESRCH);
	return await_all() && in_time;
}

int main(int argc, char **argv)
{
	struct slow_file file;
	const char *why;
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name))
			break;
	if (argc != 2 || i == sizeof(cases) / sizeof(cases[0]))
		FAIL("usage: hung_page CASE");
	why = slow_file_start(&file, HUNG_LENGTH);
	if (why) {
		printf("SKIP: %s\n", why);
		return 77;
	}
	/* Orphaned processes of the case become children of this process. */
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	return run_case(i, &file) ? 0 : 1;
}
