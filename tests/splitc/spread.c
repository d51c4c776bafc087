// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of spread arrays: layout, address arithmetic and allocation. Memory is allocated at equal
 * addresses. Also tests memory that is unmapped and replaced.
 */
#include <errno.h>
#include <sys/mman.h>

#include "check.h"

#define N 1000

typedef double block[4][8];

static void layout(void)
{
	splitc_spread(long) a = splitc_spread_malloc(long, N), end = splitc_spread_add(a, N);
	long mine = 0;

	IS(splitc_toproc(a), 0);
	IS(splitc_spread_diff(end, a), N);
	IS(splitc_spread_diff(a, end), -N);
	for (int i = 0; i < N; i++) {
		splitc_spread(long) p = splitc_spread_add(a, i);

		IS(splitc_toproc(p), i % PROCS);
		CHECK(splitc_tolocal(p) == splitc_tolocal(a) + i / PROCS);
		CHECK(splitc_spread_add(end, i - N) == p);
		IS(splitc_spread_diff(p, a), i);
		CHECK(splitc_compare(p, end) < 0 &&
		      splitc_compare(p, a) == (i > 0 ? splitc_compare(p, a) : 0));
		CHECK((splitc_gptr)(uintptr_t)splitc_spread_global(a, i) == SPLITC_BITS(p));
	}
	splitc_for_my_1d(i, N)
	{
		IS(splitc_spread_mine(a)[i / PROCS], 0);
		splitc_spread_mine(a)[i / PROCS] = i * 3;
		mine++;
	}
	IS(mine, splitc_my_elements(N));
	IS(splitc_all_reduce_to_all_add(mine), N);
	splitc_barrier();
	for (int i = 0; i < N; i++)
		IS(splitc_read(splitc_spread_add(a, i)), i * 3);
	splitc_spread_free(a);
}

/* A[n]::[4][8]: each block is on one processor as a whole. */
static void blocks(void)
{
	splitc_spread(block) a = splitc_spread_malloc(block, 2 * PROCS + 1);

	splitc_for_my_2d(i, j, 2 * PROCS + 1, 1)
	{
		IS(j, 0);
		for (int k = 0; k < 32; k++)
			splitc_spread_mine(a)[i / PROCS][k / 8][k % 8] = (double)(i * 100 + k);
	}
	splitc_barrier();
	for (int i = 0; i < 2 * PROCS + 1; i++) {
		splitc_global(block) b = splitc_spread_global(a, i);
		block copy;

		CHECK(splitc_read(splitc_index(splitc_index(b, 2), 5)) == i * 100 + 21);
		splitc_get_bulk(copy, b, 1);
		splitc_sync();
		CHECK(copy[3][7] == i * 100 + 31);
	}
	splitc_spread_free(a);
}

/* Spread memory is at the same address on all processors, is allocated once, and is zeroed. */
static void fresh_memory(void)
{
	splitc_spread(char) part[40];
	unsigned int seed = 1;
	bool used[40] = { false };

	for (int turn = 0; turn < 300; turn++) {
		int i = (int)((seed = seed * 1103515245 + 12345) >> 16) % 40;
		size_t size = 1 + (seed >> 8) % 5000;

		if (used[i]) {
			splitc_spread_free(part[i]);
		} else {
			part[i] = splitc_spread_cast(char, splitc_all_spread_malloc(size, 7));
			for (size_t k = 0; k < size / (size_t)PROCS * 7; k++)
				IS(splitc_spread_mine(part[i])[k], 0);
			memset(splitc_spread_mine(part[i]), i + 1, size / (size_t)PROCS * 7);
		}
		used[i] = !used[i];
	}
	for (int i = 0; i < 40; i++) {
		if (!used[i])
			continue;
		CHECK(splitc_all_bcast(SPLITC_BITS(part[i])) == SPLITC_BITS(part[i]));
		splitc_spread_free(part[i]);
	}
	splitc_all_spread_free(0);
}

/* Maps memory at `at`, or elsewhere if another thread has mapped that address. */
static long *memory_at(long *at, size_t n)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, access = PROT_READ | PROT_WRITE;
	long *memory = mmap(at, n, access, flags | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (memory == MAP_FAILED && errno == EEXIST)
		memory = mmap(NULL, n, access, flags, -1, 0);
	CHECK(memory != MAP_FAILED);
	return memory;
}

/* Unmaps memory that others have accessed, and maps new memory at its address. */
static void remapped(void)
{
	size_t n = 1 << 20;
	static splitc_global(long) where;
	long *memory = NULL;

	for (int turn = 0; turn < 10; turn++) {
		memory = memory_at(memory, n);
		memory[5] = turn * 1000 + MYPROC;
		where = splitc_toglobal(MYPROC, memory);
		splitc_barrier();
		for (int i = 0; i < PROCS; i++) {
			splitc_global(long) p = splitc_read(splitc_toglobal(i, &where));

			IS(splitc_read(splitc_add(p, 5)), turn * 1000 + i);
			splitc_write(splitc_add(p, 100 + MYPROC), turn);
		}
		splitc_barrier();
		for (int i = 0; i < PROCS; i++)
			IS(memory[100 + i], turn);
		CHECK(!munmap(memory, n));
	}
}

int main(void)
{
	splitc_init();
	layout();
	blocks();
	fresh_memory();
	remapped();
	splitc_exit(0);
}
