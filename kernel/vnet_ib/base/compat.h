/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Differences between the kernels that the module is built for: 6.1 to 6.12. */
#ifndef VNET_COMPAT_H
#define VNET_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>
#include <rdma/uverbs_ioctl.h>

/* Since 6.11, create_cq() gets the attribute bundle, which is NULL for kernel consumers. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
typedef struct uverbs_attr_bundle vnet_create_cq_input;

static inline struct ib_udata *vnet_create_cq_udata(vnet_create_cq_input *input)
{
	return input ? &input->driver_udata : NULL;
}
#else
typedef struct ib_udata vnet_create_cq_input;

static inline struct ib_udata *vnet_create_cq_udata(vnet_create_cq_input *input)
{
	return input;
}
#endif

/* Since 6.12, reg_user_mr_dmabuf() gets the attribute bundle, too. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
typedef struct uverbs_attr_bundle vnet_reg_dmabuf_input;
#else
typedef struct ib_udata vnet_reg_dmabuf_input;
#endif

/*
 * Since 6.7 the core checks CAP_NET_RAW when a process sets a controlled Q_Key, unless the
 * administrator has allowed it to everybody.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#define VNET_CHECKS_QKEYS 0
#else
#define VNET_CHECKS_QKEYS 1
#endif

/* Since 6.2, dma_buf_vmap() requires the reservation lock; these variants take it. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define vnet_dma_buf_vmap dma_buf_vmap_unlocked
#define vnet_dma_buf_vunmap dma_buf_vunmap_unlocked
#else
#define vnet_dma_buf_vmap dma_buf_vmap
#define vnet_dma_buf_vunmap dma_buf_vunmap
#endif

/* Since 6.3, vm_flags are changed by functions. */
static inline void vnet_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/* Since 6.2, the core knows flushes and their access right. Older ones refuse both. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define VNET_ACCESS_FLUSH IB_ACCESS_FLUSH_GLOBAL
#define VNET_DEVICE_FLUSH IB_DEVICE_FLUSH_GLOBAL
#else
#define VNET_ACCESS_FLUSH 0
#define VNET_DEVICE_FLUSH 0
#endif

/* Since 6.5, crypto_memneq() has its own header. The old header shadows a name. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <crypto/utils.h>
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <crypto/algapi.h>
#pragma GCC diagnostic pop
#endif

#endif /* VNET_COMPAT_H */
