// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pair 1 of each NIC, which carries MADs between nodes. It is a UD queue pair that the
 * daemon posts to. Its receive buffers are in device memory, so that any process that receives a
 * frame from the link can deliver it. The daemon arms no completion event. It wakes up for
 * frames, or periodically while clients poll the link, and polls the CQ then.
 *
 * The rings are shared with all clients. The daemon trusts only that an entry was completed, and
 * copies each message before it checks it.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <unistd.h>

#include "mad/inside.h"
#include "uverbs/objects.h"
#include "inside.h"

#define QP1 1u
#define QP1_QKEY 0x80010000u
#define SEND_ENTRIES 64u
#define RECEIVES 64u
#define CQ_ENTRIES 256u
/* A WQE header with an inline MAD. */
#define SEND_SHIFT 9
#define RECEIVE_SHIFT 6
/* Size of a receive buffer: GRH and MAD. */
#define ROOM 512u

static_assert(VNET_WQE_HDR_SIZE + MAD_SIZE <= 1u << SEND_SHIFT, "a message has room");
static_assert(VNET_GRH_SIZE + MAD_SIZE <= ROOM, "a datagram has room");

struct cm_qp1 {
	struct device *device;
	u32 pdn, cqn, key;
	struct uv_block *send, *receive, *cq, *memory;
	/* Counts of WQEs posted and CQEs polled. */
	u32 sent, posted, polled;
};

static u8 *slot(const struct cm_qp1 *qp1, const struct uv_block *ring, u32 index, u32 shift)
{
	return (u8 *)qp1->device->memory + ring->offset + VNET_RING_HDR_SIZE +
	       ((u64)index << shift);
}

static struct vnet_ring *header(const struct cm_qp1 *qp1, const struct uv_block *ring)
{
	return (struct vnet_ring *)(void *)((u8 *)qp1->device->memory + ring->offset);
}

/* ---------------------------------------------------------------- receiving */

static void post_receive(struct cm_qp1 *qp1, u32 buffer)
{
	u8 *place = slot(qp1, qp1->receive, qp1->posted % RECEIVES, RECEIVE_SHIFT);
	const struct vnet_recv_wqe wqe = { .wr_id = buffer, .num_sge = 1 };
	const struct vnet_sge sge = {
		.addr = (u64)buffer * ROOM,
		.length = ROOM,
		.lkey = qp1->key,
	};

	memcpy(place, &wqe, sizeof(wqe));
	memcpy(place + sizeof(wqe), &sge, sizeof(sge));
	qp1->posted++;
	/* Release: a reader of the new index also reads the entry. */
	nic_store_release(&header(qp1, qp1->receive)->prod, qp1->posted);
}

static void get_gids(const u8 *grh, bool ipv4, struct cm_arrival *arrival)
{
	if (ipv4) {
		arrival->sgid[10] = arrival->sgid[11] = 0xff;
		arrival->dgid[10] = arrival->dgid[11] = 0xff;
		memcpy(arrival->sgid + 12, grh + 32, 4);
		memcpy(arrival->dgid + 12, grh + 36, 4);
	} else {
		memcpy(arrival->sgid, grh + 8, 16);
		memcpy(arrival->dgid, grh + 24, 16);
	}
}

/* Dispatches a MAD: CM messages to the connection manager, others with a LID to umad. */
static void dispatch(struct cm *cm, struct cm_qp1 *qp1, const struct vnet_cqe *cqe,
		     const u8 *datagram)
{
	struct cm_arrival arrival = { .device = qp1->device };
	u32 length = cqe->byte_len, src_qp = cqe->src_qp;
	u8 grh[VNET_GRH_SIZE];
	u16 from = 0;

	if (cqe->flags & VNET_WC_LID) {
		from = (u16)(length >> VNET_CQE_LID_SHIFT);
		length &= (1u << VNET_CQE_LID_SHIFT) - 1;
		src_qp &= (1u << VNET_CQE_SL_SHIFT) - 1;
	}
	if (cqe->status != VNET_WC_SUCCESS || src_qp != QP1 || length != VNET_GRH_SIZE + MAD_SIZE)
		return;
	memcpy(grh, datagram, sizeof(grh));
	memcpy(&arrival.mad, datagram + VNET_GRH_SIZE, MAD_SIZE);
	if (mad_is_subnet(arrival.mad.byte[MAD_CLASS]))
		return;
	if (from && arrival.mad.byte[MAD_CLASS] != MAD_CLASS_CM) {
		umad_arrive(qp1->device, from, &arrival.mad);
	} else if (cqe->flags & VNET_WC_GRH) {
		get_gids(grh, cqe->flags & VNET_WC_GRH_IPV4, &arrival);
		cm_receive(cm, &arrival);
	}
}

static void take(struct cm *cm, struct cm_qp1 *qp1, const struct vnet_cqe *cqe)
{
	u32 buffer = (u32)cqe->wr_id % RECEIVES;

	dispatch(cm, qp1, cqe,
		 (const u8 *)qp1->device->memory + qp1->memory->offset + (u64)buffer * ROOM);
	post_receive(qp1, buffer);
}

static void poll(struct cm *cm, struct cm_qp1 *qp1)
{
	for (u32 i = 0; i < RECEIVES; i++) {
		const struct vnet_cqe *place = (const void *)slot(
			qp1, qp1->cq, qp1->polled % CQ_ENTRIES, __builtin_ctz(VNET_CQE_SIZE));
		struct vnet_cqe cqe;

		/* Acquire: pairs with the firmware's release of seq, which is stored last. */
		if (nic_load_acquire(&place->seq) != qp1->polled + 1)
			return;
		cqe = *place;
		qp1->polled++;
		nic_store(&header(qp1, qp1->cq)->cons, qp1->polled);
		if (cqe.opcode & VNET_WC_RECV)
			take(cm, qp1, &cqe);
	}
}

void cm_qp1_poll(struct cm *cm)
{
	for (u32 i = 0; i < cm->daemon->ndevices; i++)
		if (cm->qp1[i])
			poll(cm, cm->qp1[i]);
}

/* ------------------------------------------------------------------ sending */

static void post_send(struct cm_qp1 *qp1, const struct vnet_wqe_ud *to, const struct mad *mad)
{
	struct vnet_send_wqe wqe = { .opcode = VNET_WR_SEND, .flags = VNET_WR_INLINE, .ud = *to };
	u8 *place;

	/* Without a link or room in the ring, the MAD is lost; the sender will repeat it. */
	if (!qp1 || qp1->sent - nic_load(&header(qp1, qp1->send)->cons) >= SEND_ENTRIES)
		return;
	wqe.inline_len = MAD_SIZE;
	wqe.ud.remote_qpn = QP1;
	wqe.ud.remote_qkey = QP1_QKEY;
	place = slot(qp1, qp1->send, qp1->sent % SEND_ENTRIES, SEND_SHIFT);
	memcpy(place, &wqe, sizeof(wqe));
	memcpy(place + sizeof(wqe), mad, MAD_SIZE);
	qp1->sent++;
	nic_store_release(&header(qp1, qp1->send)->prod, qp1->sent);
	nic_send_doorbell(&qp1->device->nic, QP1);
}

void cm_qp1_send(struct cm *cm, const struct cm_path *path, const struct mad *mad)
{
	struct vnet_wqe_ud to = {
		.sgid_index = path->sgid_index,
		.hop_limit = path->hop_limit,
		.traffic_class = path->traffic_class,
	};

	memcpy(to.dgid, path->dgid, sizeof(to.dgid));
	post_send(cm->qp1[path->device->index], &to, mad);
}

void cm_qp1_send_lid(struct cm *cm, struct device *device, u16 lid, const struct mad *mad)
{
	const struct vnet_wqe_ud to = { .dlid = lid, .no_grh = 1 };

	post_send(cm->qp1[device->index], &to, mad);
}

/* ----------------------------------------------------------------- creation */

static enum nic_result to_rts(struct nic *nic)
{
	struct nic_qp_attr attr = { .qkey = QP1_QKEY, .port = 1 };
	enum nic_result result;

	result = nic_qp_modify(nic, QP1, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0,
			       NIC_QPS_INIT);
	if (result == NIC_OK)
		result = nic_qp_modify(nic, QP1, &attr, IBV_QP_STATE, 0, NIC_QPS_RTR);
	if (result == NIC_OK)
		result = nic_qp_modify(nic, QP1, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, 0,
				       NIC_QPS_RTS);
	return result;
}

/* Creates the queue pair and its objects in newly formatted NIC memory. */
static enum nic_result create(struct cm_qp1 *qp1)
{
	struct nic *nic = &qp1->device->nic;
	const struct nic_cq_params cq = {
		.ring = qp1->cq->offset,
		.entries = CQ_ENTRIES,
		.channel = NIC_NONE,
	};
	const struct nic_mr_params mr = {
		.key = qp1->key,
		.kind = NIC_MR_DEVICE,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.pdn = qp1->pdn,
		.addr = qp1->memory->offset,
		.length = RECEIVES * ROOM,
		.space = NIC_SPACE_DEVICE,
	};
	const struct nic_qp_params qp = {
		.qpn = QP1,
		.type = NIC_QPT_UD,
		.sq_stride_shift = SEND_SHIFT,
		.rq_stride_shift = RECEIVE_SHIFT,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline = MAD_SIZE,
		.pdn = qp1->pdn,
		.sq_ring = qp1->send->offset,
		.sq_entries = SEND_ENTRIES,
		.rq_ring = qp1->receive->offset,
		.rq_entries = RECEIVES,
		.send_cqn = qp1->cqn,
		.recv_cqn = qp1->cqn,
		.space = NIC_SPACE_POINTER,
		.owner_pid = (u32)getpid(),
	};
	enum nic_result result = nic_cq_create(nic, qp1->cqn, &cq);

	if (result == NIC_OK)
		result = nic_mr_create(nic, &mr);
	if (result == NIC_OK)
		result = nic_qp_create(nic, &qp);
	if (result == NIC_OK)
		result = to_rts(nic);
	qp1->sent = qp1->posted = qp1->polled = 0;
	for (u32 i = 0; result == NIC_OK && i < RECEIVES; i++)
		post_receive(qp1, i);
	return result;
}

static int reserve(struct cm_qp1 *qp1)
{
	struct device *device = qp1->device;
	u32 cq = uv_number_get(&device->alloc->cq, NULL);
	int err;

	qp1->pdn = uv_number_get(&device->alloc->pd, NULL);
	qp1->cqn = cq + 1;
	err = uv_key_new(device, NULL, &qp1->key);
	if (err)
		return err;
	qp1->send = uv_ring_get(device, SEND_ENTRIES, SEND_SHIFT);
	qp1->receive = uv_ring_get(device, RECEIVES, RECEIVE_SHIFT);
	qp1->cq = uv_ring_get(device, CQ_ENTRIES, (u32)__builtin_ctz(VNET_CQE_SIZE));
	qp1->memory = uv_heap_get(device, RECEIVES * ROOM);
	/* QP number 1 has index 1; claim it, so that no other queue pair gets it. */
	if (cq == NIC_NONE || qp1->pdn == NIC_NONE || !qp1->send || !qp1->receive || !qp1->cq ||
	    !qp1->memory || !uv_number_claim(&device->alloc->qp, QP1, NULL))
		return -ENOMEM;
	return 0;
}

/* No clean-up on errors: the daemon exits then. */
int cm_qp1_open(struct cm *cm, struct device *device)
{
	struct cm_qp1 *qp1;
	int err;

	if (nic_device(device)->link.fd < 0)
		return 0;
	qp1 = calloc(1, sizeof(*qp1));
	if (!qp1)
		return -ENOMEM;
	qp1->device = device;
	cm->qp1[device->index] = qp1;
	err = reserve(qp1);
	return err ? err : uv_result(create(qp1));
}

void cm_renew(struct daemon *daemon)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		if (daemon->cm->qp1[i] && create(daemon->cm->qp1[i]) != NIC_OK)
			log_line("%s: queue pair 1 cannot be made again",
				 daemon->device[i]->device.name);
}
