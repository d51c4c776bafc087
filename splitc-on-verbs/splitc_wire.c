// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates and connects a queue pair to each processor.
 *
 * Their numbers are exchanged once, when the job starts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "splitc_mapping.h"
#include "job/job.h"

#define MAX_INLINE 256u
#define MAX_RD_ATOMIC 16
#define MIN_RNR_TIMER 1 /* 0.01 ms */
#define RNR_RETRY 7 /* no limit, but there is always a receive */

/* What a process tells all others. */
struct card {
	union ibv_gid gid;
	uint64_t image, board;
	uint32_t board_rkey;
	uint32_t psn;
	uint16_t lid;
	uint8_t mtu; /* enum ibv_mtu */
	uint8_t mapping, credits, rd_atomic;
	uint8_t unused[6];
	uint32_t qpn[]; /* indexed by processor */
};

static struct ibv_mr *board_mr;

static size_t card_size(void)
{
	return sizeof(struct card) + ((size_t)splitc_procs * sizeof(uint32_t) + 7) / 8 * 8;
}

static unsigned int receives(void)
{
	/*
	 * In addition to all messages that can be in flight: receives that wait to be
	 * reposted. A receive is reposted only after its message has been answered, and the
	 * answer may cause another request.
	 */
	return 2 * sc.credits + SC_GIVE_BACK;
}

static size_t aligned(size_t n)
{
	return (n + 4095) / 4096 * 4096;
}

static size_t board_size(void)
{
	return aligned(sizeof(struct sc_board) +
		       2 * (size_t)splitc_procs * sizeof(sc.board->stored[0]));
}

static size_t peer_size(const struct sc_peer *peer)
{
	size_t bounce = sc.mapping == &sc_mapping_direct ? (size_t)sc.ring * SC_BOUNCE : 0;

	if (peer->proc == splitc_my_proc)
		return aligned(bounce);
	return aligned(2 * (size_t)sc.credits * SC_BUFFER + receives() * sizeof(struct sc_buffer) +
		       bounce);
}

static void place(struct sc_peer *peer, uint8_t *at)
{
	peer->lkey = sc.mr->lkey;
	if (peer->proc != splitc_my_proc) {
		peer->in = (struct sc_buffer *)(void *)at;
		at += receives() * sizeof(struct sc_buffer);
		peer->out = at;
		at += 2 * (size_t)sc.credits * SC_BUFFER;
	}
	peer->bounce = at;
}

static void make_memory(void)
{
	size_t at = board_size();

	sc.memory_size = at;
	for (int i = 0; i < splitc_procs; i++)
		sc.memory_size += peer_size(&sc.peers[i]);
	sc.memory = mmap(NULL, sc.memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (sc.memory == MAP_FAILED)
		sc_fail("no memory for buffers: %s", strerror(errno));
	sc.mr = ibv_reg_mr(sc.device.pd, sc.memory, sc.memory_size, IBV_ACCESS_LOCAL_WRITE);
	board_mr = ibv_reg_mr(sc.device.pd, sc.memory, board_size(),
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!sc.mr || !board_mr)
		sc_fail("cannot register %zu bytes of buffers: %s", sc.memory_size,
			strerror(errno));
	sc.board = (struct sc_board *)(void *)sc.memory;
	for (int i = 0; i < splitc_procs; i++) {
		place(&sc.peers[i], sc.memory + at);
		at += peer_size(&sc.peers[i]);
	}
}

static uint32_t at_most(uint64_t n, int limit)
{
	return n < (uint64_t)limit ? (uint32_t)n : (uint32_t)limit;
}

static void make_queues(void)
{
	uint64_t procs = (uint64_t)splitc_procs;

	sc.credits = (unsigned int)sc_settings.credits;
	sc.ack_unit = sc_settings.acks ? (unsigned int)sc_settings.acks : sc.credits / 4;
	if (sc.ack_unit >= sc.credits)
		sc.ack_unit = sc.credits - 1;
	if (!sc.ack_unit)
		sc.ack_unit = 1;
	sc.depth = at_most(4 * sc.credits + 16 +
				   (sc.mapping == &sc_mapping_direct ? sc_settings.depth : 0),
			   sc.device.attr.max_qp_wr);
	sc.signal = (uint32_t)sc_settings.signal < sc.depth / 4 ? (uint32_t)sc_settings.signal :
								  sc.depth / 4;
	for (sc.ring = 1; sc.ring < sc.depth; sc.ring *= 2)
		;
	sc.rcq = ibv_create_cq(sc.device.context,
			       (int)at_most(procs * receives(), sc.device.attr.max_cqe), NULL, NULL,
			       0);
	sc.scq = ibv_create_cq(sc.device.context,
			       (int)at_most(procs * sc.depth, sc.device.attr.max_cqe), NULL, NULL,
			       0);
	if (!sc.rcq || !sc.scq)
		sc_fail("cannot make completion queues: %s", strerror(errno));
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = sc.device.port,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* Devices do not report their inline limit, so try smaller and smaller ones. */
static struct ibv_qp *make_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = sc.scq,
		.recv_cq = sc.rcq,
		.cap = { .max_recv_wr = receives(), .max_send_sge = 2, .max_recv_sge = 1 }
	};
	struct ibv_qp *qp;

	for (uint32_t max_inline = sc.max_inline;; max_inline /= 2) {
		attr.cap.max_send_wr = sc.depth;
		attr.cap.max_inline_data = max_inline;
		qp = ibv_create_qp(sc.device.pd, &attr);
		if (qp)
			sc.max_inline = max_inline;
		if (qp || errno != EINVAL || !max_inline)
			return qp;
	}
}

static void post_receives(struct sc_peer *peer)
{
	for (unsigned int i = 0; i < receives(); i++) {
		struct sc_buffer *buffer = &peer->in[i];

		buffer->peer = peer;
		buffer->sge = (struct ibv_sge){ .addr = (uintptr_t)buffer->bytes,
						.length = SC_BUFFER,
						.lkey = peer->lkey };
		buffer->wr = (struct ibv_recv_wr){ .wr_id = (uintptr_t)buffer,
						   .next = peer->back,
						   .sg_list = &buffer->sge,
						   .num_sge = 1 };
		peer->back = &buffer->wr;
	}
	sc_give_back(peer);
}

static void make_peer(struct sc_peer *peer)
{
	peer->qp = make_qp();
	if (!peer->qp || to_init(peer->qp))
		sc_fail("cannot make a queue pair to processor %d: %s", peer->proc,
			strerror(errno));
	peer->sent = calloc(sc.ring, sizeof(*peer->sent));
	if (!peer->sent)
		sc_fail("no memory");
	peer->message = (struct ibv_send_wr){ .sg_list = peer->message_sge, .opcode = IBV_WR_SEND };
	peer->write = (struct ibv_send_wr){ .sg_list = &peer->write_sge,
					    .num_sge = 1,
					    .opcode = IBV_WR_RDMA_WRITE };
	peer->notice = peer->write;
	peer->notice.sg_list = &peer->notice_sge;
	peer->read = (struct ibv_send_wr){ .sg_list = &peer->read_sge,
					   .num_sge = 1,
					   .opcode = IBV_WR_RDMA_READ };
	peer->message_sge[0].lkey = peer->lkey;
	peer->write_sge.lkey = peer->lkey;
	peer->notice_sge.lkey = peer->lkey;
	peer->read_sge.lkey = peer->lkey;
	peer->nfree = sc.credits;
	for (unsigned int i = 0; i < sc.credits; i++)
		peer->free[i] = (uint8_t)i;
	if (peer->proc != splitc_my_proc)
		post_receives(peer);
}

static int rd_atomic(int limit)
{
	return limit < MAX_RD_ATOMIC ? limit : MAX_RD_ATOMIC;
}

static void write_card(struct card *card)
{
	card->gid = sc.device.gid;
	card->lid = sc.device.port_attr.lid;
	card->mtu = (uint8_t)sc.device.port_attr.active_mtu;
	card->image = sc.image;
	card->board = (uintptr_t)sc.board;
	card->board_rkey = board_mr->rkey;
	card->mapping = (uint8_t)sc_settings.mapping;
	card->credits = (uint8_t)sc.credits;
	card->rd_atomic = (uint8_t)rd_atomic(sc.device.attr.max_qp_rd_atom);
	if (getrandom(&card->psn, sizeof(card->psn), 0) != sizeof(card->psn))
		card->psn = 0;
	card->psn &= 0xffffff;
	for (int i = 0; i < splitc_procs; i++)
		card->qpn[i] = sc.peers[i].qp->qp_num;
}

static int to_rtr(struct sc_peer *peer, const struct card *mine, const struct card *theirs)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)(mine->mtu < theirs->mtu ? mine->mtu : theirs->mtu),
		.dest_qp_num = theirs->qpn[splitc_my_proc],
		.rq_psn = theirs->psn,
		.max_dest_rd_atomic = mine->rd_atomic,
		.min_rnr_timer = MIN_RNR_TIMER,
		.ah_attr = { .port_num = sc.device.port,
			     .dlid = theirs->lid,
			     .is_global = 1,
			     .grh = { .dgid = theirs->gid,
				      .sgid_index = (uint8_t)sc.device.gid_index,
				      .hop_limit = 64 } },
	};

	return ibv_modify_qp(peer->qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct sc_peer *peer, const struct card *mine, const struct card *theirs)
{
	int initiated = rd_atomic(sc.device.attr.max_qp_init_rd_atom);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = (uint8_t)sc_settings.timeout,
				    .retry_cnt = (uint8_t)sc_settings.retries,
				    .rnr_retry = RNR_RETRY,
				    .sq_psn = mine->psn,
				    .max_rd_atomic = (uint8_t)(initiated < theirs->rd_atomic ?
								       initiated :
								       theirs->rd_atomic) };

	return ibv_modify_qp(peer->qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void connect_peer(struct sc_peer *peer, const struct card *mine, const struct card *theirs)
{
	if (theirs->mapping != mine->mapping || theirs->credits != mine->credits)
		sc_fail("processor %d has other settings", peer->proc);
	if (to_rtr(peer, mine, theirs) || to_rts(peer, mine, theirs))
		sc_fail("cannot connect to processor %d: %s", peer->proc, strerror(errno));
	peer->image = theirs->image;
	peer->board = theirs->board;
	peer->board_rkey = theirs->board_rkey;
}

static void connect_all(void)
{
	size_t size = card_size();
	struct card *mine = calloc(1, size);
	uint8_t *all = calloc((size_t)splitc_procs, size);

	if (!mine || !all)
		sc_fail("no memory");
	write_card(mine);
	if (job_exchange(sc.job, mine, size, all))
		sc_fail("the launcher does not exchange addresses");
	for (int i = 0; i < splitc_procs; i++)
		connect_peer(&sc.peers[i], mine, (struct card *)(void *)(all + (size_t)i * size));
	free(all);
	free(mine);
	/* No processor may send before all queue pairs are connected. */
	if (job_barrier(sc.job))
		sc_fail("the launcher has gone");
}

void sc_wire_open(void)
{
	sc.peers = calloc((size_t)splitc_procs, sizeof(*sc.peers));
	if (!sc.peers)
		sc_fail("no memory");
	for (int i = 0; i < splitc_procs; i++)
		sc.peers[i].proc = i;
	sc.max_inline = MAX_INLINE;
	make_queues();
	make_memory();
	for (int i = 0; i < splitc_procs; i++)
		make_peer(&sc.peers[i]);
	connect_all();
}

void sc_wire_close(void)
{
	for (int i = 0; i < splitc_procs; i++) {
		ibv_destroy_qp(sc.peers[i].qp);
		free(sc.peers[i].sent);
		free(sc.peers[i].keys);
	}
	free(sc.peers);
	sc.peers = NULL;
	ibv_destroy_cq(sc.rcq);
	ibv_destroy_cq(sc.scq);
	ibv_dereg_mr(board_mr);
	ibv_dereg_mr(sc.mr);
	munmap(sc.memory, sc.memory_size);
}
