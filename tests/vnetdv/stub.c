// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A stub of the provider's library for open.c, which sets its results. */
#include <infiniband/vnetdv.h>

extern int stub_result;
extern uint64_t stub_flags;

int stub_result;
uint64_t stub_flags;

int vnetdv_query_context(struct ibv_context *context, struct vnetdv_context *attr, size_t attr_size)
{
	(void)context;
	memset(attr, 0, attr_size);
	attr->flags = stub_flags;
	return stub_result;
}

void vnetdv_wr_send_imm64(struct ibv_qp_ex *qp, uint64_t imm)
{
	(void)qp;
	(void)imm;
}

void vnetdv_wr_rdma_write_imm64(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				uint64_t imm)
{
	(void)qp;
	(void)rkey;
	(void)remote_addr;
	(void)imm;
}

int vnetdv_post_send_imm64(struct ibv_qp *qp, struct ibv_send_wr *wr, uint64_t imm,
			   struct ibv_send_wr **bad_wr)
{
	(void)qp;
	(void)wr;
	(void)imm;
	(void)bad_wr;
	return 0;
}

#ifndef STUB_WITHOUT_QP
struct ibv_qp *vnetdv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				const struct vnetdv_qp_init_attr *own)
{
	(void)context;
	(void)attr;
	(void)own;
	return NULL;
}

void vnetdv_wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
		     uint8_t type, uint8_t level)
{
	(void)qp;
	(void)rkey;
	(void)remote_addr;
	(void)len;
	(void)type;
	(void)level;
}
#endif

#ifndef STUB_IS_OLD
uint64_t vnetdv_wc_read_imm64(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

int vnetdv_poll_cq(struct ibv_cq *cq, int num_entries, struct vnetdv_wc *wc)
{
	(void)cq;
	(void)num_entries;
	(void)wc;
	return 0;
}
#endif
