// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Numbers and queue memory, by themselves.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "kernel.h"

static void numbers(void **state)
{
	struct uv_numbers n;
	u32 i;
	int owner;

	(void)state;
	assert_int_equal(uv_numbers_init(&n, 2, 5), 0);
	for (i = 2; i < 5; i++) {
		assert_int_equal(uv_number_get(&n, &owner), i);
		assert_ptr_equal(uv_number_owner(&n, i), &owner);
	}
	assert_int_equal(uv_number_get(&n, &owner), NIC_NONE);
	uv_number_put(&n, 3);
	assert_null(uv_number_owner(&n, 3));
	uv_number_put(&n, 2);
	/* Oldest first, with one use more. */
	assert_int_equal(uv_number_get(&n, &owner), 3);
	assert_int_equal(uv_number_use(&n, 3), 1);
	assert_int_equal(uv_number_use(&n, 4), 0);
	assert_null(uv_number_owner(&n, 5));
	assert_null(uv_number_owner(&n, ~0u));
	uv_numbers_fini(&n);
}

static void qpn_generations(void **state)
{
	struct device *device = &kernel.device;
	u32 mask = device->nic.qp_index_mask, i, qpn, last = 0;

	(void)state;
	/* Around the end of all generations: never 0, 1 or the multicast QP. */
	for (i = 0; i < 3u << (NIC_QPN_BITS - 4); i++) {
		device->alloc->qp.uses[15] = i;
		qpn = uv_qpn(device, 15);
		if ((qpn & mask) != 15 || qpn >> NIC_QPN_BITS || qpn >> 4 == 0 || qpn == last ||
		    qpn == 0xffffff)
			fail_msg("generation %u has number %x", i, qpn);
		last = qpn;
	}
	device->alloc->qp.uses[15] = 0;
}

static void key_tags(void **state)
{
	struct device *device = &kernel.device;
	u32 i, key;

	(void)state;
	for (i = 0; i < 1000; i++) {
		device->alloc->mr.uses[7] = i;
		key = uv_key(device, 7);
		assert_int_equal(key >> NIC_KEY_TAG_BITS, 7);
		assert_int_not_equal(key & 0xff, 0);
	}
}

static void log2s(void **state)
{
	(void)state;
	assert_int_equal(uv_ceil_log2(0), 0);
	assert_int_equal(uv_ceil_log2(1), 0);
	assert_int_equal(uv_ceil_log2(2), 1);
	assert_int_equal(uv_ceil_log2(3), 2);
	assert_int_equal(uv_ceil_log2(4096), 12);
	assert_int_equal(uv_ceil_log2(4097), 13);
	assert_int_equal(uv_ceil_log2(0x80000000), 31);
}

/* What a slot is said to hold fits into it. */
static void slots(void **state)
{
	u32 sges, data, shift;

	(void)state;
	for (sges = 0; sges <= VNET_MAX_SGE; sges++) {
		for (data = 0; data <= VNET_MAX_INLINE; data++) {
			shift = uv_send_stride_shift(sges, data);
			assert_true(uv_send_sges(shift) >= sges);
			assert_true(uv_send_inline(shift) >= data);
			assert_true(VNET_WQE_HDR_SIZE + uv_send_sges(shift) * 16 <= 1u << shift);
			assert_true(VNET_WQE_HDR_SIZE + uv_send_inline(shift) <= 1u << shift);
		}
		shift = uv_recv_stride_shift(sges);
		assert_true(uv_recv_sges(shift) >= sges && uv_recv_sges(shift) <= VNET_MAX_SGE);
		assert_true(VNET_RECV_HDR_SIZE + uv_recv_sges(shift) * 16 <= 1u << shift);
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
	u64 used, i;
	u8 *bytes;

	(void)state;
	assert_non_null(block);
	bytes = (u8 *)device->memory + block->offset;
	memset(bytes, 0xaa, block->size);
	used = blocks_in_file();
	uv_heap_put(device, block);
	assert_true(blocks_in_file() <= used - (1 << 20) / 512);
	block = uv_heap_get(device, 1 << 20);
	for (i = 0; i < block->size; i++)
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
		/* Free neighbours would have been joined. */
		assert_false(block->free && block->after->free);
		at += block->size;
	}
	assert_int_equal(at, device->nic.off_queue + device->nic.queue_bytes);
}

/* Blocks of all sizes in a random order: none overlap, none are lost. */
static void heap_shuffled(void **state)
{
	struct device *device = &kernel.device;
	struct uv_block *held[64] = { NULL };
	u32 i;

	(void)state;
	srand(1);
	for (i = 0; i < 20000; i++) {
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
	for (i = 0; i < 64; i++)
		if (held[i])
			uv_heap_put(device, held[i]);
	check_heap(device);
	assert_null(uv_heap_get(device, device->nic.queue_bytes + 1));
	assert_null(uv_heap_get(device, ~0ull - 4096));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kernel_start, kernel_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(log2s), cmocka_unit_test(slots),
		TEST(qpn_generations),     TEST(key_tags),          TEST(memory_returns_zeroed),
		TEST(heap_shuffled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
