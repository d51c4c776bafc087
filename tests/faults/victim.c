// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "victim.h"

#include <fcntl.h>
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

/* ---------------------------------------------------------------- its life */

static struct progress *done;
static struct orders orders;

/* Where a peer is gone, it is over for us, too. */
static void expect_success(const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS)
		return;
	if (wc->status != IBV_WC_RETRY_EXC_ERR)
		FAIL("a request of the victim's failed: %s", ibv_wc_status_str(wc->status));
	note("the peer does not answer any more");
	_exit(0);
}

/* Sleep until the event of the completion comes, for which the CQ is armed. */
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
	/* One that goes without a completion, and is over by that of the next. */
	CHECK_EQ(side_try_post(s, IBV_WR_RDMA_WRITE, 0, AREA_AT, AREA_SIZE, 0), 0);
	side_post(s, IBV_WR_RDMA_WRITE, 0, AREA_AT, AREA_SIZE);
	wait_awake(s);
	side_post(s, IBV_WR_RDMA_READ, 0, AREA_AT, AREA_SIZE);
	wait_awake(s);
	side_post(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, WORD_AT, 8);
	wait_awake(s);
	done->added++;
}

/* Bind a window in our own memory and close it again. */
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

/* A request for memory that nobody has registered: both ends fail. */
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

static void work(struct side s[SIDES], struct ibv_mr *mr, struct ibv_mw *mw)
{
	uint32_t n;

	for (n = 0; !orders.messages || n < orders.messages; n++) {
		CHECK_EQ(ibv_req_notify_cq(s[PLAIN].cq, 0), 0);
		send_message(&s[PLAIN], n, n == 0);
		wait_asleep(&s[PLAIN]);
		done->sent[PLAIN]++;

		send_message(&s[SHARED], n, false);
		wait_awake(&s[SHARED]);
		done->sent[SHARED]++;

		one_sided(&s[PLAIN]);
		use_window(&s[PLAIN], mr, mw);
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
	mr = ibv_reg_mr(s[PLAIN].pd, s[PLAIN].buffer, s[PLAIN].length,
			SIDE_ACCESS | IBV_ACCESS_MW_BIND);
	CHECK(mr);
	mw = ibv_alloc_mw(s[PLAIN].pd, IBV_MW_TYPE_2);
	CHECK(mw);
	hear(sock, &orders.window_rkey, sizeof(orders.window_rkey));
	work(s, mr, mw);
	return 0;
}
