// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * NETLINK_RDMA commands that list a device's objects. The list comes from the daemon's private
 * memory; states and attributes of queue pairs come from NIC memory.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon.h"
#include "inside.h"
#include "uverbs/objects.h"

/* Limit of ranges of queue pairs per shared receive queue: no more fit into a datagram. */
#define MOST_RANGES 128

/* An object, or, if obj is NULL, a context. */
struct entry {
	const struct uctx *ctx;
	const struct uv_object *obj;
};

struct kind {
	const char *name;
	/* enum uverbs_default_objects; NO_OBJECT: contexts; NOTHING: never matches. */
	u32 type;
	u32 table, entry, id;
	/* Objects belong to a port; a request for one object must name it. */
	bool per_port;
	u32 (*number)(const struct entry *entry);
	/* per_port: the object's port; 0: none yet. */
	u32 (*port)(const struct entry *entry);
	void (*put)(struct netlink_message *message, const struct entry *entry);
};

/* Values outside enum uverbs_default_objects. */
#define NO_OBJECT 0xffff
#define NOTHING 0xfffe

/* ------------------------------------------------------ common attributes */

static void put_pid(struct netlink_message *message, pid_t pid)
{
	/* 0: the process is of another PID namespace, or gone. */
	if (pid > 0)
		netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_PID, (u32)pid);
}

static void put_owner(struct netlink_message *message, const struct entry *entry)
{
	put_pid(message, entry->obj->client->pid);
}

static void put_context(struct netlink_message *message, const struct entry *entry)
{
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_CTXN, entry->ctx->file->id);
}

/* --------------------------------------------------------------- contexts */

static u32 context_number(const struct entry *entry)
{
	return entry->ctx->file->id;
}

static void put_context_entry(struct netlink_message *message, const struct entry *entry)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);

	put_context(message, entry);
	if (getsockopt(entry->ctx->file->sock, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0)
		put_pid(message, peer.pid);
}

/* ----------------------------------------------------- protection domains */

static u32 pd_number(const struct entry *entry)
{
	return UV_CAST(const struct uv_pd, entry->obj)->pdn;
}

static void put_pd(struct netlink_message *message, const struct entry *entry)
{
	netlink_put_u64(message, RDMA_NLDEV_ATTR_RES_USECNT, entry->obj->uses);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_PDN, pd_number(entry));
	put_context(message, entry);
	put_owner(message, entry);
}

/* ------------------------------------------------------ completion queues */

static u32 cq_number(const struct entry *entry)
{
	return UV_CAST(const struct uv_cq, entry->obj)->cqn;
}

static void put_cq(struct netlink_message *message, const struct entry *entry)
{
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_CQE,
			UV_CAST(const struct uv_cq, entry->obj)->entries);
	netlink_put_u64(message, RDMA_NLDEV_ATTR_RES_USECNT, entry->obj->uses);
	netlink_put_u8(message, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_CQN, cq_number(entry));
	put_context(message, entry);
	put_owner(message, entry);
}

/* --------------------------------------------------------- memory regions */

static u32 mr_number(const struct entry *entry)
{
	return UV_CAST(const struct uv_mr, entry->obj)->index;
}

/* The keys are not secret from the reader: a process of this user can access the memory anyway. */
static void put_mr(struct netlink_message *message, const struct entry *entry)
{
	const struct uv_mr *mr = UV_CAST(const struct uv_mr, entry->obj);

	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_RKEY, mr->params.key);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_LKEY, mr->params.key);
	netlink_put_u64(message, RDMA_NLDEV_ATTR_RES_MRLEN, mr->params.length);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_MRN, mr_number(entry));
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_PDN, mr->pd->pdn);
	put_owner(message, entry);
}

static void put_mr_counters(struct netlink_message *message, const struct entry *entry)
{
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_MRN, mr_number(entry));
}

/* ------------------------------------------------------------ queue pairs */

static u32 qp_number(const struct entry *entry)
{
	return UV_CAST(const struct uv_qp, entry->obj)->params.qpn;
}

/* Reads attributes and state. The number is the private copy: NIC memory may be damaged. */
static u8 query_qp(const struct uv_qp *qp, struct nic_qp_attr *attr)
{
	u8 state = NIC_QPS_RESET, draining;

	memset(attr, 0, sizeof(*attr));
	(void)nic_qp_query(&qp->obj.device->nic, qp->params.qpn, attr, &state, &draining);
	return state;
}

/* Returns the queue pair's port, 0 before INIT. */
static u32 qp_port(const struct entry *entry)
{
	struct nic_qp_attr attr;

	(void)query_qp(UV_CAST(const struct uv_qp, entry->obj), &attr);
	return attr.port;
}

static void put_qp_state(struct netlink_message *message, const struct uv_qp *qp)
{
	bool connected = qp->params.type != NIC_QPT_UD;
	struct nic_qp_attr attr;
	u8 state = query_qp(qp, &attr);

	if (connected) {
		netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_RQPN, attr.dest_qpn);
		netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_RQ_PSN, attr.rq_psn);
	}
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_SQ_PSN, attr.sq_psn);
	if (connected)
		netlink_put_u8(message, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, attr.path_mig_state);
	netlink_put_u8(message, RDMA_NLDEV_ATTR_RES_TYPE, (u8)qp->params.type);
	netlink_put_u8(message, RDMA_NLDEV_ATTR_RES_STATE, state);
}

static void put_qp(struct netlink_message *message, const struct entry *entry)
{
	const struct uv_qp *qp = UV_CAST(const struct uv_qp, entry->obj);
	u32 port = qp_port(entry);

	if (port)
		netlink_put_u32(message, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_LQPN, qp->params.qpn);
	/* An XRC target has no protection domain. */
	if (qp->pd)
		netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_PDN, qp->pd->pdn);
	put_owner(message, entry);
	put_qp_state(message, qp);
}

/* -------------------------------------------------- shared receive queues */

static u32 srq_number(const struct entry *entry)
{
	return UV_CAST(const struct uv_srq, entry->obj)->srqn;
}

static void put_range(struct netlink_message *message, u32 first, u32 last)
{
	u32 nest = netlink_nest(message, RDMA_NLDEV_ATTR_RES_QP_ENTRY | NLA_F_NESTED);

	if (first == last) {
		netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_LQPN, first);
	} else {
		netlink_put_u32(message, RDMA_NLDEV_ATTR_MIN_RANGE, first);
		netlink_put_u32(message, RDMA_NLDEV_ATTR_MAX_RANGE, last);
	}
	netlink_nest_end(message, nest);
}

/* Lists queue pairs of this context that use the shared receive queue, as ranges of numbers. */
static void put_srq_qps(struct netlink_message *message, const struct entry *entry)
{
	u32 nest = netlink_nest(message, RDMA_NLDEV_ATTR_RES_QP | NLA_F_NESTED);
	u32 i, first = 0, last = 0, ranges = 0;

	for (i = 0; i < entry->ctx->capacity && ranges < MOST_RANGES; i++) {
		const struct uv_object *obj = entry->ctx->object[i];
		const struct uv_qp *qp;

		if (!obj || !obj->live || obj->class->type != UVERBS_OBJECT_QP)
			continue;
		qp = UV_CAST(const struct uv_qp, obj);
		if (!qp->srq || &qp->srq->obj != entry->obj)
			continue;
		if (first && qp->params.qpn != last + 1) {
			put_range(message, first, last);
			ranges++;
			first = 0;
		}
		last = qp->params.qpn;
		first = first ? first : last;
	}
	if (first && ranges < MOST_RANGES)
		put_range(message, first, last);
	netlink_nest_end(message, nest);
}

static void put_srq(struct netlink_message *message, const struct entry *entry)
{
	const struct uv_srq *srq = UV_CAST(const struct uv_srq, entry->obj);

	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_SRQN, srq->srqn);
	netlink_put_u8(message, RDMA_NLDEV_ATTR_RES_TYPE,
		       srq->xrcd ? IB_UVERBS_SRQT_XRC : IB_UVERBS_SRQT_BASIC);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_PDN, srq->pd->pdn);
	if (srq->cq)
		netlink_put_u32(message, RDMA_NLDEV_ATTR_RES_CQN, srq->cq->cqn);
	put_srq_qps(message, entry);
	put_owner(message, entry);
}

/* ------------------------------------------------------------------ kinds */

enum { KIND_PD, KIND_CQ, KIND_QP, KIND_CM_ID, KIND_MR, KIND_CTX, KIND_SRQ, KINDS };

#define ATTRIBUTES(name)                                                                           \
	.table = RDMA_NLDEV_ATTR_RES_##name, .entry = RDMA_NLDEV_ATTR_RES_##name##_ENTRY

static const struct kind kinds[KINDS] = {
	[KIND_PD] = { .name = "pd",
		      .type = UVERBS_OBJECT_PD,
		      ATTRIBUTES(PD),
		      .id = RDMA_NLDEV_ATTR_RES_PDN,
		      .number = pd_number,
		      .put = put_pd },
	[KIND_CQ] = { .name = "cq",
		      .type = UVERBS_OBJECT_CQ,
		      ATTRIBUTES(CQ),
		      .id = RDMA_NLDEV_ATTR_RES_CQN,
		      .number = cq_number,
		      .put = put_cq },
	[KIND_QP] = { .name = "qp",
		      .type = UVERBS_OBJECT_QP,
		      ATTRIBUTES(QP),
		      .id = RDMA_NLDEV_ATTR_RES_LQPN,
		      .per_port = true,
		      .number = qp_number,
		      .port = qp_port,
		      .put = put_qp },
	/* rdma_cm ids are not listed: the answer is always empty. */
	[KIND_CM_ID] = { .name = "cm_id",
			 .type = NOTHING,
			 ATTRIBUTES(CM_ID),
			 .id = RDMA_NLDEV_ATTR_RES_CM_IDN,
			 .per_port = true },
	[KIND_MR] = { .name = "mr",
		      .type = UVERBS_OBJECT_MR,
		      ATTRIBUTES(MR),
		      .id = RDMA_NLDEV_ATTR_RES_MRN,
		      .number = mr_number,
		      .put = put_mr },
	[KIND_CTX] = { .name = "ctx",
		       .type = NO_OBJECT,
		       ATTRIBUTES(CTX),
		       .id = RDMA_NLDEV_ATTR_RES_CTXN,
		       .number = context_number,
		       .put = put_context_entry },
	[KIND_SRQ] = { .name = "srq",
		       .type = UVERBS_OBJECT_SRQ,
		       ATTRIBUTES(SRQ),
		       .id = RDMA_NLDEV_ATTR_RES_SRQN,
		       .number = srq_number,
		       .put = put_srq },
};

static const struct kind region_counters = {
	.type = UVERBS_OBJECT_MR,
	ATTRIBUTES(MR),
	.id = RDMA_NLDEV_ATTR_RES_MRN,
	.number = mr_number,
	.put = put_mr_counters,
};

static const struct kind *kind_of(u32 command)
{
	switch (command) {
	case RDMA_NLDEV_CMD_RES_QP_GET:
		return &kinds[KIND_QP];
	case RDMA_NLDEV_CMD_RES_CM_ID_GET:
		return &kinds[KIND_CM_ID];
	case RDMA_NLDEV_CMD_RES_CQ_GET:
		return &kinds[KIND_CQ];
	case RDMA_NLDEV_CMD_RES_MR_GET:
		return &kinds[KIND_MR];
	case RDMA_NLDEV_CMD_RES_PD_GET:
		return &kinds[KIND_PD];
	case RDMA_NLDEV_CMD_RES_CTX_GET:
		return &kinds[KIND_CTX];
	default:
		return &kinds[KIND_SRQ];
	}
}

/* -------------------------------------------------------------- iteration */

/* Iterator over a device's objects of one kind, context by context. */
struct walk {
	const struct kind *kind;
	/* Only objects of this port; 0: all. */
	u32 port;
	struct entry entry;
	u32 next;
};

static void walk_begin(struct walk *walk, const struct device *device, const struct kind *kind,
		       u32 port)
{
	*walk = (struct walk){
		.kind = kind,
		.port = kind->per_port ? port : 0,
		.entry.ctx = device->alloc->contexts,
	};
}

static bool is_one(const struct walk *walk)
{
	const struct uv_object *obj = walk->entry.obj;

	return obj && obj->live && obj->class->type == walk->kind->type &&
	       (!walk->port || walk->kind->port(&walk->entry) == walk->port);
}

/* Advances to the next object. Returns false after the last. */
static bool walk_next(struct walk *walk)
{
	const struct uctx *ctx;

	for (; (ctx = walk->entry.ctx); walk->entry.ctx = ctx->next, walk->next = 0) {
		if (walk->kind->type == NO_OBJECT) {
			if (ctx->open && !walk->next++)
				return true;
			continue;
		}
		while (walk->next < ctx->capacity) {
			walk->entry.obj = ctx->object[walk->next++];
			if (is_one(walk))
				return true;
		}
	}
	return false;
}

static u32 count_of(const struct device *device, const struct kind *kind)
{
	struct walk walk;
	u32 count = 0;

	walk_begin(&walk, device, kind, 0);
	while (walk_next(&walk))
		count++;
	return count;
}

/* ---------------------------------------------------------------- summary */

static int send_summary(struct netlink_request *request, const struct device *device)
{
	struct netlink_message *message = &request->answer;
	u32 table, entry;

	netlink_answer(request, RDMA_NLDEV_CMD_RES_GET, device);
	table = netlink_nest(message, RDMA_NLDEV_ATTR_RES_SUMMARY);
	for (u32 i = 0; i < KINDS; i++) {
		entry = netlink_nest(message, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
		netlink_put_string(message, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, kinds[i].name);
		netlink_put_u64(message, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
				count_of(device, &kinds[i]));
		netlink_nest_end(message, entry);
	}
	netlink_nest_end(message, table);
	return netlink_answer_end(request);
}

int netlink_summary(struct netlink_request *request)
{
	const struct device *device;
	int error = 0;

	if (request->dump) {
		for (u32 i = 0; i < request->daemon->ndevices && !error; i++)
			error = send_summary(request, &request->daemon->device[i]->device);
		return error;
	}
	device = netlink_device(request);
	return device ? send_summary(request, device) : -EINVAL;
}

/* ---------------------------------------------------------------- objects */

/* Adds an object to the table. Returns false, and adds nothing, if it does not fit. */
static bool put_entry(struct netlink_message *message, const struct walk *walk)
{
	u32 length = message->length;
	u32 nest = netlink_nest(message, walk->kind->entry);

	walk->kind->put(message, &walk->entry);
	netlink_nest_end(message, nest);
	if (!message->full)
		return true;
	netlink_cut(message, length);
	return false;
}

/* Sends all objects, in as many messages as needed. */
static int send_all(struct netlink_request *request, const struct device *device,
		    const struct kind *kind, u32 port)
{
	struct netlink_message *message = &request->answer;
	struct walk walk;
	bool more;

	walk_begin(&walk, device, kind, port);
	more = walk_next(&walk);
	while (more) {
		u32 table, empty;

		netlink_answer(request, request->command, device);
		table = netlink_nest(message, kind->table);
		empty = message->length;
		while (more && put_entry(message, &walk))
			more = walk_next(&walk);
		if (message->length == empty)
			return -EMSGSIZE;
		netlink_nest_end(message, table);
		(void)netlink_answer_end(request);
	}
	return 0;
}

/* Sends the object with the requested number. */
static int send_one(struct netlink_request *request, const struct device *device,
		    const struct kind *kind, u32 port)
{
	u32 number = netlink_get_u32(request, kind->id);
	struct walk walk;

	walk_begin(&walk, device, kind, port);
	while (walk_next(&walk)) {
		if (kind->number(&walk.entry) != number)
			continue;
		netlink_answer(request, request->command, device);
		kind->put(&request->answer, &walk.entry);
		return netlink_answer_end(request);
	}
	return -ENOENT;
}

static int send_kind(struct netlink_request *request, const struct kind *kind)
{
	const struct device *device = netlink_device(request);
	u32 port;

	if (!device || netlink_port(request, &port))
		return -EINVAL;
	if (request->dump)
		return send_all(request, device, kind, port);
	if (!netlink_has(request, kind->id) || (port != 0) != kind->per_port)
		return -EINVAL;
	return send_one(request, device, kind, port);
}

int netlink_objects(struct netlink_request *request)
{
	return send_kind(request, kind_of(request->command));
}

int netlink_stat_regions(struct netlink_request *request)
{
	return send_kind(request, &region_counters);
}
