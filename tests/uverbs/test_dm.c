// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of device memory: size, alignment, placement, exhaustion, and memory regions in it.
 */
#include <infiniband/verbs.h>

#include "kernel.h"

#define LOCAL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED)

static struct vnet_alloc_dm_resp place;
static u32 last_key;

/* Returns the handle, or -errno. */
static s64 alloc_dm(u64 length, u32 alignment)
{
	struct ioctl_call call;
	int err;

	ioctl_begin(&call, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
	ioctl_object(&call, UVERBS_ATTR_ALLOC_DM_HANDLE, 0);
	ioctl_in(&call, UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length));
	ioctl_u32(&call, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, alignment);
	ioctl_out(&call, VNET_ATTR_ALLOC_DM_RESP, &place, sizeof(place));
	err = ioctl_run(&call);
	return err ? err : (s64)ioctl_attr(&call, UVERBS_ATTR_ALLOC_DM_HANDLE)->data;
}

static int free_dm(s64 handle)
{
	struct ioctl_call call;

	ioctl_begin(&call, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE);
	ioctl_object(&call, UVERBS_ATTR_FREE_DM_HANDLE, handle);
	return ioctl_run(&call);
}

static s64 reg(u32 pd, s64 dm, u64 offset, u64 length, u32 access)
{
	struct ioctl_call call;
	u32 rkey = 0;
	int err;

	ioctl_begin(&call, UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
	ioctl_object(&call, UVERBS_ATTR_REG_DM_MR_HANDLE, 0);
	ioctl_in(&call, UVERBS_ATTR_REG_DM_MR_OFFSET, &offset, sizeof(offset));
	ioctl_in(&call, UVERBS_ATTR_REG_DM_MR_LENGTH, &length, sizeof(length));
	ioctl_object(&call, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, pd);
	ioctl_u32(&call, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, access);
	ioctl_object(&call, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, dm);
	ioctl_out(&call, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &last_key, sizeof(last_key));
	ioctl_out(&call, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &rkey, sizeof(rkey));
	err = ioctl_run(&call);
	if (err)
		return err;
	assert_int_equal(rkey, last_key);
	return (s64)ioctl_attr(&call, UVERBS_ATTR_REG_DM_MR_HANDLE)->data;
}

static void sizes(void **state)
{
	s64 first, second;

	assert_int_equal(alloc_dm(0, 0), -EINVAL);
	assert_int_equal(alloc_dm(UV_MAX_DM_SIZE + 1, 0), -EINVAL);
	assert_int_equal(alloc_dm(~0ull, 0), -EINVAL);
	assert_int_equal(alloc_dm(4, 13), -EINVAL);
	assert_int_equal(alloc_dm(4, ~0u), -EINVAL);
	first = alloc_dm(100, 12);
	assert_true(first >= 0);
	assert_int_equal(place.length, 100);
	assert_int_equal(place.mmap_size, 4096);
	assert_int_equal(place.mmap_offset % 4096, 0);
	assert_true(place.mmap_offset >= kernel.device.nic.off_queue);
	/* One page less is available. */
	assert_int_equal(alloc_dm(UV_MAX_DM_SIZE, 0), -ENOMEM);
	second = alloc_dm(UV_MAX_DM_SIZE - 4096, 0);
	assert_true(second >= 0);
	assert_int_equal(alloc_dm(1, 0), -ENOMEM);
	assert_int_equal(free_dm(first), 0);
	assert_int_equal(free_dm(first), -ENOENT);
	assert_int_equal(free_dm(second), 0);
	assert_true(alloc_dm(UV_MAX_DM_SIZE, 0) >= 0);
}

/* Freed device memory reads as zeros when it is allocated again. */
static void is_cleared(void **state)
{
	s64 dm = alloc_dm(4096, 0);

	memset((u8 *)kernel.device.memory + place.mmap_offset, 1, 4096);
	assert_int_equal(free_dm(dm), 0);
	alloc_dm(4096, 0);
	assert_int_equal(((u8 *)kernel.device.memory)[place.mmap_offset], 0);
}

static void query(void **state)
{
	struct vnet_alloc_dm_resp same;
	struct ioctl_call call;
	s64 dm = alloc_dm(5000, 0);

	ioctl_begin(&call, UVERBS_OBJECT_DM, VNET_METHOD_DM_QUERY);
	ioctl_object(&call, VNET_ATTR_QUERY_DM_HANDLE, dm);
	ioctl_out(&call, VNET_ATTR_QUERY_DM_RESP, &same, sizeof(same));
	assert_int_equal(ioctl_run(&call), 0);
	assert_memory_equal(&same, &place, sizeof(same));
	call.attr[0].data = 99;
	assert_int_equal(ioctl_run(&call), -ENOENT);
	call.attr[0].data = make_pd();
	assert_int_equal(ioctl_run(&call), -EINVAL);
}

static void regions(void **state)
{
	s64 dm = alloc_dm(1000, 0), mr;
	const struct nic_mr *entry;
	u32 pd = make_pd();

	mr = reg(pd, dm, 8, 500, LOCAL | IBV_ACCESS_REMOTE_ATOMIC);
	assert_true(mr >= 0);
	entry = &kernel.device.nic.mr[nic_key_index(&kernel.device.nic, last_key)];
	assert_int_equal(entry->kind, NIC_MR_DEVICE);
	assert_int_equal(entry->space, NIC_SPACE_DEVICE);
	assert_int_equal(entry->addr, place.mmap_offset + 8);
	assert_int_equal(entry->iova, 0);
	assert_int_equal(entry->length, 500);
	/* Device memory with a region in it is busy. */
	assert_int_equal(free_dm(dm), -EBUSY);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEREG_MR, (u32)mr), 0);
	assert_true(reg(pd, dm, 0, 1000, LOCAL | IBV_ACCESS_RELAXED_ORDERING) >= 0);
	assert_true(reg(pd, dm, 0, 1000, LOCAL | NIC_ACCESS_FLUSH_GLOBAL) >= 0);
	assert_true(reg(pd, dm, 1000, 0, LOCAL) >= 0);
}

static void wrong_regions(void **state)
{
	s64 dm = alloc_dm(1000, 0), mr;
	struct ib_uverbs_rereg_mr again;
	struct ib_uverbs_rereg_mr_resp resp;
	u32 pd = make_pd();

	assert_int_equal(reg(pd, dm, 0, 1001, LOCAL), -EINVAL);
	assert_int_equal(reg(pd, dm, 1, 1000, LOCAL), -EINVAL);
	assert_int_equal(reg(pd, dm, 1001, 0, LOCAL), -EINVAL);
	assert_int_equal(reg(pd, dm, 8, ~0ull - 3, LOCAL), -EINVAL);
	assert_int_equal(reg(pd, dm, ~0ull, 8, LOCAL), -EINVAL);
	assert_int_equal(reg(pd, dm, 0, 8, IBV_ACCESS_LOCAL_WRITE), -EINVAL);
	assert_int_equal(reg(pd, dm, 0, 8, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE),
			 -EINVAL);
	assert_int_equal(reg(pd, dm, 0, 8, LOCAL | IBV_ACCESS_MW_BIND), -EINVAL);
	assert_int_equal(reg(pd, dm, 0, 8, LOCAL | NIC_ACCESS_FLUSH_PERSISTENT), -EOPNOTSUPP);
	assert_int_equal(reg(pd, dm, 0, 8, LOCAL | IBV_ACCESS_ON_DEMAND), -EINVAL);
	assert_int_equal(reg(pd, dm, 0, 8, LOCAL | 1u << 10), -EINVAL);
	assert_int_equal(reg(99, dm, 0, 8, LOCAL), -ENOENT);
	assert_int_equal(reg((u32)dm, dm, 0, 8, LOCAL), -EINVAL);
	assert_int_equal(reg(pd, 99, 0, 8, LOCAL), -ENOENT);
	assert_int_equal(reg(pd, pd, 0, 8, LOCAL), -EINVAL);
	assert_int_equal(free_dm(pd), -EINVAL);
	/* Its access rights cannot be changed by rereg. */
	mr = reg(pd, dm, 0, 8, LOCAL);
	again = (struct ib_uverbs_rereg_mr){ .mr_handle = (u32)mr,
					     .flags = 4,
					     .access_flags = IBV_ACCESS_LOCAL_WRITE };
	assert_int_equal(PLAIN(REREG_MR, &again, &resp), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sizes), TEST(is_cleared), TEST(query), TEST(regions), TEST(wrong_regions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
