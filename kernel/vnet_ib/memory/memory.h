/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory: regions and windows, pinned memory, on-demand paging (odp.h), dma-bufs, device memory,
 * and the firmware's copies between them (copy.c).
 *
 * Inside the room, mr.c calls odp*.c, dmabuf.c and dm.c; copy.c calls odp*.c. odp.h says in which
 * order odp*.c call each other.
 *
 * Calls base, queues and doorbells. Takes vnet_mr.lock, in it vnet_dev.commands, and the locks
 * that odp.h describes.
 */
#ifndef VNET_IB_MEMORY_H
#define VNET_IB_MEMORY_H

#include <linux/iosys-map.h>

#include "queues/queues.h"

struct vnet_odp;

/* --------------------------------------------------------------------- mr.c */

struct vnet_mr {
	struct ib_mr ibmr;
	struct vnet_object obj;
	u32 key;
	/* Page list of a pinned region. NULL for windows, DMA keys, and other kinds of memory. */
	struct page **pages;
	u32 npages, max_pages;
	struct ib_umem *umem;
	/* Imported dma-buf: its attachment and kernel mapping. */
	struct dma_buf_attachment *dmabuf;
	struct iosys_map map;
	/* On-demand memory, instead of a page list. `lock` protects it and the fields below. */
	struct vnet_odp *odp;
	struct mutex lock;
	/* As registered by the process. */
	u64 start, length, iova;
};

struct vnet_mw {
	struct ib_mw ibmw;
	struct vnet_object obj;
};

static inline struct vnet_mr *to_vmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct vnet_mr, ibmr);
}

struct ib_mr *vnet_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *vnet_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata);
struct ib_mr *vnet_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *ibpd, struct ib_udata *udata);
struct ib_mr *vnet_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm, struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs);
struct ib_mr *vnet_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_sg);
int vnet_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset);
int vnet_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
struct ib_mr *vnet_reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length, u64 iova, int fd,
				 int access, vnet_reg_dmabuf_input *input);
int vnet_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sges, u32 num_sge, struct uverbs_attr_bundle *attrs);
int vnet_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int vnet_dealloc_mw(struct ib_mw *ibmw);

/* --------------------------------------------------- dmabuf.c: for this room */

/* Import the dma-buf `fd` and map it for the processor. Returns 0 or a negative errno. */
int vnet_dmabuf_get(struct vnet_dev *dev, struct vnet_mr *mr, int fd, u64 offset, u64 length,
		    int access);
/* No effect if the region has no dma-buf. */
void vnet_dmabuf_put(struct vnet_mr *mr);

/* --------------------------------------------------------------------- dm.c */

struct vnet_dm {
	struct ib_dm ibdm;
	struct vnet_ring_mem mem;
};

static inline struct vnet_dm *to_vdm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct vnet_dm, ibdm);
}

/* Accounting of a device's memory. It lives as long as the device or any of the memory. */
struct vnet_dm_room *vnet_dm_room_make(void);
/* Drop the device's reference. */
void vnet_dm_room_end(struct vnet_dm_room *room);
struct ib_dm *vnet_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuc,
			    struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs);
int vnet_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);

extern const struct uapi_definition vnet_dm_uapi[];

#endif /* VNET_IB_MEMORY_H */
