// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that madvise(), munmap(), mremap(), mmap() and mprotect() do to mapped pages what they do
 * to private ones, and that memory of a new mapping is not reached by the old region.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "servant.h"

#define PAGE 4096u
#define LENGTH (64 * PAGE)

static uint8_t *new_pages(size_t length)
{
	uint8_t *memory =
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static struct ibv_mr *new_region(struct servant *v, void *start, size_t length)
{
	struct ibv_mr *mr = ibv_reg_mr(v->side.pd, start, length, SIDE_ACCESS);

	CHECK(mr);
	return mr;
}

static struct ibv_mr *new_mapped(struct servant *v, uint8_t **memory)
{
	struct ibv_mr *mr;

	*memory = new_pages(LENGTH);
	fill(*memory, LENGTH, 1);
	mr = new_region(v, *memory, LENGTH);
	CHECK(is_mapped(*memory));
	CHECK(is_filled(*memory, LENGTH, 1));
	return mr;
}

static bool is_zero(const uint8_t *memory, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (memory[i])
			return false;
	return true;
}

static void advise(struct servant *v)
{
	static const int advices[] = { MADV_DONTNEED, MADV_FREE };
	uint8_t *memory;
	struct ibv_mr *mr = new_mapped(v, &memory);

	for (int i = 0; i < 2; i++) {
		CHECK_EQ(servant_write(v, memory, mr, LENGTH, 9), IBV_WC_SUCCESS);
		CHECK_EQ(madvise(memory + PAGE, 5 * PAGE, advices[i]), 0);
		CHECK(is_filled(memory, PAGE, 9));
		if (advices[i] == MADV_DONTNEED)
			CHECK(is_zero(memory + PAGE, 5 * PAGE));
		/* The new pages are the region's. */
		memset(memory + PAGE, 3, 5 * PAGE);
		CHECK_EQ(servant_read_bytes(v, memory + PAGE, mr, 5 * PAGE, 3), IBV_WC_SUCCESS);
		CHECK_EQ(servant_write(v, memory + PAGE, mr, 5 * PAGE, 4), IBV_WC_SUCCESS);
		CHECK(is_filled(memory + PAGE, 5 * PAGE, 4));
		CHECK_EQ(servant_write(v, memory, mr, LENGTH, 9), IBV_WC_SUCCESS);
		CHECK(is_filled(memory, LENGTH, 9));
	}
	CHECK_EQ(madvise(memory, LENGTH, MADV_DOFORK), 0);
	CHECK_EQ(madvise(memory, LENGTH, MADV_WILLNEED), 0);
	CHECK(madvise(memory, LENGTH, MADV_REMOVE) && errno == EINVAL);
	/* Only private memory supports this. */
	CHECK_EQ(madvise(memory, PAGE, MADV_WIPEONFORK), 0);
	CHECK(is_filled(memory, LENGTH, 9));
	CHECK_EQ(servant_write(v, memory, mr, LENGTH, 10), IBV_WC_SUCCESS);
	CHECK(is_filled(memory, LENGTH, 10));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(memory, LENGTH), 0);
}

/* Whatever the status of an operation on unmapped memory is, it does not reach what is there now. */
static void unmap(struct servant *v)
{
	uint8_t *memory, *again;
	struct ibv_mr *mr = new_mapped(v, &memory), *other;

	CHECK_EQ(servant_write(v, memory, mr, LENGTH, 5), IBV_WC_SUCCESS);
	CHECK_EQ(munmap(memory + 16 * PAGE, 16 * PAGE), 0);
	CHECK_EQ(servant_write(v, memory + 20 * PAGE, mr, PAGE, 6), IBV_WC_REM_OP_ERR);
	CHECK_EQ(servant_write(v, memory, mr, PAGE, 6), IBV_WC_SUCCESS);
	CHECK(is_filled(memory, PAGE, 6));
	CHECK(is_filled(memory + 32 * PAGE, PAGE, 5) || true);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(memory, LENGTH), 0);
	/* The address is used again. */
	for (int i = 0; i < 20; i++) {
		again = mmap(memory, LENGTH, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(again == memory);
		CHECK(is_zero(again, LENGTH));
		fill(again, LENGTH, 100 + (uint32_t)i);
		other = new_region(v, again, LENGTH);
		CHECK(is_mapped(again));
		CHECK(is_filled(again, LENGTH, 100 + (uint32_t)i));
		CHECK_EQ(servant_read(v, again, other, LENGTH, 100 + (uint32_t)i), IBV_WC_SUCCESS);
		CHECK_EQ(ibv_dereg_mr(other), 0);
		/* Also without a call that the library sees. */
		if (i % 2)
			CHECK_EQ(syscall(SYS_munmap, again, (long)LENGTH), 0);
		else
			CHECK_EQ(munmap(again, LENGTH), 0);
	}
}

/* mmap() over a part of a region. */
static void replace(struct servant *v)
{
	uint8_t *memory, *part;
	struct ibv_mr *mr = new_mapped(v, &memory);

	part = mmap(memory + 8 * PAGE, 8 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(part == memory + 8 * PAGE);
	CHECK(is_zero(part, 8 * PAGE));
	/* As before, the region names the addresses. */
	CHECK_EQ(servant_write(v, memory, mr, LENGTH, 11), IBV_WC_SUCCESS);
	CHECK(is_filled(memory, LENGTH, 11));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(memory, LENGTH), 0);
}

static void move(struct servant *v)
{
	uint8_t *memory, *moved;
	struct ibv_mr *mr = new_mapped(v, &memory);

	CHECK_EQ(ibv_dereg_mr(mr), 0);
	moved = mremap(memory, LENGTH, 4 * LENGTH, MREMAP_MAYMOVE);
	CHECK(moved != MAP_FAILED);
	CHECK(is_filled(moved, LENGTH, 1));
	CHECK(is_zero(moved + LENGTH, 3 * LENGTH));
	CHECK(!is_mapped(moved));
	mr = new_region(v, moved, 4 * LENGTH);
	CHECK(is_mapped(moved));
	CHECK_EQ(servant_read(v, moved, mr, LENGTH, 1), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(moved, 4 * LENGTH), 0);
}

static void protect(struct servant *v)
{
	uint8_t *memory;
	struct ibv_mr *mr = new_mapped(v, &memory);

	CHECK_EQ(mprotect(memory, LENGTH, PROT_READ), 0);
	CHECK_EQ(servant_write(v, memory, mr, PAGE, 6), IBV_WC_REM_OP_ERR);
	CHECK_EQ(servant_read(v, memory, mr, LENGTH, 1), IBV_WC_SUCCESS);
	CHECK_EQ(mprotect(memory, LENGTH, PROT_READ | PROT_WRITE), 0);
	CHECK_EQ(servant_write(v, memory, mr, LENGTH, 6), IBV_WC_SUCCESS);
	CHECK(is_filled(memory, LENGTH, 6));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(memory, LENGTH), 0);
}

/* Memory of malloc(): free() and realloc() call munmap() and mremap() within libc. */
static void heap(struct servant *v)
{
	for (uint32_t i = 0; i < 200; i++) {
		size_t length = 1 + (size_t)(i * 7919) % 300000;
		uint8_t *memory = malloc(length), *more;
		struct ibv_mr *mr;

		CHECK(memory);
		fill(memory, length, i);
		mr = new_region(v, memory, length);
		CHECK(is_filled(memory, length, i));
		CHECK_EQ(servant_read(v, memory, mr, length, i), IBV_WC_SUCCESS);
		CHECK_EQ(servant_write(v, memory, mr, length, i + 1), IBV_WC_SUCCESS);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		if (i % 3) {
			more = realloc(memory, 3 * length);
			CHECK(more);
			memory = more;
		}
		CHECK(is_filled(memory, length, i + 1));
		memset(memory, 1, i % 3 ? 3 * length : length);
		free(memory);
	}
	/* calloc() takes memory for zero that the system has just given. */
	for (uint32_t i = 0; i < 50; i++) {
		uint8_t *memory = calloc(1, 200000);

		CHECK(memory && is_zero(memory, 200000));
		free(memory);
	}
}

/* Regions that overlap, and one that changes. */
static void overlap(struct servant *v)
{
	uint8_t *memory;
	struct ibv_mr *mr = new_mapped(v, &memory), *part, *wide;

	part = new_region(v, memory + PAGE + 10, 9 * PAGE);
	wide = new_region(v, memory + 30 * PAGE, 34 * PAGE);
	CHECK_EQ(servant_write(v, memory + PAGE + 10, part, 9 * PAGE, 20), IBV_WC_SUCCESS);
	CHECK_EQ(servant_read(v, memory + PAGE + 10, mr, 9 * PAGE, 20), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(servant_read(v, memory + PAGE + 10, part, 9 * PAGE, 20), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_rereg_mr(wide, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory, LENGTH, 0), 0);
	CHECK_EQ(servant_write(v, memory, wide, LENGTH, 21), IBV_WC_SUCCESS);
	CHECK(is_filled(memory, LENGTH, 21));
	CHECK_EQ(ibv_dereg_mr(wide), 0);
	CHECK_EQ(ibv_dereg_mr(part), 0);
	CHECK_EQ(munmap(memory, LENGTH), 0);
}

/* Memory that is not mapped works as ever. */
static void others(struct servant *v)
{
	int file = memfd_create("other", MFD_CLOEXEC);
	static uint8_t in_data[8 * PAGE];
	uint8_t on_stack[8 * PAGE], *memory[4];

	CHECK_EQ(ftruncate(file, 8 * PAGE), 0);
	memory[0] = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	memory[1] = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	CHECK(memory[0] != MAP_FAILED && memory[1] != MAP_FAILED);
	memory[2] = on_stack;
	memory[3] = in_data;
	for (unsigned int i = 0; i < 4; i++) {
		struct ibv_mr *mr = new_region(v, memory[i], 8 * PAGE);

		CHECK_EQ(servant_write(v, memory[i], mr, 8 * PAGE, 30 + i), IBV_WC_SUCCESS);
		CHECK(is_filled(memory[i], 8 * PAGE, 30 + i));
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	CHECK_EQ(munmap(memory[0], 8 * PAGE), 0);
	CHECK_EQ(munmap(memory[1], 8 * PAGE), 0);
	CHECK_EQ(close(file), 0);
}

int main(void)
{
	struct servant v;

	servant_start(&v);
	advise(&v);
	unmap(&v);
	replace(&v);
	move(&v);
	protect(&v);
	heap(&v);
	overlap(&v);
	others(&v);
	servant_end(&v);
	return 0;
}
