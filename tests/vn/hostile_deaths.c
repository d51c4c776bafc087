// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Processes that die while they execute a packet or a request, or that race with another process.
 * Each packet and each request takes effect exactly once.
 */
#include <setjmp.h>

#include "forge.h"

static u8 kept[VNET_WIRE_MAX_FRAME];

/* ------------------------------------------------------------------------- deaths */

static jmp_buf death;
static int dies_at;

static void die(int step)
{
	if (step == dies_at)
		longjmp(death, 1);
}

/* doing() dies at step dies_at of side[who], or in on_copy(); then the NIC is recovered. */
static void dies(void (*doing)(void), u32 who)
{
	on_step = die;
	if (!setjmp(death)) {
		doing();
		CHECK(!"the step was not reached");
	}
	on_step = NULL;
	on_copy = NULL;
	nic_recover(&side[who].nic, side[who].nic.self, NIC_SPACE_POINTER);
}

/*
 * The process that delivers a datagram dies after the delivery and before the acknowledgement:
 * the retransmitted datagram is not delivered again.
 */
static void test_datagram_death(void)
{
	u32 before;
	struct vnet_cqe cqe;

	end_recv(connected[1], 1, 0, 4096);
	end_recv(connected[1], 2, 4096, 4096);
	make(VNET_WR_SEND, VNET_GRH_SIZE + 8);
	op->read_len = nic_to_le32(0x1234);
	op->rkey = 0;
	memcpy(kept, space, sizeof(*head) + sizeof(*op) + VNET_GRH_SIZE + 8);
	before = connected[1]->rq.hdr->cons;
	dies_at = 16;
	dies(arrives, 1);
	CHECK(connected[1]->rq.hdr->cons == before + 1 && end_poll(connected[1], &cqe));
	memcpy(space, kept, sizeof(*head) + sizeof(*op) + VNET_GRH_SIZE + 8);
	arrives();
	pass(MS);
	memcpy(space, kept, sizeof(*head) + sizeof(*op) + VNET_GRH_SIZE + 8);
	arrives();
	pass(MS);
	CHECK(connected[1]->rq.hdr->cons == before + 1 && !end_poll(connected[1], &cqe));
}

static void atomic_arrives(void)
{
	memcpy(space, kept, sizeof(*head) + sizeof(*op));
	arrives();
}

/* The second copy writes the word, so a process that dies there has not written it. */
static u32 copies_left;

static void die_in_copy(void)
{
	if (!copies_left--)
		longjmp(death, 1);
}

/*
 * The executor of an atomic operation dies before or after it writes the word: in both cases,
 * the retransmission leads to exactly one execution.
 */
static void test_atomic_death(void)
{
	u64 word;

	for (u32 i = 0; i < 2; i++) {
		begin_connected(41, NIC_QPT_RC);
		memset(side[1].data, 0, 64);
		make(VNET_WR_ATOMIC_FETCH_ADD, 0);
		op->flags = 0;
		op->compare_add = nic_to_le64(5);
		memcpy(kept, space, sizeof(*head) + sizeof(*op));
		dies_at = i ? 7 : -1;
		copies_left = 1;
		on_copy = i ? NULL : die_in_copy;
		dies(atomic_arrives, 1);
		memcpy(&word, side[1].data, sizeof(word));
		CHECK(word == (i ? 5 : 0));
		pass(MS);
		atomic_arrives();
		memcpy(&word, side[1].data, sizeof(word));
		CHECK(word == 5 && answer() == VNET_ACK_RESULT && !ack->result);
		world_free();
	}
}

static void passes(void)
{
	pass(100 * MS);
}

/* A process that retires a request dies half-way: the request completes exactly once. */
static void test_retire_death(void)
{
	static const int steps[] = { 21, 22, 23 };
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 9);
	struct vnet_cqe cqe;

	for (u32 i = 0; i < 3; i++) {
		begin_connected(41, NIC_QPT_RC);
		aim(&w, &side[1], 0);
		end_send(connected[0], &w, 0, 64);
		dies_at = steps[i];
		dies(passes, 0);
		(void)end_expect(connected[0], 9, VNET_WC_SUCCESS);
		pass(100 * MS);
		CHECK(!end_poll(connected[0], &cqe));
		still_works();
		world_free();
	}
}

/* Requests left to the holder of the send queue's lock are executed after the holder's death. */
static void test_left(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 9);

	aim(&w, &side[1], 0);
	end_qp(connected[0])->sq_lock = 7;
	end_send(connected[0], &w, 0, 64);
	CHECK(!row_of(0)->busy);
	nic_recover(&side[0].nic, 7, 7);
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
}

/* ------------------------------------------------------------------------- races */

/* The row is renewed while its packet is executed: the new incarnation gets no acknowledgement. */
static void begin_anew(int step)
{
	if (step != 16)
		return;
	on_step = NULL;
	nic_row_renew(&side[1].nic, row_of(1));
	row_of(1)->incarnation += 1000;
}

static void test_new_life(void)
{
	struct vnet_cqe cqe;

	end_recv(connected[1], 1, 0, 4096);
	make(VNET_WR_SEND, 64);
	on_step = begin_anew;
	arrives();
	CHECK(!on_step && end_poll(connected[1], &cqe));
	CHECK(!row_of(1)->owed && !row_of(1)->rx[CHANNEL].seq && !row_of(1)->rx[CHANNEL].busy);
}

/* A packet that another process is executing is not executed a second time. */
static void test_twice(void)
{
	memset(side[1].data, 0, 64);
	row_of(1)->rx[CHANNEL].busy = side[1].nic.self + 1;
	make(VNET_WR_RDMA_WRITE, 64);
	arrives();
	CHECK(!is_written() && counters(1)->duplicates);
	row_of(1)->rx[CHANNEL].busy = 0;
	make(VNET_WR_RDMA_WRITE, 64);
	arrives();
	CHECK(is_written());
}

static struct nic_endpoint raced;
static u32 other_psn;

/* Another thread records a failure in between. */
static void fail_other(int step)
{
	on_step = NULL;
	nic_vn_fail(&raced, other_psn, VNET_WC_REM_ACCESS_ERR);
}

/* Two threads, with different locks, record failures: the earlier packet counts, with its status. */
static void test_failures_race(void)
{
	for (u32 i = 0; i < 2; i++) {
		raced.failed = 0;
		other_psn = i ? 9 : 7;
		on_step = fail_other;
		nic_vn_fail(&raced, 8, VNET_WC_LOC_PROT_ERR);
		CHECK(!on_step);
		CHECK(raced.failed == (i ? nic_failure(8, VNET_WC_LOC_PROT_ERR) :
					   nic_failure(7, VNET_WC_REM_ACCESS_ERR)));
	}
}

int main(int argc, char **argv)
{
	static const struct vn_test tests[] = {
		{ "datagram-death", test_datagram_death, NIC_QPT_UD },
		{ "atomic-death", test_atomic_death, OWN_WORLD },
		{ "retire-death", test_retire_death, OWN_WORLD },
		{ "left", test_left, NIC_QPT_RC },
		{ "new-life", test_new_life, NIC_QPT_RC },
		{ "twice", test_twice, NIC_QPT_RC },
		{ "failures-race", test_failures_race, OWN_WORLD },
	};

	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
