// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registration of dma-bufs. The core's ib_umem_dmabuf_get() maps a buffer for the DMA of a
 * device. This device copies by the processor, so a region is the buffer's kernel mapping
 * (vmap), between dma_buf_begin_cpu_access() and dma_buf_end_cpu_access().
 */
#include <linux/dma-buf.h>
#include <linux/module.h>

#include "memory.h"

MODULE_IMPORT_NS(DMA_BUF);

/* A buffer that was opened read-only cannot be registered for writing. */
static int vnet_dmabuf_check(const struct dma_buf *buf, u64 offset, u64 length, int access)
{
	if (!length || offset + length < offset || offset + length > buf->size)
		return -EINVAL;
	return ib_access_writable(access) && !(buf->file->f_mode & FMODE_WRITE) ? -EACCES : 0;
}

static int vnet_dmabuf_map(struct vnet_mr *mr, struct dma_buf *buf)
{
	int err;

	err = vnet_dma_buf_vmap(buf, &mr->map);
	if (err)
		return err == -EINVAL ? -EOPNOTSUPP : err;
	/* I/O memory needs other copy functions. */
	err = mr->map.is_iomem ? -EOPNOTSUPP : dma_buf_begin_cpu_access(buf, DMA_BIDIRECTIONAL);
	if (err)
		vnet_dma_buf_vunmap(buf, &mr->map);
	return err;
}

/*
 * Attach to the buffer, though it is not mapped for DMA: some exporters do not move a buffer
 * that has an attachment. Dynamic exporters, which move it and notify the importer, are not
 * supported.
 */
static int vnet_dmabuf_hold(struct vnet_dev *dev, struct vnet_mr *mr, struct dma_buf *buf)
{
	struct dma_buf_attachment *attachment;
	int err;

	if (dma_buf_is_dynamic(buf))
		return -EOPNOTSUPP;
	attachment = dma_buf_attach(buf, &dev->ibdev.dev);
	if (IS_ERR(attachment))
		return PTR_ERR(attachment);
	err = vnet_dmabuf_map(mr, buf);
	if (err) {
		dma_buf_detach(buf, attachment);
		return err;
	}
	mr->dmabuf = attachment;
	return 0;
}

int vnet_dmabuf_get(struct vnet_dev *dev, struct vnet_mr *mr, int fd, u64 offset, u64 length,
		    int access)
{
	struct dma_buf *buf = dma_buf_get(fd);
	int err;

	if (IS_ERR(buf))
		return PTR_ERR(buf);
	err = vnet_dmabuf_check(buf, offset, length, access);
	if (!err)
		err = vnet_dmabuf_hold(dev, mr, buf);
	if (err)
		dma_buf_put(buf);
	return err;
}

void vnet_dmabuf_put(struct vnet_mr *mr)
{
	struct dma_buf *buf;

	if (!mr->dmabuf)
		return;
	buf = mr->dmabuf->dmabuf;
	dma_buf_end_cpu_access(buf, DMA_BIDIRECTIONAL);
	vnet_dma_buf_vunmap(buf, &mr->map);
	dma_buf_detach(buf, mr->dmabuf);
	dma_buf_put(buf);
}
