// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of mapped regions in the daemon: which pages are in a client's memory file, and which
 * regions peers may reach through it.
 */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clients/connections.h"
#include "kernel.h"
#include "../../usermode/platform/window.h"

#define PAGE 4096ull
/* Pages of the model, from this address on. */
#define PAGES 48
#define BASE (1ull << 30)

static struct daemon whole;
static u8 *area;

static int start(void **state)
{
	kernel_start_context(state);
	whole.ndevices = 1;
	whole.device[0] = &kernel.core;
	kernel.client.daemon = &whole;
	area = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(area != MAP_FAILED);
	return 0;
}

static int stop(void **state)
{
	munmap(area, 4 * PAGE);
	client_map_free(&kernel.client);
	kernel.client.daemon = NULL;
	return kernel_stop(state);
}

/* Returns the error of the call, or PARKED. */
static int map_call(u32 op, u64 from, u64 length)
{
	struct vnet_msg_map call = {
		.op = op, .why = VNET_UNMAPPED_KIND, .start = from, .length = length
	};
	int error;

	if (uverbs_map_call(&kernel.client, &call, &error) == CALL_PARK)
		return PARKED;
	return error;
}

static void make_file(void)
{
	int fd = client_memory_file(&kernel.client, true);

	assert_true(fd >= 0);
	close(fd);
}

static struct ib_uverbs_reg_mr_resp made;

static int reg(const u8 *at, u64 length)
{
	struct ib_uverbs_reg_mr cmd = { .pd_handle = make_pd(),
					.start = (uintptr_t)at,
					.hca_va = (uintptr_t)at,
					.length = length,
					.access_flags = IBV_ACCESS_LOCAL_WRITE };

	return PLAIN(REG_MR, &cmd, &made);
}

static bool made_is_mapped(void)
{
	const struct nic *nic = &kernel.device.nic;

	return nic->mr[nic_key_index(nic, made.rkey)].flags & NIC_MR_MAPPED;
}

/* ---------------------------------------------------------------------- tests */

static bool all_set(const bool *page, u32 first, u32 end)
{
	while (first < end && page[first])
		first++;
	return first == end;
}

/* After random additions and removals, exactly the pages of a simple model are mapped. */
static void ranges(void **state)
{
	bool page[PAGES] = { false };

	make_file();
	srandom(7);
	for (u32 round = 0; round < 400; round++) {
		u32 first = (u32)random() % PAGES, n = (u32)random() % 9;
		u32 end = first + n < PAGES ? first + n : PAGES;
		bool add = random() % 2;

		assert_int_equal(map_call(add ? VNET_MAP_DONE : VNET_MAP_GONE, BASE + first * PAGE,
					  (end - first) * PAGE),
				 0);
		for (u32 i = first; i < end; i++)
			page[i] = add;
		for (u32 i = 0; i < PAGES; i++)
			for (u32 j = i + 1; j <= PAGES; j++)
				assert_int_equal(client_maps(&kernel.client, BASE + i * PAGE,
							     (j - i) * PAGE),
						 all_set(page, i, j));
	}
}

/* Only whole pages count. */
static void whole_pages(void **state)
{
	make_file();
	assert_int_equal(map_call(VNET_MAP_DONE, BASE + 1, 3 * PAGE), 0);
	assert_false(client_maps(&kernel.client, BASE, PAGE));
	assert_true(client_maps(&kernel.client, BASE + PAGE, 2 * PAGE));
	assert_true(client_maps(&kernel.client, BASE + PAGE - 1, 2 * PAGE + 2));
	assert_false(client_maps(&kernel.client, BASE + PAGE, 3 * PAGE));
	assert_false(client_maps(&kernel.client, BASE + PAGE + 1, PAGE));
}

static void invalid(void **state)
{
	assert_int_equal(map_call(VNET_MAP_BEGIN, BASE, PAGE), -EINVAL);
	assert_int_equal(map_call(VNET_MAP_DONE, BASE, PAGE), -EINVAL);
	assert_int_equal(map_call(VNET_MAP_GONE, BASE, PAGE), 0);
	make_file();
	assert_int_equal(map_call(VNET_MAP_BEGIN, BASE, 0), -EINVAL);
	assert_int_equal(map_call(VNET_MAP_BEGIN, BASE, ~0ull), -EINVAL);
	assert_int_equal(map_call(VNET_MAP_BEGIN, HOST_MEMORY_FILE_SIZE - PAGE, 2 * PAGE), -EINVAL);
	assert_int_equal(map_call(VNET_MAP_DONE, HOST_MEMORY_FILE_SIZE - PAGE, 2 * PAGE), -EINVAL);
	assert_int_equal(map_call(0, BASE, PAGE), -EINVAL);
	assert_int_equal(map_call(VNET_MAP_GONE + 1, BASE, PAGE), -EINVAL);
}

static void reasons(void **state)
{
	const struct client *client = &kernel.client;

	assert_int_equal(map_call(VNET_MAP_REFUSED, BASE, 2 * PAGE), 0);
	assert_int_equal(client_why_unmapped(client, BASE + PAGE, PAGE), VNET_UNMAPPED_KIND);
	assert_int_equal(client_why_unmapped(client, BASE + 2 * PAGE, PAGE), VNET_UNMAPPED_NEVER);
	assert_int_equal(client_why_unmapped(client, BASE + 1, PAGE), VNET_UNMAPPED_SMALL);
}

/* A region is mapped while all of its whole pages are in the file. */
static void region(void **state)
{
	make_file();
	assert_int_equal(map_call(VNET_MAP_DONE, (uintptr_t)area, 2 * PAGE), 0);
	assert_int_equal(reg(area, 3 * PAGE), 0);
	assert_false(made_is_mapped());
	assert_int_equal(reg(area + 100, 2 * PAGE - 100), 0);
	assert_true(made_is_mapped());
	assert_int_equal(map_call(VNET_MAP_GONE, (uintptr_t)area + PAGE, PAGE), 0);
	assert_false(made_is_mapped());
	assert_int_equal(reg(area, PAGE), 0);
	assert_true(made_is_mapped());
}

/* Pages of a region that peers reach by system calls do not move. */
static void region_in_use(void **state)
{
	make_file();
	assert_int_equal(reg(area + PAGE, PAGE), 0);
	assert_int_equal(map_call(VNET_MAP_BEGIN, (uintptr_t)area, 2 * PAGE), -EBUSY);
	assert_int_equal(map_call(VNET_MAP_BEGIN, (uintptr_t)area, PAGE), 0);
}

/* A registration of pages that are being moved waits until they have moved. */
static void registration_waits(void **state)
{
	make_file();
	assert_int_equal(map_call(VNET_MAP_BEGIN, (uintptr_t)area, PAGE), 0);
	assert_int_equal(reg(area, PAGE), PARKED);
	assert_int_equal(reg(area + PAGE, PAGE), 0);
	assert_int_equal(map_call(VNET_MAP_DONE, (uintptr_t)area, PAGE), 0);
	assert_int_equal(reg(area, PAGE), 0);
	assert_true(made_is_mapped());
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(ranges),
		CASE(whole_pages),
		CASE(invalid),
		CASE(reasons),
		CASE(region),
		CASE(region_in_use),
		CASE(registration_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
