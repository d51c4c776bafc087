// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalid arguments to verbs on memory regions and windows.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "invalid.h"

/* ------------------------------------------------------------------- regions */

struct region {
	uint8_t *addr;
	size_t length;
	uint64_t iova;
	int access;
};

static void *pages(int protection)
{
	void *memory = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static void check_registrations(const struct wrong *wrong, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct region r = {
			.addr = bench.memory,
			.length = bench.length,
			.iova = (uintptr_t)bench.memory,
		};
		int is;

		spoil(&r, &wrong[i]);
		is = ERRNO_OF(ibv_reg_mr_iova(bench.pd, r.addr, r.length, r.iova, r.access));
		judge("reg_mr_iova", wrong[i].what, is, wanted(&wrong[i], is));
		if (wrong[i].at == offsetof(struct region, iova))
			continue;
		is = ERRNO_OF(ibv_reg_mr(bench.pd, r.addr, r.length, r.access));
		judge("reg_mr", wrong[i].what, is, wanted(&wrong[i], is));
	}
}

static void ranges(void)
{
	const struct wrong wrong[] = {
		WRONG(struct region, length, 0, EINVAL),
		WRONG(struct region, length, SIZE_MAX, EINVAL),
		WRONG(struct region, length, -(uintptr_t)bench.memory, EINVAL),
		WRONG(struct region, length, bench.limits.max_mr_size + 1, EINVAL),
		WRONG(struct region, length, (size_t)1 << 39, EFAULT),
		WRONG(struct region, iova, (uintptr_t)bench.memory + 1, EINVAL),
		WRONG(struct region, iova, -(uint64_t)4096, EINVAL),
	};

	check_registrations(wrong, COUNT(wrong));
}

static void rights(void)
{
	static const struct wrong wrong[] = {
		WRONG(struct region, access, IBV_ACCESS_REMOTE_WRITE, EINVAL),
		WRONG(struct region, access, IBV_ACCESS_REMOTE_ATOMIC, EINVAL),
		WRONG(struct region, access, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		      EINVAL),
		WRONG(struct region, access, 1 << 12, EINVAL),
		WRONG(struct region, access, 1u << 31, EINVAL),
		WRONG(struct region, access, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_WRITE,
		      EINVAL),
		WRONG(struct region, access, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB, EINVAL),
	};

	check_registrations(wrong, COUNT(wrong));
}

/* Implicit on-demand paging: the region of all addresses. */
static void implicit(void)
{
	static const struct wrong wrong[] = {
		WRONG(struct region, addr, 4096, EINVAL),
		WRONG(struct region, length, SIZE_MAX - 1, EINVAL),
		WRONG(struct region, iova, 4096, EINVAL),
		WRONG(struct region, access, IBV_ACCESS_LOCAL_WRITE, EINVAL),
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct region r = { .length = SIZE_MAX, .access = IBV_ACCESS_ON_DEMAND };
		int is;

		spoil(&r, &wrong[i]);
		is = ERRNO_OF(ibv_reg_mr_iova(bench.pd, r.addr, r.length, r.iova, r.access));
		judge("reg_mr_iova, implicit", wrong[i].what, is, wrong[i].want);
	}
}

struct advice {
	struct ibv_pd *pd;
	enum ibv_advise_mr_advice advice;
	uint32_t flags;
	uint32_t count;
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

static void check_advice(const struct advice *right, const struct wrong *wrong, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct advice a = *right;
		struct ibv_sge sge;

		spoil(&a, &wrong[i]);
		sge = (struct ibv_sge){ .addr = a.addr, .length = a.length, .lkey = a.lkey };
		judge("advise_mr", wrong[i].what,
		      ibv_advise_mr(a.pd, a.advice, a.flags, &sge, a.count), wrong[i].want);
	}
}

static void advice(void)
{
	struct ibv_mr *mr = ibv_reg_mr(bench.pd, bench.memory, bench.length, IBV_ACCESS_ON_DEMAND);
	struct advice right = {
		.pd = bench.pd,
		.flags = IBV_ADVISE_MR_FLAG_FLUSH,
		.count = 1,
		.addr = (uintptr_t)bench.memory,
		.length = 64,
	};
	const struct wrong wrong[] = {
		WRONG(struct advice, advice, 7, EOPNOTSUPP),
		WRONG(struct advice, flags, 1 << 1, EINVAL),
		WRONG(struct advice, count, 0, EINVAL),
		WRONG(struct advice, lkey, 0, ENOENT),
		WRONG(struct advice, lkey, bench.mr->lkey, ENOENT),
		WRONG(struct advice, advice, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, EPERM),
		WRONG(struct advice, addr, (uintptr_t)bench.memory - 1, EFAULT),
		WRONG(struct advice, length, bench.length + 1, EFAULT),
	};

	CHECK(mr);
	right.lkey = mr->lkey;
	check_advice(&right, wrong, COUNT(wrong));
	/*
	 * A PD of another context, in which handles have the same numbers: the key is not in
	 * that PD.
	 */
	right.pd = bench.other.pd;
	check_advice(&right, &(struct wrong)WRONG(struct advice, lkey, mr->lkey, EPERM), 1);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	right.pd = bench.pd;
	check_advice(&right, &(struct wrong)WRONG(struct advice, lkey, right.lkey, ENOENT), 1);
}

/* Memory that is unmapped or not accessible. */
static void memory_kinds(void)
{
	void *gone = pages(PROT_READ | PROT_WRITE), *constant = pages(PROT_READ);
	void *closed = pages(PROT_NONE);
	int write = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_mr *mr;

	munmap(gone, 4096);
	judge("reg_mr", "unmapped", ERRNO_OF(ibv_reg_mr(bench.pd, gone, 4096, 0)), EFAULT);
	judge("reg_mr", "NULL", ERRNO_OF(ibv_reg_mr(bench.pd, NULL, 4096, write)), EFAULT);
	mr = ibv_reg_mr(bench.pd, closed, 4096, 0);
	/* Older kernels pin such memory for reading. */
	if (!mr || !in_kernel())
		judge("reg_mr", "no access", mr ? 0 : errno, EFAULT);
	else
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	judge("reg_mr", "read-only, for writing",
	      ERRNO_OF(ibv_reg_mr(bench.pd, constant, 4096, write)), EFAULT);
	judge("reg_mr", "read-only, for windows",
	      ERRNO_OF(ibv_reg_mr(bench.pd, constant, 4096, IBV_ACCESS_MW_BIND)), EFAULT);
	mr = MADE(ibv_reg_mr(bench.pd, constant, 4096, IBV_ACCESS_REMOTE_READ));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(constant, 4096);
	munmap(closed, 4096);
}

/* User mode has no dma-buf: other processes cannot read the mappings of exporters. */
static void dmabuf(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	CHECK(null >= 0);
	judge("reg_dmabuf_mr", "a bad descriptor",
	      ERRNO_OF(ibv_reg_dmabuf_mr(bench.pd, 0, 4096, 0, -1, 0)),
	      in_kernel() ? EBADF : EOPNOTSUPP);
	judge("reg_dmabuf_mr", "another file",
	      ERRNO_OF(ibv_reg_dmabuf_mr(bench.pd, 0, 4096, 0, null, 0)),
	      in_kernel() ? EINVAL : EOPNOTSUPP);
	close(null);
}

/* ------------------------------------------------------------- device memory */

struct device_region {
	struct ibv_pd *pd;
	uint64_t offset;
	size_t length;
	int access;
};

static void device_regions(struct ibv_dm *dm)
{
	static const struct wrong wrong[] = {
		WRONG(struct device_region, offset, 4100, EINVAL),
		WRONG(struct device_region, offset, UINT64_MAX, EINVAL),
		WRONG(struct device_region, length, 4097, EINVAL),
		WRONG(struct device_region, length, SIZE_MAX, EINVAL),
		WRONG(struct device_region, access, IBV_ACCESS_LOCAL_WRITE, EINVAL),
		WRONG(struct device_region, access, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_MW_BIND,
		      EINVAL),
		WRONG(struct device_region, access, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE,
		      EINVAL),
	};
	struct ibv_mr *mr;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct device_region r = { bench.pd, 0, 4096, IBV_ACCESS_ZERO_BASED };

		spoil(&r, &wrong[i]);
		judge("reg_dm_mr", wrong[i].what,
		      ERRNO_OF(ibv_reg_dm_mr(r.pd, dm, r.offset, r.length, (uint32_t)r.access)),
		      wrong[i].want);
	}
	mr = MADE(ibv_reg_dm_mr(bench.pd, dm, 0, 4096, IBV_ACCESS_ZERO_BASED));
	judge("free_dm", "with a region", ibv_free_dm(dm), EBUSY);
	judge("rereg_mr", "of device memory",
	      ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) ? errno : 0, EINVAL);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

static void device_memory(void)
{
	const struct wrong wrong[] = {
		WRONG(struct ibv_alloc_dm_attr, length, 0, EINVAL),
		WRONG(struct ibv_alloc_dm_attr, length, SIZE_MAX, EINVAL),
		WRONG(struct ibv_alloc_dm_attr, log_align_req, 13, EINVAL),
		WRONG(struct ibv_alloc_dm_attr, comp_mask, 1, EINVAL),
	};
	struct ibv_alloc_dm_attr right = { .length = 4096 };
	uint8_t bytes[64] = { 0 };
	struct ibv_dm *dm;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct ibv_alloc_dm_attr attr = right;

		spoil(&attr, &wrong[i]);
		judge("alloc_dm", wrong[i].what, ERRNO_OF(ibv_alloc_dm(bench.context, &attr)),
		      wrong[i].want);
	}
	dm = MADE(ibv_alloc_dm(bench.context, &right));
	judge("memcpy_to_dm", "odd offset", ibv_memcpy_to_dm(dm, 2, bytes, 4), EFAULT);
	judge("memcpy_to_dm", "odd length", ibv_memcpy_to_dm(dm, 4, bytes, 3), EFAULT);
	judge("memcpy_to_dm", "beyond", ibv_memcpy_to_dm(dm, 4096, bytes, 4), EFAULT);
	judge("memcpy_from_dm", "beyond", ibv_memcpy_from_dm(bytes, dm, 4092, 8), EFAULT);
	judge("memcpy_from_dm", "around the end", ibv_memcpy_from_dm(bytes, dm, ~0ull - 3, 8),
	      EFAULT);
	device_regions(dm);
	CHECK_EQ(ibv_free_dm(dm), 0);
}

/* --------------------------------------------------------------- re-register */

/* Checks that a failed ibv_rereg_mr() left the region unchanged. */
static void check_region(struct ibv_mr *mr)
{
	struct ibv_mr before = *mr;
	struct ibv_mr *same = MADE(ibv_import_mr(bench.pd, mr->handle));

	CHECK_EQ(same->lkey, before.lkey);
	CHECK_EQ(same->length, bench.length);
	ibv_unimport_mr(same);
	CHECK(mr->addr == bench.memory && mr->length == bench.length && mr->pd == bench.pd);
}

struct change {
	int flags;
	struct ibv_pd *pd;
	uint8_t *addr;
	size_t length;
	int access;
};

#define REREG_ALL                                                                                  \
	(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS)

/* errno has the cause; the return value tells whether the old registration is still valid. */
static void rereg(void)
{
	const struct wrong wrong[] = {
		WRONG(struct change, flags, 0, EINVAL),
		WRONG(struct change, flags, 1 << 3, EINVAL),
		WRONG(struct change, pd, 0, EINVAL),
		WRONG(struct change, pd, (uintptr_t)bench.other.pd, EINVAL),
		WRONG(struct change, addr, 0, EINVAL),
		WRONG(struct change, addr, 4096, EFAULT),
		WRONG(struct change, length, 0, EINVAL),
		WRONG(struct change, length, SIZE_MAX, EINVAL),
		WRONG(struct change, access, IBV_ACCESS_REMOTE_WRITE, EINVAL),
		WRONG(struct change, access, 1 << 12, EINVAL),
		WRONG(struct change, access, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_WRITE,
		      EINVAL),
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct change c = { REREG_ALL, bench.pd, bench.memory, bench.length, SIDE_ACCESS };

		spoil(&c, &wrong[i]);
		errno = 0;
		CHECK(ibv_rereg_mr(bench.mr, c.flags, c.pd, c.addr, c.length, c.access));
		judge("rereg_mr", wrong[i].what, errno, wanted(&wrong[i], errno));
		check_region(bench.mr);
	}
}

void invalid_memory(void)
{
	ranges();
	rights();
	implicit();
	advice();
	memory_kinds();
	dmabuf();
	device_memory();
	look_around("regions");
	rereg();
	look_around("regions made anew");
}

/* ------------------------------------------------------------------- windows */

/* Two connected sides of the bench's context. */
static struct side pair[2];
static struct ibv_mr *region;

static struct ibv_mw *make_window(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = MADE(ibv_alloc_mw(pd, type));

	return mw;
}

static void types(void)
{
	judge("alloc_mw", "type 0", ERRNO_OF(ibv_alloc_mw(pair[0].pd, 0)), EINVAL);
	judge("alloc_mw", "type 3", ERRNO_OF(ibv_alloc_mw(pair[0].pd, 3)), EINVAL);
}

static int bind(struct ibv_mw *mw, struct ibv_mr *mr, const uint8_t *addr, size_t length,
		int access)
{
	struct ibv_mw_bind b = {
		.wr_id = 7,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { mr, (uintptr_t)addr, length, (unsigned int)access },
	};

	return ibv_bind_mw(pair[0].qp, mw, &b);
}

/* Binds that ibv_bind_mw() refuses. */
static void binds_at_once(void)
{
	struct ibv_mw *one = make_window(pair[0].pd, IBV_MW_TYPE_1);
	struct ibv_mw *two = make_window(pair[0].pd, IBV_MW_TYPE_2);
	struct ibv_mw *foreign = make_window(pair[1].pd, IBV_MW_TYPE_1);
	const uint8_t *at = pair[0].buffer;
	uint32_t rkey = one->rkey;
	struct ibv_mw_bind inl = { .send_flags = IBV_SEND_INLINE,
				   .bind_info = { region, (uintptr_t)at, 64, 0 } };

	judge("bind_mw", "type 2", bind(two, region, at, 64, 0), EINVAL);
	judge("bind_mw", "window of another PD", bind(foreign, region, at, 64, 0), EPERM);
	judge("bind_mw", "region of another PD", bind(one, pair[1].mr, at, 64, 0), EPERM);
	judge("bind_mw", "no region", bind(one, NULL, at, 64, 0), EINVAL);
	judge("bind_mw", "inline", ibv_bind_mw(pair[0].qp, one, &inl), EINVAL);
	CHECK_EQ(one->rkey, rkey);
	side_expect_silence(&pair[0], 1000000);
	CHECK_EQ(ibv_dealloc_mw(one), 0);
	CHECK_EQ(ibv_dealloc_mw(two), 0);
	CHECK_EQ(ibv_dealloc_mw(foreign), 0);
}

static void start_anew(void)
{
	struct address a[2] = { side_address(&pair[0]), side_address(&pair[1]) };

	CHECK(side_try_anew(&pair[0], &a[1]));
	CHECK(side_try_anew(&pair[1], &a[0]));
}

/* Binds that are refused when they are executed: the completion has the error. */
static void binds_later(void)
{
	struct ibv_mr *plain = pair[0].mr;
	struct ibv_mr *constant = ibv_reg_mr(pair[0].pd, pair[0].buffer, 8192, IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = make_window(pair[0].pd, IBV_MW_TYPE_1);
	uint8_t *at = pair[0].buffer;
	const struct {
		const char *what;
		struct ibv_mr *mr;
		uint8_t *addr;
		size_t length;
		int access;
	} binds[] = {
		{ "region without MW_BIND", plain, at, 64, IBV_ACCESS_REMOTE_READ },
		{ "before the region", region, at - 1, 64, IBV_ACCESS_REMOTE_READ },
		{ "beyond the region", region, at, 8193, IBV_ACCESS_REMOTE_READ },
		{ "behind the region", region, at + 8192, 1, IBV_ACCESS_REMOTE_READ },
		{ "around the end", region, at, SIZE_MAX, IBV_ACCESS_REMOTE_READ },
		{ "remote write, not local", constant, at, 64, IBV_ACCESS_REMOTE_WRITE },
		{ "remote atomic, not local", constant, at, 64, IBV_ACCESS_REMOTE_ATOMIC },
		{ "unknown access", region, at, 64, 1 << 12 },
	};

	CHECK(constant);
	for (size_t i = 0; i < COUNT(binds); i++) {
		enum ibv_wc_status status;
		uint32_t rkey = mw->rkey;

		CHECK_EQ(bind(mw, binds[i].mr, binds[i].addr, binds[i].length, binds[i].access), 0);
		status = side_wait(&pair[0]).status;
		if (status != IBV_WC_MW_BIND_ERR)
			FAIL("bind_mw, %s: %s", binds[i].what, ibv_wc_status_str(status));
		/* ibv_bind_mw(3): after a failed bind, the program restores the rkey. */
		mw->rkey = rkey;
		CHECK_EQ(side_state(&pair[0]), IBV_QPS_ERR);
		start_anew();
	}
	CHECK_EQ(bind(mw, region, at, 64, IBV_ACCESS_REMOTE_READ), 0);
	(void)side_expect(&pair[0], 7, IBV_WC_SUCCESS);
	judge("dereg_mr", "with a window", ibv_dereg_mr(region), EBUSY);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_dereg_mr(constant), 0);
}

void invalid_windows(void)
{
	pair_open(pair, &(struct wish){ .context = bench.context });
	region = MADE(
		ibv_reg_mr(pair[0].pd, pair[0].buffer, 8192, SIDE_ACCESS | IBV_ACCESS_MW_BIND));
	types();
	binds_at_once();
	binds_later();
	CHECK_EQ(ibv_dereg_mr(region), 0);
	pair_close(pair);
	look_around("windows");
}
