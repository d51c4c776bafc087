// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Status of a device's objects as JSON members. The list comes from private memory, counters and
 * states from NIC memory.
 */
#include <arpa/inet.h>

#include "objects.h"

/* Prints a list of the objects of these types (a bit mask). */
static void print_list(const struct device *device, FILE *out, const char *member, u32 types,
		       void (*print)(const struct uv_object *obj, FILE *out))
{
	const struct uctx *ctx;
	const struct uv_object *obj;
	const char *separator = "\n ";
	u32 i;

	fprintf(out, "\"%s\": [", member);
	for (ctx = device->alloc->contexts; ctx; ctx = ctx->next) {
		for (i = 0; i < ctx->capacity; i++) {
			obj = ctx->object[i];
			if (!obj || !obj->live || !(types & 1u << obj->class->type))
				continue;
			fputs(separator, out);
			separator = ",\n ";
			print(obj, out);
		}
	}
	fputs("]", out);
}

static const char *name_of(const char *const *names, size_t count, u32 value)
{
	return value < count && names[value] ? names[value] : "?";
}

static const char *type_name(u32 type)
{
	static const char *const names[] = {
		[NIC_QPT_RC] = "RC",
		[NIC_QPT_UC] = "UC",
		[NIC_QPT_UD] = "UD",
		[NIC_QPT_RAW_PACKET] = "RAW_PACKET",
		[NIC_QPT_XRC_INI] = "XRC_SEND",
		[NIC_QPT_XRC_TGT] = "XRC_RECV",
	};

	return name_of(names, UV_ARRAY_SIZE(names), type);
}

static const char *state_name(u32 state)
{
	static const char *const names[] = {
		[NIC_QPS_RESET] = "RESET", [NIC_QPS_INIT] = "INIT", [NIC_QPS_RTR] = "RTR",
		[NIC_QPS_RTS] = "RTS",     [NIC_QPS_SQD] = "SQD",   [NIC_QPS_SQE] = "SQE",
		[NIC_QPS_ERR] = "ERR",
	};

	return name_of(names, UV_ARRAY_SIZE(names), state);
}

static const char *wait_name(u32 wait)
{
	static const char *const names[] = {
		[NIC_WAIT_NONE] = "",
		[NIC_WAIT_RNR] = "rnr",
		[NIC_WAIT_STALL] = "stall",
		[NIC_WAIT_PEER] = "peer",
		[NIC_WAIT_LOCK] = "lock",
		[NIC_WAIT_PAGES] = "pages",
		[NIC_WAIT_PEER_PAGES] = "peer pages",
		[NIC_WAIT_TURN] = "turn",
	};

	return name_of(names, UV_ARRAY_SIZE(names), wait);
}

/* ------------------------------------------------------------ queue pairs */

/* Process id of a lock owner; 0: none. */
static u32 owner_pid(const struct device *device, u32 owner)
{
	const struct host_client *clients = device->host.client;

	return owner && owner <= HOST_MAX_CLIENTS && clients ? clients[owner - 1].pid : 0;
}

/* Number of posted work requests that the NIC has not retired. */
static u32 queued(const struct uv_qp *qp, const struct nic_qp *frame)
{
	const u8 *memory = qp->obj.device->memory;
	const struct vnet_ring *ring = (const void *)(memory + qp->params.sq_ring);
	u32 count;

	if (!qp->sq)
		return 0;
	count = nic_load(&ring->prod) - nic_load(&frame->sq_cons);
	return count < qp->params.sq_entries ? count : qp->params.sq_entries;
}

static void print_peer(FILE *out, const struct uv_qp *qp, const struct nic_qp *frame)
{
	const struct nic_qp_attr *attr = &frame->attr;
	char gid[INET6_ADDRSTRLEN] = "";
	u32 i, qpn = 0, lid = 0;
	u8 raw[16];

	if (qp->params.type != NIC_QPT_UD && nic_load(&frame->state) >= NIC_QPS_RTR) {
		for (i = 0; i < sizeof(raw); i++)
			raw[i] = nic_load(&attr->dgid[i]);
		qpn = nic_load(&attr->dest_qpn);
		/* Without a global route, the GID only stands for a LID. */
		if (qp->obj.device->lid)
			lid = nic_load(&attr->dlid);
		if (!lid || nic_load(&attr->is_global))
			inet_ntop(AF_INET6, raw, gid, sizeof(gid));
	}
	fprintf(out, ", \"dest_qpn\": %u, \"dest_gid\": \"%s\", \"dest_lid\": %u", qpn, gid, lid);
}

static void print_counters(FILE *out, const struct nic_qp_counters *counters)
{
	fprintf(out,
		", \"sent_msgs\": %llu, \"sent_bytes\": %llu, \"send_errors\": %llu"
		", \"rnr_waits\": %llu, \"retries\": %llu, \"got_msgs\": %llu"
		", \"got_bytes\": %llu, \"dropped\": %llu",
		nic_load(&counters->sent_msgs), nic_load(&counters->sent_bytes),
		nic_load(&counters->send_errors), nic_load(&counters->rnr_waits),
		nic_load(&counters->retries), nic_load(&counters->got_msgs),
		nic_load(&counters->got_bytes), nic_load(&counters->dropped));
}

/* State in NIC memory; RSS queue pairs have none. */
static const struct nic_qp *frame_of(const struct nic *nic, const struct uv_qp *qp)
{
	static const struct nic_qp nothing;

	return uv_qp_is_rss(qp) ? &nothing : &nic->qp[qp->params.qpn & nic->qp_index_mask];
}

static void print_qp(const struct uv_object *obj, FILE *out)
{
	const struct uv_qp *qp = UV_CAST(const struct uv_qp, obj);
	struct nic *nic = &obj->device->nic;
	const struct nic_qp *frame = frame_of(nic, qp);

	fprintf(out, "{\"qpn\": %u, \"type\": \"%s\", \"state\": \"%s\", \"pid\": %d",
		qp->params.qpn, type_name(qp->params.type), state_name(nic_load(&frame->state)),
		(int)obj->client->pid);
	print_peer(out, qp, frame);
	fprintf(out, ", \"waits\": \"%s\", \"holder\": %u, \"queued\": %u",
		wait_name(nic_load(&frame->wait)),
		owner_pid(obj->device, nic_qp_lock_owner(nic, qp->params.qpn)), queued(qp, frame));
	print_counters(out, &frame->counters);
	fputs("}", out);
}

/* ------------------------------------------------------------------ others */

static void print_cq(const struct uv_object *obj, FILE *out)
{
	const struct uv_cq *cq = UV_CAST(const struct uv_cq, obj);
	const struct nic_cq *entry = &obj->device->nic.cq[cq->cqn - 1];

	fprintf(out,
		"{\"cqn\": %u, \"pid\": %d, \"entries\": %u, \"completions\": %llu"
		", \"errors\": %llu}",
		cq->cqn, (int)obj->client->pid, cq->entries, nic_load(&entry->completions),
		nic_load(&entry->errors));
}

static void print_srq(const struct uv_object *obj, FILE *out)
{
	const struct uv_srq *srq = UV_CAST(const struct uv_srq, obj);
	const struct nic *nic = &obj->device->nic;
	const struct nic_srq *entry = &nic->srq[nic_srqn_index(nic, srq->srqn)];

	fprintf(out, "{\"srqn\": %u, \"pid\": %d, \"entries\": %u, \"limit\": %u}", srq->srqn,
		(int)obj->client->pid, srq->params.entries, nic_load(&entry->rq.limit));
}

static void print_wq(const struct uv_object *obj, FILE *out)
{
	const struct uv_wq *wq = UV_CAST(const struct uv_wq, obj);
	const struct nic *nic = &obj->device->nic;
	u32 state = nic_load(&nic->qp[wq->params.qpn & nic->qp_index_mask].state);

	fprintf(out, "{\"wqn\": %u, \"pid\": %d, \"entries\": %u, \"state\": \"%s\"}",
		wq->params.qpn, (int)obj->client->pid, wq->params.rq_entries,
		state == NIC_QPS_RTR ? "RDY" : state_name(state));
}

static const char *kind_name(u32 kind)
{
	static const char *const names[] = {
		[NIC_MR_REGION] = "region",
		[NIC_MR_WINDOW_1] = "window1",
		[NIC_MR_WINDOW_2] = "window2",
		[NIC_MR_DEVICE] = "device",
	};

	return name_of(names, UV_ARRAY_SIZE(names), kind);
}

/* "yes", or why the region's pages are not in the memory file of its process; "": a window. */
static const char *mapped_name(const struct uv_object *obj, const struct nic_mr_params *params,
			       u8 flags)
{
	static const char *const names[] = {
		[VNET_UNMAPPED_NEVER] = "no",
		[VNET_UNMAPPED_SMALL] = "no: no whole page",
		[VNET_UNMAPPED_KIND] = "no: not anonymous memory",
		[VNET_UNMAPPED_FLAGS] = "no: flags of the mapping",
		[VNET_UNMAPPED_USERFAULTFD] = "no: threads, and userfaultfd is refused",
		[VNET_UNMAPPED_BUSY] = "no: a thread was in a system call",
		[VNET_UNMAPPED_PINNED] = "no: io_uring, AIO or a device",
		[VNET_UNMAPPED_OVERLAP] = "no: overlaps another region",
		[VNET_UNMAPPED_MEMORY] = "no: no memory",
		[VNET_UNMAPPED_LARGE] = "no: large",
		[VNET_UNMAPPED_SLOW] = "no: moves took too long",
	};

	if (params->kind != NIC_MR_REGION)
		return "";
	if ((flags & NIC_MR_MAPPED) && (flags & NIC_MR_CHECK_PAGES))
		return "no: the memory is protected";
	if (flags & NIC_MR_MAPPED)
		return "yes";
	return name_of(names, UV_ARRAY_SIZE(names),
		       client_why_unmapped(obj->client, params->addr, params->length));
}

static void print_mr(const struct uv_object *obj, FILE *out)
{
	const struct uv_mr *mr = UV_CAST(const struct uv_mr, obj);
	struct nic_mr_params now = mr->params;
	const struct nic_mr *entry = &obj->device->nic.mr[mr->index];

	/* Windows are bound and invalidated by their processes. */
	if (now.kind != NIC_MR_REGION && now.kind != NIC_MR_DEVICE) {
		now.addr = nic_load(&entry->addr);
		now.length = nic_load(&entry->length);
		now.access = nic_load(&entry->access);
	}
	fprintf(out,
		"{\"key\": %u, \"kind\": \"%s\", \"pid\": %d, \"addr\": %llu, \"length\": %llu"
		", \"access\": %u, \"mapped\": \"%s\"}",
		now.key, kind_name(now.kind), (int)obj->client->pid, now.addr, now.length,
		now.access, mapped_name(obj, &now, nic_load(&entry->flags)));
}

void uverbs_status(struct device *device, FILE *out)
{
	print_list(device, out, "qps", 1u << UVERBS_OBJECT_QP, print_qp);
	fputs(",\n  ", out);
	print_list(device, out, "cqs", 1u << UVERBS_OBJECT_CQ, print_cq);
	fputs(",\n  ", out);
	print_list(device, out, "srqs", 1u << UVERBS_OBJECT_SRQ, print_srq);
	fputs(",\n  ", out);
	print_list(device, out, "wqs", 1u << UVERBS_OBJECT_WQ, print_wq);
	fputs(",\n  ", out);
	print_list(device, out, "mrs", 1u << UVERBS_OBJECT_MR | 1u << UVERBS_OBJECT_MW, print_mr);
}
