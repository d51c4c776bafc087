/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs that only vnet devices have: immediate data of 64 bits, which holds a
 * pointer, and datagrams that come back if they cannot be delivered. And flushes,
 * for programs whose libibverbs has no ibv_wr_flush() yet.
 * <infiniband/vnetdv.h>; vnetdv(7) is its manual.
 *
 * A program that runs on any device does not link with the provider: it looks
 * for these functions at run time, by vnetdv_open(), and does without them where
 * that says ENOTSUP.
 *
 * The 64 bits are a number, in host byte order for the program at either end and
 * the same at both. Whoever polls by ordinary verbs finds IBV_WC_WITH_IMM, and in
 * imm_data the number's lower 32 bits, in network byte order.
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

/* The provider: as a plug-in of libibverbs 44, and as rdma-core builds it. */
#define VNETDV_PROVIDER "libvnet-rdmav34.so"
#define VNETDV_PROVIDER_SHARED "libvnet.so.1"

enum vnetdv_context_flags {
	/* Immediate data of 64 bits is there. */
	VNETDV_CONTEXT_IMM64 = 1 << 0,
	/* VNETDV_QP_CREATE_RETURN_TO_SENDER is there. */
	VNETDV_CONTEXT_RETURN_TO_SENDER = 1 << 1,
	/* Flushes are there. */
	VNETDV_CONTEXT_FLUSH = 1 << 2,
};

/* Grows at its end; what the provider does not know yet is 0. */
struct vnetdv_context {
	/* Which further members have been answered: none so far. */
	uint64_t comp_mask;
	/* enum vnetdv_context_flags */
	uint64_t flags;
};

enum vnetdv_qp_create_flags {
	/*
	 * A UD queue pair whose sends end with the fate of their messages: success is
	 * told of what has been delivered, and no earlier; what could not be delivered
	 * fails with a status that says why, is the sender's own again, and leaves the
	 * queue pair as it is. In the order in which they were posted:
	 *
	 * IBV_WC_REM_OP_ERR		no such UD queue pair, or it is not in RTR or RTS, or
	 *				its receive could not be completed
	 * IBV_WC_REM_ACCESS_ERR	its Q_Key is another
	 * IBV_WC_RNR_RETRY_EXC_ERR	it had no receive, for as long as one waits for that
	 * IBV_WC_REM_INV_REQ_ERR	its receive was too small
	 * IBV_WC_RETRY_EXC_ERR		nobody answered: this message may have been delivered
	 */
	VNETDV_QP_CREATE_RETURN_TO_SENDER = 1 << 0,
};

/* Grows at its end. */
struct vnetdv_qp_init_attr {
	/* Which further members are set: none so far. */
	uint64_t comp_mask;
	/* enum vnetdv_qp_create_flags */
	uint32_t create_flags;
	/* 0 */
	uint32_t rsvd;
};

/*
 * What rdma-core 45 and later call IBV_FLUSH_GLOBAL and IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE
 * and IBV_FLUSH_MR, IBV_ACCESS_FLUSH_GLOBAL and IBV_ACCESS_FLUSH_PERSISTENT, and IBV_WC_FLUSH.
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

/* A completion, as vnetdv_poll_cq() fills it. */
struct vnetdv_wc {
	struct ibv_wc wc;
	/*
	 * With IBV_WC_WITH_IMM in wc.wc_flags, and success: the immediate data; that of
	 * an ordinary request as a number of 32 bits.
	 */
	uint64_t imm64;
};

/* Is it a device of this provider? */
bool vnetdv_is_supported(struct ibv_device *device);

/*
 * What an open device has of all this. attr_size: sizeof(*attr), as the program
 * was compiled. 0; ENOTSUP if it is not a vnet device.
 */
int vnetdv_query_context(struct ibv_context *context, struct vnetdv_context *attr,
			 size_t attr_size);

/*
 * Build a send with 64 bits of immediate data: ibv_wr_send_imm() in all else. Only
 * between ibv_wr_start() and ibv_wr_complete(), which returns ENOTSUP where the
 * device does not have it.
 */
void vnetdv_wr_send_imm64(struct ibv_qp_ex *qp, uint64_t imm);

/* The same for an RDMA write: ibv_wr_rdma_write_imm() in all else. */
void vnetdv_wr_rdma_write_imm64(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				uint64_t imm);

/*
 * Build a flush, of an RC or XRC_SEND queue pair: it ends when all that this queue pair has
 * written before is placed as `type` (enum vnetdv_flush_type, one or both) asks. Level RANGE: in
 * len bytes of the region of rkey, from remote_addr on; level MR: in all of that region. There
 * is no data to set. What ibv_wr_flush() is where libibverbs has it. ibv_wr_complete() returns
 * ENOTSUP where the device does not have it, and EINVAL for other types of queue pairs.
 */
void vnetdv_wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
		     uint8_t type, uint8_t level);

/*
 * Post one request (next is NULL) whose opcode is IBV_WR_SEND_WITH_IMM or
 * IBV_WR_RDMA_WRITE_WITH_IMM, with imm instead of its imm_data: ibv_post_send()
 * in all else. 0 or an errno value, with *bad_wr = wr: ENOTSUP where the device
 * does not have it, EINVAL for another opcode or a list.
 */
int vnetdv_post_send_imm64(struct ibv_qp *qp, struct ibv_send_wr *wr, uint64_t imm,
			   struct ibv_send_wr **bad_wr);

/*
 * The immediate data of the completion at hand, between ibv_start_poll() and
 * ibv_end_poll(); it means something where ibv_wc_read_wc_flags() says
 * IBV_WC_WITH_IMM and the completion is a success. That of an ordinary request
 * is a number of 32 bits.
 */
uint64_t vnetdv_wc_read_imm64(struct ibv_cq_ex *cq);

/* ibv_poll_cq(), which tells of each completion its immediate data, too. */
int vnetdv_poll_cq(struct ibv_cq *cq, int num_entries, struct vnetdv_wc *wc);

/*
 * ibv_create_qp_ex() with attributes of vnet's own (NULL: none). NULL with errno:
 * EINVAL for attributes or flags that are not known, ENOTSUP for a flag that the
 * device does not have, or not for this type of queue pair.
 */
struct ibv_qp *vnetdv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				const struct vnetdv_qp_init_attr *vnetdv_attr);

/* The functions above, as a program found them. */
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
	/* NULL where neither provider nor device have anything to ask for by it. */
	struct ibv_qp *(*create_qp)(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				    const struct vnetdv_qp_init_attr *vnetdv_attr);
	/* The same. */
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
			 uint8_t type, uint8_t level);
};

/* true: there is such a function; *to is its address. */
static inline bool vnetdv_find(void *provider, const char *name, void *to)
{
	void *function = dlsym(provider, name);

	memcpy(to, &function, sizeof(function));
	return function != NULL;
}

/*
 * Find all of them for a device that is open: its provider has been loaded by
 * libibverbs, so that it is only looked for, and stays loaded. 0; ENOTSUP where
 * the device is not a vnet device, or does not have 64 bits of immediate data:
 * *ops is empty then. What came later is NULL where it is not there (create_qp, wr_flush).
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
