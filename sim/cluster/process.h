/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Simulated processes, and the functions that their programs call: objects, posting, polling, waits.
 *
 * A program is a function that runs as a coroutine: other programs run while it waits or pays for
 * the time of its operations.
 *
 * The structures of objects are valid until the simulation ends. After a reset of their NIC
 * (is_lost()), functions that are called with them have no effect.
 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "cluster/node.h"

#define ALL_ACCESS                                                                                 \
	(NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_READ |               \
	 NIC_ACCESS_REMOTE_ATOMIC | NIC_ACCESS_MW_BIND | NIC_ACCESS_FLUSH_GLOBAL)
#define SIM_QKEY 0x11111111u

struct process;
typedef void program_fn(struct process *process, void *arg);

/* A process's view of a ring. */
struct ring_view {
	u64 offset;
	struct vnet_ring *hdr;
	u8 *slots;
	u32 mask;
	u32 shift;
};

/* A completion queue. */
struct queue {
	struct process *process;
	u64 life;
	u32 cqn;
	struct ring_view ring;
	u32 cons;
	/* Number of CQEs that the oracle has checked (check.c). */
	u32 looked;
};

struct srq {
	struct process *process;
	u64 life;
	u32 srqn;
	struct ring_view ring;
	u32 prod;
	/* With tag matching: the ring of operations. */
	struct ring_view ops;
	u32 ops_prod;
	void *user;
};

struct qp {
	struct process *process;
	u64 life;
	u32 qpn;
	u8 type;
	struct queue *send_cq, *recv_cq;
	struct srq *srq;
	struct ring_view sq, rq;
	u32 sq_prod, rq_prod;
	void *user;
};

struct wc {
	u64 wr_id;
	u32 status, opcode, flags, byte_len, imm, qp_num, src_qp;
};

struct sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

/* Options of shared receive queues. */
struct srq_options {
	/* XRC domain, and CQ for completions. */
	u32 xrcdn;
	struct queue *cq;
	/* Number of tags; 0: no tag matching. */
	u32 tags;
};

struct qp_options {
	u32 sq_entries, rq_entries;
	struct srq *srq;
	bool sig_all;
	/* Use link-local GIDs, with IPv6 headers. */
	bool ipv6;
	/* First PSN of both directions. */
	u32 psn;
	/* UD: undeliverable messages complete with an error (VNET_CREATE_QP_RETURN). */
	bool returns;
	/* A kernel consumer's queue pair; no remote access rights; max_rd_atomic is 0. */
	bool privileged, no_access, no_reads;
	/* XRC domain of an XRC target. */
	u16 xrcdn;
	/* Raw packets: rate limit in kbit/s. */
	u32 rate_limit;
	/* connect_qp() stops in RTR. */
	bool receives_only;
	/* 0: the simulator's default. */
	u32 qkey;
	u8 timeout, retry_cnt, rnr_retry, min_rnr_timer;
};

struct process {
	struct node *node;
	struct nic view;
	u32 space;
	u32 pdn;
	/* Its NIC was reset, so its objects do not exist any more. Cleared by process_renew(). */
	bool fatal;
	bool ended;
	/* It was killed: it does not run any more, and its memory is gone. */
	bool dead;
	/* Its objects, which process_destroy_objects() destroys after its death. */
	struct owned *owned;
	/* --- of: the process that a thread belongs to, or itself. inside: executes the firmware. */
	struct process *of;
	bool inside;
	/* Its buffer for plat_frame(), if several threads of a node may build frames. */
	u8 *tx;
	/*
	 * --- process_stop(): number of steps until the process stops (0: never), for how long,
	 * and whether it dies afterwards; the thread that reached the step, and until when it
	 * is stopped.
	 */
	u32 stop_in;
	u64 stop_ns;
	bool dies;
	bool stopped;
	struct process *stopped_thread;
	u64 stopped_until;
	/* The thread of this process that receives frames; of that thread: its frame. */
	struct process *link;
	u8 *frame;
	u32 frame_length;
	struct nic_address frame_from;
	bool link_busy;
	/* Cost in ns of operations for which process_pay() has not waited yet. */
	double debt;
	/* See program.c. */
	struct coroutine *coroutine;
	program_fn *program;
	void *arg;
	u64 wake;
	struct queue *waits_for;
	bool waits_event;
	void *user;
	/* Number of asynchronous events of its node. */
	u32 events;
};

/* --- processes */

/* Create a process with `bytes` of memory. It runs no program yet. */
struct process *process_new(struct node *node, u64 bytes);
void process_start(struct process *p, program_fn *program, void *arg, u64 at);
void process_end_all(void);
void process_renew(struct process *p);
/*
 * Stop a process after `steps` steps, for `ns`. dies: kill it afterwards; or after `ns`, if it has
 * not reached the step by then.
 */
void process_stop(struct process *p, u32 steps, u64 ns, bool dies);
/* Called after a process was killed and nic_recover() has released its locks. */
extern void (*process_died)(struct process *p);
/* While greater than 0, no process dies, as objects of several ones are created or destroyed. */
extern u32 process_undying;
/* Create a thread of the agent. The caller starts its program by process_start(). */
struct process *process_helper(struct node *node);
/* Destroy all objects of a dead process, as the agent does. Takes time. */
void process_destroy_objects(struct process *p);
/* Neither killed nor stopped, and its program has not returned. */
static inline bool process_runs(const struct process *p)
{
	return !p->dead && !p->stopped && !p->ended;
}
/* Process a frame in the thread p->link. Returns false if that thread was stopped meanwhile. */
bool process_receive(struct process *p, const struct nic_address *from, const u8 *data, u32 length);
/* Number of programs that have not returned. */
u32 processes_running(void);
/* Allocate memory that is freed with the simulation. */
void *sim_alloc(size_t size);

/* --- called by programs; these take time */
void sleep_for(struct process *p, u64 ns);
void sleep_until(struct process *p, u64 time);
/* Wait until the CQ has an entry. Returns false at time `until`, or if the NIC was reset. */
bool wait_queue(struct process *p, struct queue *cq, u64 until);
/* Wait for a completion event. Returns false at time `until`, or if the NIC was reset. */
bool wait_event(struct process *p, u64 until);
/* Wait for the time that posts and polls have taken. */
void process_pay(struct process *p);

/* --- memory */
static inline u64 address_at(const struct process *p, u64 offset)
{
	return p->node->space[p->space].start + offset;
}

static inline u8 *mem(const struct process *p, u64 offset)
{
	return p->node->space[p->space].memory + offset;
}

/* Registration returns a key, or 0 on failure. */
u32 reg_mr(struct process *p, u64 offset, u64 length, u32 access);
bool dereg_mr(struct process *p, u32 key);
u32 alloc_mw(struct process *p, u8 kind);
bool free_mw(struct process *p, u32 key);
/* Allocate a region for fast registration (REG_MR). It always covers this memory. */
u32 alloc_fast(struct process *p, u64 offset, u64 length);
/* Allocate and register device memory. Addresses in the region begin at 0. */
u32 reg_device(struct process *p, u64 length);
/* Allocate queue memory. It is never freed. */
u64 queue_take(struct process *p, u64 bytes);
/* Make accesses to the memory of a region fail, as if it had been unmapped. */
void tear(struct process *p, u32 key);

/* --- objects */
struct queue *make_cq(struct process *p, u32 entries, u32 channel);
/* A CQ that the oracle does not check. flags: enum vnet_create_cq_flags. */
struct queue *make_cq_aside(struct process *p, u32 entries, u32 channel, u32 flags);
/* Destroy the completion channel and create another one. */
void channel_renew(struct process *p);
struct srq *make_srq(struct process *p, u32 entries);
struct srq *make_srq_with(struct process *p, u32 entries, const struct srq_options *options);
/* A number for a new queue pair. */
u32 new_qpn(struct node *node);
struct qp *make_qp(struct process *p, u8 type, struct queue *send_cq, struct queue *recv_cq,
		   const struct qp_options *options);
/* Bring a queue pair to RTS, connected to that peer. */
void connect_qp(struct qp *qp, u32 node, u32 qpn, const struct qp_options *options);
enum nic_result set_state(struct qp *qp, u8 state);
/* The same with IBV_QP_CUR_STATE `now`; 0xff: without it. */
enum nic_result set_state_from(struct qp *qp, u8 to, u8 now);
/* Resize a CQ. Returns false if the entries do not fit. */
bool resize_cq(struct queue *cq, u32 entries);
bool limit_srq(struct srq *srq, u32 limit);
u8 state_of(const struct qp *qp);
bool destroy_qp(struct qp *qp);
bool destroy_cq(struct queue *cq);
bool destroy_srq(struct srq *srq);
/* Whether the NIC was reset since that life. */
static inline bool is_lost(const struct process *p, u64 life)
{
	return p->node->life != life;
}

/* --- work */
u32 send_room(const struct qp *qp);
u32 recv_room(const struct qp *qp);
u32 srq_room(const struct srq *srq);
/* Post a request without a doorbell (ring_qp()). Returns false if the queue is full or lost. */
bool post_send(struct qp *qp, const struct vnet_send_wqe *wqe, const struct sge *sg, u32 n);
bool post_inline(struct qp *qp, const struct vnet_send_wqe *wqe, const void *data, u32 length);
void ring_qp(struct qp *qp);
/* Errors of programs: too many SGEs, an invalid producer index. */
void post_crooked(struct qp *qp, const struct vnet_send_wqe *wqe, u32 pieces);
void post_crooked_receive(struct qp *qp, u32 pieces);
void advance_producer(struct qp *qp, u32 by);
bool post_recv(struct qp *qp, u64 wr_id, const struct sge *sg, u32 n);
bool post_srq(struct srq *srq, u64 wr_id, const struct sge *sg, u32 n);
/* Post a tag operation; ring_tags() executes the posted operations. */
void post_tag(struct srq *srq, const struct vnet_tm_op *op);
void ring_tags(struct srq *srq);
bool poll_cq(struct queue *cq, struct wc *wc);
void arm_cq(struct queue *cq, bool solicited);
/* Entry number i, and whether it is valid. */
struct vnet_cqe *queue_entry(const struct queue *cq, u32 i);
bool queue_has(const struct queue *cq, u32 i);

/* A signaled request; set its destination for UD. */
struct vnet_send_wqe make_wr(u8 opcode, u64 wr_id);
void to_address(struct vnet_send_wqe *wqe, u32 node, u32 qpn);
/* To a multicast group, from a sender on node `from`. */
void to_group(struct vnet_send_wqe *wqe, u32 from, const u8 *gid);
void to_address_ipv6(struct vnet_send_wqe *wqe, u32 node, u32 qpn);

/* --- called by the node: its NIC has run; asynchronous event; completion event; reset. */
void process_look(struct node *node);
void process_async(struct node *node, const struct nic_async *async);
void process_ready(struct node *node);
void process_restarted(struct node *node);
/* Called at each step of the firmware and of the platform. The calling thread may stop here. */
void process_step(int step);
/* The thread that executes the firmware. NULL: the agent does. */
struct process *process_inside(void);

/* --- program.c: coroutines */
void coroutine_start(struct process *p);
void coroutine_run(struct process *p);
void coroutine_pause(void);
/* NULL: none is running. */
struct process *coroutine_running(void);
void coroutine_end_all(void);

#endif /* SIM_PROCESS_H */
