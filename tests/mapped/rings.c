// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that no region is mapped while the process has a ring of AIO, whether the ring is below or
 * above the region, and that regions are mapped when it has none any more.
 */
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "servant.h"

#define PAGE 4096u
#define LENGTH (4 * PAGE)
#define ROOM (64 * PAGE)

static bool registration_maps(struct ibv_pd *pd, uint8_t *memory)
{
	CHECK_EQ(ibv_dereg_mr(MADE(ibv_reg_mr(pd, memory, LENGTH, SIDE_ACCESS))), 0);
	return is_mapped(memory);
}

/* New memory near this address: below it (step -1), or above it (1). */
static uint8_t *memory_near(uintptr_t address, intptr_t step)
{
	for (intptr_t i = 1; i < 100000; i++) {
		void *at = (void *)(address + (uintptr_t)(i * step * (intptr_t)ROOM));
		void *memory = mmap(at, LENGTH, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (memory == at)
			return memory;
	}
	CHECK(!"there is room");
	return NULL;
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = MADE(ibv_alloc_pd(context));
	uint8_t *memory[2];
	aio_context_t ring = 0;

	if (syscall(SYS_io_setup, 1L, &ring)) {
		printf("no AIO\n");
		return 77;
	}
	/* The context's address is that of its ring. */
	memory[0] = memory_near(ring, -1);
	memory[1] = memory_near(ring, 1);
	for (int i = 0; i < 2; i++)
		CHECK(!registration_maps(pd, memory[i]));
	CHECK_EQ(syscall(SYS_io_destroy, ring), 0);
	for (int i = 0; i < 2; i++) {
		CHECK(registration_maps(pd, memory[i]));
		CHECK_EQ(munmap(memory[i], LENGTH), 0);
	}
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(context), 0);
	return 0;
}
