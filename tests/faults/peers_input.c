// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Invalid keys, rights and lengths of requests, and invalid input from a peer. */
#include "peers_defects.h"

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

/* An invalid lkey of the requester: UC and UD queue pairs enter SQE. */
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
	post_here(&wr);
	(void)side_expect(&here, 1, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(side_state(&here), IBV_QPS_SQE);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	peer_close(&here);
}

/* An invalid lkey in a receive: the receive completes with an error, for each type. */
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
	post_here(&wr);
	(void)peer_expect(2, IBV_WC_LOC_PROT_ERR);
	(void)side_expect(&here, 1, type == IBV_QPT_RC ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	peer_close(&here);
}

void bad_key_no_cqe(void)
{
	bad_local_keys();
	bad_keys_unreliable(IBV_QPT_UC);
	bad_keys_unreliable(IBV_QPT_UD);
	bad_receive_keys(IBV_QPT_RC);
	bad_receive_keys(IBV_QPT_UC);
	bad_receive_keys(IBV_QPT_UD);
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

/* Requests that the peer's protection checks refuse, and atomics of a wrong size. */
static void rights(void)
{
	struct ibv_sge sge = side_sge(&here, 0, 8);
	struct ibv_send_wr wr;

	/* The rkey of the local region, which is in another PD than the peer's queue pair. */
	wr = request(IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)here.buffer, here.mr->rkey);
	check_fails("another domain's rkey", &wr, IBV_WC_REM_ACCESS_ERR);
	wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 1, here.peer.addr + 4, here.peer.rkey);
	check_fails("atomic at an odd place", &wr, IBV_WC_REM_INV_REQ_ERR);
	sge.length = 4;
	wr.wr.atomic.remote_addr = here.peer.addr;
	check_fails("atomic of four bytes", &wr, IBV_WC_LOC_LEN_ERR);
}

/* Messages longer than the receive: no byte behind the receive is written. */
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

/* SEND_WITH_INV with an rkey that is not a window of this queue pair. */
static void foreign_invalidation(void)
{
	static const struct piece room = { .length = 100 };
	struct ibv_sge sge = side_sge(&here, 0, 8);
	struct ibv_send_wr wr;

	for (unsigned int i = 0; i < 20; i++) {
		peer_receive(2, &room, 1);
		wr = request(IBV_WR_SEND_WITH_INV, &sge, 1, 0, 0);
		wr.invalidate_rkey = i ? (uint32_t)random_number() : here.peer.rkey;
		post_here(&wr);
		CHECK(side_wait(&here).status != IBV_WC_SUCCESS);
		CHECK(peer_wait().status != IBV_WC_SUCCESS);
		peer_anew(&here);
	}
	/* The peer's region is still valid. */
	side_post(&here, IBV_WR_RDMA_WRITE, 1, 0, 8);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
}

/* All values of immediate data are delivered unchanged. */
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
		post_here(&wr);
		(void)side_expect(&here, 1, IBV_WC_SUCCESS);
		wc = peer_expect(2, IBV_WC_SUCCESS);
		CHECK_EQ(be32toh(wc.imm_data), values[i / 2]);
		CHECK_EQ(wc.byte_len, 8);
	}
}

/* Connects to queue pairs that do not exist, or that are not connected to this one. */
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

/* Datagrams with a wrong QPN or Q_Key, or that exceed the receive, are dropped without effect. */
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
		post_here(&wr);
		(void)side_expect(&here, 1, IBV_WC_SUCCESS);
		peer_expect_silence();
	}
	wr = datagram(ah, &sge);
	post_here(&wr);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	CHECK_EQ(peer_expect(2, IBV_WC_SUCCESS).byte_len, 48);
	peer_set(0, 100, UNTOUCHED);
	peer_receive(2, &small, 1);
	post_here(&wr);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	peer_expect_silence();
	CHECK(all_are(peer_look(0, 100), 100, UNTOUCHED));
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	peer_close(&here);
}

void input_trusted(void)
{
	trusted_peer();
	trusted_datagrams();
}
