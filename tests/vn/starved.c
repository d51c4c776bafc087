// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Timeouts on a busy machine. Time in which a NIC had no processor does not count as silence of
 * a peer, and frames that arrived meanwhile count as heard. A dead peer is reported as the
 * connection's timeout and retries say.
 */
#include "vn/vn.h"
#include "world.h"

#define LENGTH 4096u
/* The attributes of end_connect(): timeout 14, seven retries. */
#define TIME_LIMIT (8 * (4096ull << 14))

static struct end *a, *b;
static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));

static void post(u8 opcode)
{
	struct vnet_send_wqe w = request(opcode, 1);

	aim(&w, &side[1], 0);
	end_send(a, &w, 0, LENGTH);
}

/* Connects two queue pairs, and completes the handshake. */
static void begin(void)
{
	world_make(1, &world_small);
	pair_make(&a, &b, NIC_QPT_RC);
	post(VNET_WR_RDMA_WRITE);
	CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	pass(50 * MS);
}

static void expect_none(void)
{
	struct vnet_cqe cqe;

	CHECK(!end_poll(a, &cqe));
}

/* Posts a request whose packets are all lost for this time. */
static void post_in_vain(u8 opcode, u64 ns)
{
	faults.lose = 1000;
	post(opcode);
	pass(ns);
	CHECK(side[0].nic.row[0].tx[0].retries >= 2);
	expect_none();
	faults.lose = 0;
}

/* Nobody runs for this time; then the requester's timers run before any frame arrives. */
static void stand_still(u64 ns)
{
	u64 next;

	now_ns += ns;
	runs = 0;
	nic_run(&side[0].nic, 64, &next);
}

/* A pause of any length does not count as silence of the peer. */
static void test_pause(u8 opcode)
{
	begin();
	post_in_vain(opcode, 100 * MS);
	for (u32 i = 0; i < 10; i++)
		stand_still(TIME_LIMIT + i * TIME_LIMIT / 3);
	expect_none();
	CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	world_free();
}

/* Each side runs for a moment every 50 ms, and earlier frames were lost. */
static void test_slow(u8 opcode)
{
	begin();
	faults.lose = 1000;
	post(opcode);
	for (u32 i = 0; i < 12; i++) {
		now_ns += 50 * MS;
		pass(5000);
	}
	CHECK(12 * 50 * MS > TIME_LIMIT);
	expect_none();
	faults.lose = 0;
	for (u32 i = 0; i < 20; i++) {
		now_ns += 50 * MS;
		pass(5000);
	}
	CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	world_free();
}

/* On a machine that is not busy, a dead peer is reported in time. */
static void test_dead(u8 opcode)
{
	struct vnet_cqe cqe;
	u64 start;

	begin();
	faults.lose = 1000;
	start = now_ns;
	post(opcode);
	pass(TIME_LIMIT - 10 * MS);
	expect_none();
	/* The timer of the last retransmission is at most one timeout. */
	pass(20 * MS + (4096ull << 14));
	CHECK(end_poll(a, &cqe) && cqe.status == VNET_WC_RETRY_EXC_ERR);
	CHECK(now_ns - start >= TIME_LIMIT);
	faults.lose = 0;
	world_free();
}

/* On a busy machine, a dead peer is reported later, but it is. */
static void test_dead_and_slow(void)
{
	struct vnet_cqe cqe;
	u32 i;

	begin();
	faults.lose = 1000;
	post(VNET_WR_RDMA_WRITE);
	for (i = 0; i < 200 && !end_poll(a, &cqe); i++) {
		now_ns += 50 * MS;
		pass(5000);
	}
	CHECK(i < 200 && cqe.status == VNET_WC_RETRY_EXC_ERR);
	faults.lose = 0;
	world_free();
}

/* Read data arrives while its queue pair is locked: it counts as an answer. */
static void test_heard_in_use(void)
{
	struct vnet_frame *head = (struct vnet_frame *)bytes;
	struct vnet_frame_ack *ack = (struct vnet_frame_ack *)(head + 1);
	const struct nic_tx *tx;
	struct nic_qp *qp;

	begin();
	tx = &side[0].nic.row[0].tx[0];
	qp = nic_find_qp(&side[0].nic, a->qpn);
	post_in_vain(VNET_WR_RDMA_READ, TIME_LIMIT * 9 / 10);
	faults.lose = 1000;
	memset(bytes, 0, sizeof(bytes));
	sign_for(0, head);
	head->kind = VNET_FRAME_ACK;
	head->nacks = 1;
	head->payload_len = LENGTH;
	*ack = (struct vnet_frame_ack){ .seq = tx->seq,
					.timestamp = tx->timestamp,
					.code = VNET_ACK_DONE };
	head->crc = plat_crc32c(0, bytes, sizeof(*head) + sizeof(*ack) + LENGTH);
	qp->sq_lock = 99;
	inject(0, bytes, sizeof(*head) + sizeof(*ack) + LENGTH);
	qp->sq_lock = 0;
	pass(TIME_LIMIT / 2);
	expect_none();
	faults.lose = 0;
	CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	world_free();
}

/* A thread that calls nic_timeout_clock() with an old time does not change the timeout clock. */
static void test_late_look(void)
{
	u64 before;

	begin();
	before = nic_timeout_clock(&side[0].nic, now_ns);
	CHECK(nic_timeout_clock(&side[0].nic, now_ns - 500 * MS) <= before);
	CHECK(nic_timeout_clock(&side[0].nic, now_ns) == before);
	/* A pause counts for little; later time counts in full. */
	CHECK(nic_timeout_clock(&side[0].nic, now_ns + 3000 * MS) <= before + 6 * MS);
	CHECK(nic_timeout_clock(&side[0].nic, now_ns + 3004 * MS) >= before + 4 * MS);
	world_free();
}

/* A request to another peer activates a row while the NIC processor begins to look at timers. */
static void activate_within(int step)
{
	struct nic *nic = &side[0].nic;

	if (step != NIC_STEP_TICK)
		return;
	on_step = NULL;
	nic->row[1].state = NIC_ROW_CALLING;
	nic->hdr->row_high = 2;
	nic_row_activate(nic, &nic->row[1]);
}

/* That row stays active; only the NIC processor looks at its timers. */
static void test_active_meanwhile(void)
{
	u64 next;

	begin();
	post_in_vain(VNET_WR_RDMA_WRITE, 100 * MS);
	on_step = activate_within;
	nic_run(&side[0].nic, 64, &next);
	CHECK(!on_step);
	CHECK(nic_load(&side[0].nic.hdr->row_active) & 1ull << 1);
	world_free();
}

int main(void)
{
	static const u8 opcodes[] = { VNET_WR_RDMA_WRITE, VNET_WR_RDMA_READ };

	for (u32 i = 0; i < 2; i++) {
		test_pause(opcodes[i]);
		test_slow(opcodes[i]);
		test_dead(opcodes[i]);
	}
	test_dead_and_slow();
	test_heard_in_use();
	test_late_look();
	test_active_meanwhile();
	return 0;
}
