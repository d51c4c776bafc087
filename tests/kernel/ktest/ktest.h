/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Interface between the files of vnet_ktest, a kernel consumer of RDMA devices for tests. */
#ifndef KTEST_H
#define KTEST_H

#include <linux/completion.h>
#include <linux/printk.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#define KT_BUFFER 65536u
#define KT_DEPTH 32
#define KT_QKEY 0x1234567u
#define KT_TIME_LIMIT (20 * HZ)

#define KT_CHECK(cond)                                                                             \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			pr_err("%s:%d: not so: %s\n", __func__, __LINE__, #cond);                  \
			return -EIO;                                                               \
		}                                                                                  \
	} while (0)

#define KT_TRY(call)                                                                               \
	do {                                                                                       \
		int err_ = (call);                                                                 \
                                                                                                   \
		if (err_) {                                                                        \
			pr_err("%s:%d: %d from %s\n", __func__, __LINE__, err_, #call);            \
			return err_;                                                               \
		}                                                                                  \
	} while (0)

/* ------------------------------------------------------------------ pair.c */

struct kt_buffer {
	u8 *at;
	u64 dma;
};

/* One side of a connection. */
struct kt_end {
	struct ib_cq *cq;
	struct ib_srq *srq;
	struct ib_qp *qp;
	struct kt_buffer buffer;
};

struct kt_request {
	struct ib_cqe cqe;
	struct completion ended;
	struct ib_wc wc;
};

/* Two connected queue pairs of one device, with their resources. */
struct kt_pair {
	struct ib_device *dev;
	enum ib_poll_context poll;
	enum ib_qp_type type;
	bool with_srq;
	/* Depth of the send queues. */
	u32 depth;
	struct ib_pd *pd;
	struct kt_end end[2];
	atomic_t srq_events;
	/* Requests, allocated in turn. They remain valid until both queue pairs are drained. */
	struct kt_request requests[4 * KT_DEPTH];
	unsigned int next;
};

/* Returns a RoCE v2 GID with an IPv4 address, with a reference; or ERR_PTR(). */
const struct ib_gid_attr *kt_gid(struct ib_device *dev);
int kt_buffer_make(struct ib_device *dev, struct kt_buffer *buffer);
void kt_buffer_free(struct ib_device *dev, struct kt_buffer *buffer);
/* The address of a peer on the same device; release it by rdma_destroy_ah_attr(). */
int kt_address(struct ib_device *dev, const union ib_gid *gid, struct rdma_ah_attr *attr);
int kt_to_init(struct ib_qp *qp);
/* Moves a queue pair from INIT to RTS. UD needs no peer. */
int kt_to_rts(struct ib_qp *qp, u32 dest_qpn, const union ib_gid *gid);
/* Opens and connects the queue pairs. Call kt_pair_close() also after a failure. */
int kt_pair_open(struct kt_pair *p);
void kt_pair_close(struct kt_pair *p);

/* --------------------------------------------------------------- request.c */

/* Context from which requests are posted. */
enum kt_from { KT_TASK, KT_TIMER, KT_IRQS_OFF, KT_FROMS };

extern const char *const kt_from_names[KT_FROMS];

struct kt_request *kt_request(struct kt_pair *p);
/* Calls fn(arg) from that context, and returns its result. */
int kt_call(enum kt_from from, int (*fn)(void *arg), void *arg);
/* Sets wr->wr_cqe, and posts the request. */
int kt_post_send(enum kt_from from, struct ib_qp *qp, struct ib_send_wr *wr, struct kt_request *r);
/* Posts a receive for a range of the end's buffer. */
int kt_post_recv(enum kt_from from, struct kt_pair *p, int end, u32 offset, u32 length,
		 struct kt_request *r);
/* Waits for the completion, and checks its status. May sleep. */
int kt_expect(struct kt_pair *p, struct kt_request *r, enum ib_wc_status status);
struct ib_sge kt_sge(const struct kt_pair *p, int end, u32 offset, u32 length);
/* Write, and check, a pattern that depends on `mark`. */
void kt_fill(u8 *at, u32 length, u8 mark);
bool kt_is_filled(const u8 *at, u32 length, u8 mark);

/* ------------------------------------------------------------------ tests */

struct kt_test {
	const char *name;
	int (*run)(struct kt_pair *p, enum kt_from from);
	enum ib_qp_type type;
	bool with_srq;
	/* Depth of the send queues; at least KT_DEPTH. */
	u32 depth;
};

extern const struct kt_test kt_data_tests[], kt_list_tests[], kt_key_tests[], kt_resize_tests[],
	kt_ending_tests[];

/* keys.c */

/* A fast-registration region over a buffer. */
struct kt_region {
	struct ib_mr *mr;
	struct scatterlist sg;
};

int kt_region_make(struct ib_pd *pd, struct kt_region *region, const struct kt_buffer *buffer);
void kt_region_free(struct kt_region *region);
/* Builds the REG_MR request, with a new key. */
void kt_region_register(struct kt_region *region, struct ib_reg_wr *wr);

/* ----------------------------------------------------------------- serve.c */

struct kt_session;

struct vnet_ktest_connect;
/* Opens a queue pair that answers a process's queue pair. Returns ERR_PTR() on failure. */
struct kt_session *kt_session_open(struct ib_device *dev, struct vnet_ktest_connect *connect);
/* Opens a queue pair that stays unconnected. */
struct kt_session *kt_session_hold(struct ib_device *dev);
int kt_session_copy(struct kt_session *s, bool write);
bool kt_session_is_on(const struct kt_session *s, const struct ib_device *dev);
void kt_session_close(struct kt_session *s);

#endif /* KTEST_H */
