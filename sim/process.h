/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Processes of simulated hosts: the host interface (objects, post, poll, events,
 * sleep) against which simulated programs are written. A program is a plain
 * function that runs as a coroutine; whatever takes time in it lets others run.
 *
 * Objects live until the simulation ends. When their NIC is reset they are no more
 * (is_lost()): what is called with them then does nothing.
 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "node.h"

#define ALL_ACCESS                                                                                 \
	(NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_READ |               \
	 NIC_ACCESS_REMOTE_ATOMIC | NIC_ACCESS_MW_BIND | NIC_ACCESS_FLUSH_GLOBAL)
#define SIM_QKEY 0x11111111u

struct process;
typedef void program_fn(struct process *process, void *arg);

/* A ring as its process sees it. */
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
	/* How far somebody else has looked at it (check.c). */
	u32 looked;
};

struct srq {
	struct process *process;
	u64 life;
	u32 srqn;
	struct ring_view ring;
	u32 prod;
	/* Where it matches tags: operations on them. */
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

/* What a shared receive queue may be besides. */
struct srq_options {
	/* Requests of this domain name it, and it completes there. */
	u32 xrcdn;
	struct queue *cq;
	/* It matches so many tags. */
	u32 tags;
};

struct qp_options {
	u32 sq_entries, rq_entries;
	struct srq *srq;
	bool sig_all;
	/* By link-local addresses, with IPv6 headers. */
	bool ipv6;
	/* Packet numbers begin with it. */
	u32 psn;
	/* Datagrams that cannot be delivered come back. */
	bool returns;
	/* As the kernel's own; its peer may do nothing to memory; it may not read. */
	bool privileged, no_access, no_reads;
	/* Target of extended connections: its domain. */
	u16 xrcdn;
	/* Raw packets: so many kilobits a second. */
	u32 rate_limit;
	/* It stays in RTR. */
	bool receives_only;
	/* 0: what is usual here. */
	u32 qkey;
	u8 timeout, retry_cnt, rnr_retry, min_rnr_timer;
};

struct process {
	struct node *node;
	struct nic view;
	u32 space;
	u32 pdn;
	/* Its NIC was reset: its objects are gone. process_renew() begins anew. */
	bool fatal;
	bool ended;
	/* Killed: it runs no more, and its memory is gone. */
	bool dead;
	/* What it has of its NIC, for who must free it. */
	struct owned *owned;
	/* --- a thread: of which process; whether it is inside of the firmware. */
	struct process *of;
	bool inside;
	/* The frame that it makes, where several threads of a node may make some. */
	u8 *tx;
	/*
	 * --- stopping: after so many steps inside of the firmware (0: not at all),
	 * for how long, and whether for good. The thread that stopped, and until when.
	 */
	u32 stop_in;
	u64 stop_ns;
	bool dies;
	bool stopped;
	struct process *stopped_thread;
	u64 stopped_until;
	/* The thread that takes the node's frames, and the one that it is taking. */
	struct process *link;
	u8 *frame;
	u32 frame_length;
	struct nic_address frame_from;
	bool link_busy;
	/* What it still has to take for what it did. */
	double debt;
	/* The coroutine; see program.c. */
	struct coroutine *coroutine;
	program_fn *program;
	void *arg;
	u64 wake;
	struct queue *waits_for;
	bool waits_event;
	void *user;
	/* Asynchronous events seen. */
	u32 events;
};

/* --- processes */

/* With `bytes` of memory; it runs nothing yet. */
struct process *process_new(struct node *node, u64 bytes);
void process_start(struct process *p, program_fn *program, void *arg, u64 at);
void process_end_all(void);
void process_renew(struct process *p);
/* Stop it inside of the firmware, soon, for so long; `dies`: and never go on. */
void process_stop(struct process *p, u32 steps, u64 ns, bool dies);
/* A process was killed, and its locks are free: for who saw it live. */
extern void (*process_died)(struct process *p);
/* Who makes something of several processes has them live for so long. */
extern u32 process_undying;
/* A thread of the agent's, to run a program that takes time. */
struct process *process_helper(struct node *node);
/* What the agent does then: free its locks, and all that it had. Takes time. */
void process_bury(struct process *p);
/* It is neither dead nor stopped. */
static inline bool process_runs(const struct process *p)
{
	return !p->dead && !p->stopped && !p->ended;
}
/* Have its link thread take this frame; false: it stopped in the midst of it. */
bool process_receive(struct process *p, const struct nic_address *from, const u8 *data, u32 length);
/* How many programs have not returned. */
u32 processes_running(void);
/* Memory for as long as the simulation. */
void *sim_alloc(size_t size);

/* --- by programs: what takes time */
void sleep_for(struct process *p, u64 ns);
void sleep_until(struct process *p, u64 time);
/* Until the queue has an entry, or that time; false: it has none. */
bool wait_queue(struct process *p, struct queue *cq, u64 until);
/* Until a completion event was read; false: that time came first. */
bool wait_event(struct process *p, u64 until);
/* Pay what posts and polls took. */
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

/* Keys; 0: it failed. */
u32 reg_mr(struct process *p, u64 offset, u64 length, u32 access);
bool dereg_mr(struct process *p, u32 key);
u32 alloc_mw(struct process *p, u8 kind);
bool free_mw(struct process *p, u32 key);
/* A region that requests register, always for this memory. */
u32 alloc_fast(struct process *p, u64 offset, u64 length);
/* A region of the NIC's own memory, from 0 on. */
u32 reg_device(struct process *p, u64 length);
/* So many bytes of queue memory, which is never given back. */
u64 queue_take(struct process *p, u64 bytes);
/* A region's memory cannot be reached any more. */
void tear(struct process *p, u32 key);

/* --- objects */
struct queue *make_cq(struct process *p, u32 entries, u32 channel);
/* One that is nobody's business but its program's. flags: vnet_create_cq_flags. */
struct queue *make_cq_aside(struct process *p, u32 entries, u32 channel, u32 flags);
/* Its completion channel ends, and there is another one. */
void channel_renew(struct process *p);
struct srq *make_srq(struct process *p, u32 entries);
struct srq *make_srq_with(struct process *p, u32 entries, const struct srq_options *options);
/* A number for a new QP. */
u32 new_qpn(struct node *node);
struct qp *make_qp(struct process *p, u8 type, struct queue *send_cq, struct queue *recv_cq,
		   const struct qp_options *options);
/* To RTS; connected ones with that peer. */
void connect_qp(struct qp *qp, u32 node, u32 qpn, const struct qp_options *options);
enum nic_result set_state(struct qp *qp, u8 state);
/* Where the program says in which state it is (0xff: nothing). */
enum nic_result set_state_from(struct qp *qp, u8 to, u8 now);
/* A CQ with room for so many; false: they do not fit. */
bool resize_cq(struct queue *cq, u32 entries);
bool limit_srq(struct srq *srq, u32 limit);
u8 state_of(const struct qp *qp);
bool destroy_qp(struct qp *qp);
bool destroy_cq(struct queue *cq);
bool destroy_srq(struct srq *srq);
/* Its NIC has begun another life since it was made. */
static inline bool is_lost(const struct process *p, u64 life)
{
	return p->node->life != life;
}

/* --- work */
u32 send_room(const struct qp *qp);
u32 recv_room(const struct qp *qp);
u32 srq_room(const struct srq *srq);
/* One request; false: the queue is full, or no more. The doorbell is ring_qp(). */
bool post_send(struct qp *qp, const struct vnet_send_wqe *wqe, const struct sge *sg, u32 n);
bool post_inline(struct qp *qp, const struct vnet_send_wqe *wqe, const void *data, u32 length);
void ring_qp(struct qp *qp);
/* What a program can do wrong: pieces that are not there, an index that cannot be. */
void post_crooked(struct qp *qp, const struct vnet_send_wqe *wqe, u32 pieces);
void post_crooked_receive(struct qp *qp, u32 pieces);
void advance_producer(struct qp *qp, u32 by);
bool post_recv(struct qp *qp, u64 wr_id, const struct sge *sg, u32 n);
bool post_srq(struct srq *srq, u64 wr_id, const struct sge *sg, u32 n);
/* An operation on tags, and the doorbell for those that the process has to carry out. */
void post_tag(struct srq *srq, const struct vnet_tm_op *op);
void ring_tags(struct srq *srq);
bool poll_cq(struct queue *cq, struct wc *wc);
void arm_cq(struct queue *cq, bool solicited);
/* Entry number i, and whether there is one. */
struct vnet_cqe *queue_entry(const struct queue *cq, u32 i);
bool queue_has(const struct queue *cq, u32 i);

/* Plain requests; change what is special. */
struct vnet_send_wqe make_wr(u8 opcode, u64 wr_id);
void to_address(struct vnet_send_wqe *wqe, u32 node, u32 qpn);
/* To a group, by who is on that node. */
void to_group(struct vnet_send_wqe *wqe, u32 from, const u8 *gid);
void to_address_ipv6(struct vnet_send_wqe *wqe, u32 node, u32 qpn);

/* --- for the node: its NIC has run; an event of it; it was reset. */
void process_look(struct node *node);
void process_async(struct node *node, const struct nic_async *async);
void process_ready(struct node *node);
void process_restarted(struct node *node);
/* A step of the firmware: a thread may stop here. */
void process_step(int step);
/* The thread that runs the firmware now; NULL: the agent. */
struct process *process_inside(void);

/* --- program.c: coroutines */
void coroutine_start(struct process *p);
void coroutine_run(struct process *p);
void coroutine_pause(void);
/* NULL: none. */
struct process *coroutine_running(void);
void coroutine_end_all(void);

#endif /* SIM_PROCESS_H */
