// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests tag matching between processes. Messages of all sizes match, rendezvous data is read by
 * the device, senders die at any moment, and invalid arguments are refused. Prints the time of
 * a small matched message, and of one without a tag.
 *
 * fault_tag_matching between COMMAND...: this command, such as "vnet run --node B", starts the
 * sender; and no sender is killed.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <infiniband/tm_types.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "side.h"

#define SIZE (2u << 20)
#define ANNOUNCED (1u << 20)
#define HEADERS (sizeof(struct ibv_tmh) + sizeof(struct ibv_rvh))
#define ROUNDS 2000u
#define TAGS 16

/* -------------------------------------------------------------- the receiver */

struct receiver {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq_ex *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory;
	uint32_t unexpected;
};

struct got {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint32_t length;
	struct ibv_wc_tm_info info;
};

static struct receiver r;

static struct ibv_srq_init_attr_ex srq_attr(void)
{
	return (struct ibv_srq_init_attr_ex){
		.attr = { .max_wr = 64, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = r.pd,
		.cq = ibv_cq_ex_to_cq(r.cq),
		.tm_cap = { .max_num_tags = TAGS, .max_ops = 16 },
	};
}

/* knows_tags: the CQ has IBV_WC_EX_WITH_TM_INFO. */
static void open_receiver_that(bool knows_tags)
{
	struct ibv_cq_init_attr_ex cq = { .cqe = 1024, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_srq_init_attr_ex srq;

	if (knows_tags)
		cq.wc_flags |= IBV_WC_EX_WITH_TM_INFO;
	r.context = open_device();
	r.pd = ibv_alloc_pd(r.context);
	r.cq = ibv_create_cq_ex(r.context, &cq);
	CHECK(r.pd && r.cq);
	srq = srq_attr();
	r.srq = MADE(ibv_create_srq_ex(r.context, &srq));
	r.memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(r.memory != MAP_FAILED);
	r.mr = MADE(ibv_reg_mr(r.pd, r.memory, SIZE, SIDE_ACCESS));
}

static void open_receiver(void)
{
	open_receiver_that(true);
}

static void open_qp(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .srq = r.srq,
					 .send_cq = ibv_cq_ex_to_cq(r.cq),
					 .recv_cq = ibv_cq_ex_to_cq(r.cq) };

	r.qp = MADE(ibv_create_qp(r.pd, &attr));
}

static void close_receiver(void)
{
	CHECK_EQ(ibv_destroy_srq(r.srq), 0);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(r.cq)), 0);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	CHECK_EQ(ibv_dealloc_pd(r.pd), 0);
	CHECK_EQ(ibv_close_device(r.context), 0);
	munmap(r.memory, SIZE);
}

/* Connects the receiver's queue pair to a sender process. */
static void meet_sender(int sock)
{
	struct side s = { .context = r.context, .qp = r.qp, .mr = r.mr, .buffer = r.memory };

	s.wish.type = IBV_QPT_RC;
	s.wish.timeout = 14;
	s.wish.retry_cnt = 7;
	s.wish.rnr_retry = 7;
	s.wish.min_rnr_timer = 1;
	side_to_init(&s);
	side_meet(&s, sock);
}

static bool take(struct got *got)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };

	if (ibv_start_poll(r.cq, &attr))
		return false;
	*got = (struct got){ .wr_id = r.cq->wr_id,
			     .status = r.cq->status,
			     .opcode = ibv_wc_read_opcode(r.cq),
			     .flags = ibv_wc_read_wc_flags(r.cq),
			     .length = ibv_wc_read_byte_len(r.cq) };
	if (r.cq->read_tm_info)
		ibv_wc_read_tm_info(r.cq, &got->info);
	ibv_end_poll(r.cq);
	return true;
}

static struct got await(void)
{
	uint64_t since = now_ns();
	struct got got;

	while (!take(&got))
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("no completion comes");
	return got;
}

static struct got expect(uint64_t wr_id, enum ibv_wc_opcode opcode, unsigned int flags)
{
	struct got got = await();

	if (got.wr_id != wr_id || got.status != IBV_WC_SUCCESS || got.opcode != opcode ||
	    got.flags != flags)
		FAIL("completion of %llu: %s, opcode %d, flags %u; due was %llu, opcode %d, "
		     "flags %u",
		     (unsigned long long)got.wr_id, ibv_wc_status_str(got.status), (int)got.opcode,
		     got.flags, (unsigned long long)wr_id, (int)opcode, flags);
	return got;
}

static uint32_t add(uint64_t wr_id, uint64_t tag, uint64_t mask, size_t offset, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)r.memory + offset, length, r.mr->lkey };
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_ADD,
				 .flags = IBV_OPS_TM_SYNC,
				 .tm = { .unexpected_cnt = r.unexpected,
					 .add = { wr_id, &sge, 1, tag, mask } } },
			  *bad;

	CHECK_EQ(ibv_post_srq_ops(r.srq, &wr, &bad), 0);
	return wr.tm.handle;
}

static void post_plain(uint64_t wr_id, size_t offset, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)r.memory + offset, length, r.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_EQ(ibv_post_srq_recv(r.srq, &wr, &bad), 0);
}

/* ---------------------------------------------------------------- the sender */

struct order {
	uint8_t opcode;
	bool silent;
	uint32_t length;
	uint32_t count;
	uint64_t tag;
};

static void write_headers(struct side *s, const struct order *o)
{
	struct ibv_tmh tmh = { .opcode = o->opcode,
			       .app_ctx = htobe32(77),
			       .tag = htobe64(o->tag) };
	struct ibv_rvh rvh = { .va = htobe64((uintptr_t)s->buffer + ANNOUNCED),
			       .rkey = htobe32(s->mr->rkey),
			       .len = htobe32(o->length) };

	memcpy(s->buffer, &tmh, sizeof(tmh));
	if (o->opcode == IBV_TMH_RNDV) {
		memcpy(s->buffer + sizeof(tmh), &rvh, sizeof(rvh));
		fill(s->buffer + ANNOUNCED, o->length, (uint32_t)o->tag);
	} else {
		fill(s->buffer + sizeof(tmh), o->length, (uint32_t)o->tag);
	}
}

/*
 * Waits until the message was sent and, for a rendezvous message, until its FIN has arrived.
 * Between nodes, the FIN may come before the completion of the send, if an acknowledgement is
 * lost.
 */
static void await_sent(struct side *s, bool announced)
{
	bool sent = false, fetched = !announced;

	while (!sent || !fetched) {
		struct ibv_wc wc = side_wait(s);

		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		sent |= wc.wr_id == 5;
		fetched |= wc.wr_id == 9;
	}
}

/* Executes orders, until one has the count 0. */
static void sender(int sock, void *arg)
{
	struct order o;
	struct side s;

	side_open(&s, &(struct wish){ .length = SIZE });
	side_meet(&s, sock);
	for (;;) {
		uint32_t length;

		hear(sock, &o, sizeof(o));
		if (!o.count)
			break;
		write_headers(&s, &o);
		length = o.opcode == IBV_TMH_RNDV ? HEADERS :
						    o.length + (uint32_t)sizeof(struct ibv_tmh);
		if (o.opcode == IBV_TMH_RNDV)
			side_receive(&s, 9, 4096, HEADERS);
		while (o.count--) {
			side_post(&s, IBV_WR_SEND, 5, 0, length);
			await_sent(&s, o.opcode == IBV_TMH_RNDV);
		}
		if (o.opcode == IBV_TMH_RNDV) {
			CHECK_EQ(s.buffer[4096], IBV_TMH_FIN);
			/* After the FIN, the receiver no longer reads the data. */
			memset(s.buffer + ANNOUNCED, 0, o.length);
		}
		if (!o.silent)
			meet(sock);
	}
	side_close(&s);
}

#define WORDS 16

/* This program, and the command that starts the sender; or NULL. */
static const char *self;
static char **starter;

static void sender_elsewhere(int sock, void *arg)
{
	const char *words[WORDS + 4];
	char fd[16];
	size_t n = 0;

	snprintf(fd, sizeof(fd), "%d", dup(sock));
	while (n < WORDS && starter[n]) {
		words[n] = starter[n];
		n++;
	}
	words[n] = self;
	words[n + 1] = "sender";
	words[n + 2] = fd;
	words[n + 3] = NULL;
	execvp(words[0], (char *const *)(uintptr_t)words);
	FAIL("%s cannot be started", words[0]);
}

static void start_sender(struct helper *h)
{
	helper_start(h, "sender", starter ? sender_elsewhere : sender, NULL);
}

static void order(const struct helper *h, uint8_t opcode, uint64_t tag, uint32_t length)
{
	struct order o = { .opcode = opcode, .tag = tag, .length = length, .count = 1 };

	tell(h->sock, &o, sizeof(o));
	meet(h->sock);
}

/* --------------------------------------------------------------------- the tests */

#define WHOLE (IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID)

static void eager(const struct helper *h)
{
	static const uint32_t lengths[] = { 0, 1, 8, 64, 65, 80, 4096, 1000000 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct got got;

		(void)add(i, 100 + i, ~0ull, 0, ANNOUNCED);
		order(h, IBV_TMH_EAGER, 100 + i, lengths[i]);
		got = expect(i, IBV_WC_TM_RECV, WHOLE);
		CHECK_EQ(got.length, lengths[i]);
		CHECK_EQ(got.info.tag, 100 + i);
		CHECK_EQ(got.info.priv, 77);
		CHECK(is_filled(r.memory, lengths[i], (uint32_t)(100 + i)));
	}
}

static void in_order(const struct helper *h)
{
	uint32_t handle;
	struct ibv_ops_wr del = { .wr_id = 7, .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED },
			  *bad;

	(void)add(1, 5, ~0ull, 0, 64);
	handle = add(2, 0, 0, 64, 64);
	(void)add(3, 5, ~0ull, 128, 64);
	(void)add(4, 6, ~0ull, 192, 64);
	order(h, IBV_TMH_EAGER, 6, 64);
	(void)expect(2, IBV_WC_TM_RECV, WHOLE);
	order(h, IBV_TMH_EAGER, 5, 64);
	(void)expect(1, IBV_WC_TM_RECV, WHOLE);
	order(h, IBV_TMH_EAGER, 5, 64);
	(void)expect(3, IBV_WC_TM_RECV, WHOLE);
	/* The match has removed this tag. */
	del.tm.handle = handle;
	CHECK_EQ(ibv_post_srq_ops(r.srq, &del, &bad), 0);
	CHECK_EQ(await().status, IBV_WC_TM_ERR);
	del.tm.handle = handle + 2;
	CHECK_EQ(ibv_post_srq_ops(r.srq, &del, &bad), 0);
	(void)expect(7, IBV_WC_TM_DEL, 0);
}

static void unexpected(const struct helper *h)
{
	struct ibv_ops_wr sync = { .wr_id = 8,
				   .opcode = IBV_WR_TAG_SYNC,
				   .flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC },
			  *bad;

	post_plain(20, 0, 4096);
	post_plain(21, 4096, 4096);
	order(h, IBV_TMH_EAGER, 50, 1000);
	/* unexpected_cnt does not count that message yet, so this tag does not match yet. */
	(void)add(1, 51, ~0ull, 8192, 4096);
	order(h, IBV_TMH_EAGER, 51, 1000);
	CHECK_EQ(expect(20, IBV_WC_TM_RECV, 0).length, 1000 + sizeof(struct ibv_tmh));
	(void)expect(21, IBV_WC_TM_RECV, 0);
	r.unexpected = 2;
	sync.tm.unexpected_cnt = r.unexpected;
	CHECK_EQ(ibv_post_srq_ops(r.srq, &sync, &bad), 0);
	(void)expect(8, IBV_WC_TM_SYNC, 0);
	order(h, IBV_TMH_EAGER, 51, 1000);
	(void)expect(1, IBV_WC_TM_RECV, WHOLE);
	post_plain(22, 0, 4096);
	order(h, IBV_TMH_NO_TAG, 51, 10);
	(void)expect(22, IBV_WC_TM_NO_TAG, 0);
}

static void rendezvous(const struct helper *h)
{
	static const uint32_t lengths[] = { 1, 4096, ANNOUNCED };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct got got;

		memset(r.memory, 0, lengths[i]);
		(void)add(i, 200 + i, ~0ull, 0, ANNOUNCED);
		order(h, IBV_TMH_RNDV, 200 + i, lengths[i]);
		got = expect(i, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
		CHECK_EQ(got.info.tag, 200 + i);
		got = expect(i, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID);
		CHECK_EQ(got.length, lengths[i]);
		CHECK(is_filled(r.memory, lengths[i], (uint32_t)(200 + i)));
	}
}

/* Time of `ROUNDS` messages, one at a time. */
static uint64_t time_of(const struct helper *h, bool tagged)
{
	struct order o = { .opcode = tagged ? IBV_TMH_EAGER : IBV_TMH_NO_TAG,
			   .silent = true,
			   .tag = 5,
			   .length = 8,
			   .count = ROUNDS };
	uint64_t since = now_ns();

	tell(h->sock, &o, sizeof(o));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		if (tagged)
			(void)add(1, 5, ~0ull, 0, 64);
		else
			post_plain(1, 0, 64);
		(void)await();
	}
	return now_ns() - since;
}

/* The list is always full: a tag can be added as soon as another one's completion was polled. */
static void place_by_place(const struct helper *h)
{
	struct order o = {
		.opcode = IBV_TMH_EAGER, .silent = true, .tag = 5, .length = 8, .count = ROUNDS
	};

	for (uint32_t i = 0; i < TAGS; i++)
		(void)add(1, 5, ~0ull, 0, 64);
	tell(h->sock, &o, sizeof(o));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		(void)expect(1, IBV_WC_TM_RECV, WHOLE);
		(void)add(1, 5, ~0ull, 0, 64);
	}
	for (uint32_t i = 0; i < TAGS; i++) {
		order(h, IBV_TMH_EAGER, 5, 8);
		(void)expect(1, IBV_WC_TM_RECV, WHOLE);
	}
}

static void be_fast(const struct helper *h)
{
	(void)time_of(h, true);
	note("8 bytes: %.2f us matched, %.2f us to a plain receive",
	     (double)time_of(h, true) / ROUNDS / 1000, (double)time_of(h, false) / ROUNDS / 1000);
}

static void end_sender(struct helper *h)
{
	struct order end = { .count = 0 };

	tell(h->sock, &end, sizeof(end));
	helper_join(h);
}

static void all_is_well(void)
{
	struct helper h;

	start_sender(&h);
	open_receiver();
	open_qp();
	meet_sender(h.sock);
	eager(&h);
	in_order(&h);
	unexpected(&h);
	rendezvous(&h);
	place_by_place(&h);
	be_fast(&h);
	end_sender(&h);
	CHECK_EQ(ibv_destroy_qp(r.qp), 0);
	close_receiver();
}

/* A CQ without IBV_WC_EX_WITH_TM_INFO still reports the opcodes and flags of tag matching. */
static void without_information(void)
{
	struct ibv_ops_wr del = { .wr_id = 7, .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED },
			  *bad;
	struct helper h;

	start_sender(&h);
	r.unexpected = 0;
	open_receiver_that(false);
	open_qp();
	meet_sender(h.sock);
	(void)add(1, 5, ~0ull, 0, ANNOUNCED);
	order(&h, IBV_TMH_EAGER, 5, 8);
	(void)expect(1, IBV_WC_TM_RECV, WHOLE);
	(void)add(2, 5, ~0ull, 0, ANNOUNCED);
	order(&h, IBV_TMH_RNDV, 5, 4096);
	(void)expect(2, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
	(void)expect(2, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID);
	del.tm.handle = add(3, 5, ~0ull, 0, 64);
	CHECK_EQ(ibv_post_srq_ops(r.srq, &del, &bad), 0);
	(void)expect(7, IBV_WC_TM_DEL, 0);
	post_plain(4, 0, 64);
	order(&h, IBV_TMH_NO_TAG, 5, 8);
	(void)expect(4, IBV_WC_TM_NO_TAG, 0);
	end_sender(&h);
	CHECK_EQ(ibv_destroy_qp(r.qp), 0);
	close_receiver();
}

/* ------------------------------------------------------------- senders that die */

/* Adds a tag for each message that arrives, for `ns`; then kills the sender. */
static void feed(const struct helper *h, uint64_t ns)
{
	uint64_t since = now_ns();
	struct got got;

	for (uint32_t i = 0; i < 8; i++)
		(void)add(1, 5, ~0ull, 64 * i, 64);
	while (!is_past(since, ns)) {
		if (!take(&got))
			continue;
		CHECK_EQ(got.status, IBV_WC_SUCCESS);
		CHECK_EQ(got.flags, WHOLE);
		(void)add(1, 5, ~0ull, 0, 64);
	}
	kill(h->pid, SIGKILL);
}

/* Checks that exactly `tags` messages match. */
static void count_tags(const struct helper *h, uint32_t tags)
{
	for (uint32_t i = 0; i < tags; i++) {
		order(h, IBV_TMH_EAGER, 5, 8);
		(void)expect(1, IBV_WC_TM_RECV, WHOLE);
	}
	post_plain(2, 0, 64);
	order(h, IBV_TMH_EAGER, 5, 8);
	(void)expect(2, IBV_WC_TM_RECV, 0);
}

static void die_once(uint32_t delay)
{
	struct order o = {
		.opcode = IBV_TMH_EAGER, .silent = true, .tag = 5, .length = 8, .count = UINT32_MAX
	};
	struct helper victim, survivor;
	uint32_t left = 8;
	struct got got;

	helper_start(&victim, "victim", sender, NULL);
	helper_start(&survivor, "survivor", sender, NULL);
	r.unexpected = 0;
	open_receiver();
	open_qp();
	meet_sender(victim.sock);
	tell(victim.sock, &o, sizeof(o));
	feed(&victim, delay);
	helper_kill(&victim);
	/* Recovery has finished or undone the victim's operations. */
	await_status(".clients | length", "2");
	while (take(&got))
		left -= got.opcode == IBV_WC_TM_RECV;
	CHECK_EQ(ibv_destroy_qp(r.qp), 0);
	open_qp();
	meet_sender(survivor.sock);
	count_tags(&survivor, left);
	end_sender(&survivor);
	CHECK_EQ(ibv_destroy_qp(r.qp), 0);
	close_receiver();
}

/* ---------------------------------------------------------------- wrong arguments */

static void refuse_srq(const char *what, const struct ibv_srq_init_attr_ex *attr, int want)
{
	struct ibv_srq_init_attr_ex a = *attr;

	errno = 0;
	if (ibv_create_srq_ex(r.context, &a) || errno != want)
		FAIL("create_srq_ex, %s: errno %d, not %d", what, errno, want);
}

static void wrong_queues(void)
{
	struct ibv_context *other = open_device();
	struct ibv_pd *pd = ibv_alloc_pd(other);
	struct ibv_cq *cq = ibv_create_cq(other, 16, NULL, NULL, 0);
	struct ibv_cq *old = ibv_create_cq(r.context, 16, NULL, NULL, 0);
	struct ibv_srq_init_attr_ex a;

	CHECK(pd && cq && old);
	a = srq_attr(), a.tm_cap.max_num_tags = 0;
	refuse_srq("no tags", &a, EINVAL);
	a = srq_attr(), a.tm_cap.max_num_tags = 1 << 20;
	refuse_srq("too many tags", &a, EINVAL);
	a = srq_attr(), a.tm_cap.max_ops = 1 << 20;
	refuse_srq("too many operations", &a, EINVAL);
	a = srq_attr(), a.comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_TM;
	refuse_srq("nothing of tags", &a, EINVAL);
	a = srq_attr(), a.comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_CQ;
	refuse_srq("no completion queue", &a, EINVAL);
	a = srq_attr(), a.cq = cq;
	refuse_srq("a completion queue of another context", &a, EINVAL);
	a = srq_attr(), a.cq = old;
	refuse_srq("a completion queue that cannot tell of tags", &a, EINVAL);
	a = srq_attr(), a.pd = pd;
	refuse_srq("a domain of another context", &a, EINVAL);
	a = srq_attr(), a.attr.max_wr = 0;
	refuse_srq("no receives", &a, EINVAL);
	CHECK_EQ(ibv_destroy_cq(old), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(other), 0);
}

static void refuse_op(const char *what, struct ibv_ops_wr *wr, int want)
{
	struct ibv_ops_wr *bad = NULL;
	int is = ibv_post_srq_ops(r.srq, wr, &bad);

	if (is != want || bad != wr)
		FAIL("post_srq_ops, %s: %d, not %d", what, is, want);
}

static void wrong_operations(void)
{
	struct ibv_sge sges[5] = { { 0 } };
	struct ibv_ops_wr good = { .opcode = IBV_WR_TAG_ADD,
				   .tm.add = { .sg_list = sges, .num_sge = 1 } },
			  wr, *bad;

	wr = good, wr.opcode = 3;
	refuse_op("opcode", &wr, EINVAL);
	wr = good, wr.flags = 1 << 2;
	refuse_op("flags", &wr, EINVAL);
	wr = good, wr.tm.add.num_sge = 5;
	refuse_op("num_sge", &wr, EINVAL);
	wr = good, wr.tm.add.num_sge = -1;
	refuse_op("negative num_sge", &wr, EINVAL);
	for (int i = 0; i < TAGS; i++) {
		wr = good;
		CHECK_EQ(ibv_post_srq_ops(r.srq, &wr, &bad), 0);
	}
	wr = good;
	refuse_op("the list is full", &wr, ENOMEM);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(r.cq)), EBUSY);
}

static void wrong_queue_pairs(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .srq = r.srq,
					 .send_cq = ibv_cq_ex_to_cq(r.cq),
					 .recv_cq = ibv_cq_ex_to_cq(r.cq),
					 .cap = { .max_send_wr = 1 } };

	CHECK(!ibv_create_qp(r.pd, &attr) && errno == EINVAL);
	attr.cap.max_send_wr = 0;
	attr.qp_type = IBV_QPT_UD;
	CHECK(!ibv_create_qp(r.pd, &attr) && errno == EINVAL);
	open_qp();
	CHECK_EQ(ibv_destroy_srq(r.srq), EBUSY);
	CHECK_EQ(ibv_destroy_qp(r.qp), 0);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "sender")) {
		set_role("sender");
		sender(atoi(argv[2]), NULL);
		return 0;
	}
	self = argv[0];
	if (argc > 2 && !strcmp(argv[1], "between"))
		starter = argv + 2;
	all_is_well();
	without_information();
	if (starter)
		return 0;
	for (uint32_t i = 0; i < rounds(10, 300); i++)
		die_once(i * 100000);
	open_receiver();
	wrong_queues();
	wrong_operations();
	wrong_queue_pairs();
	close_receiver();
	return 0;
}
