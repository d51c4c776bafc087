/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects and internal functions of the provider.
 */
#ifndef VNET_H
#define VNET_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/driver.h>

#include "ring.h"
#include "vnet-abi.h"
#include "vnet_hw.h"

/* The only exported functions. */
#pragma GCC visibility push(default)
#include "vnetdv.h"
#pragma GCC visibility pop

#define VNET_ALIGNED __attribute__((aligned(VNET_CACHE_LINE)))

struct vnet_device {
	struct verbs_device vdev;
	char fw_ver[64];
};

struct vnet_context {
	struct verbs_context ibv_ctx;
	/*
	 * A copy of the agent's gate. If the agent has none, all members are NULL except those that
	 * doorbell.c sets.
	 */
	struct vnet_gate gate;
	uint64_t gate_cookie;
	/* Doorbells of an agent without a gate: descriptor and page, -1 and NULL if it has none. */
	int doorbell_fd;
	struct vnet_doorbell_page *doorbell_page;
	uint32_t clock_khz;
	/* The agent supports 64 bits of immediate data. */
	bool imm64;
	/* The agent supports tag matching. */
	bool tm;
	/* The agent supports VNETDV_QP_CREATE_RETURN_TO_SENDER. */
	bool returns;
	/* The agent supports flushes. */
	bool flush;
	/* The agent supports the provider's part of QUERY_DEVICE. */
	bool query_device;
	/* The port is an InfiniBand port: it has a LID. */
	bool lid;
	/*
	 * VNET_SINGLE_THREADED=1: the user promises that there is one thread, so no locks are
	 * taken.
	 */
	bool single_threaded;
	/* Emulated time of a read from a CQ in NIC memory, ns; 0: CQs are in host memory. */
	uint32_t cq_read_ns;
	/* Protects the list of all CQs. vnet_cqs_place() searches their unpolled entries. */
	pthread_mutex_t cq_mutex;
	struct vnet_cq *cqs;
	/* NULL unless this context is traced. */
	struct vnet_trace *trace;
};

struct vnet_td {
	struct ibv_td ibv_td;
	/* Number of parent domains that refer to it. */
	uint32_t users;
};

/* A protection domain, or a parent domain. */
struct vnet_pd {
	struct ibv_pd ibv_pd;
	/* Number of parent domains that refer to it. */
	uint32_t users;
	/*
	 * Parent domain: the protection domain it was made from, and its thread domain or NULL.
	 * Otherwise both are NULL.
	 */
	struct vnet_pd *contained;
	struct vnet_td *td;
};

struct vnet_dm {
	struct verbs_dm vdm;
	uint8_t *memory;
	uint64_t length;
	/* Size for munmap(); 0 if the agent had mapped it already. */
	size_t mapped;
};

struct vnet_ah {
	struct ibv_ah ibv_ah;
	/* Ready to be copied into a send WQE. */
	struct vnet_wqe_ud av;
};

struct vnet_cq {
	struct verbs_cq vcq;

	/* Used by polling. */
	struct vnet_lock lock VNET_ALIGNED;
	/*
	 * Index of the next entry. During a batch of extended polling, the ring's cons is behind
	 * it.
	 */
	uint32_t cons;
	uint32_t mask;
	struct vnet_cqe *slots;
	struct vnet_ring *ring;
	/* Extended polling: the current completion. */
	const struct vnet_cqe *cur;
	void (*idle)(__u64 cookie, __u32 cqn);
	int (*copy)(__u64 cookie, void *dst, const void *src, __u32 len);
	uint32_t cqn;
	/* Extended polling: between start_poll() and end_poll(). */
	bool in_batch;
	/*
	 * uses_events: the CQ was armed at least once. bounded: the current batch ends at
	 * batch_end.
	 */
	bool uses_events;
	bool bounded;
	/* IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN: an overrun only loses the oldest entries. */
	bool ignores_overrun;
	/* The CQ is in NIC memory (emulated, VNET_CQ_MEMORY). */
	bool in_nic;
	/* The CQ was polled empty after its last event. */
	bool seen_empty;
	uint64_t cookie;
	/* The thread whose batch it is. If the lock is skipped: the thread that polled last. */
	pthread_t poller;
	uint32_t batch_end;
	/* The ring's prod when the CQ was last armed. */
	uint32_t armed_at;

	struct vnet_ring_map map;
	struct vnet_cq *next;
	struct vnet_cq **prev;
	/* Created by ibv_create_cq_ex(), so it can be polled by ibv_start_poll(). */
	bool extended;
	/* Shared receive queues with tag matching that complete here. */
	struct vnet_srq *matching;
	struct vnet_trace_cq *trace;
	/* CQ in NIC memory: the polling functions without the emulated delay. */
	int (*start_poll)(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *ibcq);
	/* Copy of the batch's current completion, after the ring was replaced. */
	struct vnet_cqe kept;
};

struct vnet_srq {
	struct verbs_srq vsrq;
	struct vnet_wq rq VNET_ALIGNED;
	uint32_t srqn;

	/*
	 * Tag matching: the ring of operations; the size of the tag list; the last handle assigned;
	 * the number of tags added, and of those among them that are known to have left the list.
	 */
	struct vnet_wq ops;
	uint32_t tags;
	uint32_t handle;
	uint32_t added;
	uint32_t ended;
	/*
	 * This process must execute the operations before `due`. Those before `done` are known to
	 * have been executed.
	 */
	uint32_t due;
	uint32_t done;
	struct vnet_cq *cq;
	struct vnet_srq *next;
};

struct vnet_qp {
	struct verbs_qp vqp;

	/* Used by posting sends. */
	struct vnet_wq sq VNET_ALIGNED;
	void (*send_doorbell)(__u64 cookie, __u32 qpn);
	uint64_t cookie;
	uint32_t qpn;
	/*
	 * Opcodes of this QP type, as a bit mask. all_opcodes: all of them. opcodes: those that
	 * ibv_post_send() can post without further fields, so without flushes, and none for XRC
	 * (whose requests need an SRQ number).
	 */
	uint32_t all_opcodes;
	uint32_t opcodes;
	uint32_t max_inline;
	/* VNET_WR_SIGNALED if all requests are signaled. */
	uint8_t sig_all;
	bool is_ud;
	/* The agent supports 64 bits of immediate data, and flushes. */
	bool imm64;
	bool flush;

	/* Extended posting: the batch, and the current request (see wr.c). */
	uint32_t wr_prod;
	int wr_error;
	struct vnet_send_wqe *wr_wqe;
	uint64_t wr_control;
	/* Takes a request for which the send queue has no slot. */
	struct vnet_send_wqe *wr_spare;
	struct vnet_trace_qp *trace;

	struct vnet_wq rq VNET_ALIGNED;
};

/* A receive work queue without a QP (ibv_create_wq()). */
struct vnet_work_queue {
	struct ibv_wq ibv_wq;
	struct vnet_wq rq VNET_ALIGNED;
};

/* Kinds of counters. */
enum { VNET_COUNTER_PACKETS, VNET_COUNTER_BYTES, VNET_COUNTERS };

struct vnet_counters {
	struct verbs_counters vcounters;
	pthread_mutex_t mutex;
	/* Number of flows that use it. While there are any, no counter may be attached. */
	uint32_t flows;
	uint32_t points;
	struct vnet_counter_point *point;
};

struct vnet_counter_point {
	uint32_t index;
	/* VNET_COUNTER_PACKETS or _BYTES */
	uint32_t counts;
};

struct vnet_flow {
	struct ibv_flow ibv_flow;
	/* NULL: the flow has no counters. */
	struct vnet_counters *counters;
};

static inline struct vnet_device *to_vdevice(struct ibv_device *device)
{
	return container_of(device, struct vnet_device, vdev.device);
}

static inline struct vnet_context *to_vctx(struct ibv_context *context)
{
	return container_of(context, struct vnet_context, ibv_ctx.context);
}

static inline struct vnet_td *to_vtd(struct ibv_td *td)
{
	return container_of(td, struct vnet_td, ibv_td);
}

static inline struct vnet_pd *to_vpd(struct ibv_pd *pd)
{
	return container_of(pd, struct vnet_pd, ibv_pd);
}

static inline struct vnet_dm *to_vdm(struct ibv_dm *dm)
{
	return container_of(dm, struct vnet_dm, vdm.dm);
}

static inline struct vnet_ah *to_vah(struct ibv_ah *ah)
{
	return container_of(ah, struct vnet_ah, ibv_ah);
}

static inline struct vnet_cq *to_vcq(struct ibv_cq *cq)
{
	return container_of(cq, struct vnet_cq, vcq.cq);
}

static inline struct vnet_cq *to_vcq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct vnet_cq, vcq.cq_ex);
}

static inline struct vnet_srq *to_vsrq(struct ibv_srq *srq)
{
	return container_of(srq, struct vnet_srq, vsrq.srq);
}

static inline struct vnet_work_queue *to_vwq(struct ibv_wq *wq)
{
	return container_of(wq, struct vnet_work_queue, ibv_wq);
}

static inline struct vnet_counters *to_vcounters(struct ibv_counters *counters)
{
	return container_of(counters, struct vnet_counters, vcounters.counters);
}

static inline struct vnet_flow *to_vflow(struct ibv_flow *flow)
{
	return container_of(flow, struct vnet_flow, ibv_flow);
}

static inline struct vnet_qp *to_vqp(struct ibv_qp *qp)
{
	return container_of(qp, struct vnet_qp, vqp.qp);
}

static inline struct vnet_qp *to_vqp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct vnet_qp, vqp.qp_ex);
}

/* -- vnet.c: device and context */

/* Returns zeroed memory aligned for VNET_ALIGNED, or NULL; released by free(). */
void *vnet_zalloc(size_t size);

/* -- trace.c: tracing */

/*
 * Does nothing unless the environment asks for tracing. Call when the context is otherwise
 * complete.
 */
void vnet_trace_start(struct vnet_context *ctx);
void vnet_trace_stop(struct vnet_context *ctx);

/* -- verbs.c: queries, address handles */

int vnet_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t attr_size);
int vnet_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);
int vnet_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
uint64_t vnet_clock_ns(clockid_t clock);
struct ibv_ah *vnet_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int vnet_destroy_ah(struct ibv_ah *ah);

/* -- pd.c: protection, thread and parent domains */

struct ibv_pd *vnet_alloc_pd(struct ibv_context *context);
int vnet_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *vnet_import_pd(struct ibv_context *context, uint32_t handle);
void vnet_unimport_pd(struct ibv_pd *pd);
struct ibv_td *vnet_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int vnet_dealloc_td(struct ibv_td *td);
struct ibv_pd *vnet_alloc_parent_domain(struct ibv_context *context,
					struct ibv_parent_domain_init_attr *attr);
/* Do objects of this domain need no locks? pd may be NULL. */
bool vnet_pd_skips_locks(struct ibv_pd *pd);

/* -- mr.c: memory regions and windows */

struct ibv_mr *vnet_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access);
struct ibv_mr *vnet_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				  int fd, int access);
int vnet_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		  int access);
int vnet_dereg_mr(struct verbs_mr *vmr);
struct ibv_mr *vnet_import_mr(struct ibv_pd *pd, uint32_t handle);
void vnet_unimport_mr(struct ibv_mr *mr);
struct ibv_mw *vnet_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vnet_dealloc_mw(struct ibv_mw *mw);

/* -- dm.c: device memory */

struct ibv_dm *vnet_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int vnet_free_dm(struct ibv_dm *ibdm);
struct ibv_dm *vnet_import_dm(struct ibv_context *context, uint32_t handle);
void vnet_unimport_dm(struct ibv_dm *ibdm);
struct ibv_mr *vnet_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm, uint64_t dm_offset,
			      size_t length, unsigned int access);

/* -- cq.c: creating and destroying completion queues */

struct ibv_cq *vnet_create_cq(struct ibv_context *context, int cqe,
			      struct ibv_comp_channel *channel, int comp_vector);
struct ibv_cq_ex *vnet_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int vnet_resize_cq(struct ibv_cq *ibcq, int cqe);
int vnet_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int vnet_destroy_cq(struct ibv_cq *ibcq);
int vnet_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void vnet_cq_event(struct ibv_cq *ibcq);

/* -- poll.c: polling completions */

int vnet_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
/*
 * Is a thread between ibv_start_poll() and ibv_end_poll()? Acquire: pairs with the release in
 * end_poll(), so that the batch's effects are visible once it is over.
 */
static inline bool vnet_cq_in_batch(const struct vnet_cq *cq)
{
	return __atomic_load_n(&cq->in_batch, __ATOMIC_ACQUIRE);
}

/*
 * Wait for the end of another thread's batch. The caller holds the CQ's lock, which is released
 * meanwhile.
 */
void vnet_cq_await_batch(struct vnet_cq *cq);
/* Set the functions of extended polling for a CQ created with these IBV_WC_EX_* flags. */
void vnet_cq_set_poll_ops(struct vnet_cq *cq, uint64_t wc_flags);
/* vnetdv_poll_cq() for a CQ in host memory. */
int vnet_poll_imm64(struct ibv_cq *ibcq, int num_entries, struct vnetdv_wc *wc);
/*
 * cq_memory.c: the time of a read from NIC memory in ns, as VNET_CQ_MEMORY sets it; 0: CQs are in
 * host memory.
 */
uint32_t vnet_cq_read_ns_asked(void);
/* Call after vnet_cq_set_poll_ops(), which sets the functions that this one wraps. */
void vnet_cq_set_in_nic(struct vnet_cq *cq);
void vnet_context_set_in_nic(struct vnet_context *ctx);
int vnet_cq_poll_imm64_in_nic(struct ibv_cq *ibcq, int num_entries, struct vnetdv_wc *wc);
/* Drop the unpolled completions of a QP that was destroyed or reset. ibcq may be NULL. */
void vnet_cq_clean(struct ibv_cq *ibcq, uint32_t qpn);
/*
 * Copy payloads in unpolled completions to their receive buffers, as far as these are in this
 * range.
 */
void vnet_cqs_place(struct vnet_context *ctx, const void *addr, size_t length);

/* -- xrc.c: XRC domains, and XRC target queue pairs opened by number */

struct ibv_xrcd *vnet_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int vnet_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *vnet_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/* -- srq.c: shared receive queues */

struct ibv_srq *vnet_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
struct ibv_srq *vnet_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int vnet_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int vnet_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int vnet_destroy_srq(struct ibv_srq *ibsrq);
int vnet_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);

/* -- tm.c: shared receive queues with tag matching */

/*
 * Initialise the tag matching part of an SRQ. Returns 0 or an errno value; on failure the SRQ is
 * destroyed.
 */
int vnet_tm_init(struct vnet_srq *srq, const struct ibv_srq_init_attr_ex *attr,
		 const struct vnet_create_srq_resp *resp);
void vnet_tm_fini(struct vnet_srq *srq);
int vnet_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad_wr);
/*
 * Ring doorbells for operations that could not be executed when they were posted. The caller holds
 * no lock.
 */
void vnet_tm_flush(struct vnet_cq *cq);

/* -- qp.c: creating, modifying and destroying queue pairs */

struct ibv_qp *vnet_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *vnet_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
int vnet_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		  struct ibv_qp_init_attr *init_attr);
int vnet_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask);
int vnet_destroy_qp(struct ibv_qp *ibqp);
int vnet_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags);

int vnet_modify_qp_rate_limit(struct ibv_qp *ibqp, struct ibv_qp_rate_limit_attr *attr);

/* -- rwq.c: work queues, and their indirection tables */

struct ibv_wq *vnet_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int vnet_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr);
int vnet_destroy_wq(struct ibv_wq *ibwq);
struct ibv_rwq_ind_table *vnet_create_rwq_ind_table(struct ibv_context *context,
						    struct ibv_rwq_ind_table_init_attr *attr);
int vnet_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);

/* -- flow.c: flows of Ethernet frames, and their counters */

struct ibv_flow *vnet_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int vnet_destroy_flow(struct ibv_flow *ibflow);
struct ibv_counters *vnet_create_counters(struct ibv_context *context,
					  struct ibv_counters_init_attr *attr);
int vnet_destroy_counters(struct ibv_counters *ibcounters);
int vnet_attach_counters_point_flow(struct ibv_counters *ibcounters,
				    struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int vnet_read_counters(struct ibv_counters *ibcounters, uint64_t *values, uint32_t nvalues,
		       uint32_t flags);

/* -- send.c: posting send requests */

int vnet_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int vnet_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
/* Ring the doorbell for new send requests. The caller holds no lock. */
void vnet_send_doorbell_trap(struct vnet_qp *qp);

static inline void vnet_send_doorbell(struct vnet_qp *qp)
{
	if (likely(qp->send_doorbell))
		qp->send_doorbell(qp->cookie, qp->qpn);
	else
		vnet_send_doorbell_trap(qp);
}

/* -- doorbell.c: doorbells of agents without a gate */

void vnet_doorbell_init(struct vnet_context *ctx, const struct vnet_alloc_ucontext_resp *resp);
void vnet_doorbell_fini(struct vnet_context *ctx);

/* -- recv.c: posting receive requests */

int vnet_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int vnet_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int vnet_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* -- wr.c: posting send requests by ibv_wr_*() */

void vnet_qp_set_wr_ops(struct vnet_qp *qp);

#endif /* VNET_H */
