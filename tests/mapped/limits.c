// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests which regions are mapped with VNET_MAP_REGIONS=hot: those of at most 32 MiB, and no more
 * than 256 MiB of a process at a time. Operations on the others work as well.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "servant.h"

#define PAGE 4096u
#define LARGEST (32u << 20)
#define ALL (256u << 20)
enum { MOST = ALL / LARGEST };

static uint8_t *new_pages(size_t length)
{
	uint8_t *memory =
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static struct ibv_mr *new_region(struct servant *v, size_t length)
{
	uint8_t *memory = new_pages(length);

	fill(memory + length - 2 * PAGE, 2 * PAGE, 5);
	return MADE(ibv_reg_mr(v->side.pd, memory, length, SIDE_ACCESS));
}

static void drop(struct ibv_mr *mr)
{
	void *memory = mr->addr;
	size_t length = mr->length;

	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(memory, length), 0);
}

static void region(struct servant *v, size_t length, bool mapped)
{
	struct ibv_mr *mr = new_region(v, length);
	uint8_t *end = (uint8_t *)mr->addr + length - 2 * PAGE;

	CHECK_EQ(is_mapped(mr->addr), mapped);
	CHECK_EQ(servant_read(v, end, mr, 2 * PAGE, 5), IBV_WC_SUCCESS);
	CHECK_EQ(servant_write(v, end, mr, 2 * PAGE, 6), IBV_WC_SUCCESS);
	CHECK(is_filled(end, 2 * PAGE, 6));
	drop(mr);
}

static void process(struct servant *v)
{
	struct ibv_mr *mr[MOST];

	for (int i = 0; i < MOST - 1; i++) {
		mr[i] = new_region(v, LARGEST);
		CHECK(is_mapped(mr[i]->addr));
	}
	/* The side has a region of its own. */
	region(v, LARGEST, false);
	region(v, LARGEST / 2, true);
	/* Pages that are unmapped do not count. */
	drop(mr[0]);
	mr[0] = new_region(v, LARGEST);
	CHECK(is_mapped(mr[0]->addr));
	for (int i = 0; i < MOST - 1; i++)
		drop(mr[i]);
}

int main(void)
{
	struct servant v;

	servant_start(&v);
	region(&v, LARGEST, true);
	region(&v, LARGEST + PAGE, false);
	process(&v);
	servant_end(&v);
	return 0;
}
