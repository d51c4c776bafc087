// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests bulk transfers of many sizes and alignments with all primitives. Adjacent bytes must stay
 * unchanged.
 *
 *	splitc_test_bulk [BYTES]	one transfer of each kind, with this size only
 */
#include "check.h"

#define LARGEST 300000u
#define MARGIN 64u

static uint8_t *mine, *source, *back; /* LARGEST bytes with MARGIN bytes before and after them */
static splitc_global(uint8_t) there;

static void prepare(size_t largest)
{
	splitc_spread(uint8_t) spread;

	spread = splitc_spread_cast(uint8_t,
				    splitc_all_spread_malloc((size_t)PROCS, largest + 2 * MARGIN));
	mine = splitc_spread_mine(spread);
	there = splitc_toglobal(NEXT, mine);
	source = malloc(largest + 2 * MARGIN);
	back = malloc(largest + 2 * MARGIN);
	CHECK(source && back);
}

static void untouched(const uint8_t *bytes, size_t at, size_t n)
{
	for (size_t i = 0; i < MARGIN; i++) {
		IS(bytes[at + i], 0xee);
		IS(bytes[at + MARGIN + n + i], 0xee);
	}
}

/* Gets and reads the next processor's bytes. */
static void get_and_read(size_t n, size_t skew, uint32_t seed)
{
	for (int reads = 0; reads < 2; reads++) {
		memset(back, 0xee, n + 2 * MARGIN);
		if (reads) {
			splitc_read_bulk(back + MARGIN, splitc_add(there, skew), n);
		} else {
			splitc_get_bulk(back + MARGIN, splitc_add(there, skew), n);
			splitc_sync();
		}
		CHECK(filled(back + MARGIN, n, seed + (uint32_t)NEXT));
		untouched(back, 0, n);
	}
}

enum how { PUT, WRITE, STORE, HOWS };

static void send(enum how how, size_t n, size_t skew, uint32_t seed)
{
	fill(source + skew, n, seed);
	if (how == PUT)
		splitc_put_bulk(splitc_add(there, MARGIN), source + skew, n);
	else if (how == WRITE)
		splitc_write_bulk(splitc_add(there, MARGIN), source + skew, n);
	else
		splitc_store_bulk(splitc_add(there, MARGIN), source + skew, n);
	if (how == PUT)
		splitc_sync();
	/* The source of a store or write may be reused when the call returns. */
	memset(source + skew, 0, n);
	if (how == STORE)
		splitc_store_sync(n);
	else
		splitc_barrier();
}

static void all_ways(size_t n, size_t skew)
{
	static uint32_t seed;

	seed += 100;
	fill(mine + skew, n, seed + (uint32_t)MYPROC);
	splitc_barrier();
	get_and_read(n, skew, seed);
	splitc_barrier();
	for (enum how how = PUT; how < HOWS; how++) {
		memset(mine, 0xee, n + 2 * MARGIN);
		splitc_barrier();
		send(how, n, skew, seed + (uint32_t)MYPROC);
		CHECK(filled(mine + MARGIN, n, seed + (uint32_t)BEFORE));
		untouched(mine, 0, n);
		splitc_barrier();
	}
	splitc_all_store_sync();
}

/* Gets of many sizes that are outstanding at the same time. */
static void mixed(void)
{
	size_t at = 0;

	fill(mine, LARGEST, (uint32_t)MYPROC);
	splitc_barrier();
	for (size_t n = 1; at + n <= LARGEST; at += n, n = n * 5 / 3 + 1)
		splitc_get_bulk(back + at, splitc_add(there, at), n);
	splitc_sync();
	CHECK(filled(back, at, (uint32_t)NEXT));
	splitc_barrier();
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 0,    1,    2,    3,    7,      8,      9,          63,
					64,   65,   255,  256,  257,    1000,   1024,       1025,
					4095, 4096, 4097, 8192, 100001, 262144, LARGEST - 9 };

	splitc_init();
	if (argc > 1) {
		prepare((size_t)strtoull(argv[1], NULL, 0));
		all_ways((size_t)strtoull(argv[1], NULL, 0), 1);
		splitc_exit(0);
	}
	prepare(LARGEST);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t skew = 0; skew < 8; skew += 1 + i % 7)
			all_ways(sizes[i], skew);
	}
	mixed();
	splitc_exit(0);
}
