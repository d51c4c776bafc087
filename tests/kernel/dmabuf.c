// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests memory regions of dma-bufs. Data that a queue pair writes is visible in the exporter's
 * mapping, and the reverse. Descriptors that are no dma-buf, and ranges outside of one, are
 * refused.
 *
 *   dmabuf vgem|heap|udmabuf...    with each of these exporters
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../faults/side.h"

#define SIZE (256u << 10)
/* Neither is page-aligned, and both have the same offset in a page. */
#define OFFSET 4160u
#define IOVA (0x700000000000u + OFFSET)
#define LENGTH (SIZE - OFFSET - 100)
#define PART 40000u

/* ---------------------------------------------------------------- exporters */

/* vgem, a DRM device without a display; parts of its interface (drm_mode.h, drm.h). */
struct dumb_buffer {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t size;
};

struct prime_handle {
	uint32_t handle, flags;
	int32_t fd;
};

#define CREATE_DUMB _IOWR('d', 0xb2, struct dumb_buffer)
#define HANDLE_TO_FD _IOWR('d', 0x2d, struct prime_handle)

static int display_buffer(int flags)
{
	struct dumb_buffer dumb = { .height = SIZE / 4096, .width = 1024, .bpp = 32 };
	struct prime_handle prime = { .flags = (uint32_t)flags };
	int card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);

	if (card < 0)
		return -1;
	CHECK_EQ(ioctl(card, CREATE_DUMB, &dumb), 0);
	prime.handle = dumb.handle;
	CHECK_EQ(ioctl(card, HANDLE_TO_FD, &prime), 0);
	close(card);
	return prime.fd;
}

static int heap_buffer(int flags)
{
	struct dma_heap_allocation_data data = { .len = SIZE, .fd_flags = (uint32_t)flags };
	int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);

	if (heap < 0)
		return -1;
	CHECK_EQ(ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data), 0);
	close(heap);
	return (int)data.fd;
}

/* udmabuf: memory of the process, always writable. */
static int memory_buffer(int flags)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = SIZE };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	if (device < 0)
		return -1;
	fd = memfd_create("buffer", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	CHECK(fd >= 0 && !ftruncate(fd, SIZE) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	create.memfd = (uint32_t)fd;
	fd = ioctl(device, UDMABUF_CREATE, &create);
	CHECK(fd >= 0);
	close((int)create.memfd);
	close(device);
	return fd;
}

static const struct exporter {
	const char *name;
	int (*make)(int flags);
	bool may_be_read_only;
} exporters[] = {
	{ "vgem", display_buffer, true },
	{ "heap", heap_buffer, true },
	{ "udmabuf", memory_buffer, false },
};

/* ------------------------------------------------------------------- regions */

static struct ibv_mr *region(struct side *s, int fd)
{
	return ibv_reg_dmabuf_mr(s->pd, OFFSET, LENGTH, IOVA, fd, SIDE_ACCESS);
}

static void to_and_fro(struct side s[2], uint8_t *memory, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = IOVA + PART, .length = PART, .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 3, .sg_list = &sge, .num_sge = 1 }, *bad;

	s[0].peer.addr = IOVA;
	s[0].peer.rkey = mr->rkey;
	fill(s[0].buffer, PART, 1);
	side_post(&s[0], IBV_WR_RDMA_WRITE, 1, 0, PART);
	(void)side_expect(&s[0], 1, IBV_WC_SUCCESS);
	CHECK(is_filled(memory + OFFSET, PART, 1));

	fill(memory + OFFSET, PART, 2);
	side_post(&s[0], IBV_WR_RDMA_READ, 2, 0, PART);
	(void)side_expect(&s[0], 2, IBV_WC_SUCCESS);
	CHECK(is_filled(s[0].buffer, PART, 2));

	CHECK_EQ(ibv_post_recv(s[1].qp, &wr, &bad), 0);
	fill(s[0].buffer, PART, 4);
	side_post(&s[0], IBV_WR_SEND, 4, 0, PART);
	(void)side_expect(&s[0], 4, IBV_WC_SUCCESS);
	(void)side_expect(&s[1], 3, IBV_WC_SUCCESS);
	CHECK(is_filled(memory + OFFSET + PART, PART, 4));
}

/* Writes up to the last byte of the region succeed; writes beyond it fail. */
static void its_end(struct side s[2], uint8_t *memory)
{
	s[0].peer.addr = IOVA + LENGTH - 8;
	memory[OFFSET + LENGTH] = 0x5a;
	side_post(&s[0], IBV_WR_RDMA_WRITE, 5, 0, 8);
	(void)side_expect(&s[0], 5, IBV_WC_SUCCESS);
	side_post(&s[0], IBV_WR_RDMA_WRITE, 6, 0, 9);
	(void)side_expect(&s[0], 6, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(memory[OFFSET + LENGTH], 0x5a);
}

static void refused(struct side *s, uint64_t offset, uint64_t length, uint64_t iova, int fd,
		    int want)
{
	errno = 0;
	CHECK(!ibv_reg_dmabuf_mr(s->pd, offset, length, iova, fd, SIDE_ACCESS));
	CHECK_EQ(errno, want);
}

static void refusals(struct side *s, int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	refused(s, 0, SIZE, 0, -1, EBADF);
	refused(s, 0, SIZE, 0, null, EINVAL);
	refused(s, 0, SIZE + 1, 0, fd, EINVAL);
	refused(s, SIZE, 4096, 0, fd, EINVAL);
	refused(s, 4096, UINT64_MAX - 4095, 0, fd, EINVAL);
	refused(s, 0, 0, 0, fd, EINVAL);
	/* Offset and IOVA differ in their offset in a page. */
	refused(s, 64, 4096, 0, fd, EINVAL);
	close(null);
}

/* A read-only descriptor cannot be registered for writing. */
static void read_only(struct side *s, const struct exporter *e)
{
	int fd = e->make(O_RDONLY | O_CLOEXEC);
	struct ibv_mr *mr;

	refused(s, 0, SIZE, 0, fd, EACCES);
	mr = MADE(ibv_reg_dmabuf_mr(s->pd, 0, SIZE, 0, fd, IBV_ACCESS_REMOTE_READ));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	close(fd);
}

/* An imported region has the same properties. */
static void imported(struct side *s, struct ibv_mr *mr)
{
	struct ibv_mr *again = ibv_import_mr(s->pd, mr->handle);

	CHECK(again && again->lkey == mr->lkey && again->length == LENGTH);
	ibv_unimport_mr(again);
}

/* ibv_rereg_mr() is refused. */
static void made_anew(struct side *s, struct ibv_mr *mr)
{
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, s->pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE));
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, s->pd, s->buffer, 4096, 0));
}

static void try(const struct exporter *e)
{
	int fd = e->make(O_RDWR | O_CLOEXEC);
	struct side s[2];
	struct ibv_mr *mr;
	uint8_t *memory;

	if (fd < 0)
		FAIL("there is no %s", e->name);
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(memory != MAP_FAILED);
	pair_open(s, &(struct wish){ .timeout = 10 });
	refusals(&s[1], fd);
	mr = region(&s[1], fd);
	CHECK(mr);
	if (e->may_be_read_only)
		read_only(&s[1], e);
	made_anew(&s[1], mr);
	imported(&s[1], mr);
	/* The region holds a reference to the buffer. */
	close(fd);
	to_and_fro(s, memory, mr);
	its_end(s, memory);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	pair_close(s);
	munmap(memory, SIZE);
}

static const struct exporter *exporter(const char *name)
{
	for (size_t i = 0; i < sizeof(exporters) / sizeof(exporters[0]); i++)
		if (!strcmp(exporters[i].name, name))
			return &exporters[i];
	FAIL("%s exports nothing", name);
}

/* The process exits without deregistration, so the kernel must free the region. */
static void leave_one(const struct exporter *e)
{
	struct side *s = MADE(calloc(1, sizeof(*s)));

	side_open(s, &(struct wish){ .length = 4096 });
	CHECK(region(s, e->make(O_RDWR | O_CLOEXEC)));
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		try(exporter(argv[i]));
		leave_one(exporter(argv[i]));
	}
	_exit(0);
}
