// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests registered memory that is later unmapped, truncated or protected. Requests that use it
 * fail with an error completion, and no process gets a signal. The driver pins memory that is
 * not paged on demand, so there all requests succeed.
 *
 *   lost_memory processes|threads [on-demand]
 *
 * The arguments select where the two sides live, and whether their memory is paged on demand,
 * which makes no difference in user mode.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "side.h"

#define PAGE 4096

enum harm { UNMAP, UNMAP_END, PROTECT_NONE, PROTECT_READ, REREGISTER, TRUNCATE, HARMS };

static const char *const harm_names[HARMS] = {
	[UNMAP] = "unmapped",
	[UNMAP_END] = "unmapped at its end",
	[PROTECT_NONE] = "protected",
	[PROTECT_READ] = "made read-only",
	[REREGISTER] = "made read-only and reregistered",
	[TRUNCATE] = "truncated",
};

struct operation {
	const char *name;
	enum ibv_wr_opcode opcode;
	/* The requester reads its own memory, and the responder's is written; or the reverse. */
	bool requester_reads;
	bool has_receive;
};

static const struct operation operations[] = {
	{ "send", IBV_WR_SEND, true, true },
	{ "write", IBV_WR_RDMA_WRITE, true, false },
	{ "write with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, true, true },
	{ "read", IBV_WR_RDMA_READ, false, false },
	{ "fetch and add", IBV_WR_ATOMIC_FETCH_AND_ADD, false, false },
};

static const uint32_t sizes[] = { 8, 64, 81, 4096, 65536 };

struct test_case {
	struct operation op;
	uint32_t size;
	enum harm harm;
	/* The requester's memory is harmed, not the responder's. */
	bool at_requester;
};

#define LENGTH 65536u
static bool on_demand;

#define REQUEST 1
#define RECEIVE 2

/* -------------------------------------------------------------------- harm */

/* The operation uses the end of the buffer. */
static size_t offset_of(const struct test_case *c)
{
	return LENGTH - c->size;
}

static void do_harm(struct side *s, enum harm harm)
{
	switch (harm) {
	case UNMAP:
		CHECK_EQ(munmap(s->buffer, s->length), 0);
		s->buffer = NULL;
		break;
	case UNMAP_END:
		CHECK_EQ(munmap(s->buffer + s->length - PAGE, PAGE), 0);
		break;
	case PROTECT_NONE:
		CHECK_EQ(mprotect(s->buffer, s->length, PROT_NONE), 0);
		break;
	case PROTECT_READ:
		CHECK_EQ(mprotect(s->buffer, s->length, PROT_READ), 0);
		break;
	case REREGISTER:
		CHECK_EQ(mprotect(s->buffer, s->length, PROT_READ), 0);
		CHECK_EQ(ibv_rereg_mr(s->mr, IBV_REREG_MR_CHANGE_PD, s->pd, NULL, 0, 0), 0);
		break;
	default:
		CHECK_EQ(ftruncate(s->file, 0), 0);
		break;
	}
}

static bool applies(const struct test_case *c)
{
	bool reads = c->op.requester_reads == c->at_requester;

	if (c->op.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		if (c->size != 8)
			return false;
		reads = false;
	}
	return !(reads && (c->harm == PROTECT_READ || c->harm == REREGISTER));
}

/* --------------------------------------------------------------- responder */

struct outcome {
	int recv_status;
	bool in_error;
};

static void responder_prepare(struct side *s, const struct test_case *c)
{
	if (c->op.has_receive)
		side_receive(s, RECEIVE, offset_of(c), c->size);
	if (!c->at_requester)
		do_harm(s, c->harm);
}

/* To be called after the requester's completion. */
static struct outcome responder_look(struct side *s, const struct test_case *c)
{
	struct outcome o = { .recv_status = -1 };

	/* If the requester failed locally, the receive is not consumed. */
	if (c->op.has_receive && !c->at_requester)
		o.recv_status = (int)side_wait(s).status;
	o.in_error = side_state(s) == IBV_QPS_ERR;
	return o;
}

static void responder_process(int sock, void *arg)
{
	struct test_case c;
	struct outcome o;
	struct side s;

	for (;;) {
		hear(sock, &c, sizeof(c));
		if (!c.size)
			return;
		side_open(&s, &(struct wish){ .length = LENGTH,
					      .file = c.harm == TRUNCATE,
					      .on_demand = on_demand });
		side_meet(&s, sock);
		responder_prepare(&s, &c);
		meet(sock);
		meet(sock);
		o = responder_look(&s, &c);
		tell(sock, &o, sizeof(o));
		side_close(&s);
	}
}

/* --------------------------------------------------------------- verdicts */

/* A small message is stored in the CQE until the receiver polls it, so its send may succeed. */
static bool may_succeed_at_sender(const struct test_case *c, bool processes)
{
	return processes && c->op.opcode == IBV_WR_SEND && !c->at_requester && c->size <= 80;
}

/* A write with immediate fails before it consumes the receive, which is then flushed. */
static int wanted_at_receiver(const struct test_case *c)
{
	return c->op.opcode == IBV_WR_SEND ? IBV_WC_LOC_PROT_ERR : IBV_WC_WR_FLUSH_ERR;
}

static bool right_at_requester(const struct test_case *c, int status, bool processes)
{
	if (c->at_requester)
		return status == IBV_WC_LOC_PROT_ERR;
	if (status == IBV_WC_SUCCESS)
		return may_succeed_at_sender(c, processes);
	return status == IBV_WC_REM_OP_ERR || status == IBV_WC_REM_ACCESS_ERR;
}

/* Pinned memory remains valid as long as the region exists. */
static bool right_if_pinned(const struct test_case *c, int status, const struct outcome *o)
{
	bool received = c->op.has_receive && !c->at_requester;

	return status == IBV_WC_SUCCESS && !o->in_error &&
	       o->recv_status == (received ? IBV_WC_SUCCESS : -1);
}

static void judge(const struct test_case *c, int status, const struct outcome *o, bool processes)
{
	bool right = right_at_requester(c, status, processes);

	if (in_kernel() && !on_demand) {
		right = right_if_pinned(c, status, o);
	} else if (!c->at_requester) {
		right = right && o->in_error;
		if (c->op.has_receive)
			right = right && o->recv_status == wanted_at_receiver(c);
	}
	if (!right)
		FAIL("%s of %u bytes, the %s's memory %s: status %d (%s), receive %d, responder "
		     "%s",
		     c->op.name, c->size, c->at_requester ? "requester" : "responder",
		     harm_names[c->harm], status, ibv_wc_status_str((enum ibv_wc_status)status),
		     o->recv_status, o->in_error ? "in error" : "not in error");
}

/* --------------------------------------------------------------- requester */

static int request(struct side *s, const struct test_case *c)
{
	struct ibv_sge sge = side_sge(s, offset_of(c), c->size);
	struct ibv_send_wr wr = {
		.wr_id = REQUEST,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = c->op.opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};
	uint64_t remote = s->peer.addr + offset_of(c);
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (c->op.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = s->peer.rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = s->peer.rkey;
	}
	if (c->at_requester)
		do_harm(s, c->harm);
	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
	wc = side_wait(s);
	CHECK_EQ(wc.wr_id, REQUEST);
	if (wc.status == IBV_WC_SUCCESS)
		return 0;
	/* Later requests are flushed. */
	CHECK_EQ(side_state(s), IBV_QPS_ERR);
	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
	(void)side_expect(s, REQUEST, IBV_WC_WR_FLUSH_ERR);
	return (int)wc.status;
}

static void run_in_processes(const struct test_case *c, int sock)
{
	struct outcome o;
	struct side s;
	int status;

	tell(sock, c, sizeof(*c));
	side_open(&s, &(struct wish){ .length = LENGTH,
				      .file = c->harm == TRUNCATE,
				      .on_demand = on_demand });
	side_meet(&s, sock);
	meet(sock);
	status = request(&s, c);
	meet(sock);
	hear(sock, &o, sizeof(o));
	judge(c, status, &o, true);
	side_close(&s);
}

static void run_in_threads(const struct test_case *c)
{
	struct outcome o;
	struct side s[2];
	int status;

	pair_open(s, &(struct wish){ .length = LENGTH,
				     .file = c->harm == TRUNCATE,
				     .on_demand = on_demand });
	responder_prepare(&s[1], c);
	status = request(&s[0], c);
	o = responder_look(&s[1], c);
	judge(c, status, &o, false);
	pair_close(s);
}

/* -------------------------------------------------------------------- main */

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	signals++;
}

static unsigned int run_all(int sock)
{
	unsigned int n = 0;
	struct test_case c;

	for (size_t op = 0; op < sizeof(operations) / sizeof(operations[0]); op++)
		for (size_t size = 0; size < sizeof(sizes) / sizeof(sizes[0]); size++)
			for (int i = 0; i < 2 * HARMS; i++) {
				c = (struct test_case){
					.op = operations[op],
					.size = sizes[size],
					.harm = (enum harm)(i / 2),
					.at_requester = i % 2,
				};
				if (!applies(&c))
					continue;
				/* Alternates: a signal ends the process, or is counted. */
				signal(SIGSEGV, n % 2 ? on_signal : SIG_DFL);
				signal(SIGBUS, n % 2 ? on_signal : SIG_DFL);
				if (sock < 0)
					run_in_threads(&c);
				else
					run_in_processes(&c, sock);
				CHECK_EQ(signals, 0);
				n++;
			}
	return n;
}

int main(int argc, char **argv)
{
	static const struct test_case end;
	struct helper responder;
	unsigned int n;

	on_demand = argc == 3 && !strcmp(argv[2], "on-demand");
	argc -= on_demand;
	if (argc == 2 && !strcmp(argv[1], "threads")) {
		note("%u cases", run_all(-1));
		return 0;
	}
	if (argc != 2 || strcmp(argv[1], "processes") != 0)
		FAIL("usage: lost_memory processes|threads [on-demand]");
	helper_start(&responder, "responder", responder_process, NULL);
	n = run_all(responder.sock);
	tell(responder.sock, &end, sizeof(end));
	helper_join(&responder);
	note("%u cases", n);
	return 0;
}
