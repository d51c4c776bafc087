// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Stress test: all processors communicate with all others at once, with each primitive. Nothing may
 * deadlock or be lost.
 *
 *	splitc_test_flood TURNS [BYTES]
 */
#include "check.h"

static long *cells; /* one cell for each processor */
static uint8_t *bulk; /* nbulk bytes for each processor */
static size_t nbulk = 6000;
static int count;

static splitc_global(long) cell(int proc)
{
	return splitc_add(splitc_toglobal(proc, cells), MYPROC);
}

static splitc_global(uint8_t) bytes(int proc)
{
	return splitc_add(splitc_toglobal(proc, bulk), (size_t)MYPROC * nbulk);
}

/* The order of processors differs between processors. */
static int other(int i)
{
	return (MYPROC + i) % PROCS;
}

static long bump(void *local, long by, long unused)
{
	*(int *)local += (int)by;
	return 0;
}

static void puts_and_gets(int turns)
{
	long got[64];

	for (int turn = 0; turn < turns; turn++) {
		for (int i = 0; i < PROCS; i++)
			splitc_put(cell(other(i)), turn * 1000l + MYPROC);
	}
	splitc_sync();
	splitc_barrier();
	for (int i = 0; i < PROCS; i++)
		IS(cells[i], (turns - 1) * 1000l + i);
	for (int turn = 0; turn < turns; turn++) {
		for (int i = 0; i < PROCS; i++)
			splitc_get(&got[i % 64], cell(other(i)));
	}
	splitc_sync();
	IS(got[(PROCS - 1) % 64], (turns - 1) * 1000l + MYPROC);
	splitc_barrier();
}

static void reads_and_writes(int turns)
{
	for (int turn = 0; turn < turns; turn++) {
		for (int i = 0; i < PROCS; i++) {
			splitc_write(cell(other(i)), turn * 7l + MYPROC);
			IS(splitc_read(cell(other(i))), turn * 7l + MYPROC);
		}
	}
	splitc_barrier();
}

static void stores(int turns)
{
	for (int turn = 0; turn < turns; turn++) {
		for (int i = 0; i < PROCS; i++)
			splitc_store(cell(other(i)), turn * 3l + MYPROC);
		if (turn % 2) {
			splitc_all_store_sync();
			for (int i = 0; i < PROCS; i++)
				IS(cells[i], turn * 3l + i);
			splitc_barrier();
		} else {
			splitc_store_sync(sizeof(long) * (size_t)PROCS);
		}
	}
	splitc_all_store_sync();
}

static void bulks(int turns)
{
	uint8_t *source = malloc(nbulk), *to = malloc(nbulk * (size_t)PROCS);

	CHECK(source && to);
	for (int turn = 0; turn < turns; turn++) {
		fill(source, nbulk, (uint32_t)(turn * 100 + MYPROC));
		for (int i = 0; i < PROCS; i++) {
			if (turn % 2)
				splitc_put_bulk(bytes(other(i)), source, nbulk);
			else
				splitc_store_bulk(bytes(other(i)), source, nbulk);
		}
		splitc_sync();
		splitc_all_store_sync();
		for (int i = 0; i < PROCS; i++)
			CHECK(filled(bulk + (size_t)i * nbulk, nbulk, (uint32_t)(turn * 100 + i)));
		for (int i = 0; i < PROCS; i++)
			splitc_get_bulk(to + (size_t)i * nbulk, bytes(i), nbulk);
		splitc_sync();
		for (int i = 0; i < PROCS; i++)
			CHECK(!memcmp(to + (size_t)i * nbulk, source, nbulk));
		splitc_barrier();
	}
	free(source);
	free(to);
}

static void atomics(int turns)
{
	for (int turn = 0; turn < turns; turn++) {
		for (int i = 0; i < PROCS; i++) {
			splitc_fetch_and_add(splitc_toglobal(other(i), &count), 1);
			splitc_atomic_put(bump, SPLITC_BITS(splitc_toglobal(other(i), &count)), 2,
					  0);
		}
	}
	splitc_sync();
	splitc_barrier();
	IS(count, 3 * turns * PROCS);
	IS(splitc_all_reduce_to_all_add(count), 3 * turns * PROCS * PROCS);
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 10;

	splitc_init();
	if (argc > 2)
		nbulk = strtoul(argv[2], NULL, 0);
	cells = splitc_spread_mine(splitc_spread_malloc(long, (size_t)PROCS *(size_t)PROCS));
	bulk = splitc_spread_mine(
		splitc_spread_malloc(uint8_t, (size_t)PROCS * (size_t)PROCS * nbulk));
	puts_and_gets(turns);
	reads_and_writes(turns / 4 + 1);
	stores(turns);
	bulks(turns / 4 + 1);
	atomics(turns / 2 + 1);
	splitc_exit(0);
}
