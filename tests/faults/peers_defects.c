// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Provokes defects that other software RDMA devices had.
 *
 *   peers_defects threads|processes [NAME]    where the peer lives
 */
#include "peers_defects.h"

struct side here;

bool all_are(const uint8_t *bytes, size_t length, uint8_t value)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge *sges, int count,
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

void post_here(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	CHECK_EQ(ibv_post_send(here.qp, wr, &bad), 0);
}

void check_fails(const char *what, struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	post_here(wr);
	wc = side_wait(&here);
	if (wc.status != status || wc.wr_id != wr->wr_id)
		FAIL("%s, opcode %d: %s, not %s", what, (int)wr->opcode,
		     ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
	peer_anew(&here);
}

const enum ibv_wr_opcode one_sided[ONE_SIDED] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
						  IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
						  IBV_WR_ATOMIC_CMP_AND_SWP };
struct ibv_ah *address_handle(uint8_t sgid_index)
{
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = 1,
				    .grh = { .sgid_index = sgid_index, .hop_limit = 9 } };
	struct ibv_ah *ah;

	CHECK_EQ(ibv_query_gid(here.context, 1, sgid_index, &attr.grh.dgid), 0);
	ah = MADE(ibv_create_ah(here.pd, &attr));
	return ah;
}

struct ibv_send_wr datagram(struct ibv_ah *ah, struct ibv_sge *sge)
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
	{ "half-built objects torn down: no answer", half_answered },
	{ "half-built objects torn down: no ring", half_built },
	{ "peer input trusted", input_trusted },
	{ "somebody's memory in a GRH", memory_in_grh },
	{ "integer overflow in a size computation: regions", large_region },
	{ "integer overflow in a size computation: counts", large_counts },
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
