// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queue pair state machine: transitions, their attributes and their effects. A table has the
 * required and optional attributes of each transition (IB vol 1, 10.3.1 and 11.2.5.2).
 */
#include "address/address.h"
#include "layout/lookup.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "completion/completion.h"
#include "objects/objects.h"

/* The values of enum ibv_qp_attr_mask. */
enum nic_qp_mask {
	NIC_QP_STATE = 1 << 0,
	NIC_QP_CUR_STATE = 1 << 1,
	NIC_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	NIC_QP_ACCESS_FLAGS = 1 << 3,
	NIC_QP_PKEY_INDEX = 1 << 4,
	NIC_QP_PORT = 1 << 5,
	NIC_QP_QKEY = 1 << 6,
	NIC_QP_AV = 1 << 7,
	NIC_QP_PATH_MTU = 1 << 8,
	NIC_QP_TIMEOUT = 1 << 9,
	NIC_QP_RETRY_CNT = 1 << 10,
	NIC_QP_RNR_RETRY = 1 << 11,
	NIC_QP_RQ_PSN = 1 << 12,
	NIC_QP_MAX_RD_ATOMIC = 1 << 13,
	NIC_QP_ALT_PATH = 1 << 14,
	NIC_QP_MIN_RNR_TIMER = 1 << 15,
	NIC_QP_SQ_PSN = 1 << 16,
	NIC_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	NIC_QP_PATH_MIG_STATE = 1 << 18,
	NIC_QP_DEST_QPN = 1 << 20,
	NIC_QP_RATE_LIMIT = 1 << 25,
};

enum nic_attr_limits {
	NIC_MAX_RD_ATOMIC = 16,
	/* IBV_MTU_256 to IBV_MTU_4096 */
	NIC_MIN_PATH_MTU = 1,
	NIC_MAX_PATH_MTU = 5,
	NIC_MIG_MIGRATED = 0,
	/*
	 * Access flags that a QP may have, including the optional range
	 * (IBV_ACCESS_OPTIONAL_RANGE).
	 */
	NIC_QP_ACCESS_KNOWN = 0x3ff | 0x3ff00000,
};

#define NIC_U24_MAX 0xffffffu

/* ---------------------------------------------------------- the transitions */

/* Required and optional attributes of a transition. */
struct nic_rule {
	u16 types;
	u8 from;
	u8 to;
	u32 required;
	u32 optional;
};

#define RC (1u << NIC_QPT_RC)
#define UC (1u << NIC_QPT_UC)
#define UD (1u << NIC_QPT_UD)
#define RAW (1u << NIC_QPT_RAW_PACKET)
#define WQ (1u << NIC_QPT_WQ)
#define INI (1u << NIC_QPT_XRC_INI)
#define TGT (1u << NIC_QPT_XRC_TGT)
#define RELIABLE (RC | INI | TGT)
#define CONNECTED (RELIABLE | UC)

#define PATH_UPDATE                                                                                \
	(NIC_QP_CUR_STATE | NIC_QP_ACCESS_FLAGS | NIC_QP_ALT_PATH | NIC_QP_PATH_MIG_STATE)

/*
 * Not listed: any state but RESET to ERR, and any state to RESET, both without attributes.
 * Alternate paths are listed, but nic_values_ok() refuses them.
 */
static const struct nic_rule nic_rules[] = {
	{ CONNECTED, NIC_QPS_RESET, NIC_QPS_INIT,
	  NIC_QP_PKEY_INDEX | NIC_QP_PORT | NIC_QP_ACCESS_FLAGS, 0 },
	{ UD, NIC_QPS_RESET, NIC_QPS_INIT, NIC_QP_PKEY_INDEX | NIC_QP_PORT | NIC_QP_QKEY, 0 },
	{ RAW, NIC_QPS_RESET, NIC_QPS_INIT, NIC_QP_PORT, 0 },
	/* A work queue that is ready. */
	{ WQ, NIC_QPS_RESET, NIC_QPS_RTR, 0, 0 },

	{ CONNECTED, NIC_QPS_INIT, NIC_QPS_INIT, 0,
	  NIC_QP_PKEY_INDEX | NIC_QP_PORT | NIC_QP_ACCESS_FLAGS },
	{ UD, NIC_QPS_INIT, NIC_QPS_INIT, 0, NIC_QP_PKEY_INDEX | NIC_QP_PORT | NIC_QP_QKEY },

	{ RC, NIC_QPS_INIT, NIC_QPS_RTR,
	  NIC_QP_AV | NIC_QP_PATH_MTU | NIC_QP_DEST_QPN | NIC_QP_RQ_PSN |
		  NIC_QP_MAX_DEST_RD_ATOMIC | NIC_QP_MIN_RNR_TIMER,
	  NIC_QP_ALT_PATH | NIC_QP_ACCESS_FLAGS | NIC_QP_PKEY_INDEX },
	{ TGT, NIC_QPS_INIT, NIC_QPS_RTR,
	  NIC_QP_AV | NIC_QP_PATH_MTU | NIC_QP_DEST_QPN | NIC_QP_RQ_PSN |
		  NIC_QP_MAX_DEST_RD_ATOMIC | NIC_QP_MIN_RNR_TIMER,
	  NIC_QP_ALT_PATH | NIC_QP_ACCESS_FLAGS | NIC_QP_PKEY_INDEX },
	/* Programs set the attributes of both ends on either end. */
	{ INI, NIC_QPS_INIT, NIC_QPS_RTR,
	  NIC_QP_AV | NIC_QP_PATH_MTU | NIC_QP_DEST_QPN | NIC_QP_RQ_PSN,
	  NIC_QP_ALT_PATH | NIC_QP_ACCESS_FLAGS | NIC_QP_PKEY_INDEX | NIC_QP_MAX_DEST_RD_ATOMIC |
		  NIC_QP_MIN_RNR_TIMER },
	{ UC, NIC_QPS_INIT, NIC_QPS_RTR,
	  NIC_QP_AV | NIC_QP_PATH_MTU | NIC_QP_DEST_QPN | NIC_QP_RQ_PSN,
	  NIC_QP_ALT_PATH | NIC_QP_ACCESS_FLAGS | NIC_QP_PKEY_INDEX },
	{ UD, NIC_QPS_INIT, NIC_QPS_RTR, 0, NIC_QP_PKEY_INDEX | NIC_QP_QKEY },
	{ RAW, NIC_QPS_INIT, NIC_QPS_INIT, 0, NIC_QP_PORT },
	{ RAW, NIC_QPS_INIT, NIC_QPS_RTR, 0, 0 },

	{ RC, NIC_QPS_RTR, NIC_QPS_RTS,
	  NIC_QP_TIMEOUT | NIC_QP_RETRY_CNT | NIC_QP_RNR_RETRY | NIC_QP_SQ_PSN |
		  NIC_QP_MAX_RD_ATOMIC,
	  PATH_UPDATE | NIC_QP_MIN_RNR_TIMER },
	{ INI, NIC_QPS_RTR, NIC_QPS_RTS,
	  NIC_QP_TIMEOUT | NIC_QP_RETRY_CNT | NIC_QP_RNR_RETRY | NIC_QP_SQ_PSN |
		  NIC_QP_MAX_RD_ATOMIC,
	  PATH_UPDATE },
	{ TGT, NIC_QPS_RTR, NIC_QPS_RTS, NIC_QP_TIMEOUT | NIC_QP_SQ_PSN,
	  PATH_UPDATE | NIC_QP_MIN_RNR_TIMER | NIC_QP_RETRY_CNT | NIC_QP_RNR_RETRY |
		  NIC_QP_MAX_RD_ATOMIC },
	{ UC, NIC_QPS_RTR, NIC_QPS_RTS, NIC_QP_SQ_PSN, PATH_UPDATE },
	{ UD, NIC_QPS_RTR, NIC_QPS_RTS, NIC_QP_SQ_PSN, NIC_QP_CUR_STATE | NIC_QP_QKEY },

	{ RAW, NIC_QPS_RTR, NIC_QPS_RTS, 0, NIC_QP_RATE_LIMIT },

	{ RC | TGT, NIC_QPS_RTS, NIC_QPS_RTS, 0, PATH_UPDATE | NIC_QP_MIN_RNR_TIMER },
	{ UC | INI, NIC_QPS_RTS, NIC_QPS_RTS, 0, PATH_UPDATE },
	{ UD, NIC_QPS_RTS, NIC_QPS_RTS, 0, NIC_QP_CUR_STATE | NIC_QP_QKEY },
	{ RAW, NIC_QPS_RTS, NIC_QPS_RTS, 0, NIC_QP_RATE_LIMIT },

	{ CONNECTED | UD | RAW, NIC_QPS_RTS, NIC_QPS_SQD, 0, NIC_QP_EN_SQD_ASYNC_NOTIFY },

	{ RC | TGT, NIC_QPS_SQD, NIC_QPS_RTS, 0, PATH_UPDATE | NIC_QP_MIN_RNR_TIMER },
	{ UC | INI, NIC_QPS_SQD, NIC_QPS_RTS, 0, PATH_UPDATE },
	{ UD, NIC_QPS_SQD, NIC_QPS_RTS, 0, NIC_QP_CUR_STATE | NIC_QP_QKEY },

	{ RC, NIC_QPS_SQD, NIC_QPS_SQD, 0,
	  NIC_QP_PORT | NIC_QP_AV | NIC_QP_TIMEOUT | NIC_QP_RETRY_CNT | NIC_QP_RNR_RETRY |
		  NIC_QP_MAX_RD_ATOMIC | NIC_QP_MAX_DEST_RD_ATOMIC | NIC_QP_ALT_PATH |
		  NIC_QP_ACCESS_FLAGS | NIC_QP_PKEY_INDEX | NIC_QP_MIN_RNR_TIMER |
		  NIC_QP_PATH_MIG_STATE },
	{ INI, NIC_QPS_SQD, NIC_QPS_SQD, 0,
	  NIC_QP_PORT | NIC_QP_AV | NIC_QP_TIMEOUT | NIC_QP_RETRY_CNT | NIC_QP_RNR_RETRY |
		  NIC_QP_MAX_RD_ATOMIC | NIC_QP_ALT_PATH | NIC_QP_ACCESS_FLAGS | NIC_QP_PKEY_INDEX |
		  NIC_QP_PATH_MIG_STATE },
	{ TGT, NIC_QPS_SQD, NIC_QPS_SQD, 0,
	  NIC_QP_PORT | NIC_QP_AV | NIC_QP_TIMEOUT | NIC_QP_MAX_DEST_RD_ATOMIC | NIC_QP_ALT_PATH |
		  NIC_QP_ACCESS_FLAGS | NIC_QP_PKEY_INDEX | NIC_QP_MIN_RNR_TIMER |
		  NIC_QP_PATH_MIG_STATE },
	{ UC, NIC_QPS_SQD, NIC_QPS_SQD, 0,
	  NIC_QP_AV | NIC_QP_ALT_PATH | NIC_QP_ACCESS_FLAGS | NIC_QP_PKEY_INDEX |
		  NIC_QP_PATH_MIG_STATE },
	{ UD, NIC_QPS_SQD, NIC_QPS_SQD, 0, NIC_QP_PKEY_INDEX | NIC_QP_QKEY },
	{ RAW, NIC_QPS_SQD, NIC_QPS_RTS, 0, 0 },

	{ UC, NIC_QPS_SQE, NIC_QPS_RTS, 0, NIC_QP_CUR_STATE | NIC_QP_ACCESS_FLAGS },
	{ UD, NIC_QPS_SQE, NIC_QPS_RTS, 0, NIC_QP_CUR_STATE | NIC_QP_QKEY },
	{ RAW, NIC_QPS_SQE, NIC_QPS_RTS, 0, NIC_QP_CUR_STATE },
};

#undef RC
#undef UC
#undef UD
#undef RAW
#undef WQ
#undef INI
#undef TGT
#undef RELIABLE
#undef CONNECTED
#undef PATH_UPDATE

static bool nic_transition_ok(const struct nic_qp *qp, u8 from, u8 to, u32 mask)
{
	u32 given = mask & ~(u32)NIC_QP_STATE;
	u32 i, type = 1u << (qp->kind & 31);

	if (to == NIC_QPS_RESET)
		return !given;
	if (to == NIC_QPS_ERR)
		return from != NIC_QPS_RESET && !given;
	for (i = 0; i < sizeof(nic_rules) / sizeof(nic_rules[0]); i++) {
		const struct nic_rule *rule = &nic_rules[i];

		if (rule->from != from || rule->to != to || !(rule->types & type))
			continue;
		return (given & rule->required) == rule->required &&
		       !(given & ~(rule->required | rule->optional));
	}
	return false;
}

/* -------------------------------------------------------------- the values */

/* Is there a global route, from a valid GID of this port? */
static bool nic_grh_ok(const struct nic_header *hdr, const struct nic_qp_attr *attr)
{
	return attr->sgid_index < NIC_MAX_GIDS && attr->sgid_index < hdr->ngids &&
	       !nic_gid_is_zero(hdr->gid[attr->sgid_index]) && !nic_gid_is_zero(attr->dgid);
}

/* RoCE requires a global route, InfiniBand the LID of a port. */
static bool nic_av_ok(const struct nic *nic, const struct nic_qp_attr *attr)
{
	const struct nic_header *hdr = nic->hdr;

	if (hdr->lid && !nic_lid_is_unicast(attr->dlid))
		return false;
	if (attr->is_global ? !nic_grh_ok(hdr, attr) : !hdr->lid)
		return false;
	return attr->sl <= 15;
}

static bool nic_limits_ok(const struct nic_qp_attr *attr, u32 mask)
{
	const struct {
		u32 bit;
		u32 value;
		u32 min;
		u32 max;
	} limit[] = {
		{ NIC_QP_PORT, attr->port, 1, 1 },
		{ NIC_QP_PKEY_INDEX, attr->pkey_index, 0, 0 },
		{ NIC_QP_PATH_MTU, attr->path_mtu, NIC_MIN_PATH_MTU, NIC_MAX_PATH_MTU },
		{ NIC_QP_TIMEOUT, attr->timeout, 0, 31 },
		{ NIC_QP_RETRY_CNT, attr->retry_cnt, 0, 7 },
		{ NIC_QP_RNR_RETRY, attr->rnr_retry, 0, 7 },
		{ NIC_QP_MIN_RNR_TIMER, attr->min_rnr_timer, 0, 31 },
		{ NIC_QP_MAX_RD_ATOMIC, attr->max_rd_atomic, 0, NIC_MAX_RD_ATOMIC },
		{ NIC_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic, 0, NIC_MAX_RD_ATOMIC },
		{ NIC_QP_DEST_QPN, attr->dest_qpn, 0, NIC_U24_MAX },
		{ NIC_QP_PATH_MIG_STATE, attr->path_mig_state, NIC_MIG_MIGRATED, NIC_MIG_MIGRATED },
	};
	u32 i;

	for (i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
		if ((mask & limit[i].bit) &&
		    (limit[i].value < limit[i].min || limit[i].value > limit[i].max))
			return false;
	}
	return true;
}

static bool nic_values_ok(const struct nic *nic, const struct nic_qp_attr *attr, u32 mask)
{
	/* No automatic path migration, because there is no second port. */
	if (mask & NIC_QP_ALT_PATH)
		return false;
	if ((mask & NIC_QP_ACCESS_FLAGS) && (attr->access & ~(u32)NIC_QP_ACCESS_KNOWN))
		return false;
	if ((mask & NIC_QP_AV) && !nic_av_ok(nic, attr))
		return false;
	return nic_limits_ok(attr, mask);
}

static bool nic_cur_state_ok(u8 cur_state, u8 state)
{
	return cur_state == state && (state == NIC_QPS_RTR || state == NIC_QPS_RTS ||
				      state == NIC_QPS_SQD || state == NIC_QPS_SQE);
}

/* ------------------------------------------------------------- taking effect */

static void nic_set_av(struct nic_qp_attr *to, const struct nic_qp_attr *from)
{
	memcpy(to->dgid, from->dgid, sizeof(to->dgid));
	/* Programs may set all bits; the header has 20. */
	to->flow_label = from->flow_label & 0xfffff;
	to->sgid_index = from->sgid_index;
	to->hop_limit = from->hop_limit;
	to->traffic_class = from->traffic_class;
	to->sl = from->sl;
	to->static_rate = from->static_rate;
	to->src_path_bits = from->src_path_bits;
	to->is_global = from->is_global;
	to->dlid = from->dlid;
}

static void nic_set_attr(struct nic_qp_attr *to, const struct nic_qp_attr *from, u32 mask)
{
#define SET(bit, field)                                                                            \
	do {                                                                                       \
		if (mask & (bit))                                                                  \
			to->field = from->field;                                                   \
	} while (0)
	SET(NIC_QP_ACCESS_FLAGS, access);
	SET(NIC_QP_PKEY_INDEX, pkey_index);
	SET(NIC_QP_PORT, port);
	SET(NIC_QP_QKEY, qkey);
	SET(NIC_QP_PATH_MTU, path_mtu);
	SET(NIC_QP_TIMEOUT, timeout);
	SET(NIC_QP_RETRY_CNT, retry_cnt);
	SET(NIC_QP_RNR_RETRY, rnr_retry);
	SET(NIC_QP_RQ_PSN, rq_psn);
	SET(NIC_QP_MAX_RD_ATOMIC, max_rd_atomic);
	SET(NIC_QP_MIN_RNR_TIMER, min_rnr_timer);
	SET(NIC_QP_SQ_PSN, sq_psn);
	/* Programs may set 32 bits; a PSN has 24. */
	to->rq_psn &= NIC_U24_MAX;
	to->sq_psn &= NIC_U24_MAX;
	SET(NIC_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	SET(NIC_QP_PATH_MIG_STATE, path_mig_state);
	SET(NIC_QP_DEST_QPN, dest_qpn);
	SET(NIC_QP_RATE_LIMIT, rate_limit);
#undef SET
	if (mask & NIC_QP_AV)
		nic_set_av(to, from);
}

/* Discard the entries of a ring; indices continue. Returns the new consumer index. */
static u32 nic_ring_reset(struct nic *nic, u64 offset)
{
	struct vnet_ring *ring = plat_queue(nic, offset, VNET_RING_HDR_SIZE);
	u32 prod;

	if (!ring)
		return 0;
	prod = nic_load_acquire(&ring->prod);
	nic_store_release(&ring->cons, prod);
	nic_store(&ring->need_doorbell, 0);
	return prod;
}

/* As after creation: empty queues, no attributes, nothing outstanding. */
static void nic_to_reset(struct nic *nic, struct nic_qp *qp)
{
	nic_store(&qp->sq_cons, nic_ring_reset(nic, qp->sq_ring));
	if (qp->rq.num) {
		qp->rq.cons = nic_ring_reset(nic, qp->rq.ring);
		qp->rq.prod_seen = qp->rq.cons;
		qp->rq.lossy = 1;
	}
	qp->wait = NIC_WAIT_NONE;
	qp->op_phase = NIC_OP_IDLE;
	qp->op_member = 0;
	qp->group = 0;
	qp->op_status = 0;
	qp->op_arrival = NIC_ARRIVAL_NONE;
	qp->op_bytes = 0;
	qp->retries_used = 0;
	qp->rnr_used = 0;
	memset(qp->intent, 0, sizeof(qp->intent));
	memset(qp->counters.fetch_since, 0, sizeof(qp->counters.fetch_since));
	qp->counters.moved = 0;
	qp->vendor_err = 0;
	qp->sq_draining = 0;
	nic_store(&qp->flush_rq, 0);
	nic_store(&qp->comm_est, 0);
	memset(&qp->attr, 0, sizeof(qp->attr));
	nic_unpend(nic, qp);
}

/* Requests under way are finished. The queue is drained then, or at once. */
static void nic_to_sqd(struct nic *nic, struct nic_qp *qp, const struct nic_qp_attr *attr, u32 mask)
{
	qp->attr.en_sqd_async_notify = (mask & NIC_QP_EN_SQD_ASYNC_NOTIFY) &&
				       attr->en_sqd_async_notify;
	qp->sq_draining = qp->wait != NIC_WAIT_NONE || qp->op_phase != NIC_OP_IDLE ||
			  nic_vn_is_busy(nic, qp);
	if (!qp->sq_draining && qp->attr.en_sqd_async_notify)
		nic_raise_qp(nic, qp, NIC_EVENT_SQ_DRAINED);
}

/*
 * Effects of a transition besides attributes; the caller holds all locks. NIC_BUSY: the transition
 * has begun, and continues with the next call.
 */
static enum nic_result nic_enter(struct nic *nic, struct nic_qp *qp, u8 to,
				 const struct nic_qp_attr *attr, u32 mask)
{
	u8 from = nic_load(&qp->state);

	if (to == NIC_QPS_ERR) {
		nic_qp_fail(nic, qp, -1);
		return NIC_OK;
	}
	if (to == NIC_QPS_RESET) {
		if (!nic_vn_teardown(nic, qp) || !nic_qp_seal(nic, qp))
			return NIC_BUSY;
		nic_to_reset(nic, qp);
		return NIC_OK;
	}
	nic_store(&qp->state, to);
	if (to == NIC_QPS_SQD && from == NIC_QPS_RTS) {
		nic_to_sqd(nic, qp, attr, mask);
	} else if (to == NIC_QPS_RTS && from != NIC_QPS_RTS) {
		/* Requests may have been posted before. */
		qp->sq_draining = 0;
		nic_pend(nic, qp);
	}
	return NIC_OK;
}

enum nic_result nic_qp_modify(struct nic *nic, u32 qpn, const struct nic_qp_attr *attr, u32 mask,
			      u8 cur_state, u8 new_state)
{
	struct nic_qp *qp = nic_find_qp(nic, qpn);
	enum nic_result result = NIC_EINVAL;
	struct nic_qp_attr before;
	u8 from, to;

	if (!qp || !nic_values_ok(nic, attr, mask))
		return NIC_EINVAL;
	if (!nic_qp_lock_all(nic, qp))
		return NIC_BUSY;
	from = nic_load(&qp->state);
	to = mask & NIC_QP_STATE ? new_state : from;
	if ((mask & NIC_QP_CUR_STATE) && !nic_cur_state_ok(cur_state, from))
		goto unlock;
	if (!nic_transition_ok(qp, from, to, mask))
		goto unlock;
	/* The path must not change while a request uses it. */
	if (from == NIC_QPS_SQD && to == NIC_QPS_SQD && qp->sq_draining)
		goto unlock;
	before = qp->attr;
	nic_set_attr(&qp->attr, attr, mask);
	result = nic_vn_configure(nic, qp, mask & NIC_QP_AV, from, to);
	if (result == NIC_OK)
		result = nic_enter(nic, qp, to, attr, mask);
	else
		qp->attr = before;
unlock:
	nic_qp_unlock_all(nic, qp);
	return result;
}

enum nic_result nic_qp_error(struct nic *nic, u32 qpn, enum nic_event event)
{
	struct nic_qp *qp = nic_find_qp(nic, qpn);

	if (!qp)
		return NIC_EINVAL;
	if (!nic_qp_lock_all(nic, qp))
		return NIC_BUSY;
	nic_qp_fail(nic, qp, (int)event);
	nic_qp_unlock_all(nic, qp);
	return NIC_OK;
}
