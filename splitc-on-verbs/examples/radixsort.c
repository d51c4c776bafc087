// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Example: radix sort.
 *
 *	vnet run -n 4 build/release/bin/splitc_radixsort --keys 50000 --digit 8
 *
 * The keys are sorted by their lowest digit, then by the next one, and so on. Each pass
 * keeps the order of keys with the same digit. When all processors have counted their
 * digits, the position of a key is known: behind all keys of lower digits, those of the
 * same digit on lower processors, and those before it on this processor. Each key is stored
 * there by itself, so a radix sort is many small messages to all processors.
 */
#include <splitc.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

#define KEY_BITS 32

static long keys_each = 5000, digit_bits = 8;

static long num_digits(void)
{
	return 1l << digit_bits;
}

static long digit(unsigned int key, long shift)
{
	return (long)(key >> shift) & (num_digits() - 1);
}

/* Allocates a block of keys on each processor, at the same address. */
static unsigned int *make_block(void)
{
	splitc_gptr blocks =
		splitc_all_spread_malloc((size_t)PROCS, (size_t)keys_each * sizeof(unsigned int));

	return (unsigned int *)(uintptr_t)splitc_gptr_address(blocks);
}

/* place[d]: position, among all keys, of this processor's first key with digit d. */
static void find_places(const unsigned int *keys, long shift, long *place, long *all)
{
	size_t size = (size_t)num_digits() * sizeof(*place);
	long lower = 0;

	memset(all, 0, size);
	for (long i = 0; i < keys_each; i++)
		all[digit(keys[i], shift)]++;
	for (long d = 0; d < num_digits(); d++)
		place[d] = -all[d];
	splitc_all_scan(SPLITC_LONG, SPLITC_ADD, all, (size_t)num_digits());
	for (long d = 0; d < num_digits(); d++)
		place[d] += all[d]; /* keys on lower processors */
	/* The result of the scan on the last processor is the sum of all. */
	splitc_all_bcast_bulk(PROCS - 1, all, size);
	for (long d = 0; d < num_digits(); d++) {
		place[d] += lower;
		lower += all[d];
	}
}

/* Moves the keys from the blocks at @from to those at @to. */
static void sort_by_digit(const unsigned int *from, unsigned int *to, long shift, long *place,
			  long *all)
{
	find_places(from, shift, place, all);
	for (long i = 0; i < keys_each; i++) {
		long at = place[digit(from[i], shift)]++;

		splitc_store(splitc_toglobal((int)(at / keys_each), to + at % keys_each), from[i]);
	}
	splitc_all_store_sync();
}

/* Returns the block that has the result. */
static unsigned int *run(unsigned int *keys, unsigned int *other, double *seconds)
{
	long *place = example_malloc((size_t)num_digits(), sizeof(*place));
	long *all = example_malloc((size_t)num_digits(), sizeof(*all));

	example_start();
	for (long shift = 0; shift < KEY_BITS; shift += digit_bits) {
		unsigned int *from = keys;

		sort_by_digit(from, other, shift, place, all);
		keys = other;
		other = from;
	}
	*seconds = example_stop();
	free(place);
	free(all);
	return keys;
}

/* ---- sequential program ---- */

static int by_value(const void *left, const void *right)
{
	unsigned int a = *(const unsigned int *)left, b = *(const unsigned int *)right;

	return (a > b) - (a < b);
}

static bool check_alone(const unsigned int *block, double *seconds)
{
	size_t each = (size_t)keys_each, total = each * (size_t)PROCS;
	unsigned int *keys = example_malloc(total, sizeof(*keys));
	unsigned int *theirs = example_malloc(each, sizeof(*theirs));
	bool right = true;

	for (size_t i = 0; i < total; i++)
		keys[i] = (unsigned int)example_random(i);
	*seconds = splitc_get_seconds();
	qsort(keys, total, sizeof(*keys), by_value);
	*seconds = splitc_get_seconds() - *seconds;
	for (int proc = 0; proc < PROCS && right; proc++) {
		splitc_read_bulk(theirs, splitc_toglobal(proc, block), each);
		right = !memcmp(theirs, keys + (size_t)proc * each, each * sizeof(*keys));
	}
	free(keys);
	free(theirs);
	return right;
}

int main(int argc, char **argv)
{
	const struct example_option options[] = {
		{ "keys", "keys of each processor", &keys_each, 1, 10000000, NULL },
		{ "digit", "bits of a digit", &digit_bits, 1, 16, NULL },
		{ 0 },
	};
	unsigned int *keys, *other;
	double seconds, alone = 0;
	bool right = true;

	example_options(argc, argv, "Sorts numbers, digit by digit.", options);
	splitc_init();
	keys = make_block();
	other = make_block();
	for (long i = 0; i < keys_each; i++)
		keys[i] = (unsigned int)example_random((uint64_t)(MYPROC * keys_each + i));
	keys = run(keys, other, &seconds);
	splitc_on_one right = check_alone(keys, &alone);
	example_verdict("radix sort", seconds, alone, right);
	splitc_exit(0);
}
