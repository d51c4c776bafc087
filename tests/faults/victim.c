// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "victim.h"

#include <endian.h>
#include <fcntl.h>
#include <infiniband/tm_types.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---------------------------------------------------------------- starting */

static void pass_on(int fd)
{
	CHECK_EQ(fcntl(fd, F_SETFD, 0), 0);
}

static void run_victim(int sock, int memory, const char *const *environment)
{
	char sock_text[16], memory_text[16];

	for (; environment && *environment; environment++)
		putenv((char *)(uintptr_t)*environment);
	snprintf(sock_text, sizeof(sock_text), "%d", sock);
	snprintf(memory_text, sizeof(memory_text), "%d", memory);
	pass_on(sock);
	pass_on(memory);
	execl("/proc/self/exe", "fault_victim", "victim", sock_text, memory_text, NULL);
	FAIL("exec failed");
}

void victim_start(struct helper *h, struct progress **progress, const char *const *environment)
{
	int memory = memfd_create("progress", MFD_CLOEXEC);
	int pair[2];

	CHECK(memory >= 0);
	CHECK_EQ(ftruncate(memory, sizeof(struct progress)), 0);
	*progress =
		mmap(NULL, sizeof(struct progress), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	CHECK(*progress != MAP_FAILED);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	h->sock = pair[0];
	h->pid = fork();
	CHECK(h->pid >= 0);
	if (!h->pid)
		run_victim(pair[1], memory, environment);
	close(pair[1]);
	close(memory);
}

/* -------------------------------------------------------------- the victim */

static struct progress *done;
static struct orders orders;

/* The victim exits if its peer no longer answers. */
static void expect_success(const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS)
		return;
	if (wc->status != IBV_WC_RETRY_EXC_ERR)
		FAIL("a request of the victim's failed: %s", ibv_wc_status_str(wc->status));
	note("the peer does not answer any more");
	_exit(0);
}

/* Waits in ibv_get_cq_event(); the CQ is armed. */
static void wait_asleep(struct side *s)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	CHECK_EQ(ibv_get_cq_event(s->channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	CHECK_EQ(ibv_poll_cq(s->cq, 1, &wc), 1);
	expect_success(&wc);
}

static void wait_awake(struct side *s)
{
	struct ibv_wc wc = side_wait(s);

	expect_success(&wc);
}

static void send_message(struct side *s, uint32_t number, bool invalidate)
{
	uint32_t length = message_length(number);
	struct ibv_sge sge = side_sge(s, 0, length);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = orders.window_rkey,
	};
	struct ibv_send_wr *bad;

	fill(s->buffer, length, number);
	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
}

static void one_sided(struct side *s)
{
	/* An unsignaled request, which is complete when the next one is. */
	CHECK_EQ(side_try_post(s, IBV_WR_RDMA_WRITE, 0, AREA_AT, AREA_SIZE, 0), 0);
	side_post(s, IBV_WR_RDMA_WRITE, 0, AREA_AT, AREA_SIZE);
	wait_awake(s);
	side_post(s, IBV_WR_RDMA_READ, 0, AREA_AT, AREA_SIZE);
	wait_awake(s);
	side_post(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, WORD_AT, 8);
	wait_awake(s);
	done->added++;
}

/* Binds a window to the victim's own memory, and invalidates it. */
static void use_window(struct side *s, struct ibv_mr *mr, struct ibv_mw *mw)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = {
				.mr = mr,
				.addr = (uintptr_t)s->buffer,
				.length = 4096,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
			},
		},
	};
	struct ibv_send_wr *bad;

	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
	wait_awake(s);
	mw->rkey = wr.bind_mw.rkey;
	wr = (struct ibv_send_wr){
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = mw->rkey,
	};
	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
	wait_awake(s);
}

/* A write with an invalid rkey: both queue pairs enter the error state. */
static void be_refused(struct side *s)
{
	struct ibv_wc wc;

	s->peer.rkey ^= 1;
	side_post(s, IBV_WR_RDMA_WRITE, 0, 0, 8);
	wc = side_wait(s);
	if (wc.status != IBV_WC_REM_ACCESS_ERR)
		expect_success(&wc);
	else
		done->refused = 1;
}

/* ---------------------------------------------------------------- tag matching */

/* A connection within the victim: `out` sends to a queue pair whose SRQ matches tags. */
struct tagged {
	struct side out;
	struct ibv_cq_ex *cq;
	struct ibv_srq *srq;
};

static void open_tagged(struct tagged *t)
{
	struct ibv_cq_init_attr_ex cq = {
		.cqe = 64, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO
	};
	struct ibv_srq_init_attr_ex srq = {
		.attr = { .max_wr = 1, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.tm_cap = { .max_num_tags = 2, .max_ops = 2 },
	};
	struct ibv_qp_init_attr qp = { .qp_type = IBV_QPT_RC };
	struct address to, from;
	struct side in;

	side_open(&t->out, NULL);
	in = t->out;
	t->cq = MADE(ibv_create_cq_ex(in.context, &cq));
	qp.send_cq = qp.recv_cq = srq.cq = ibv_cq_ex_to_cq(t->cq);
	srq.pd = in.pd;
	t->srq = qp.srq = ibv_create_srq_ex(in.context, &srq);
	CHECK(t->srq);
	in.qp = MADE(ibv_create_qp(in.pd, &qp));
	side_to_init(&in);
	to = side_address(&in);
	from = side_address(&t->out);
	side_connect(&in, &from);
	side_connect(&t->out, &to);
}

/* Adds a tag, sends a message that matches it, and polls the completion. */
static void use_tag(struct tagged *t)
{
	const struct ibv_tmh header = { .opcode = IBV_TMH_EAGER, .tag = htobe64(5) };
	struct ibv_sge sge = side_sge(&t->out, 4096, 8);
	struct ibv_ops_wr add = { .opcode = IBV_WR_TAG_ADD,
				  .tm.add = { .sg_list = &sge,
					      .num_sge = 1,
					      .tag = 5,
					      .mask = ~0ull } },
			  *bad;
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };

	CHECK_EQ(ibv_post_srq_ops(t->srq, &add, &bad), 0);
	memcpy(t->out.buffer, &header, sizeof(header));
	side_post(&t->out, IBV_WR_SEND, 1, 0, sizeof(header) + 8);
	(void)side_expect(&t->out, 1, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_start_poll(t->cq, &attr), 0);
	CHECK_EQ(ibv_wc_read_opcode(t->cq), IBV_WC_TM_RECV);
	CHECK_EQ(ibv_wc_read_wc_flags(t->cq), IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID);
	ibv_end_poll(t->cq);
}

static void work(struct side s[SIDES], struct ibv_mr *mr, struct ibv_mw *mw)
{
	struct tagged tagged;

	open_tagged(&tagged);

	for (uint32_t n = 0; !orders.messages || n < orders.messages; n++) {
		CHECK_EQ(ibv_req_notify_cq(s[PLAIN].cq, 0), 0);
		send_message(&s[PLAIN], n, n == 0);
		wait_asleep(&s[PLAIN]);
		done->sent[PLAIN]++;

		send_message(&s[SHARED], n, false);
		wait_awake(&s[SHARED]);
		done->sent[SHARED]++;

		one_sided(&s[PLAIN]);
		use_window(&s[PLAIN], mr, mw);
		use_tag(&tagged);
		if (n == 2)
			be_refused(&s[REFUSED]);
	}
}

int victim_main(int argc, char **argv)
{
	struct wish wish = { .length = SURVIVOR_SIZE, .events = true };
	struct side s[SIDES];
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	int sock;

	CHECK_EQ(argc, 4);
	set_role("victim");
	sock = atoi(argv[2]);
	done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[3]), 0);
	CHECK(done != MAP_FAILED);
	hear(sock, &orders, sizeof(orders));
	wish.timeout = orders.timeout;
	wish.retry_cnt = orders.retry_cnt;
	for (int i = 0; i < SIDES; i++) {
		side_open(&s[i], &wish);
		side_receive(&s[i], 0, AREA_AT, AREA_SIZE);
		side_meet(&s[i], sock);
	}
	mr = MADE(ibv_reg_mr(s[PLAIN].pd, s[PLAIN].buffer, s[PLAIN].length,
			     SIDE_ACCESS | IBV_ACCESS_MW_BIND));
	mw = MADE(ibv_alloc_mw(s[PLAIN].pd, IBV_MW_TYPE_2));
	hear(sock, &orders.window_rkey, sizeof(orders.window_rkey));
	work(s, mr, mw);
	return 0;
}
