// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Defects that other software devices had to fix, each provoked here.
 *
 *   peers_defects threads|processes [NAME]    where the peer lives
 */
#define _GNU_SOURCE
#include <rdma/ib_user_verbs.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "peer.h"

#define COUNT(_table) (sizeof(_table) / sizeof((_table)[0]))
#define LENGTH 65536u
/* What nobody wrote. */
#define UNTOUCHED 0xa5

static struct side here;

static bool all_are(const uint8_t *bytes, size_t length, uint8_t value)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

/* A request of any kind; where it has a remote side, `remote` there. */
static struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge *sges, int count,
				  uint64_t remote, uint32_t rkey)
{
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = sges, .num_sge = count, .opcode = opcode };

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	return wr;
}

static void post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	CHECK_EQ(ibv_post_send(here.qp, wr, &bad), 0);
}

/* It fails so, although it did not ask to hear of success; then start anew. */
static void check_fails(const char *what, struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	post(wr);
	wc = side_wait(&here);
	if (wc.status != status || wc.wr_id != wr->wr_id)
		FAIL("%s, opcode %d: %s, not %s", what, (int)wr->opcode,
		     ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
	peer_anew(&here);
}

static const enum ibv_wr_opcode one_sided[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
						IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
						IBV_WR_ATOMIC_CMP_AND_SWP };

/* ----------------------------------------- a failed check, completed with success */

/* Eight bytes that are partly, or wholly, outside the region; atomics aligned. */
static void bounds_of_one(enum ibv_wr_opcode opcode)
{
	static const int64_t offsets[] = { -8, -1, (int64_t)LENGTH - 7, LENGTH, LENGTH + 4096 };
	uint64_t local = (uintptr_t)here.buffer, remote = here.peer.addr;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	for (size_t i = 0; i < COUNT(offsets); i++) {
		sge = side_sge(&here, 0, 8);
		sge.addr = local + (uint64_t)offsets[i];
		wr = request(opcode, &sge, 1, remote, here.peer.rkey);
		check_fails("local bounds", &wr, IBV_WC_LOC_PROT_ERR);
		sge.addr = local;
		wr = request(opcode, &sge, 1, remote + (uint64_t)offsets[i], here.peer.rkey);
		check_fails("remote bounds", &wr,
			    offsets[i] & 7 && opcode >= IBV_WR_ATOMIC_CMP_AND_SWP ?
				    IBV_WC_REM_INV_REQ_ERR :
				    IBV_WC_REM_ACCESS_ERR);
	}
}

static void failed_bounds_check(void)
{
	static const struct piece behind = { .offset = LENGTH - 99, .length = 100 };
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	peer_open(&here, NULL);
	peer_set(0, LENGTH, UNTOUCHED);
	for (size_t i = 0; i < COUNT(one_sided); i++)
		bounds_of_one(one_sided[i]);
	sge = side_sge(&here, 0, 100);
	for (uint32_t length = 99; length <= 100; length++) {
		sge.length = length;
		peer_receive(2, &behind, 1);
		wr = request(IBV_WR_SEND, &sge, 1, 0, 0);
		wr.send_flags = IBV_SEND_SIGNALED;
		post(&wr);
		(void)side_expect(&here, 1, length < 100 ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR);
		(void)peer_expect(2, length < 100 ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
	}
	CHECK(all_are(peer_look(0, 8), 8, UNTOUCHED));
	CHECK(all_are(peer_look(LENGTH - 107, 8), 8, UNTOUCHED));
	peer_close(&here);
}

/* ------------------------------------------------------------ 64 bits that wrap */

struct range {
	uint64_t addr;
	uint32_t length;
};

/* Sums of address and length that begin anew at 0, into the region or before it. */
static void check_ranges(const struct range *ranges, size_t count, uint32_t lkey, uint32_t rkey)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	for (size_t i = 0; i < count; i++) {
		sge = (struct ibv_sge){ ranges[i].addr, ranges[i].length, lkey };
		wr = request(IBV_WR_RDMA_WRITE, &sge, 1, here.peer.addr, here.peer.rkey);
		if (lkey)
			check_fails("local range", &wr, IBV_WC_LOC_PROT_ERR);
		if (!rkey || ranges[i].length > LENGTH)
			continue;
		sge = side_sge(&here, 0, ranges[i].length);
		wr = request(IBV_WR_RDMA_WRITE, &sge, 1, ranges[i].addr, rkey);
		check_fails("remote range", &wr, IBV_WC_REM_ACCESS_ERR);
		wr.opcode = IBV_WR_RDMA_READ;
		check_fails("remote range", &wr, IBV_WC_REM_ACCESS_ERR);
	}
}

/* A region whose addresses begin at `iova`, used by the local side. */
static void check_iova(uint64_t iova, const struct range *ranges, size_t count)
{
	struct ibv_mr *mr = ibv_reg_mr_iova(here.pd, here.buffer, 4096, iova, SIDE_ACCESS);

	CHECK(mr);
	check_ranges(ranges, count, mr->lkey, 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

static void wrapped_bounds(void)
{
	const uint64_t top = 0 - (uint64_t)8192;
	const struct range high[] = {
		{ UINT64_MAX, 1 },     { UINT64_MAX, 2 },          { UINT64_MAX - 7, 8 },
		{ UINT64_MAX - 7, 9 }, { UINT64_MAX - 7, 4096 },   { UINT64_MAX - 4095, 8192 },
		{ 0, UINT32_MAX },     { UINT64_MAX, UINT32_MAX },
	};
	const struct range at_zero[] = {
		{ UINT64_MAX, 2 }, { UINT64_MAX, 1 }, { 0, 4097 }, { 4096, 1 }, { 1ull << 63, 1 },
	};
	const struct range at_top[] = {
		{ top, 4097 }, { top + 4095, 2 }, { top - 1, 2 }, { 0, 1 }, { UINT64_MAX, 2 },
	};

	peer_open(&here, NULL);
	check_ranges(high, COUNT(high), here.mr->lkey, here.peer.rkey);
	check_iova(0, at_zero, COUNT(at_zero));
	check_iova(top, at_top, COUNT(at_top));
	peer_close(&here);
}

static void check_window(struct ibv_mw *mw, struct ibv_mr *mr, uint64_t at, uint64_t length)
{
	struct ibv_mw_bind bind = {
		.wr_id = 1,
		.bind_info = { mr, at, length, IBV_ACCESS_REMOTE_READ },
	};
	uint32_t rkey = mw->rkey;

	CHECK_EQ(ibv_bind_mw(here.qp, mw, &bind), 0);
	(void)side_expect(&here, 1, IBV_WC_MW_BIND_ERR);
	peer_anew(&here);
	mw->rkey = rkey;
}

static void wrapped_windows(void)
{
	static const uint64_t offsets[] = { 0, 4096, LENGTH - 64, LENGTH };
	struct ibv_mw *mw;
	struct ibv_mr *mr;

	peer_open(&here, NULL);
	mr = ibv_reg_mr(here.pd, here.buffer, LENGTH, SIDE_ACCESS | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(here.pd, IBV_MW_TYPE_1);
	CHECK(mr && mw);
	for (size_t i = 0; i < COUNT(offsets); i++) {
		uint64_t at = (uintptr_t)here.buffer + offsets[i];

		check_window(mw, mr, at, 0 - at);
		check_window(mw, mr, at, 0 - at + 4096);
		check_window(mw, mr, at, UINT64_MAX);
		check_window(mw, mr, at - LENGTH - 1, UINT64_MAX);
	}
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	peer_close(&here);
}

/* ------------------------------------------------ an SGE skipped, and data slid */

/* Lists with empty pieces, of 32 bytes each; 0 and 0 is an empty one. */
static const struct piece gathers[][PEER_PIECES] = {
	{ { 0, 8, 0 }, { 0, 0, 0 }, { 100, 8, 0 }, { 0, 0, 0 }, { 200, 16, 0 } },
	{ { 0, 0, 0 }, { 0, 0, 0 }, { 300, 32, 0 } },
	{ { 400, 31, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 500, 1, 0 }, { 0, 0, 0 } },
	/* The key of nothing does not matter. */
	{ { 600, 5, 0 }, { 0, 0, 77 }, { 700, 27, 0 }, { 0, 0, 1u << 31 } },
};

static unsigned int make_sges(const struct piece *pieces, struct ibv_sge *sges)
{
	for (unsigned int i = 0; i < PEER_PIECES; i++) {
		sges[i] = side_sge(&here, pieces[i].offset, pieces[i].length);
		sges[i].lkey += pieces[i].key_offset;
	}
	return PEER_PIECES;
}

/* What a list gathers, or what it was scattered to. */
static void collect(const struct piece *pieces, const uint8_t *bytes, uint8_t *out)
{
	for (unsigned int i = 0; i < PEER_PIECES; i++) {
		if (pieces[i].length)
			memcpy(out, bytes + pieces[i].offset, pieces[i].length);
		out += pieces[i].length;
	}
}

static void check_slide(const struct piece *from, const struct piece *to)
{
	struct ibv_sge sges[PEER_PIECES];
	uint8_t sent[32], got[32];
	struct ibv_send_wr wr =
		request(IBV_WR_SEND, sges, (int)make_sges(from, sges), 0, here.peer.rkey);

	fill(here.buffer, PEER_BYTES, 1);
	peer_set(0, PEER_BYTES, UNTOUCHED);
	peer_receive(2, to, PEER_PIECES);
	wr.send_flags = IBV_SEND_SIGNALED;
	post(&wr);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	CHECK_EQ(peer_expect(2, IBV_WC_SUCCESS).byte_len, 32);
	collect(from, here.buffer, sent);
	collect(to, peer_look(0, PEER_BYTES), got);
	CHECK(!memcmp(sent, got, sizeof(sent)));
	CHECK(all_are(peer_look(800, 224), 224, UNTOUCHED));
}

static void check_slide_one_sided(const struct piece *list)
{
	struct ibv_sge sges[PEER_PIECES];
	uint8_t sent[32], got[32];
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, sges, (int)make_sges(list, sges),
					here.peer.addr, here.peer.rkey);

	fill(here.buffer, PEER_BYTES, 2);
	collect(list, here.buffer, sent);
	wr.send_flags = IBV_SEND_SIGNALED;
	post(&wr);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	CHECK(!memcmp(peer_look(0, 32), sent, sizeof(sent)));
	memset(here.buffer, 0, PEER_BYTES);
	wr.opcode = IBV_WR_RDMA_READ;
	post(&wr);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	collect(list, here.buffer, got);
	CHECK(!memcmp(sent, got, sizeof(sent)));
}

/* A bad piece: what lies before it may have come, what lies behind it has not. */
static void check_bad_piece(unsigned int which)
{
	struct piece list[] = { { 0, 8, 0 }, { 100, 8, 0 }, { 200, 8, 0 } };
	struct ibv_sge sges[3], all = side_sge(&here, 0, 24);
	struct ibv_send_wr wr = request(IBV_WR_SEND, &all, 1, 0, 0);

	list[which].key_offset = 1u << 20;
	peer_set(0, PEER_BYTES, UNTOUCHED);
	peer_receive(2, list, 3);
	post(&wr);
	(void)side_expect(&here, 1, IBV_WC_REM_OP_ERR);
	(void)peer_expect(2, IBV_WC_LOC_PROT_ERR);
	for (unsigned int i = which; i < 3; i++)
		CHECK(all_are(peer_look(100 * i, 8), 8, UNTOUCHED));
	peer_anew(&here);

	for (unsigned int i = 0; i < 3; i++)
		sges[i] = side_sge(&here, 100 * i, 8);
	sges[which].lkey += 1u << 20;
	memset(here.buffer, UNTOUCHED, PEER_BYTES);
	wr = request(IBV_WR_RDMA_READ, sges, 3, here.peer.addr, here.peer.rkey);
	check_fails("read to a bad piece", &wr, IBV_WC_LOC_PROT_ERR);
	for (unsigned int i = which; i < 3; i++)
		CHECK(all_are(here.buffer + 100 * i, 8, UNTOUCHED));
	wr.opcode = IBV_WR_RDMA_WRITE;
	peer_set(0, PEER_BYTES, UNTOUCHED);
	check_fails("write from a bad piece", &wr, IBV_WC_LOC_PROT_ERR);
	CHECK(all_are(peer_look(8 * which, 24), 24, UNTOUCHED));
}

static void slid_data(void)
{
	peer_open(&here, &(struct wish){ .sge = PEER_PIECES });
	for (size_t from = 0; from < COUNT(gathers); from++) {
		for (size_t to = 0; to < COUNT(gathers); to++)
			check_slide(gathers[from], gathers[to]);
		check_slide_one_sided(gathers[from]);
	}
	for (unsigned int which = 0; which < 3; which++)
		check_bad_piece(which);
	peer_close(&here);
}

/* ---------------------------------------- requests taken from a queue by many */

#define THREADS 4
#define PER_THREAD 5000u

static struct {
	uint8_t seen[THREADS][PER_THREAD];
	unsigned int total;
} popped;

/* Of each thread's requests, those that this poller sees come in order. */
static void note_completion(const struct ibv_wc *wc, int64_t last[THREADS])
{
	uint32_t thread = (uint32_t)(wc->wr_id >> 32), n = (uint32_t)wc->wr_id;

	CHECK_EQ(wc->status, IBV_WC_SUCCESS);
	CHECK(thread < THREADS && n < PER_THREAD);
	CHECK(last[thread] < (int64_t)n);
	last[thread] = n;
	CHECK_EQ(__atomic_add_fetch(&popped.seen[thread][n], 1, __ATOMIC_RELAXED), 1);
	__atomic_add_fetch(&popped.total, 1, __ATOMIC_RELAXED);
}

static void poll_some(int64_t last[THREADS])
{
	struct ibv_wc wc[4];
	int n = ibv_poll_cq(here.cq, 4, wc);

	CHECK(n >= 0);
	for (int i = 0; i < n; i++)
		note_completion(&wc[i], last);
	if (!n)
		sched_yield();
}

static void *post_and_poll(void *arg)
{
	uint64_t thread = (uintptr_t)arg, since = now_ns();
	int64_t last[THREADS] = { -1, -1, -1, -1 };

	for (uint64_t n = 0; n < PER_THREAD;) {
		int error = side_try_post(&here, IBV_WR_RDMA_WRITE, thread << 32 | n, 8 * thread, 8,
					  IBV_SEND_SIGNALED);

		CHECK(!error || error == ENOMEM);
		n += !error;
		if (error || n % 3 == 0)
			poll_some(last);
	}
	while (__atomic_load_n(&popped.total, __ATOMIC_RELAXED) < THREADS * PER_THREAD) {
		poll_some(last);
		CHECK(!is_past(since, PATIENCE * 1000000000ull));
	}
	return NULL;
}

static void popped_by_many(void)
{
	pthread_t threads[THREADS];

	memset(&popped, 0, sizeof(popped));
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, post_and_poll, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	side_expect_silence(&here, 1000000);
}

static void unlocked_pop(void)
{
	/* Often full. */
	peer_open(&here, &(struct wish){ .depth = 16 });
	for (unsigned int i = 0; i < rounds(5, in_kernel() ? 50 : 200); i++)
		popped_by_many();
	peer_close(&here);
}

/* ------------------------------------------------------- a bad key, and no CQE */

static void bad_local_keys(void)
{
	static const uint32_t offsets[] = { 1, 1u << 8, 1u << 31 };
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	peer_open(&here, NULL);
	for (size_t i = 0; i < COUNT(offsets) * COUNT(one_sided); i++) {
		sge = side_sge(&here, 0, 8);
		sge.lkey ^= offsets[i / COUNT(one_sided)];
		wr = request(one_sided[i % COUNT(one_sided)], &sge, 1, here.peer.addr,
			     here.peer.rkey);
		check_fails("bad lkey", &wr, IBV_WC_LOC_PROT_ERR);
		wr.opcode = IBV_WR_SEND;
		check_fails("bad lkey", &wr, IBV_WC_LOC_PROT_ERR);
	}
	sge.lkey = 0;
	check_fails("lkey 0", &wr, IBV_WC_LOC_PROT_ERR);
	peer_close(&here);
}

static struct ibv_ah *address_handle(uint8_t sgid_index)
{
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = 1,
				    .grh = { .sgid_index = sgid_index, .hop_limit = 9 } };
	struct ibv_ah *ah;

	CHECK_EQ(ibv_query_gid(here.context, 1, sgid_index, &attr.grh.dgid), 0);
	ah = ibv_create_ah(here.pd, &attr);
	CHECK(ah);
	return ah;
}

static struct ibv_send_wr datagram(struct ibv_ah *ah, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = here.peer.qpn;
	wr.wr.ud.remote_qkey = SIDE_QKEY;
	return wr;
}

/* The requester's, of which the responder hears nothing. */
static void bad_keys_unreliable(enum ibv_qp_type type)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;

	peer_open(&here, &(struct wish){ .type = type });
	ah = address_handle(0);
	sge = side_sge(&here, 0, 8);
	sge.lkey += 1u << 8;
	wr = type == IBV_QPT_UD ? datagram(ah, &sge) : request(IBV_WR_SEND, &sge, 1, 0, 0);
	wr.send_flags = 0;
	post(&wr);
	(void)side_expect(&here, 1, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(side_state(&here), IBV_QPS_SQE);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	peer_close(&here);
}

/* The responder's: it has a completion too, whatever the type. */
static void bad_receive_keys(enum ibv_qp_type type)
{
	static const struct piece bad = { .length = 100, .key_offset = 1u << 8 };
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;

	peer_open(&here, &(struct wish){ .type = type });
	ah = address_handle(0);
	sge = side_sge(&here, 0, 8);
	wr = type == IBV_QPT_UD ? datagram(ah, &sge) : request(IBV_WR_SEND, &sge, 1, 0, 0);
	wr.send_flags = IBV_SEND_SIGNALED;
	peer_receive(2, &bad, 1);
	post(&wr);
	(void)peer_expect(2, IBV_WC_LOC_PROT_ERR);
	(void)side_expect(&here, 1, type == IBV_QPT_RC ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	peer_close(&here);
}

static void bad_key_no_cqe(void)
{
	bad_local_keys();
	bad_keys_unreliable(IBV_QPT_UC);
	bad_keys_unreliable(IBV_QPT_UD);
	bad_receive_keys(IBV_QPT_RC);
	bad_receive_keys(IBV_QPT_UC);
	bad_receive_keys(IBV_QPT_UD);
}

/* ----------------------------------------------- ended while its timer runs */

/* For how long a request waits before its queue pair goes. */
static void linger(void)
{
	uint64_t since = now_ns(), ns = random_below(200000);

	while (!is_past(since, ns))
		sched_yield();
}

static void wait_for_receive(struct side pair[2])
{
	side_post(&pair[0], IBV_WR_SEND, 1, 0, 8);
	linger();
}

static void wait_for_answer(struct side pair[2])
{
	side_to_reset(&pair[1]);
	side_post(&pair[0], IBV_WR_RDMA_WRITE, 1, 0, 8);
	linger();
}

static void end_with_timer(const struct wish *wish, void (*make_it_wait)(struct side pair[2]))
{
	struct side pair[2];
	uint32_t first = random_below(2);

	pair_open(pair, wish);
	make_it_wait(pair);
	/* Either may go first: who waits, or who is waited for. */
	side_close(&pair[first]);
	linger();
	side_close(&pair[1 - first]);
}

/* What takes their numbers next hears of nothing, and works. */
static void check_successor(struct ibv_context *context)
{
	struct side pair[2];

	pair_open(pair, &(struct wish){ .context = context });
	side_expect_silence(&pair[0], 200000);
	side_receive(&pair[1], 2, 0, 8);
	side_post(&pair[0], IBV_WR_SEND, 1, 0, 8);
	(void)side_expect(&pair[0], 1, IBV_WC_SUCCESS);
	(void)side_expect(&pair[1], 2, IBV_WC_SUCCESS);
	pair_close(pair);
}

static void ended_with_timer(void)
{
	struct ibv_context *context = open_device();
	struct wish wish = { .context = context, .timeout = 1, .retry_cnt = 1 };

	for (unsigned int i = 0; i < rounds(600, 5000); i++) {
		wish.srq = random_below(2);
		wish.min_rnr_timer = (uint8_t)(1 + random_below(5));
		wish.no_rnr_retry = random_below(2);
		wish.rnr_retry = wish.no_rnr_retry ? 0 : (uint8_t)(1 + random_below(7));
		end_with_timer(&wish, random_below(2) ? wait_for_receive : wait_for_answer);
		if (i % 8 == 0)
			check_successor(context);
	}
	CHECK_EQ(ibv_close_device(context), 0);
}

/* ------------------------------------------------------- objects half built */

/* A command by hand, so that its response can be where nothing is. */
struct raw {
	struct ib_uverbs_cmd_hdr hdr;
	union {
		struct ib_uverbs_alloc_pd pd;
		struct ib_uverbs_reg_mr mr;
		struct ib_uverbs_alloc_mw mw;
		struct ib_uverbs_create_ah ah;
		struct ib_uverbs_create_cq cq;
		struct ib_uverbs_create_srq srq;
		struct ib_uverbs_create_qp qp;
		struct ib_uverbs_create_comp_channel channel;
		/* Driver's parts, which are 0, follow. */
		uint8_t room[128];
	};
};

#define BODY(_member) (sizeof(struct ib_uverbs_cmd_hdr) + sizeof(((struct raw *)NULL)->_member))

static void check_raw(struct ibv_context *context, uint32_t number, struct raw *raw, size_t length,
		      void *response, size_t response_length)
{
	/* The response's address is the first member of every command. */
	raw->pd.response = (uintptr_t)response;
	raw->hdr = (struct ib_uverbs_cmd_hdr){ .command = number,
					       .in_words = (uint16_t)(length / 4),
					       .out_words = (uint16_t)(response_length / 4) };
	errno = 0;
	if (write(context->cmd_fd, raw, length) != -1 || errno != EFAULT)
		FAIL("command %u with its response nowhere: errno %d", number, errno);
}

#define RAW(_number, _member, _more, ...)                                                          \
	check_raw(here.context, IB_USER_VERBS_CMD_##_number,                                       \
		  &(struct raw){ ._member = __VA_ARGS__ }, BODY(_member) + (_more), response, 128)

static void commands_without_response(void *response)
{
	uint32_t pd = here.pd->handle, cq = here.cq->handle;

	RAW(ALLOC_PD, pd, 0, { 0 });
	RAW(REG_MR, mr, 0,
	    { .pd_handle = pd,
	      .start = (uintptr_t)here.buffer,
	      .hca_va = (uintptr_t)here.buffer,
	      .length = 4096 });
	RAW(ALLOC_MW, mw, 0, { .pd_handle = pd, .mw_type = IBV_MW_TYPE_2 });
	RAW(CREATE_COMP_CHANNEL, channel, 0, { 0 });
	RAW(CREATE_CQ, cq, 8, { .cqe = 64, .comp_channel = -1 });
	RAW(CREATE_SRQ, srq, 0, { .pd_handle = pd, .max_wr = 64, .max_sge = 1 });
	RAW(CREATE_QP, qp, 0,
	    { .pd_handle = pd,
	      .send_cq_handle = cq,
	      .recv_cq_handle = cq,
	      .max_send_wr = 64,
	      .max_recv_wr = 64,
	      .max_send_sge = 1,
	      .max_recv_sge = 1,
	      .qp_type = IBV_QPT_RC });
}

/* All of the response missing, or its second half. */
static void responses_nowhere(void)
{
	uint8_t *pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *question =
		"(.files | length), (.devices[0] | .qps, .cqs, .srqs, .mrs | length)";
	char before[256];

	CHECK(pages != MAP_FAILED);
	CHECK_EQ(munmap(pages + 4096, 4096), 0);
	snprintf(before, sizeof(before), "%s", ask_status(question));
	for (unsigned int i = 0; i < rounds(300, 3000); i++) {
		commands_without_response(pages + 4096);
		commands_without_response(pages + 4096 - 4);
	}
	await_status(question, before);
	munmap(pages, 4096);
}

static struct ibv_qp *make_large_qp(const struct ibv_device_attr *limits)
{
	return ibv_create_qp(
		here.pd, &(struct ibv_qp_init_attr){
				 .qp_type = IBV_QPT_RC,
				 .send_cq = here.cq,
				 .recv_cq = here.cq,
				 .cap = { (uint32_t)limits->max_qp_wr, (uint32_t)limits->max_qp_wr,
					  (uint32_t)limits->max_sge, (uint32_t)limits->max_sge, 0 },
			 });
}

/* All queue memory that is left, in ever smaller rings. */
static unsigned int fill_heap(struct ibv_cq **cqs, unsigned int most, int largest)
{
	unsigned int count = 0;

	for (int size = largest; size >= 512; size /= 2)
		while (count < most &&
		       (cqs[count] = ibv_create_cq(here.context, size, NULL, NULL, 0)))
			count++;
	CHECK(count < most);
	return count;
}

/* As large as one ring of the largest queue pair. */
#define ONE_RING 131072

/* There is room for one of its two rings, and not for the other. */
static void second_ring_missing(void)
{
	static struct ibv_cq *cqs[4096];
	struct ibv_device_attr limits;
	struct ibv_cq *gap;
	unsigned int count;

	CHECK_EQ(ibv_query_device(here.context, &limits), 0);
	gap = ibv_create_cq(here.context, ONE_RING, NULL, NULL, 0);
	CHECK(gap);
	count = fill_heap(cqs, COUNT(cqs), limits.max_cqe);
	for (unsigned int i = 0; i < 100; i++) {
		CHECK(!ibv_create_cq(here.context, ONE_RING, NULL, NULL, 0));
		CHECK_EQ(ibv_destroy_cq(gap), 0);
		CHECK(!make_large_qp(&limits));
		CHECK_EQ(errno, ENOMEM);
		gap = ibv_create_cq(here.context, ONE_RING, NULL, NULL, 0);
		CHECK(gap);
	}
	while (count--)
		CHECK_EQ(ibv_destroy_cq(cqs[count]), 0);
	CHECK_EQ(ibv_destroy_cq(gap), 0);
	CHECK_EQ(ibv_destroy_qp(make_large_qp(&limits)), 0);
}

static void half_built(void)
{
	peer_open(&here, NULL);
	responses_nowhere();
	second_ring_missing();
	peer_close(&here);
}

/* ------------------------------------------------------------- peers trusted */

static void random_keys(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	uint32_t rkey;

	for (unsigned int i = 0; i < rounds(60, 2000); i++) {
		sge = side_sge(&here, 0, 8);
		rkey = i < 32 ? here.peer.rkey ^ 1u << i : (uint32_t)random_number();
		if (rkey == here.peer.rkey)
			continue;
		wr = request(one_sided[i % COUNT(one_sided)], &sge, 1, here.peer.addr, rkey);
		check_fails("random rkey", &wr, IBV_WC_REM_ACCESS_ERR);
	}
}

/* Rights that the peer's queue pair, or its region, does not give. */
static void rights(void)
{
	struct ibv_sge sge = side_sge(&here, 0, 8);
	struct ibv_send_wr wr;

	/* Our own region, which is in another domain than the peer. */
	wr = request(IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)here.buffer, here.mr->rkey);
	check_fails("another domain's rkey", &wr, IBV_WC_REM_ACCESS_ERR);
	wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 1, here.peer.addr + 4, here.peer.rkey);
	check_fails("atomic at an odd place", &wr, IBV_WC_REM_INV_REQ_ERR);
	sge.length = 4;
	wr.wr.atomic.remote_addr = here.peer.addr;
	check_fails("atomic of four bytes", &wr, IBV_WC_LOC_LEN_ERR);
}

/* More than the receive has room for: not a byte behind it is written. */
static void long_messages(void)
{
	static const struct piece room = { .length = 100 };
	static const uint32_t lengths[] = { 101, 128, 4096, LENGTH };

	for (size_t i = 0; i < COUNT(lengths); i++) {
		peer_set(0, PEER_BYTES, UNTOUCHED);
		peer_receive(2, &room, 1);
		side_post(&here, IBV_WR_SEND, 1, 0, lengths[i]);
		(void)side_expect(&here, 1, IBV_WC_REM_INV_REQ_ERR);
		(void)peer_expect(2, IBV_WC_LOC_LEN_ERR);
		CHECK(all_are(peer_look(100, 900), 900, UNTOUCHED));
		peer_anew(&here);
	}
}

/* What a message asks to invalidate is not a window of that connection. */
static void foreign_invalidation(void)
{
	static const struct piece room = { .length = 100 };
	struct ibv_sge sge = side_sge(&here, 0, 8);
	struct ibv_send_wr wr;

	for (unsigned int i = 0; i < 20; i++) {
		peer_receive(2, &room, 1);
		wr = request(IBV_WR_SEND_WITH_INV, &sge, 1, 0, 0);
		wr.invalidate_rkey = i ? (uint32_t)random_number() : here.peer.rkey;
		post(&wr);
		CHECK(side_wait(&here).status != IBV_WC_SUCCESS);
		CHECK(peer_wait().status != IBV_WC_SUCCESS);
		peer_anew(&here);
	}
	/* The peer's region is as it was. */
	side_post(&here, IBV_WR_RDMA_WRITE, 1, 0, 8);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
}

/* Immediate data is the receiver's to interpret, and nobody else's. */
static void any_immediate(void)
{
	static const uint32_t values[] = { 0, 1, 0x80000000, UINT32_MAX, 0x12345678 };
	static const struct piece room = { .length = 100 };
	struct ibv_sge sge = side_sge(&here, 0, 8);
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	for (size_t i = 0; i < 2 * COUNT(values); i++) {
		wr = request(i & 1 ? IBV_WR_SEND_WITH_IMM : IBV_WR_RDMA_WRITE_WITH_IMM, &sge, 1,
			     here.peer.addr, here.peer.rkey);
		wr.imm_data = htobe32(values[i / 2]);
		wr.send_flags = IBV_SEND_SIGNALED;
		peer_receive(2, &room, 1);
		post(&wr);
		(void)side_expect(&here, 1, IBV_WC_SUCCESS);
		wc = peer_expect(2, IBV_WC_SUCCESS);
		CHECK_EQ(be32toh(wc.imm_data), values[i / 2]);
		CHECK_EQ(wc.byte_len, 8);
	}
}

/* A connection to somebody who is not connected to us. */
static void foreign_numbers(void)
{
	struct address wrong = here.peer, right = here.peer;
	struct side third;

	side_open(&third, NULL);
	side_to_rtr(&third, &right);
	for (int i = 0; i < 4; i++) {
		const uint32_t numbers[] = { third.qp->qp_num, 0, 0xffffff, right.qpn ^ 1u << 23 };

		wrong.qpn = numbers[i];
		side_to_reset(&here);
		side_to_init(&here);
		side_connect(&here, &wrong);
		side_post(&here, IBV_WR_RDMA_WRITE, 1, 0, 8);
		(void)side_expect(&here, 1, IBV_WC_RETRY_EXC_ERR);
		here.peer = right;
	}
	side_close(&third);
	peer_anew(&here);
}

static void trusted_peer(void)
{
	peer_open(&here, &(struct wish){ .timeout = 1, .retry_cnt = 1 });
	random_keys();
	rights();
	long_messages();
	foreign_invalidation();
	any_immediate();
	foreign_numbers();
	peer_close(&here);
}

/* Of a datagram, number and key: what does not fit is lost, and nothing else. */
static void trusted_datagrams(void)
{
	static const struct piece room = { .length = 100 }, small = { .length = 47 };
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_ah *ah;

	peer_open(&here, &(struct wish){ .type = IBV_QPT_UD });
	ah = address_handle(0);
	sge = side_sge(&here, 0, 8);
	peer_receive(2, &room, 1);
	for (int i = 0; i < 4; i++) {
		wr = datagram(ah, &sge);
		if (i < 3)
			wr.wr.ud.remote_qpn = (uint32_t[]){ 0xffffff, UINT32_MAX, 0 }[i];
		else
			wr.wr.ud.remote_qkey ^= 1;
		post(&wr);
		(void)side_expect(&here, 1, IBV_WC_SUCCESS);
		peer_expect_silence();
	}
	wr = datagram(ah, &sge);
	post(&wr);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	CHECK_EQ(peer_expect(2, IBV_WC_SUCCESS).byte_len, 48);
	peer_set(0, 100, UNTOUCHED);
	peer_receive(2, &small, 1);
	post(&wr);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	peer_expect_silence();
	CHECK(all_are(peer_look(0, 100), 100, UNTOUCHED));
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	peer_close(&here);
}

static void input_trusted(void)
{
	trusted_peer();
	trusted_datagrams();
}

/* ---------------------------------------------- somebody's memory in the GRH */

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

/* Of an IPv4 header, with the checksum in its place. */
static uint32_t ones_sum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	return (sum & 0xffff) + (sum >> 16);
}

/* UDP, BTH, DETH and ICRC around the data. */
#define ROCE_OVERHEAD 32

static void check_ipv4(const uint8_t *grh, const union ibv_gid *gid, uint32_t length)
{
	uint32_t total = 20 + ROCE_OVERHEAD + length;
	uint8_t want[20] = {
		0x45,    0,      (uint8_t)(total >> 8), (uint8_t)total, 0, 0, 0x40, 0, 9, 17,
		grh[30], grh[31]
	};

	memcpy(want + 12, gid->raw + 12, 4);
	memcpy(want + 16, gid->raw + 12, 4);
	CHECK(all_are(grh, 20, 0));
	CHECK(!memcmp(grh + 20, want, sizeof(want)));
	CHECK_EQ(ones_sum(grh + 20), 0xffff);
}

static void check_ipv6(const uint8_t *grh, const union ibv_gid *gid, uint32_t length)
{
	uint32_t payload = ROCE_OVERHEAD + length;
	uint8_t want[40] = { 0x60, 0, 0, 0, (uint8_t)(payload >> 8), (uint8_t)payload, 17, 9 };

	memcpy(want + 8, gid->raw, 16);
	memcpy(want + 24, gid->raw, 16);
	CHECK(!memcmp(grh, want, sizeof(want)));
}

static void check_grh(uint8_t sgid_index, uint32_t length)
{
	/* In one piece, split within, and with the data by itself. */
	static const struct piece lists[][3] = {
		{ { 0, 1000, 0 }, { 0, 0, 0 }, { 0, 0, 0 } },
		{ { 0, 13, 0 }, { 13, 14, 0 }, { 27, 973, 0 } },
		{ { 0, 40, 0 }, { 40, 960, 0 }, { 0, 0, 0 } },
	};
	struct ibv_ah *ah = address_handle(sgid_index);
	struct ibv_sge sge = side_sge(&here, 0, length);
	struct ibv_send_wr wr = datagram(ah, &sge);
	const uint8_t *grh;
	union ibv_gid gid;

	CHECK_EQ(ibv_query_gid(here.context, 1, sgid_index, &gid), 0);
	for (size_t i = 0; i < COUNT(lists); i++) {
		peer_set(0, PEER_BYTES, UNTOUCHED);
		peer_receive(2, lists[i], 3);
		fill(here.buffer, length, (uint32_t)i);
		post(&wr);
		(void)side_expect(&here, 1, IBV_WC_SUCCESS);
		CHECK_EQ(peer_expect(2, IBV_WC_SUCCESS).byte_len, 40 + length);
		grh = peer_look(0, PEER_BYTES);
		if (is_ipv4(&gid))
			check_ipv4(grh, &gid, length);
		else
			check_ipv6(grh, &gid, length);
		CHECK(is_filled(grh + 40, length, (uint32_t)i));
		CHECK(all_are(grh + 40 + length, PEER_BYTES - 40 - length, UNTOUCHED));
	}
	CHECK_EQ(ibv_destroy_ah(ah), 0);
}

static void memory_in_grh(void)
{
	static const uint32_t lengths[] = { 0, 1, 39, 40, 41, 500 };
	struct ibv_port_attr port;
	union ibv_gid gid, zero = { .raw = { 0 } };

	peer_open(&here, &(struct wish){ .type = IBV_QPT_UD });
	CHECK_EQ(ibv_query_port(here.context, 1, &port), 0);
	for (int index = 0; index < port.gid_tbl_len && index < 255; index++) {
		if (ibv_query_gid(here.context, 1, index, &gid) ||
		    !memcmp(&gid, &zero, sizeof(gid)))
			continue;
		for (size_t i = 0; i < COUNT(lengths); i++)
			check_grh((uint8_t)index, lengths[i]);
	}
	peer_close(&here);
}

/* ------------------------------------------ sums and products of 32 bits */

#define GIB (1ull << 30)

/* Pieces whose lengths add up to little in 32 bits. */
static void long_sums(struct ibv_mr *mr)
{
	static const uint32_t lengths[][4] = {
		{ 1u << 31, 1u << 31 },
		{ UINT32_MAX, 9 },
		{ UINT32_MAX, UINT32_MAX, 2 },
		{ 1u << 30, 1u << 30, 1u << 31, 8 },
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, 11 },
	};
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct ibv_sge sges[4];
	struct ibv_send_wr wr;

	for (size_t i = 0; i < COUNT(lengths) * COUNT(opcodes); i++) {
		for (int k = 0; k < 4; k++)
			sges[k] = (struct ibv_sge){ (uintptr_t)mr->addr,
						    lengths[i / COUNT(opcodes)][k], mr->lkey };
		wr = request(opcodes[i % COUNT(opcodes)], sges, 4, here.peer.addr, here.peer.rkey);
		check_fails("long sum", &wr, IBV_WC_LOC_LEN_ERR);
	}
}

/* A receive with room for more than 32 bits can tell has room for little. */
static void roomy_receive(struct ibv_mr *mr)
{
	struct ibv_sge sges[2] = { { (uintptr_t)mr->addr, 1u << 31, mr->lkey },
				   { (uintptr_t)mr->addr + 2 * GIB, 1u << 31, mr->lkey } };
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = sges, .num_sge = 2 }, *bad;
	struct side pair[2];

	pair_open(pair, &(struct wish){ .context = here.context });
	/* Regions belong to domains: this side sends to one in the region's. */
	CHECK_EQ(ibv_destroy_qp(pair[1].qp), 0);
	pair[1].qp = ibv_create_qp(here.pd, &(struct ibv_qp_init_attr){
						    .qp_type = IBV_QPT_RC,
						    .send_cq = pair[1].cq,
						    .recv_cq = pair[1].cq,
						    .cap = { 4, 4, 4, 4, 0 },
					    });
	CHECK(pair[1].qp);
	side_to_init(&pair[1]);
	pair[0].peer = side_address(&pair[1]);
	pair[1].peer = side_address(&pair[0]);
	for (int i = 0; i < 2; i++) {
		struct address peer = pair[i].peer;

		CHECK(side_try_anew(&pair[i], &peer));
	}
	CHECK_EQ(ibv_post_recv(pair[1].qp, &wr, &bad), 0);
	fill(pair[0].buffer, 100, 3);
	side_post(&pair[0], IBV_WR_SEND, 1, 0, 100);
	(void)side_expect(&pair[0], 1, IBV_WC_SUCCESS);
	CHECK_EQ(side_expect(&pair[1], 2, IBV_WC_SUCCESS).byte_len, 100);
	CHECK(is_filled(mr->addr, 100, 3));
	pair_close(pair);
}

static void large_region(void)
{
	void *memory = mmap(NULL, 4 * GIB + 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_mr *mr;

	CHECK(memory != MAP_FAILED);
	peer_open(&here, NULL);
	mr = ibv_reg_mr(here.pd, memory, 4 * GIB + 4096, SIDE_ACCESS);
	CHECK(mr);
	long_sums(mr);
	roomy_receive(mr);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	peer_close(&here);
	munmap(memory, 4 * GIB + 4096);
}

/* Numbers whose product with the size of an entry is little in 32 bits. */
static void large_counts(void)
{
	static const uint32_t numbers[] = { 1u << 22, 1u << 25, 1u << 26,  1u << 28,
					    1u << 31, 1u << 27, UINT32_MAX };
	static const size_t members[] = { 0, 1, 2, 3, 4 };

	peer_open(&here, NULL);
	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct ibv_srq_init_attr srq = { .attr = { numbers[i], 1, 0 } };

		CHECK(!ibv_create_cq(here.context, (int)numbers[i], NULL, NULL, 0));
		CHECK(ibv_resize_cq(here.cq, (int)numbers[i]));
		CHECK(!ibv_create_srq(here.pd, &srq));
		srq.attr = (struct ibv_srq_attr){ 1, numbers[i], 0 };
		CHECK(!ibv_create_srq(here.pd, &srq));
		for (size_t k = 0; k < COUNT(members); k++) {
			uint32_t caps[5] = { 1, 1, 1, 1, 1 };
			struct ibv_qp_init_attr qp = { .qp_type = IBV_QPT_RC,
						       .send_cq = here.cq,
						       .recv_cq = here.cq };

			caps[k] = numbers[i];
			memcpy(&qp.cap, caps, sizeof(caps));
			CHECK(!ibv_create_qp(here.pd, &qp));
		}
	}
	side_post(&here, IBV_WR_RDMA_WRITE, 1, 0, 8);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	peer_close(&here);
}

static void size_overflow(void)
{
	large_region();
	large_counts();
}

/* ------------------------------------------------------------------------ all */

static const struct {
	const char *name;
	void (*body)(void);
} defects[] = {
	{ "a failed bounds check completed with success", failed_bounds_check },
	{ "64-bit wrap in region bounds", wrapped_bounds },
	{ "64-bit wrap in window bounds", wrapped_windows },
	{ "a skipped SGE slid the data", slid_data },
	{ "an unlocked pop of the send queue", unlocked_pop },
	{ "a bad lkey with no CQE", bad_key_no_cqe },
	{ "destroy against a running timer", ended_with_timer },
	{ "half-built objects torn down", half_built },
	{ "peer input trusted", input_trusted },
	{ "somebody's memory in a GRH", memory_in_grh },
	{ "integer overflow in a size computation", size_overflow },
};

int main(int argc, char **argv)
{
	bool processes = argc > 1 && !strcmp(argv[1], "processes");
	uint64_t since;

	if (argc < 2 || (!processes && strcmp(argv[1], "threads") != 0))
		FAIL("usage: peers_defects threads|processes [NAME]");
	seed_random();
	peer_start(processes);
	for (size_t i = 0; i < COUNT(defects); i++) {
		if (argc > 2 && !strstr(defects[i].name, argv[2]))
			continue;
		since = now_ns();
		defects[i].body();
		note("%s: no, %.1f s", defects[i].name, (double)(now_ns() - since) / 1e9);
	}
	peer_stop();
	return 0;
}
