/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs that only vnet devices have. Installed as <infiniband/vnetdv.h>; manual: vnetdv(7).
 *
 * These are: immediate data of 64 bits, which can hold a pointer; datagrams that are returned to
 * the sender if they cannot be delivered; and flushes, for programs whose libibverbs has no
 * ibv_wr_flush() yet.
 *
 * A program that is to run on any device does not link with the provider. It looks for these
 * functions at run time with vnetdv_open(), and does without them if that returns ENOTSUP.
 *
 * The 64 bits are a number in host byte order, and its value is the same for the programs at both
 * ends. Ordinary verbs report IBV_WC_WITH_IMM, and in imm_data the lower 32 bits of the number in
 * network byte order.
 */
#ifndef VNETDV_H
#define VNETDV_H

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* File names of the provider: as a plug-in of libibverbs 44, and as built by rdma-core. */
#define VNETDV_PROVIDER "libvnet-rdmav34.so"
#define VNETDV_PROVIDER_SHARED "libvnet.so.1"

enum vnetdv_context_flags {
	/* 64 bits of immediate data are supported. */
	VNETDV_CONTEXT_IMM64 = 1 << 0,
	/* VNETDV_QP_CREATE_RETURN_TO_SENDER is supported. */
	VNETDV_CONTEXT_RETURN_TO_SENDER = 1 << 1,
	/* Flushes are supported. */
	VNETDV_CONTEXT_FLUSH = 1 << 2,
};

/* May grow at its end; members that the provider does not know are set to 0. */
struct vnetdv_context {
	/* Further members that are valid: none so far. */
	uint64_t comp_mask;
	/* enum vnetdv_context_flags */
	uint64_t flags;
};

enum vnetdv_qp_create_flags {
	/*
	 * A UD queue pair whose sends complete with the result of their delivery. Success means
	 * that the message was delivered, and is not reported earlier. A message that could not be
	 * delivered completes with a status that gives the reason, may be reused by the sender, and
	 * does not change the state of the queue pair. Requests complete in the order in which they
	 * were posted:
	 *
	 * IBV_WC_REM_OP_ERR		no such UD queue pair, or it is not in RTR or RTS, or
	 *				its receive could not be completed
	 * IBV_WC_REM_ACCESS_ERR	the Q_Key does not match
	 * IBV_WC_RNR_RETRY_EXC_ERR	it had no receive for as long as the NIC waits for one
	 * IBV_WC_REM_INV_REQ_ERR	its receive was too small
	 * IBV_WC_RETRY_EXC_ERR		no answer: this message may have been delivered
	 */
	VNETDV_QP_CREATE_RETURN_TO_SENDER = 1 << 0,
};

/* May grow at its end. */
struct vnetdv_qp_init_attr {
	/* Further members that are set: none so far. */
	uint64_t comp_mask;
	/* enum vnetdv_qp_create_flags */
	uint32_t create_flags;
	/* Must be 0. */
	uint32_t rsvd;
};

/*
 * The values of IBV_FLUSH_GLOBAL and IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE and IBV_FLUSH_MR,
 * IBV_ACCESS_FLUSH_GLOBAL and IBV_ACCESS_FLUSH_PERSISTENT, and IBV_WC_FLUSH of rdma-core 45 and
 * later.
 */
enum vnetdv_flush_type {
	VNETDV_FLUSH_GLOBAL = 1 << 0,
	VNETDV_FLUSH_PERSISTENT = 1 << 1,
};

enum vnetdv_flush_level {
	VNETDV_FLUSH_RANGE = 0,
	VNETDV_FLUSH_MR = 1,
};

enum vnetdv_flush_access {
	VNETDV_ACCESS_FLUSH_GLOBAL = 1 << 8,
	VNETDV_ACCESS_FLUSH_PERSISTENT = 1 << 9,
};

enum vnetdv_flush_wc_opcode {
	VNETDV_WC_FLUSH = 8,
};

/* A completion, as filled in by vnetdv_poll_cq(). */
struct vnetdv_wc {
	struct ibv_wc wc;
	/*
	 * Valid if wc.wc_flags has IBV_WC_WITH_IMM and the status is success: the immediate data.
	 * That of an ordinary request is a number of 32 bits.
	 */
	uint64_t imm64;
};

/* Is this a device of this provider? */
bool vnetdv_is_supported(struct ibv_device *device);

/*
 * Query which of these features an open device supports. attr_size: sizeof(*attr) as the program
 * was compiled. Returns 0, or ENOTSUP if it is not a vnet device.
 */
int vnetdv_query_context(struct ibv_context *context, struct vnetdv_context *attr,
			 size_t attr_size);

/*
 * Build a send with 64 bits of immediate data; otherwise like ibv_wr_send_imm(). Only between
 * ibv_wr_start() and ibv_wr_complete(), which returns ENOTSUP if the device does not support it.
 */
void vnetdv_wr_send_imm64(struct ibv_qp_ex *qp, uint64_t imm);

/* The same for an RDMA write; otherwise like ibv_wr_rdma_write_imm(). */
void vnetdv_wr_rdma_write_imm64(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				uint64_t imm);

/*
 * Build a flush, for an RC or XRC_SEND queue pair. It completes when all earlier writes of this
 * queue pair are placed as `type` asks (enum vnetdv_flush_type, one or both). Level RANGE: those in
 * `len` bytes of the region of `rkey`, starting at remote_addr. Level MR: those in the whole
 * region. No data is set. Equivalent to ibv_wr_flush(), where libibverbs has it. ibv_wr_complete()
 * returns ENOTSUP if the device does not support it, and EINVAL for other types of queue pairs.
 */
void vnetdv_wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
		     uint8_t type, uint8_t level);

/*
 * Post one request (next is NULL) whose opcode is IBV_WR_SEND_WITH_IMM or
 * IBV_WR_RDMA_WRITE_WITH_IMM, with `imm` instead of its imm_data; otherwise like ibv_post_send().
 * Returns 0, or an errno value with *bad_wr = wr: ENOTSUP if the device does not support it, EINVAL
 * for another opcode or a list.
 */
int vnetdv_post_send_imm64(struct ibv_qp *qp, struct ibv_send_wr *wr, uint64_t imm,
			   struct ibv_send_wr **bad_wr);

/*
 * The immediate data of the current completion, between ibv_start_poll() and ibv_end_poll(). Valid
 * if ibv_wc_read_wc_flags() has IBV_WC_WITH_IMM and the completion is a success. That of an
 * ordinary request is a number of 32 bits.
 */
uint64_t vnetdv_wc_read_imm64(struct ibv_cq_ex *cq);

/* Like ibv_poll_cq(), but returns the immediate data of each completion, too. */
int vnetdv_poll_cq(struct ibv_cq *cq, int num_entries, struct vnetdv_wc *wc);

/*
 * ibv_create_qp_ex() with attributes of vnet's own (NULL: none). Returns NULL with errno on
 * failure: EINVAL for unknown attributes or flags, ENOTSUP for a flag that is not supported by the
 * device or for this type of queue pair.
 */
struct ibv_qp *vnetdv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				const struct vnetdv_qp_init_attr *vnetdv_attr);

/* The functions above, as vnetdv_open() finds them. */
struct vnetdv_ops {
	int (*query_context)(struct ibv_context *context, struct vnetdv_context *attr,
			     size_t attr_size);
	void (*wr_send_imm64)(struct ibv_qp_ex *qp, uint64_t imm);
	void (*wr_rdma_write_imm64)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				    uint64_t imm);
	int (*post_send_imm64)(struct ibv_qp *qp, struct ibv_send_wr *wr, uint64_t imm,
			       struct ibv_send_wr **bad_wr);
	uint64_t (*wc_read_imm64)(struct ibv_cq_ex *cq);
	int (*poll_cq)(struct ibv_cq *cq, int num_entries, struct vnetdv_wc *wc);
	/* NULL if the provider or the device does not support VNETDV_QP_CREATE_RETURN_TO_SENDER. */
	struct ibv_qp *(*create_qp)(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				    const struct vnetdv_qp_init_attr *vnetdv_attr);
	/* NULL if the provider or the device does not support flushes. */
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
			 uint8_t type, uint8_t level);
};

/* Look up a function and store its address in *to. Returns false if there is none. */
static inline bool vnetdv_find(void *provider, const char *name, void *to)
{
	void *function = dlsym(provider, name);

	memcpy(to, &function, sizeof(function));
	return function != NULL;
}

/*
 * Find all of these functions for an open device. libibverbs has loaded the provider, so it is only
 * looked up here, and stays loaded. Returns 0, or ENOTSUP if the device is not a vnet device or
 * does not support 64 bits of immediate data; then *ops is all zero. Functions that were added
 * later are NULL where they are missing (create_qp, wr_flush).
 */
static inline int vnetdv_open(struct ibv_context *context, struct vnetdv_ops *ops)
{
	void *provider = dlopen(VNETDV_PROVIDER, RTLD_NOLOAD | RTLD_NOW);
	struct vnetdv_context attr;

	if (!provider)
		provider = dlopen(VNETDV_PROVIDER_SHARED, RTLD_NOLOAD | RTLD_NOW);
	if (provider && vnetdv_find(provider, "vnetdv_query_context", &ops->query_context) &&
	    vnetdv_find(provider, "vnetdv_wr_send_imm64", &ops->wr_send_imm64) &&
	    vnetdv_find(provider, "vnetdv_wr_rdma_write_imm64", &ops->wr_rdma_write_imm64) &&
	    vnetdv_find(provider, "vnetdv_post_send_imm64", &ops->post_send_imm64) &&
	    vnetdv_find(provider, "vnetdv_wc_read_imm64", &ops->wc_read_imm64) &&
	    vnetdv_find(provider, "vnetdv_poll_cq", &ops->poll_cq) &&
	    !ops->query_context(context, &attr, sizeof(attr)) &&
	    (attr.flags & VNETDV_CONTEXT_IMM64)) {
		if (!vnetdv_find(provider, "vnetdv_create_qp", &ops->create_qp) ||
		    !(attr.flags & VNETDV_CONTEXT_RETURN_TO_SENDER))
			ops->create_qp = NULL;
		if (!vnetdv_find(provider, "vnetdv_wr_flush", &ops->wr_flush) ||
		    !(attr.flags & VNETDV_CONTEXT_FLUSH))
			ops->wr_flush = NULL;
		return 0;
	}
	if (provider)
		dlclose(provider);
	memset(ops, 0, sizeof(*ops));
	return ENOTSUP;
}

#ifdef __cplusplus
}
#endif

#endif /* VNETDV_H */
