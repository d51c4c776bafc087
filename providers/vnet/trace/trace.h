/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracing: a line for each posted request and each completion, and warnings.
 *
 * A warning reports a request that fails, or that works here and fails on an adapter, or later.
 * Tracing is switched on when a context is opened, by replacing its operations. So the ordinary
 * operations contain no code for it.
 *
 * One mutex per context protects all of its bookkeeping. It is the innermost lock: no other lock of
 * the provider is taken while it is held.
 */
#ifndef VNET_TRACE_INTERNAL_H
#define VNET_TRACE_INTERNAL_H

#include "../vnet.h"
#include "vnet_trace.h"

/* Operations: the opcode of a send request, or one of these. */
enum vnet_trace_operation {
	TRACE_RECV = 16,
	TRACE_TAG_ADD,
	TRACE_TAG_DEL,
	TRACE_TAG_SYNC,
};

enum vnet_trace_warning {
	TRACE_UNSIGNALED_FULL,
	TRACE_QUEUE_EXCEEDED,
	TRACE_UNARMED_WAIT,
	TRACE_NO_RECEIVE,
	TRACE_LOCAL_ACCESS,
	TRACE_REMOTE_ACCESS,
	TRACE_CQ_TOO_SMALL,
	TRACE_RECEIVE_TOO_SMALL,
	TRACE_INLINE_TOO_LONG,
	TRACE_GRH_ROOM,
	TRACE_NO_READ_CREDIT,
	TRACE_MISALIGNED_ATOMIC,
	TRACE_EVENTS_UNACKED,
	TRACE_WRONG_STATE,
	TRACE_REFUSED,
	TRACE_UNREACHABLE,
	TRACE_FAILED,
	TRACE_WARNINGS,
};

/* -- line.c: formatting and writing lines */

#define TRACE_LINE 1536

struct vnet_trace_line {
	unsigned int len;
	/* A field did not fit: later fields are left out. */
	bool full;
	char text[TRACE_LINE];
};

/* Settings from the environment, the same for all contexts of a process. */
struct vnet_trace_settings {
	bool on;
	bool json;
	bool colour;
	/* Print lines of requests and completions; print warnings. */
	bool lines;
	bool warnings;
	uint64_t epoch;
	pid_t pid;
};

const struct vnet_trace_settings *vnet_trace_settings(void);
struct vnet_trace_counters *vnet_trace_counters(void);

/* A flag and its name; the last entry has no name. */
struct vnet_trace_name {
	uint32_t flag;
	const char *name;
};

enum vnet_trace_colour { TRACE_PLAIN, TRACE_RED, TRACE_GREEN, TRACE_YELLOW, TRACE_CYAN, TRACE_DIM };

void vnet_trace_begin(struct vnet_trace_line *line, const struct ibv_context *context,
		      const char *object, uint32_t number, const char *event,
		      enum vnet_trace_colour colour);
/* Append a field. `label` precedes the value in a line of text, `key` in JSON. */
void vnet_trace_word(struct vnet_trace_line *line, const char *key, const char *label,
		     const char *word);
void vnet_trace_number(struct vnet_trace_line *line, const char *key, const char *label,
		       uint64_t value, const char *unit);
void vnet_trace_hex(struct vnet_trace_line *line, const char *key, const char *label,
		    uint64_t value);
void vnet_trace_flags(struct vnet_trace_line *line, const char *key, const char *label,
		      uint32_t flags, const struct vnet_trace_name *names);
/* A time, given in nanoseconds and printed in microseconds. */
void vnet_trace_time(struct vnet_trace_line *line, const char *key, const char *label, uint64_t ns);
void vnet_trace_end(struct vnet_trace_line *line);

/* The objects that are traced. */

/* A posted request whose completion has not been seen. */
struct vnet_trace_wr {
	uint64_t wr_id;
	uint64_t length;
	uint64_t posted;
	uint64_t remote_addr;
	uint32_t rkey;
	uint8_t operation;
	bool signaled;
	/* It was refused, or has completed out of order: skip it. */
	bool void_;
	/* An lkey that belongs to no known region; 0: none. */
	uint32_t unknown_lkey;
};

/* The requests of a queue, in order. head and tail are free-running. */
struct vnet_trace_queue {
	struct vnet_trace_wr *wr;
	uint32_t size;
	uint32_t head, tail;
	uint32_t signaled;
};

struct vnet_trace_qp {
	struct vnet_trace_qp *next;
	struct vnet_qp *qp;
	/* Capabilities as granted at its creation. */
	struct ibv_qp_cap cap;
	struct vnet_trace_queue sq, rq;
	uint32_t access;
	uint32_t max_rd_atomic;
	bool knows_rd_atomic;
	/* The NIC's count of messages that found no receive, as last read. */
	uint32_t no_receive;
	/* Warnings that were printed, as a bit mask. */
	uint32_t warned;
	int (*wr_complete)(struct ibv_qp_ex *ibqp);
	void (*wr_set_inline_data)(struct ibv_qp_ex *ibqp, void *addr, size_t length);
	void (*wr_set_inline_data_list)(struct ibv_qp_ex *ibqp, size_t num_buf,
					const struct ibv_data_buf *buf_list);
};

struct vnet_trace_cq {
	struct vnet_trace_cq *next;
	struct vnet_cq *cq;
	/* Number of posted requests that may complete here. */
	uint32_t expected;
	/* Number of events that the program has read. */
	uint32_t events;
	uint32_t empty_polls;
	/* Its ring is being replaced: do not look at it. */
	bool resizing;
	uint32_t warned;
	int (*start_poll)(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *ibcq);
};

struct vnet_trace_srq {
	struct vnet_trace_srq *next;
	struct vnet_srq *srq;
	struct vnet_trace_queue rq;
	uint32_t no_receive;
	uint32_t warned;
};

struct vnet_trace_mr {
	struct vnet_trace_mr *next;
	const struct ibv_mr *mr;
	/* 0: nothing is known of it (an imported region). */
	uint64_t length;
	uint64_t iova;
	uint32_t lkey, rkey;
	uint32_t pd;
	unsigned int access;
};

#define TRACE_BUCKETS 256

struct vnet_trace {
	pthread_mutex_t mutex;
	struct ibv_context *context;
	/* The replaced polling function. */
	int (*poll_cq)(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
	/* List of all traced contexts, for vnet_trace_wait(). */
	struct vnet_trace *next;
	struct vnet_trace_qp *qp[TRACE_BUCKETS];
	struct vnet_trace_mr *mr[TRACE_BUCKETS];
	struct vnet_trace_cq *cqs;
	struct vnet_trace_srq *srqs;
};

static inline struct vnet_trace *vnet_trace_of(const struct ibv_context *context)
{
	return container_of(context, struct vnet_context, ibv_ctx.context)->trace;
}

/* -- qp.c, object.c: look-up. The caller holds the mutex. NULL: not a traced object. */
struct vnet_trace_qp *vnet_trace_qp(const struct vnet_trace *trace, uint32_t qpn);
struct vnet_trace_cq *vnet_trace_cq(const struct vnet_trace *trace, const struct ibv_cq *cq);
struct vnet_trace_srq *vnet_trace_srq(const struct vnet_trace *trace, const struct ibv_srq *srq);

static inline const struct ibv_qp *vnet_trace_ibv_qp(const struct vnet_trace_qp *tqp)
{
	return &tqp->qp->vqp.qp;
}

/* -- qp.c, object.c: creating, modifying and destroying objects */

/* Print a line with an object's number and an event only. */
void vnet_trace_show_end(struct ibv_context *context, const char *object, uint32_t number,
			 const char *event);

struct ibv_qp *vnet_trace_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *vnet_trace_create_qp_ex(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attr);
int vnet_trace_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask);
int vnet_trace_destroy_qp(struct ibv_qp *ibqp);
struct ibv_cq *vnet_trace_create_cq(struct ibv_context *context, int cqe,
				    struct ibv_comp_channel *channel, int comp_vector);
struct ibv_cq_ex *vnet_trace_create_cq_ex(struct ibv_context *context,
					  struct ibv_cq_init_attr_ex *attr);
int vnet_trace_resize_cq(struct ibv_cq *ibcq, int cqe);
int vnet_trace_destroy_cq(struct ibv_cq *ibcq);
struct ibv_srq *vnet_trace_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
struct ibv_srq *vnet_trace_create_srq_ex(struct ibv_context *context,
					 struct ibv_srq_init_attr_ex *attr);
int vnet_trace_destroy_srq(struct ibv_srq *ibsrq);
struct ibv_wq *vnet_trace_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);

/* -- mr.c: memory regions, and checks of access to them */

struct ibv_mr *vnet_trace_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				 int access);
int vnet_trace_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr,
			size_t length, int access);
int vnet_trace_dereg_mr(struct verbs_mr *vmr);
struct ibv_mr *vnet_trace_import_mr(struct ibv_pd *pd, uint32_t handle);
void vnet_trace_unimport_mr(struct ibv_mr *mr);
struct ibv_mr *vnet_trace_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm, uint64_t dm_offset,
				    size_t length, unsigned int access);
struct ibv_mr *vnet_trace_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					uint64_t iova, int fd, int access);
void vnet_trace_forget_mrs(struct vnet_trace *trace);

/*
 * Returns text for a warning if `pd` may not access this memory in this way by this key, or NULL.
 * *known: a region with this key is known.
 */
const char *vnet_trace_check_memory(const struct vnet_trace *trace, const struct ibv_pd *pd,
				    bool remote, uint32_t key, uint64_t addr, uint64_t length,
				    unsigned int access, bool *known);
extern const struct vnet_trace_name vnet_trace_access_names[];

/* -- queue.c: requests without a completion */

void vnet_trace_queue_init(struct vnet_trace_queue *queue, uint32_t depth);
void vnet_trace_queue_fini(struct vnet_trace_queue *queue);
/*
 * Record a request; a full record drops its oldest. Returns the change of the number of signaled
 * requests, for vnet_trace_cq.expected.
 */
uint32_t vnet_trace_queue_push(struct vnet_trace_queue *queue, const struct vnet_trace_wr *wr);
static inline uint32_t vnet_trace_queue_used(const struct vnet_trace_queue *queue)
{
	return queue->head - queue->tail;
}
static inline struct vnet_trace_wr *vnet_trace_queue_at(const struct vnet_trace_queue *queue,
							uint32_t at)
{
	return &queue->wr[at & (queue->size - 1)];
}
/*
 * Remove the requests from `at` up to `end`, which were refused. Returns how many of them are
 * signaled.
 */
uint32_t vnet_trace_queue_undo(struct vnet_trace_queue *queue, uint32_t at, uint32_t end);
/*
 * Find the request of a completion, and remove it together with those before it. Returns false if
 * there is none. *signaled: how many signaled requests were removed; completed: how many in all, by
 * operation.
 */
bool vnet_trace_queue_take(struct vnet_trace_queue *queue, uint64_t wr_id, bool failed,
			   struct vnet_trace_wr *wr, uint32_t *signaled,
			   uint32_t completed[VNET_TRACE_OPERATIONS]);
/* The same for a receive, which may complete before others of a shared queue. */
bool vnet_trace_queue_take_one(struct vnet_trace_queue *queue, uint64_t wr_id,
			       struct vnet_trace_wr *wr);

/* -- post.c, recv.c: posting */

int vnet_trace_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int vnet_trace_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int vnet_trace_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int vnet_trace_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad_wr);
int vnet_trace_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad_wr);
int vnet_trace_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr,
			    struct ibv_ops_wr **bad_wr);
/* Replace the extended posting functions of a queue pair. */
void vnet_trace_wr_ops(struct vnet_trace_qp *tqp);
extern const char *const vnet_trace_operation_names[VNET_TRACE_OPERATIONS];

/* -- poll.c: completions and events */

int vnet_trace_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
void vnet_trace_poll_ops(struct vnet_trace_cq *tcq);
int vnet_trace_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void vnet_trace_cq_event(struct ibv_cq *ibcq);
void vnet_trace_async_event(struct ibv_context *context, struct ibv_async_event *event);

/* -- trace.c: switching tracing on */

/* Hook: the caller is about to sleep until `fd` is readable. alone: it waits for nothing else. */
void vnet_trace_wait(int fd, int alone);

/* -- warn.c: warnings */

extern const char *const vnet_trace_warning_names[TRACE_WARNINGS];

/*
 * Count the warning. Print it unless its bit is set in *warned, and set the bit; if `warned` is
 * NULL, always print it.
 */
void vnet_trace_warn(const struct ibv_context *context, const char *object, uint32_t number,
		     enum vnet_trace_warning warning, uint32_t *warned, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* Checks before a request is posted. */
void vnet_trace_check_send(struct vnet_trace *trace, struct vnet_trace_qp *tqp,
			   struct vnet_trace_wr *wr, const struct ibv_sge *sge, uint32_t num_sge);
void vnet_trace_check_recv(struct vnet_trace *trace, const struct ibv_pd *pd, const char *object,
			   uint32_t number, struct vnet_trace_wr *wr,
			   const struct ibv_recv_wr *recv, uint32_t *warned);
/* Checks of queues after posting. The caller holds the mutex. */
void vnet_trace_check_depth(struct vnet_trace *trace, struct vnet_trace_qp *tqp);
void vnet_trace_check_cq(struct vnet_trace *trace, const struct ibv_cq *cq);
void vnet_trace_check_no_receive(struct vnet_trace *trace);
void vnet_trace_check_no_receive_qp(struct vnet_trace_qp *tqp);
void vnet_trace_check_no_receive_srq(struct vnet_trace_srq *tsrq);

/* -- explain.c: reasons of refusals and failures */

/* A request was refused; wr may be NULL. */
void vnet_trace_refused_send(struct vnet_trace *trace, struct vnet_trace_qp *tqp, int error,
			     const struct ibv_send_wr *wr);
/* A request has failed; wr is NULL if it is not known. */
void vnet_trace_check_status(struct vnet_trace *trace, struct vnet_trace_qp *tqp,
			     enum ibv_wc_status status, const struct vnet_trace_wr *wr,
			     bool is_recv);
/* A request of the peer was refused for lack of access rights. */
void vnet_trace_explain_access(struct vnet_trace *trace, uint32_t qpn);

#endif /* VNET_TRACE_INTERNAL_H */
