// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the allocators for numbers and queue memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../unit/test_platform.h"
#include "kernel.h"

static void numbers(void **state)
{
	struct uv_numbers n;
	int owner;

	assert_int_equal(uv_numbers_init(&n, 2, 5), 0);
	for (u32 i = 2; i < 5; i++) {
		assert_int_equal(uv_number_get(&n, &owner), i);
		assert_ptr_equal(uv_number_owner(&n, i), &owner);
	}
	assert_int_equal(uv_number_get(&n, &owner), NIC_NONE);
	uv_number_put(&n, 3);
	assert_null(uv_number_owner(&n, 3));
	uv_number_put(&n, 2);
	/* The number that was freed first is reused first, with one more use. */
	assert_int_equal(uv_number_get(&n, &owner), 3);
	assert_int_equal(uv_number_use(&n, 3), 1);
	assert_int_equal(uv_number_use(&n, 4), 0);
	assert_false(uv_number_claim(&n, 4, &owner));
	assert_true(uv_number_claim(&n, 2, &owner));
	assert_ptr_equal(uv_number_owner(&n, 2), &owner);
	assert_null(uv_number_owner(&n, 5));
	assert_null(uv_number_owner(&n, ~0u));
	uv_numbers_fini(&n);
}

typedef int new_fn(struct device *device, void *owner, u32 *number);
typedef void end_fn(struct device *device, u32 number);

static void key_end(struct device *device, u32 key)
{
	uv_number_put(&device->alloc->mr, nic_key_index(&device->nic, key));
}

#define MANY 12u

static u32 difference(const u32 *number, u32 i)
{
	return number[i] - number[i - 1];
}

/*
 * Creates MANY numbers. The bits from `shift` on must differ between them, and the numbers must not
 * be a counting sequence.
 */
static void check_unpredictable(new_fn *make, end_fn *end, u32 shift)
{
	struct device *device = &kernel.device;
	u32 number[MANY], same = 0, equal = 0;
	int owner;

	for (u32 i = 0; i < MANY; i++)
		assert_int_equal(make(device, &owner, &number[i]), 0);
	for (u32 i = 2; i < MANY; i++) {
		same += difference(number, i) == difference(number, i - 1);
		equal += number[i] >> shift == number[i - 1] >> shift;
	}
	assert_true(same <= 1 && equal <= 1);
	for (u32 i = 0; i < MANY; i++)
		end(device, number[i]);
}

/* A freed number is not reused for the next 1000 objects. */
static void check_not_at_once(new_fn *make, end_fn *end)
{
	struct device *device = &kernel.device;
	u32 first, next;
	int owner;

	assert_int_equal(make(device, &owner, &first), 0);
	end(device, first);
	for (u32 i = 0; i < 1000; i++) {
		assert_int_equal(make(device, &owner, &next), 0);
		assert_int_not_equal(next, first);
		end(device, next);
	}
}

static void unpredictable(void **state)
{
	u32 qp = uv_ceil_log2(kernel.device.nic.max_qp);
	u32 mr = uv_ceil_log2(kernel.device.nic.max_mr) + NIC_KEY_TAG_BITS;

	check_unpredictable(uv_qpn_new, uv_qpn_end, qp);
	check_unpredictable(uv_key_new, key_end, mr);
	check_not_at_once(uv_qpn_new, uv_qpn_end);
	check_not_at_once(uv_srqn_new, uv_srqn_end);
	check_not_at_once(uv_key_new, key_end);
}

static void no_randomness(void **state)
{
	struct device *device = &kernel.device;
	u32 number;
	int owner;

	tp.no_random = true;
	assert_int_equal(uv_qpn_new(device, &owner, &number), -EAGAIN);
	assert_int_equal(uv_srqn_new(device, &owner, &number), -EAGAIN);
	assert_int_equal(uv_key_new(device, &owner, &number), -EAGAIN);
	tp.no_random = false;
	/* The failed calls took no index. */
	assert_int_equal(device->alloc->qp.pool.free, device->nic.max_qp);
}

static void log2s(void **state)
{
	assert_int_equal(uv_ceil_log2(0), 0);
	assert_int_equal(uv_ceil_log2(1), 0);
	assert_int_equal(uv_ceil_log2(2), 1);
	assert_int_equal(uv_ceil_log2(3), 2);
	assert_int_equal(uv_ceil_log2(4096), 12);
	assert_int_equal(uv_ceil_log2(4097), 13);
	assert_int_equal(uv_ceil_log2(0x80000000), 31);
}

/* At least what was asked for, and less than twice that. */
static bool is_close(u32 granted, u32 asked)
{
	return granted >= asked && granted < 2 * (asked ? asked : 1);
}

/* A WQE slot has room for the granted SGEs and inline data. */
static void slots(void **state)
{
	u32 shift;

	for (u32 sges = 0; sges <= VNET_MAX_SGE; sges++) {
		for (u32 data = 0; data <= VNET_MAX_INLINE; data++) {
			shift = uv_send_stride_shift(sges, data);
			assert_true(is_close(uv_send_sges(sges, shift), sges));
			assert_true(uv_send_inline(sges, data, shift) >= data);
			assert_true(VNET_WQE_HDR_SIZE + uv_send_sges(sges, shift) * 16 <=
				    1u << shift);
			assert_true(VNET_WQE_HDR_SIZE + uv_send_inline(sges, data, shift) <=
				    1u << shift);
		}
		shift = uv_recv_stride_shift(sges);
		assert_true(is_close(uv_recv_sges(sges, shift), sges));
		assert_true(uv_recv_sges(sges, shift) <= VNET_MAX_SGE);
		assert_true(VNET_RECV_HDR_SIZE + uv_recv_sges(sges, shift) * 16 <= 1u << shift);
	}
}

/* ----------------------------------------------------------------- queue memory */

static u64 blocks_in_file(void)
{
	struct stat st;

	assert_int_equal(fstat(kernel.device.memory_fd, &st), 0);
	return (u64)st.st_blocks;
}

static void memory_returns_zeroed(void **state)
{
	struct device *device = &kernel.device;
	struct uv_block *block = uv_heap_get(device, 1 << 20);
	u64 used;
	u8 *bytes;

	assert_non_null(block);
	bytes = (u8 *)device->memory + block->offset;
	memset(bytes, 0xaa, block->size);
	used = blocks_in_file();
	uv_heap_put(device, block);
	assert_true(blocks_in_file() <= used - (1 << 20) / 512);
	block = uv_heap_get(device, 1 << 20);
	for (u64 i = 0; i < block->size; i++)
		assert_int_equal(((u8 *)device->memory + block->offset)[i], 0);
	uv_heap_put(device, block);
}

static void check_heap(const struct device *device)
{
	const struct uv_block *heap = &device->alloc->heap, *block;
	u64 at = device->nic.off_queue;

	for (block = heap->after; block != heap; block = block->after) {
		assert_int_equal(block->offset, at);
		assert_int_equal(block->offset % 4096, 0);
		assert_true(block->size > 0);
		/* Adjacent free blocks must have been merged. */
		assert_false(block->free && block->after->free);
		at += block->size;
	}
	assert_int_equal(at, device->nic.off_queue + device->nic.queue_bytes);
}

/* Allocates and frees blocks of random sizes in random order: no overlap, no loss. */
static void heap_shuffled(void **state)
{
	struct device *device = &kernel.device;
	struct uv_block *held[64] = { NULL };

	srand(1);
	for (u32 i = 0; i < 20000; i++) {
		u32 k = (u32)rand() % 64;

		if (held[k]) {
			uv_heap_put(device, held[k]);
			held[k] = NULL;
		} else {
			u64 size = 1 + (u64)rand() % (4u << 20);

			held[k] = uv_heap_get(device, size);
			if (held[k])
				assert_true(held[k]->size >= size);
		}
		if (i % 100 == 0)
			check_heap(device);
	}
	for (u32 i = 0; i < 64; i++)
		if (held[i])
			uv_heap_put(device, held[i]);
	check_heap(device);
	assert_null(uv_heap_get(device, device->nic.queue_bytes + 1));
	assert_null(uv_heap_get(device, ~0ull - 4096));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, kernel_start, kernel_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(log2s), cmocka_unit_test(slots),
		CASE(unpredictable),       CASE(no_randomness),     CASE(memory_returns_zeroed),
		CASE(heap_shuffled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
