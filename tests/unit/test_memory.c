// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The layout of NIC memory: valid sizes, and checks of an existing header. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

static void sizes(void **state)
{
	struct nic_config c = w.config;
	u64 size = nic_memory_size(&c);

	assert_true(size >= c.queue_bytes + c.max_qp * sizeof(struct nic_qp));
	assert_int_equal(size % 4096, 0);
	c.max_qp *= 2;
	assert_true(nic_memory_size(&c) > size);
}

static void impossible_configurations(void **state)
{
	static const size_t field[] = {
		offsetof(struct nic_config, max_qp),      offsetof(struct nic_config, max_cq),
		offsetof(struct nic_config, max_srq),     offsetof(struct nic_config, max_mr),
		offsetof(struct nic_config, max_channel), offsetof(struct nic_config, max_client),
	};
	static const u32 wrong[] = { 0, 3, 100, 0x80000000u, 0xffffffffu };
	struct nic_config c;

	for (u32 i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
		for (u32 j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++) {
			c = w.config;
			memcpy((u8 *)&c + field[i], &wrong[j], sizeof(u32));
			assert_int_equal(nic_memory_size(&c), 0);
		}
	}
	c = w.config;
	c.queue_bytes = 0;
	assert_int_equal(nic_memory_size(&c), 0);
	c.queue_bytes = ~0ull - 100;
	assert_int_equal(nic_memory_size(&c), 0);
}

static void format_wants_room(void **state)
{
	assert_int_equal(nic_format(tp.memory, tp.memory_size - 4096, &w.config), NIC_EINVAL);
}

static void tables_do_not_overlap(void **state)
{
	const struct nic *n = &w.agent;
	struct {
		const u8 *start;
		size_t bytes;
	} table[] = {
		{ (const u8 *)n->hdr, sizeof(struct nic_header) },
		{ (const u8 *)n->qp, n->max_qp * sizeof(*n->qp) },
		{ (const u8 *)n->cq, n->max_cq * sizeof(*n->cq) },
		{ (const u8 *)n->srq, n->max_srq * sizeof(*n->srq) },
		{ (const u8 *)n->mr, n->max_mr * sizeof(*n->mr) },
		{ (const u8 *)n->channel, n->max_channel * sizeof(*n->channel) },
		{ (const u8 *)n->hdr + n->hdr->off_client,
		  n->hdr->config.max_client * NIC_CLIENT_SIZE },
		{ (const u8 *)n->pending, n->max_qp / 8 },
		{ (const u8 *)n->async_qp, n->max_qp / 8 },
		{ (const u8 *)n->async_cq, n->max_cq / 8 },
		{ (const u8 *)n->async_srq, 8 },
		{ (const u8 *)n->hdr + n->off_queue, n->queue_bytes },
	};
	u32 count = sizeof(table) / sizeof(table[0]);

	for (u32 i = 0; i + 1 < count; i++)
		assert_true(table[i].start + table[i].bytes <= table[i + 1].start);
	assert_true(table[count - 1].start + table[count - 1].bytes <=
		    (const u8 *)tp.memory + tp.memory_size);
}

static void attach_checks(void **state)
{
	struct nic_header *hdr = w.agent.hdr, good = *hdr;
	static const size_t field[] = {
		offsetof(struct nic_header, magic),
		offsetof(struct nic_header, layout_version),
		offsetof(struct nic_header, hw_version),
		offsetof(struct nic_header, config.max_qp),
		offsetof(struct nic_header, off_qp),
		offsetof(struct nic_header, off_cq),
		offsetof(struct nic_header, off_srq),
		offsetof(struct nic_header, off_mr),
		offsetof(struct nic_header, off_channel),
		offsetof(struct nic_header, off_client),
		offsetof(struct nic_header, off_pending),
		offsetof(struct nic_header, off_made),
		offsetof(struct nic_header, off_async),
		offsetof(struct nic_header, off_queue),
		offsetof(struct nic_header, total_size),
		offsetof(struct nic_header, config.max_mr),
	};
	struct nic nic;

	for (u32 i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
		((u8 *)hdr)[field[i] + 1] ^= 0x10;
		assert_int_equal(nic_attach(&nic, hdr, tp.memory_size), NIC_EINVAL);
		*hdr = good;
	}
	assert_int_equal(nic_attach(&nic, hdr, tp.memory_size - 1), NIC_EINVAL);
	assert_int_equal(nic_attach(&nic, hdr, 8), NIC_EINVAL);
	assert_int_equal(nic_attach(&nic, hdr, tp.memory_size), NIC_OK);
}

static void unformatted_memory(void **state)
{
	void *memory = calloc(1, sizeof(struct nic_header));
	struct nic nic;

	assert_int_equal(nic_attach(&nic, memory, sizeof(struct nic_header)), NIC_EINVAL);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sizes),
		TEST(impossible_configurations),
		TEST(format_wants_room),
		TEST(tables_do_not_overlap),
		TEST(attach_checks),
		TEST(unformatted_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
