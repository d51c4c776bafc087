// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of dma-bufs. The core's own way (ib_umem_dmabuf_get()) attaches a buffer to a
 * device that does DMA, of which there is none here: data is copied by the processor. So
 * a region has what an exporter maps for the processor, if that is made of pages.
 */
#include <linux/dma-buf.h>
#include <linux/module.h>

#include "vnet_ib.h"

MODULE_IMPORT_NS(DMA_BUF);

/* What is mapped there, or NULL: memory of a device, which has no pages. */
static struct page *vnet_dmabuf_page(const void *at)
{
	unsigned long pfn;

	if (!is_vmalloc_addr(at))
		return virt_addr_valid(at) ? virt_to_page(at) : NULL;
	pfn = vmalloc_to_pfn(at);
	return pfn_valid(pfn) ? pfn_to_page(pfn) : NULL;
}

static int vnet_dmabuf_list(struct vnet_mr *mr, u64 offset, u64 length)
{
	const void *at = mr->map.vaddr + (offset & PAGE_MASK);
	u32 i, n = DIV_ROUND_UP(offset_in_page(offset) + length, PAGE_SIZE);

	mr->pages = kvmalloc_array(n, sizeof(*mr->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->pages)
		return -ENOMEM;
	mr->max_pages = n;
	for (i = 0; i < n; i++) {
		mr->pages[i] = vnet_dmabuf_page(at + (size_t)i * PAGE_SIZE);
		if (!mr->pages[i])
			return -EOPNOTSUPP;
	}
	mr->npages = n;
	return 0;
}

/* Of what is open for reading alone nothing is written. */
static int vnet_dmabuf_check(const struct dma_buf *buf, u64 offset, u64 length, int access)
{
	if (!length || offset + length < offset || offset + length > buf->size)
		return -EINVAL;
	return ib_access_writable(access) && !(buf->file->f_mode & FMODE_WRITE) ? -EACCES : 0;
}

/* Mapped, and the processor's to read and write until it is given back. */
static int vnet_dmabuf_map(struct vnet_mr *mr, struct dma_buf *buf)
{
	int err;

	err = vnet_dma_buf_vmap(buf, &mr->map);
	if (err)
		return err == -EINVAL ? -EOPNOTSUPP : err;
	err = mr->map.is_iomem ? -EOPNOTSUPP : dma_buf_begin_cpu_access(buf, DMA_BIDIRECTIONAL);
	if (err)
		vnet_dma_buf_vunmap(buf, &mr->map);
	return err;
}

int vnet_dmabuf_get(struct vnet_mr *mr, int fd, u64 offset, u64 length, int access)
{
	struct dma_buf *buf = dma_buf_get(fd);
	int err;

	if (IS_ERR(buf))
		return PTR_ERR(buf);
	err = vnet_dmabuf_check(buf, offset, length, access);
	if (!err)
		err = vnet_dmabuf_map(mr, buf);
	if (err) {
		dma_buf_put(buf);
		return err;
	}
	/* From here on it goes with the region. */
	mr->dmabuf = buf;
	return vnet_dmabuf_list(mr, offset, length);
}

void vnet_dmabuf_put(struct vnet_mr *mr)
{
	if (!mr->dmabuf)
		return;
	dma_buf_end_cpu_access(mr->dmabuf, DMA_BIDIRECTIONAL);
	vnet_dma_buf_vunmap(mr->dmabuf, &mr->map);
	dma_buf_put(mr->dmabuf);
}
