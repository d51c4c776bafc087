// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of memory regions and windows: access rights, ranges, and the check that the memory exists.
 */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel.h"

#define PAGE 4096u
#define LOCAL IBV_ACCESS_LOCAL_WRITE

/* Three pages: writable, read-only, and inaccessible. The fourth is unmapped. */
static u8 *area;

static int start(void **state)
{
	kernel_start_context(state);
	area = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(area != MAP_FAILED);
	assert_int_equal(mprotect(area + PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(mprotect(area + 2 * PAGE, PAGE, PROT_NONE), 0);
	assert_int_equal(munmap(area + 3 * PAGE, PAGE), 0);
	return 0;
}

static int stop(void **state)
{
	munmap(area, 3 * PAGE);
	return kernel_stop(state);
}

static struct ib_uverbs_reg_mr_resp made;

static int reg(u64 start_addr, u64 length, u64 hca_va, u32 access)
{
	struct ib_uverbs_reg_mr cmd = { .pd_handle = make_pd(),
					.start = start_addr,
					.hca_va = hca_va,
					.length = length,
					.access_flags = access };

	return PLAIN(REG_MR, &cmd, &made);
}

static int reg_at(void *at, u64 length, u32 access)
{
	return reg((uintptr_t)at, length, (uintptr_t)at, access);
}

static void rights(void **state)
{
	assert_int_equal(reg_at(area, 64, LOCAL), 0);
	assert_int_equal(reg_at(area, 64, 0), 0);
	assert_int_equal(reg_at(area, 64, IBV_ACCESS_REMOTE_READ), 0);
	assert_int_equal(reg_at(area, 64,
				LOCAL | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
					IBV_ACCESS_REMOTE_READ),
			 0);
	assert_int_equal(reg_at(area, 64, LOCAL | IBV_ACCESS_MW_BIND | IBV_ACCESS_HUGETLB), 0);
	assert_int_equal(reg_at(area, 64, LOCAL | IBV_ACCESS_RELAXED_ORDERING | 1u << 29), 0);
	assert_int_equal(reg_at(area, 64, IBV_ACCESS_REMOTE_WRITE), -EINVAL);
	assert_int_equal(reg_at(area, 64, IBV_ACCESS_REMOTE_ATOMIC), -EINVAL);
	assert_int_equal(reg_at(area, 64, 1u << 10), -EINVAL);
	assert_int_equal(reg_at(area, 64, 1u << 30), -EINVAL);
}

/*
 * Access rights of flushes. Persistence is refused, because memory does not survive a loss of
 * power.
 */
static void placement_rights(void **state)
{
	const struct nic_mr *entry;

	assert_int_equal(reg_at(area, 64, LOCAL | NIC_ACCESS_FLUSH_GLOBAL), 0);
	entry = &kernel.device.nic.mr[nic_key_index(&kernel.device.nic, made.rkey)];
	assert_int_equal(entry->access, LOCAL | NIC_ACCESS_FLUSH_GLOBAL);
	assert_int_equal(reg_at(area, 64, NIC_ACCESS_FLUSH_GLOBAL), 0);
	assert_int_equal(reg_at(area, 64, LOCAL | NIC_ACCESS_FLUSH_PERSISTENT), -EOPNOTSUPP);
	assert_int_equal(reg_at(area, 64,
				LOCAL | NIC_ACCESS_FLUSH_GLOBAL | NIC_ACCESS_FLUSH_PERSISTENT),
			 -EOPNOTSUPP);
}

static void ranges(void **state)
{
	u64 at = (uintptr_t)area;

	assert_int_equal(reg(at, 0, at, LOCAL), -EINVAL);
	assert_int_equal(reg(at, ~0ull, at, LOCAL), -EINVAL);
	assert_int_equal(reg(at, UV_MAX_MR_SIZE + 1, at, LOCAL), -EINVAL);
	assert_int_equal(reg(~0ull - 100, 50, ~0ull - 100, LOCAL), -EINVAL);
	assert_int_equal(reg(at + 8, 64, at, LOCAL), -EINVAL);
	assert_int_equal(reg(at + 8, 64, ~0xff7ull, LOCAL), 0);
	assert_int_equal(reg(at + 0xf00, 0x80, ~0xffull, LOCAL), 0);
	assert_int_equal(reg(at + 0xf00, 0x101, ~0xffull, LOCAL), -EINVAL);
}

static void memory_is_there(void **state)
{
	assert_int_equal(reg_at(area, PAGE, LOCAL), 0);
	assert_int_equal(reg_at(area, PAGE + 1, LOCAL), -EFAULT);
	assert_int_equal(reg_at(area, 2 * PAGE, 0), 0);
	assert_int_equal(reg_at(area + PAGE, PAGE, LOCAL), -EFAULT);
	assert_int_equal(reg_at(area + PAGE, PAGE, IBV_ACCESS_MW_BIND), -EFAULT);
	assert_int_equal(reg_at(area + PAGE, PAGE, IBV_ACCESS_REMOTE_READ), 0);
	assert_int_equal(reg_at(area + 2 * PAGE, 1, 0), -EFAULT);
	assert_int_equal(reg_at(area + 2 * PAGE - 1, 2, 0), -EFAULT);
	assert_int_equal(reg_at(area + 3 * PAGE, 1, 0), -EFAULT);
	assert_int_equal(reg_at((void *)8, 8, 0), -EFAULT);
	assert_int_equal(reg(1ull << 60, PAGE, 0, 0), -EFAULT);
}

/* Registration does not fault in pages. */
static void large_region(void **state)
{
	u64 size = 1ull << 32;
	u8 in_core;
	u8 *large = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(large != MAP_FAILED);
	assert_int_equal(reg_at(large, size, LOCAL), 0);
	assert_int_equal(mincore(large + size / 2, PAGE, &in_core), 0);
	assert_int_equal(in_core & 1, 0);
	munmap(large, size);
}

/* If the map of the process cannot be read, only the first and the last page are checked. */
static void map_is_secret(void **state)
{
	int maps = kernel.client.maps_fd;

	kernel.client.maps_fd = -1;
	assert_int_equal(reg_at(area, 2 * PAGE, LOCAL), 0);
	assert_int_equal(reg_at(area + 3 * PAGE, 1, 0), -EFAULT);
	assert_int_equal(reg_at(area, 3 * PAGE + 1, 0), -EFAULT);
	kernel.client.maps_fd = maps;
}

/* A buffer on the stack that the program has not touched yet. */
static void stack_grows(void **state)
{
	u8 buffer[1u << 20];

	assert_int_equal(reg_at(buffer, sizeof(buffer), LOCAL), 0);
}

static void keys(void **state)
{
	u32 pd = make_pd(), first, second, handle;

	handle = make_mr(pd, area, 64, LOCAL, &first);
	assert_int_not_equal(nic_key_index(&kernel.device.nic, first), 0);
	for (u32 i = 0; i < kernel.device.nic.max_mr; i++) {
		assert_int_equal(destroy(IB_USER_VERBS_CMD_DEREG_MR, handle), 0);
		handle = make_mr(pd, area, 64, LOCAL, &second);
		assert_int_not_equal(first, second);
	}
}

static void zero_based(void **state)
{
	assert_int_equal(reg_at(area + 16, 64, LOCAL | IBV_ACCESS_ZERO_BASED), 0);
	assert_int_equal(mr_of(made.mr_handle)->params.iova, 0);
	assert_int_equal(mr_of(made.mr_handle)->params.addr, (uintptr_t)area + 16);
}

static void query(void **state)
{
	u32 lkey = 0, rkey = 0;
	u64 length = 0, iova = 0;
	struct ioctl_call call;

	assert_int_equal(reg((uintptr_t)area, 100, 0x7000, LOCAL), 0);
	ioctl_begin(&call, UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	ioctl_object(&call, UVERBS_ATTR_QUERY_MR_HANDLE, made.mr_handle);
	ioctl_out(&call, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &lkey, 4);
	ioctl_out(&call, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &rkey, 4);
	ioctl_out(&call, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &length, 8);
	ioctl_out(&call, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &iova, 8);
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(lkey, made.lkey);
	assert_int_equal(rkey, made.rkey);
	assert_int_equal(length, 100);
	assert_int_equal(iova, 0x7000);
}

/* ------------------------------------------------------------------- reregister */

static int rereg(u32 handle, u32 flags, void *at, u64 length, u32 pd, u32 access)
{
	struct ib_uverbs_rereg_mr cmd = { .mr_handle = handle,
					  .flags = flags,
					  .start = (uintptr_t)at,
					  .hca_va = (uintptr_t)at,
					  .length = length,
					  .pd_handle = pd,
					  .access_flags = access };
	struct ib_uverbs_rereg_mr_resp resp;
	int err = PLAIN(REREG_MR, &cmd, &resp);

	if (!err)
		assert_int_equal(resp.lkey, mr_of(handle)->params.key);
	return err;
}

static void reregister(void **state)
{
	u32 pd = make_pd(), other = make_pd(), key;
	u32 handle = make_mr(pd, area, 64, LOCAL, &key);
	const struct nic_mr *entry = &kernel.device.nic.mr[nic_key_index(&kernel.device.nic, key)];

	assert_int_equal(rereg(handle, 0, NULL, 0, 0, 0), -EINVAL);
	assert_int_equal(rereg(handle, 8, NULL, 0, 0, 0), -EOPNOTSUPP);
	assert_int_equal(rereg(99, 4, NULL, 0, 0, LOCAL), -ENOENT);
	assert_int_equal(rereg(handle, 2, NULL, 0, 99, 0), -EINVAL);
	assert_int_equal(rereg(handle, 4, NULL, 0, 0, IBV_ACCESS_REMOTE_WRITE), -EINVAL);
	assert_int_equal(rereg(handle, 1, area + 2 * PAGE, 64, 0, 0), -EFAULT);
	assert_int_equal(entry->key, key);
	/* Access rights, PD and address change, and the key stays the same. */
	assert_int_equal(rereg(handle, 4, NULL, 0, 0, LOCAL | IBV_ACCESS_REMOTE_WRITE), 0);
	assert_int_equal(entry->key, key);
	assert_int_equal(entry->access, LOCAL | IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(rereg(handle, 2, NULL, 0, other, 0), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, pd), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, other), -EBUSY);
	assert_int_equal(rereg(handle, 1, area + 128, 32, 0, 0), 0);
	assert_int_equal(entry->addr, (uintptr_t)area + 128);
	assert_int_equal(entry->length, 32);
	/* Access rights of memory in another address space cannot be changed. */
	kernel.client.space++;
	assert_int_equal(rereg(handle, 4, NULL, 0, 0, LOCAL), -EINVAL);
	kernel.client.space--;
	/* A read-only page is not accepted for local write access. */
	assert_int_equal(rereg(handle, 1 | 4, area + PAGE, 32, 0, 0), 0);
	assert_int_equal(rereg(handle, 4, NULL, 0, 0, LOCAL), -EFAULT);
}

/* The mark of a region with protected pages, which the shim sets, survives each kind of change. */
static void reregister_protected(void **state)
{
	u32 pd = make_pd(), key, handle = make_mr(pd, area, 64, LOCAL, &key);
	struct nic_mr *entry = &kernel.device.nic.mr[nic_key_index(&kernel.device.nic, key)];

	entry->flags |= NIC_MR_CHECK_PAGES;
	assert_int_equal(rereg(handle, 2, NULL, 0, make_pd(), 0), 0);
	assert_int_equal(entry->flags, NIC_MR_CHECK_PAGES);
	assert_int_equal(rereg(handle, 4, NULL, 0, 0, 0), 0);
	assert_int_equal(entry->flags, NIC_MR_CHECK_PAGES);
	assert_int_equal(rereg(handle, 1, area + 8, 32, 0, 0), 0);
	assert_int_equal(entry->flags, NIC_MR_CHECK_PAGES);
}

/* --------------------------------------------------------------------- windows */

static void windows(void **state)
{
	struct ib_uverbs_alloc_mw cmd = { .pd_handle = make_pd(), .mw_type = IBV_MW_TYPE_1 };
	struct ib_uverbs_alloc_mw_resp resp;
	u32 region;

	assert_int_equal(PLAIN(ALLOC_MW, &cmd, &resp), 0);
	cmd.mw_type = IBV_MW_TYPE_2;
	assert_int_equal(PLAIN(ALLOC_MW, &cmd, &resp), 0);
	assert_int_equal(kernel.device.nic.mr[nic_key_index(&kernel.device.nic, resp.rkey)].kind,
			 NIC_MR_WINDOW_2);
	/* A handle of a window is not accepted as a region, nor vice versa. */
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEREG_MR, resp.mw_handle), -EINVAL);
	assert_int_equal(reg_at(area, 64, LOCAL), 0);
	region = made.mr_handle;
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_MW, region), -EINVAL);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_MW, resp.mw_handle), 0);
	cmd.mw_type = 0;
	assert_int_equal(PLAIN(ALLOC_MW, &cmd, &resp), -EINVAL);
	cmd.mw_type = 3;
	assert_int_equal(PLAIN(ALLOC_MW, &cmd, &resp), -EINVAL);
	cmd.mw_type = 1;
	cmd.pd_handle = 99;
	assert_int_equal(PLAIN(ALLOC_MW, &cmd, &resp), -EINVAL);
}

/* A region with a bound window is busy. */
static void region_in_use(void **state)
{
	u32 pd = make_pd(), key, window;
	u32 handle = make_mr(pd, area, 64, LOCAL | IBV_ACCESS_MW_BIND, &key);
	struct nic *nic = &kernel.device.nic;

	make_mw(pd, IBV_MW_TYPE_1, &window);
	nic->mr[nic_key_index(nic, key)].windows = 1;
	nic->mr[nic_key_index(nic, window)].parent = key;
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEREG_MR, handle), -EBUSY);
	nic->mr[nic_key_index(nic, window)].parent = 0;
	nic->mr[nic_key_index(nic, key)].windows = 0;
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEREG_MR, handle), 0);
}

/* ------------------------------------------------------------ on-demand paging */

#define ON_DEMAND (LOCAL | IBV_ACCESS_ON_DEMAND)

/* Registration checks only the range, not the memory. */
static void on_demand(void **state)
{
	u64 at = (uintptr_t)area;

	assert_int_equal(reg_at(area, 3 * PAGE, ON_DEMAND), 0);
	assert_int_equal(kernel.device.nic.mr[nic_key_index(&kernel.device.nic, made.lkey)].flags,
			 NIC_MR_ON_DEMAND);
	assert_int_equal(reg_at(area + 3 * PAGE, PAGE, ON_DEMAND), 0);
	assert_int_equal(reg_at(area, 0, ON_DEMAND), -EINVAL);
	assert_int_equal(reg(at + 8, 64, at, ON_DEMAND), -EINVAL);
	assert_int_equal(reg_at(area, 64, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_WRITE), -EINVAL);
	/* IBV_ACCESS_HUGETLB needs huge pages. */
	assert_int_equal(reg_at(area, 64, ON_DEMAND | IBV_ACCESS_HUGETLB), -EINVAL);
	assert_int_equal(reg_at((void *)8, 64, ON_DEMAND | IBV_ACCESS_HUGETLB), -EINVAL);
}

static void implicit(void **state)
{
	assert_int_equal(reg(0, ~0ull, 0, ON_DEMAND), 0);
	assert_int_equal(mr_of(made.mr_handle)->params.length, ~0ull);
	assert_int_equal(reg(0, ~0ull, PAGE, ON_DEMAND), -EINVAL);
	assert_int_equal(reg(PAGE, ~0ull, PAGE, ON_DEMAND), -EINVAL);
	assert_int_equal(reg(0, ~0ull - 1, 0, ON_DEMAND), -EINVAL);
	assert_int_equal(reg(0, ~0ull, 0, LOCAL), -EINVAL);
	/* An implicit region cannot become an ordinary one, as not all of its range is mapped. */
	assert_int_equal(rereg(made.mr_handle, 4, NULL, 0, 0, LOCAL), -EFAULT);
	assert_int_equal(rereg(made.mr_handle, 1, area, 64, 0, 0), 0);
	assert_int_equal(rereg(made.mr_handle, 4, NULL, 0, 0, LOCAL), 0);
	assert_int_equal(rereg(made.mr_handle, 1 | 4, NULL, ~0ull, 0, ON_DEMAND), 0);
}

static int advise(u32 pd, u64 advice, u32 flags, const struct ib_uverbs_sge *sge, u16 bytes)
{
	struct ioctl_call call;

	ioctl_begin(&call, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	ioctl_object(&call, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, pd);
	ioctl_const(&call, UVERBS_ATTR_ADVISE_MR_ADVICE, advice);
	ioctl_u32(&call, UVERBS_ATTR_ADVISE_MR_FLAGS, flags);
	ioctl_in(&call, UVERBS_ATTR_ADVISE_MR_SGE_LIST, sge, bytes);
	return ioctl_run(&call);
}

#define PREFETCH IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH
#define PREFETCH_WRITE IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE
#define NO_FAULT IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT
#define FLUSH IB_UVERBS_ADVISE_MR_FLAG_FLUSH

static int advise_one(u32 pd, u64 advice, u32 flags, const void *at, u32 length, u32 key)
{
	struct ib_uverbs_sge sge = { .addr = (uintptr_t)at, .length = length, .lkey = key };

	return advise(pd, advice, flags, &sge, sizeof(sge));
}

static bool is_present(const void *page)
{
	u8 in_core;

	assert_int_equal(mincore((void *)(uintptr_t)page, PAGE, &in_core), 0);
	return in_core & 1;
}

static void advice_is_taken(void **state)
{
	u32 pd = make_pd(), key;

	make_mr(pd, area, 3 * PAGE, ON_DEMAND, &key);
	assert_false(is_present(area));
	assert_int_equal(advise_one(pd, NO_FAULT, FLUSH, area, PAGE, key), 0);
	assert_false(is_present(area));
	assert_int_equal(advise_one(pd, PREFETCH_WRITE, FLUSH, area, PAGE, key), 0);
	assert_true(is_present(area));
	assert_int_equal(advise_one(pd, PREFETCH, 0, area, 2 * PAGE, key), 0);
	assert_true(is_present(area + PAGE));
	assert_int_equal(advise_one(pd, PREFETCH, FLUSH, area, 0, key), 0);
}

static void advice_is_wrong(void **state)
{
	u32 pd = make_pd(), other = make_pd(), key, reads, pinned, window;
	struct ib_uverbs_sge sge[2];

	make_mr(pd, area, 3 * PAGE, ON_DEMAND, &key);
	make_mr(pd, area, 3 * PAGE, IBV_ACCESS_ON_DEMAND, &reads);
	make_mr(pd, area, PAGE, LOCAL, &pinned);
	make_mw(pd, IBV_MW_TYPE_1, &window);
	/* Wrong arguments. */
	assert_int_equal(advise_one(pd, 3, FLUSH, area, 8, key), -EOPNOTSUPP);
	assert_int_equal(advise_one(pd, PREFETCH, 2, area, 8, key), -EINVAL);
	assert_int_equal(advise_one(99, PREFETCH, FLUSH, area, 8, key), -ENOENT);
	sge[0] = (struct ib_uverbs_sge){ .addr = (uintptr_t)area, .length = 8, .lkey = key };
	assert_int_equal(advise(pd, PREFETCH, FLUSH, sge, 0), -EINVAL);
	assert_int_equal(advise(pd, PREFETCH, FLUSH, sge, sizeof(*sge) + 4), -EINVAL);
	/* Wrong keys: one wrong key fails the call, with and without FLUSH. */
	sge[1] = sge[0];
	sge[1].lkey = key + 1;
	assert_int_equal(advise(pd, PREFETCH, 0, sge, sizeof(sge)), -ENOENT);
	assert_int_equal(advise_one(pd, PREFETCH, 0, area, 8, 0), -ENOENT);
	assert_int_equal(advise_one(pd, PREFETCH, 0, area, 8, ~0u), -ENOENT);
	assert_int_equal(advise_one(pd, PREFETCH, 0, area, 8, pinned), -ENOENT);
	assert_int_equal(advise_one(pd, PREFETCH, 0, area, 8, window), -EINVAL);
	assert_int_equal(advise_one(other, PREFETCH, 0, area, 8, key), -EPERM);
	assert_int_equal(advise_one(pd, PREFETCH_WRITE, 0, area, 8, reads), -EPERM);
	assert_int_equal(advise_one(pd, PREFETCH, 0, area, 8, reads), 0);
	/* Wrong ranges: outside the region, unmapped, or without the needed right. */
	assert_int_equal(advise_one(pd, PREFETCH, FLUSH, area - 1, 8, key), -EFAULT);
	assert_int_equal(advise_one(pd, PREFETCH, FLUSH, area + 3 * PAGE - 7, 8, key), -EFAULT);
	assert_int_equal(advise_one(pd, NO_FAULT, FLUSH, area, 3 * PAGE + 1, key), -EFAULT);
	assert_int_equal(advise_one(pd, PREFETCH, FLUSH, area + 2 * PAGE, 8, key), -EFAULT);
	assert_int_equal(advise_one(pd, PREFETCH_WRITE, FLUSH, area + PAGE, 8, key), -EFAULT);
	assert_int_equal(advise_one(pd, PREFETCH_WRITE, 0, area + PAGE, 8, key), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(rights),          CASE(placement_rights),
		CASE(ranges),          CASE(memory_is_there),
		CASE(large_region),    CASE(map_is_secret),
		CASE(stack_grows),     CASE(keys),
		CASE(zero_based),      CASE(query),
		CASE(reregister),      CASE(reregister_protected),
		CASE(windows),         CASE(region_in_use),
		CASE(on_demand),       CASE(implicit),
		CASE(advice_is_taken), CASE(advice_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
