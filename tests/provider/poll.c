// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of polling with ibv_poll_cq() and ibv_start_poll(). Also tests what happens to unpolled
 * completions when a queue pair is reset, a region deregistered, or the ring resized.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "fake_agent.h"

static struct ibv_cq *make_cq(struct ibv_context *context, uint64_t wc_flags, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1,
		.wc_flags = wc_flags,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = flags,
	};
	struct ibv_cq_ex *cq = fake_ops->create_cq_ex(context, &attr);

	assert_non_null(cq);
	return ibv_cq_ex_to_cq(cq);
}

static struct vnet_ring *ring_of(struct ibv_cq *cq)
{
	return to_vcq(cq)->ring;
}

static void an_empty_queue_lets_the_nic_work(void **state)
{
	struct ibv_cq *cq = fake_cq(*state);
	struct ibv_wc wc;

	assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 0);
	assert_int_equal(agent.idles, 1);
	fake_complete(cq, &(struct vnet_cqe){ .wr_id = 1 });
	assert_int_equal(fake_ops->poll_cq(cq, 4, &wc), 1);
	assert_int_equal(agent.idles, 1);
	fake_end_cq(cq);
}

/* A completion that the NIC or a peer makes during an empty poll is returned by that poll. */
static void what_comes_during_a_poll_is_returned_by_it(void **state)
{
	struct ibv_cq *cq = make_cq(*state, IBV_WC_STANDARD_FLAGS, 0);
	struct ibv_cq_ex *cqx = (struct ibv_cq_ex *)cq;
	struct ibv_poll_cq_attr attr = {};
	struct vnetdv_wc wide;
	struct ibv_wc wc;

	agent.idle_completes = cq;
	assert_int_equal(fake_ops->poll_cq(cq, 4, &wc), 1);
	assert_int_equal(wc.wr_id, FAKE_IDLE_WR);
	agent.idle_completes = cq;
	assert_int_equal(vnetdv_poll_cq(cq, 4, &wide), 1);
	assert_int_equal(wide.wc.wr_id, FAKE_IDLE_WR);
	agent.idle_completes = cq;
	assert_int_equal(ibv_start_poll(cqx, &attr), 0);
	assert_int_equal(cqx->wr_id, FAKE_IDLE_WR);
	ibv_end_poll(cqx);
	assert_int_equal(agent.idles, 3);
	assert_int_equal(ring_of(cq)->cons, 3);
	assert_int_equal(fake_ops->destroy_cq(cq), 0);
}

static void every_field_of_a_completion(void **state)
{
	struct ibv_cq *cq = fake_cq(*state);
	const struct vnet_cqe cqe = {
		.wr_id = 0x1122334455667788,
		.byte_len = 99,
		.qp_num = 0x123,
		.src_qp = 0x456,
		.imm = 0xabcdef,
		.opcode = VNET_WC_RECV,
		.flags = VNET_WC_GRH | VNET_WC_WITH_IMM,
	};
	struct ibv_wc wc;

	fake_complete(cq, &cqe);
	memset(&wc, 0x5a, sizeof(wc));
	assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, cqe.wr_id);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.vendor_err, 0);
	assert_int_equal(wc.byte_len, 99);
	assert_int_equal(wc.imm_data, 0xabcdef);
	assert_int_equal(wc.qp_num, 0x123);
	assert_int_equal(wc.src_qp, 0x456);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(wc.pkey_index | wc.slid | wc.dlid_path_bits, 0);
	/* On Ethernet, the SL tells the network header: RoCE v2 (8) and IPv6 (1). */
	assert_int_equal(wc.sl, 8 | 1);
	assert_int_equal(ring_of(cq)->cons, 1);

	fake_complete(cq, &(struct vnet_cqe){ .status = VNET_WC_REM_ACCESS_ERR, .imm = 0x77 });
	assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.vendor_err, 0x77);
	fake_end_cq(cq);
}

/* On an InfiniBand port, the sender's LID and SL are in the upper bits of other fields. */
static void a_senders_lid(void **state)
{
	struct ibv_cq *cq = fake_cq(*state);
	const struct vnet_cqe cqe = {
		.byte_len = 99 | 0xbeefu << VNET_CQE_LID_SHIFT,
		.qp_num = 0x123,
		.src_qp = 0x456 | 5u << VNET_CQE_SL_SHIFT,
		.opcode = VNET_WC_RECV,
		.flags = VNET_WC_LID,
	};
	struct ibv_wc wc;

	fake_complete(cq, &cqe);
	assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.byte_len, 99);
	assert_int_equal(wc.src_qp, 0x456);
	assert_int_equal(wc.slid, 0xbeef);
	assert_int_equal(wc.sl, 5);
	assert_int_equal(wc.wc_flags, 0);
	fake_end_cq(cq);
}

/* Many rounds through the ring, in batches of changing size. */
static void in_order_round_after_round(void **state)
{
	struct ibv_cq *cq = fake_cq(*state);
	struct vnet_cqe cqe = {};
	struct ibv_wc wc[16];
	uint64_t made = 0;
	uint64_t got = 0;
	int n;

	for (int round = 0; round < 1000; round++) {
		for (int i = 0; i < 1 + round % (int)agent.entries; i++) {
			cqe.wr_id = made++;
			fake_complete(cq, &cqe);
		}
		while ((n = fake_ops->poll_cq(cq, 1 + round % 3, wc)) > 0) {
			assert_in_range(n, 1, 1 + round % 3);
			for (int i = 0; i < n; i++)
				assert_int_equal(wc[i].wr_id, got++);
		}
		assert_int_equal(n, 0);
		assert_int_equal(got, made);
		assert_int_equal(ring_of(cq)->cons, (uint32_t)made);
	}
	fake_end_cq(cq);
}

static void indices_wrap(void **state)
{
	struct ibv_cq *cq = fake_cq(*state);
	struct vnet_cqe cqe = {};
	struct ibv_wc wc;

	to_vcq(cq)->cons = UINT32_MAX - 3;
	ring_of(cq)->cons = ring_of(cq)->prod = UINT32_MAX - 3;
	/* Set `seq` of all entries as the previous round would have left it. */
	for (uint32_t i = 0; i < agent.entries; i++)
		to_vcq(cq)->slots[(UINT32_MAX - 3 + i) & to_vcq(cq)->mask].seq =
			UINT32_MAX - 2 + i - agent.entries;
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 0);
		cqe.wr_id = i;
		fake_complete(cq, &cqe);
		assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 1);
		assert_int_equal(wc.wr_id, i);
	}
	fake_end_cq(cq);
}

/* Only for a CQ that ignores overruns. For others, the NIC never overruns the ring. */
static void an_overrun_loses_the_oldest(void **state)
{
	struct ibv_cq *cq =
		make_cq(*state, IBV_WC_STANDARD_FLAGS, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
	struct vnet_cqe cqe = {};
	uint32_t made = 0;
	struct ibv_wc wc;

	for (uint32_t rounds = 1; rounds < 4; rounds++) {
		for (uint32_t i = 0; i < rounds * agent.entries + 3; i++) {
			cqe.wr_id = made++;
			fake_complete(cq, &cqe);
		}
		for (uint32_t i = made - agent.entries; i < made; i++) {
			assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 1);
			assert_int_equal(wc.wr_id, i);
		}
		assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 0);
		assert_int_equal(ring_of(cq)->cons, made);
	}
	fake_end_cq(cq);
}

static struct vnet_cqe with_payload(void *buffer, const char *text, uint32_t qpn)
{
	struct vnet_cqe cqe = {
		.opcode = VNET_WC_RECV,
		.scatter_addr = (uintptr_t)buffer,
		.payload_len = (uint8_t)strlen(text),
		.byte_len = (uint32_t)strlen(text),
		.qp_num = qpn,
	};

	memcpy(cqe.payload, text, strlen(text));
	return cqe;
}

static void small_messages_are_put_in_place(void **state)
{
	struct ibv_cq *cq = fake_cq(*state);
	char buffer[100] = "";
	struct vnet_cqe cqe = with_payload(buffer, "hello", 5);
	struct ibv_wc wc;

	fake_complete(cq, &cqe);
	assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_string_equal(buffer, "hello");

	/*
	 * The buffer is unmapped: the completion has an error, and the provider reports the fault
	 * of the QP.
	 */
	agent.copy_fails = true;
	fake_complete(cq, &cqe);
	assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(wc.vendor_err, 0);
	assert_int_equal(agent.fault_qpn, 5);
	agent.copy_fails = false;

	/* An impossible length must not make the provider read beyond the entry. */
	memset(buffer, 0, sizeof(buffer));
	cqe.payload_len = 255;
	fake_complete(cq, &cqe);
	assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 1);
	assert_int_equal(buffer[VNET_CQE_PAYLOAD], 0);
	fake_end_cq(cq);
}

static void extended_polling(void **state)
{
	struct ibv_cq *cq =
		make_cq(*state,
			IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG |
				IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
			0);
	struct ibv_cq_ex *cqx = (struct ibv_cq_ex *)cq;
	struct ibv_poll_cq_attr attr = {};
	char buffer[8] = "";
	struct vnet_cqe cqe = with_payload(buffer, "four", 3);
	uint64_t now;

	assert_int_equal(agent.last_cq_flags, VNET_CREATE_CQ_TIMESTAMP);
	assert_int_equal(ibv_start_poll(cqx, &attr), ENOENT);
	assert_int_equal(agent.idles, 1);

	cqe.wr_id = 1;
	cqe.imm = 0x55;
	cqe.src_qp = 4;
	cqe.flags = VNET_WC_WITH_IMM;
	cqe.timestamp = vnet_clock_ns(CLOCK_MONOTONIC);
	fake_complete(cq, &cqe);
	fake_complete(cq,
		      &(struct vnet_cqe){ .wr_id = 2, .status = VNET_WC_WR_FLUSH_ERR, .imm = 9 });
	/* A field without its flag has no meaning. */
	fake_complete(cq, &(struct vnet_cqe){ .wr_id = 3, .opcode = VNET_WC_RECV, .imm = 0x1234 });
	fake_complete(cq, &(struct vnet_cqe){ .wr_id = 4,
					      .opcode = VNET_WC_RECV,
					      .flags = VNET_WC_FLOW_TAG,
					      .imm = 0x1234 });

	assert_int_equal(ibv_start_poll(cqx, &attr), 0);
	assert_int_equal(cqx->wr_id, 1);
	assert_int_equal(cqx->status, IBV_WC_SUCCESS);
	assert_string_equal(buffer, "four");
	assert_int_equal(ibv_wc_read_opcode(cqx), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(cqx), 4);
	assert_int_equal(ibv_wc_read_imm_data(cqx), 0x55);
	assert_int_equal(ibv_wc_read_invalidated_rkey(cqx), 0x55);
	assert_int_equal(ibv_wc_read_qp_num(cqx), 3);
	assert_int_equal(ibv_wc_read_src_qp(cqx), 4);
	assert_int_equal(ibv_wc_read_wc_flags(cqx), IBV_WC_WITH_IMM);
	assert_int_equal(ibv_wc_read_vendor_err(cqx), 0);
	assert_int_equal(ibv_wc_read_slid(cqx), 0);
	assert_int_equal(ibv_wc_read_sl(cqx), 0);
	assert_int_equal(ibv_wc_read_dlid_path_bits(cqx), 0);
	assert_int_equal(ibv_wc_read_cvlan(cqx), 0);
	/* Neither immediate data nor the vendor's error code is a flow tag. */
	assert_int_equal(ibv_wc_read_flow_tag(cqx), 0);
	assert_int_equal(ibv_wc_read_completion_ts(cqx), cqe.timestamp);
	now = vnet_clock_ns(CLOCK_REALTIME);
	assert_in_range(ibv_wc_read_completion_wallclock_ns(cqx), now - 1000000000, now + 1000000);
	/* The NIC must not reuse the entry that is being read. */
	assert_int_equal(ring_of(cq)->cons, 0);

	assert_int_equal(ibv_next_poll(cqx), 0);
	assert_int_equal(cqx->wr_id, 2);
	assert_int_equal(cqx->status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_wc_read_vendor_err(cqx), 9);
	assert_int_equal(ibv_wc_read_flow_tag(cqx), 0);
	assert_int_equal(ibv_next_poll(cqx), 0);
	assert_int_equal(ibv_wc_read_flow_tag(cqx), 0);
	assert_int_equal(ibv_next_poll(cqx), 0);
	assert_int_equal(ibv_wc_read_flow_tag(cqx), 0x1234);
	assert_int_equal(ibv_wc_read_wc_flags(cqx), 0);
	assert_int_equal(ibv_wc_read_cvlan(cqx), 0);
	assert_int_equal(ibv_next_poll(cqx), ENOENT);
	ibv_end_poll(cqx);
	assert_int_equal(ring_of(cq)->cons, 4);

	attr.comp_mask = 1;
	assert_int_equal(ibv_start_poll(cqx, &attr), EINVAL);
	fake_end_cq(cq);
}

static void queues_that_cannot_be(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .wc_flags = 1ull << 40 };

	assert_null(fake_ops->create_cq(*state, 0, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(fake_ops->create_cq_ex(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.wc_flags = 0;
	attr.comp_mask = 1u << 31;
	assert_null(fake_ops->create_cq_ex(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	attr.parent_domain = fake_pd(*state);
	assert_null(fake_ops->create_cq_ex(*state, &attr));
	assert_int_equal(errno, EINVAL);
	fake_end_pd(attr.parent_domain);
}

static void arming(void **state)
{
	struct ibv_cq *cq = fake_cq(*state);

	assert_int_equal(fake_ops->req_notify_cq(cq, 1), 0);
	assert_int_equal(ring_of(cq)->arm, VNET_CQ_ARM_SOLICITED);
	assert_int_equal(fake_ops->req_notify_cq(cq, 0), 0);
	assert_int_equal(ring_of(cq)->arm, VNET_CQ_ARM_NEXT);
	assert_int_equal(fake_ops->req_notify_cq(cq, 1), 0);
	assert_int_equal(ring_of(cq)->arm, VNET_CQ_ARM_NEXT);
	fake_end_cq(cq);
}

/*
 * Arming rings the doorbell if there are entries that came after the queue was last seen empty, and
 * no event was made for them.
 */
static void arming_tells_of_entries(void **state)
{
	struct ibv_cq *cq = fake_cq(*state);
	struct ibv_wc wc;

	fake_complete(cq, &(struct vnet_cqe){ .wr_id = 1 });
	assert_int_equal(fake_ops->req_notify_cq(cq, 0), 0);
	assert_int_equal(agent.cq_doorbells, 1);
	assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 1);
	assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 0);
	assert_int_equal(fake_ops->req_notify_cq(cq, 0), 0);
	assert_int_equal(agent.cq_doorbells, 1);

	/* The NIC decides whether one of the entries is solicited. */
	fake_complete(cq, &(struct vnet_cqe){ .wr_id = 2 });
	assert_int_equal(fake_ops->req_notify_cq(cq, 1), 0);
	assert_int_equal(agent.cq_doorbells, 2);
	assert_int_equal(fake_ops->req_notify_cq(cq, 0), 0);
	assert_int_equal(agent.cq_doorbells, 3);
	fake_ops->cq_event(cq);
	assert_int_equal(fake_ops->req_notify_cq(cq, 0), 0);
	assert_int_equal(agent.cq_doorbells, 3);
	fake_end_cq(cq);
}

static void a_queue_pair_takes_its_completions_along(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_cq *cq = fake_cq(*state);
	struct ibv_qp *qp = fake_qp(pd, cq, NULL, IBV_QPT_RC, false);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	char buffer[8] = "";
	struct vnet_cqe mine = with_payload(buffer, "mine", FAKE_QPN);
	struct ibv_wc wc[8];

	fake_complete(cq, &mine);
	fake_complete(cq, &(struct vnet_cqe){ .wr_id = 1, .qp_num = 1 });
	fake_complete(cq, &mine);
	fake_complete(cq, &(struct vnet_cqe){ .wr_id = 2, .qp_num = 1 });
	assert_int_equal(fake_ops->modify_qp(qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(fake_ops->poll_cq(cq, 8, wc), 2);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[1].wr_id, 2);
	assert_int_equal(ring_of(cq)->cons, 4);

	fake_complete(cq, &mine);
	fake_end_qp(qp);
	assert_int_equal(fake_ops->poll_cq(cq, 8, wc), 0);
	assert_int_equal(ring_of(cq)->cons, 5);
	assert_string_equal(buffer, "");
	fake_end_cq(cq);
	fake_end_pd(pd);
}

static void deregister(struct ibv_mr *mr)
{
	assert_int_equal(fake_ops->dereg_mr(container_of(mr, struct verbs_mr, ibv_mr)), 0);
}

static void a_region_gets_what_is_on_its_way(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_cq *cq = fake_cq(*state);
	char buffer[3][8] = { "", "", "" };
	struct vnet_cqe cqe[3];
	struct ibv_mr *mr;
	struct ibv_wc wc[4];

	for (int i = 0; i < 3; i++) {
		cqe[i] = with_payload(buffer[i], "data", 1);
		fake_complete(cq, &cqe[i]);
	}
	mr = fake_ops->reg_mr(pd, buffer[1], sizeof(buffer[1]), 0, 0);
	deregister(mr);
	assert_string_equal(buffer[0], "");
	assert_string_equal(buffer[1], "data");
	assert_string_equal(buffer[2], "");

	/* From here on, the program may change the memory. */
	strcpy(buffer[1], "other");
	assert_int_equal(fake_ops->poll_cq(cq, 4, wc), 3);
	assert_string_equal(buffer[0], "data");
	assert_string_equal(buffer[1], "other");
	assert_string_equal(buffer[2], "data");
	assert_int_equal(wc[1].byte_len, 4);

	fake_complete(cq, &cqe[0]);
	mr = fake_ops->reg_mr(pd, buffer, sizeof(buffer), 0, 0);
	agent.copy_fails = true;
	deregister(mr);
	agent.copy_fails = false;
	assert_int_equal(fake_ops->poll_cq(cq, 1, wc), 1);
	assert_int_equal(wc[0].status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(wc[0].vendor_err, 0);
	fake_end_cq(cq);
	fake_end_pd(pd);
}

static void *deregister_elsewhere(void *mr)
{
	deregister(mr);
	return NULL;
}

/* The entries of a CQ without a lock may be touched by its polling thread only. */
static void another_thread_keeps_off(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_cq *cq = make_cq(*state, 0, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	char buffer[8] = "";
	struct vnet_cqe cqe = with_payload(buffer, "data", 1);
	struct ibv_mr *mr = fake_ops->reg_mr(pd, buffer, sizeof(buffer), 0, 0);
	struct ibv_wc wc;
	pthread_t thread;

	assert_int_equal(fake_ops->poll_cq(cq, 1, &wc), 0);
	fake_complete(cq, &cqe);
	assert_int_equal(pthread_create(&thread, NULL, deregister_elsewhere, mr), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(buffer, "");

	mr = fake_ops->reg_mr(pd, buffer, sizeof(buffer), 0, 0);
	deregister(mr);
	assert_string_equal(buffer, "data");
	fake_end_cq(cq);
	fake_end_pd(pd);
}

static void resizing_keeps_what_is_unpolled(void **state)
{
	struct ibv_cq *cq = fake_cq(*state);
	struct vnet_cqe cqe = {};
	struct ibv_wc wc[32];
	uint64_t i;

	for (i = 0; i < 6; i++) {
		cqe.wr_id = i;
		fake_complete(cq, &cqe);
	}
	assert_int_equal(fake_ops->poll_cq(cq, 2, wc), 2);
	assert_int_equal(fake_ops->req_notify_cq(cq, 0), 0);
	assert_int_equal(fake_ops->resize_cq(cq, 0), EINVAL);
	assert_int_equal(fake_ops->resize_cq(cq, 32), 0);
	assert_int_equal(ring_of(cq)->arm, VNET_CQ_ARM_NEXT);
	for (; i < 30; i++) {
		cqe.wr_id = i;
		fake_complete(cq, &cqe);
	}
	assert_int_equal(fake_ops->poll_cq(cq, 32, wc), 28);
	for (i = 2; i < 30; i++)
		assert_int_equal(wc[i - 2].wr_id, i);
	agent.fail_next = EINVAL;
	assert_int_equal(fake_ops->resize_cq(cq, 16), EINVAL);
	fake_complete(cq, &cqe);
	assert_int_equal(fake_ops->poll_cq(cq, 32, wc), 1);
	fake_end_cq(cq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_queue_lets_the_nic_work),
		TEST(what_comes_during_a_poll_is_returned_by_it),
		TEST(every_field_of_a_completion),
		TEST(a_senders_lid),
		TEST(in_order_round_after_round),
		TEST(indices_wrap),
		TEST(an_overrun_loses_the_oldest),
		TEST(small_messages_are_put_in_place),
		TEST(extended_polling),
		TEST(queues_that_cannot_be),
		TEST(arming),
		TEST(arming_tells_of_entries),
		TEST(a_queue_pair_takes_its_completions_along),
		TEST(a_region_gets_what_is_on_its_way),
		TEST(another_thread_keeps_off),
		TEST(resizing_keeps_what_is_unpolled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
