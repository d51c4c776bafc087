// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Example: sample sort.
 *
 *	vnet run -n 4 build/release/bin/splitc_samplesort --keys 100000
 *
 * Each processor sorts its own keys, and publishes some of them, its sample. All samples
 * together determine the keys that split the whole into a part for each processor. Then
 * each processor stores its keys of a part, in one piece, into the memory of the processor
 * that has the part. That processor knows how many bytes to expect, and waits for them.
 */
#include <splitc.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

static long keys_each = 20000, samples_each = 64;

static int by_value(const void *left, const void *right)
{
	unsigned int a = *(const unsigned int *)left, b = *(const unsigned int *)right;

	return (a > b) - (a < b);
}

static void sort(unsigned int *keys, size_t n)
{
	qsort(keys, n, sizeof(*keys), by_value);
}

static unsigned int *make_keys(int proc)
{
	unsigned int *keys = example_malloc((size_t)keys_each, sizeof(*keys));

	for (long i = 0; i < keys_each; i++)
		keys[i] = (unsigned int)example_random((uint64_t)(proc * keys_each + i));
	return keys;
}

/* Collective: returns the first key of each part, except the first part. */
static unsigned int *choose_splitters(const unsigned int *keys)
{
	size_t each = (size_t)samples_each, all = each * (size_t)PROCS;
	unsigned int *mine = example_malloc(each, sizeof(*mine));
	unsigned int *samples = example_malloc(all, sizeof(*samples));
	unsigned int *splitters = example_malloc((size_t)PROCS, sizeof(*splitters));

	for (long i = 0; i < samples_each; i++)
		mine[i] = keys[i * keys_each / samples_each];
	splitc_all_gather(mine, samples, each * sizeof(*mine));
	sort(samples, all);
	for (int proc = 1; proc < PROCS; proc++)
		splitters[proc] = samples[(size_t)proc * each];
	free(mine);
	free(samples);
	return splitters;
}

/* Index of the first key of each part in the sorted @keys, and of the end of the last part. */
static long *find_parts(const unsigned int *keys, const unsigned int *splitters)
{
	long *first = example_malloc((size_t)PROCS + 1, sizeof(*first)), i = 0;

	for (int proc = 1; proc < PROCS; proc++) {
		while (i < keys_each && keys[i] < splitters[proc])
			i++;
		first[proc] = i;
	}
	first[PROCS] = keys_each;
	return first;
}

/* A part: the keys that a processor has in the end. */
struct part {
	unsigned int *keys;
	long count;
};

/* Element p of those on this processor is written by processor p. */
static splitc_spread(long) counts;
static splitc_spread(splitc_global(unsigned int)) places;

/* All processors tell each other how many keys to expect, and then where to store them. */
static struct part make_room(const long *first)
{
	struct part part = { 0 };
	long *count;

	for (int proc = 0; proc < PROCS; proc++)
		splitc_put(splitc_spread_global(counts, MYPROC * PROCS + proc),
			   first[proc + 1] - first[proc]);
	splitc_sync();
	splitc_barrier();
	count = splitc_spread_mine(counts);
	for (int proc = 0; proc < PROCS; proc++)
		part.count += count[proc];
	part.keys = example_malloc((size_t)part.count, sizeof(*part.keys));
	for (long proc = 0, at = 0; proc < PROCS; at += count[proc++])
		splitc_put(splitc_spread_global(places, MYPROC * PROCS + proc),
			   splitc_toglobal(MYPROC, part.keys + at));
	splitc_sync();
	splitc_barrier();
	return part;
}

static void exchange(const unsigned int *keys, const long *first, const struct part *part)
{
	splitc_global(unsigned int) *place = splitc_spread_mine(places);

	for (int i = 0; i < PROCS; i++) {
		/* start with different targets, to spread the load */
		int proc = (MYPROC + i) % PROCS;

		splitc_store_bulk(place[proc], keys + first[proc],
				  (size_t)(first[proc + 1] - first[proc]));
	}
	splitc_store_sync((size_t)part->count * sizeof(*part->keys));
}

static struct part run(unsigned int *keys, double *seconds)
{
	unsigned int *splitters;
	struct part part;
	long *first;

	example_start();
	sort(keys, (size_t)keys_each);
	splitters = choose_splitters(keys);
	first = find_parts(keys, splitters);
	part = make_room(first);
	exchange(keys, first, &part);
	sort(part.keys, (size_t)part.count);
	*seconds = example_stop();
	free(splitters);
	free(first);
	return part;
}

/* ---- sequential program ---- */

static bool same(const struct part *all, const unsigned int *sorted)
{
	long total = keys_each * PROCS, at = 0;
	unsigned int *theirs = example_malloc((size_t)total, sizeof(*theirs));
	bool right = true;

	for (int proc = 0; proc < PROCS; proc++) {
		right = right && all[proc].count <= total - at;
		if (!right)
			break;
		splitc_read_bulk(theirs + at, splitc_toglobal(proc, all[proc].keys),
				 (size_t)all[proc].count);
		at += all[proc].count;
	}
	right = right && at == total && !memcmp(theirs, sorted, (size_t)total * sizeof(*theirs));
	free(theirs);
	return right;
}

static bool check_alone(const struct part *all, double *seconds)
{
	size_t total = (size_t)(keys_each * PROCS);
	unsigned int *keys = example_malloc(total, sizeof(*keys));
	bool right;

	for (size_t i = 0; i < total; i++)
		keys[i] = (unsigned int)example_random(i);
	*seconds = splitc_get_seconds();
	sort(keys, total);
	*seconds = splitc_get_seconds() - *seconds;
	right = same(all, keys);
	free(keys);
	return right;
}

int main(int argc, char **argv)
{
	const struct example_option options[] = {
		{ "keys", "keys of each processor", &keys_each, 1, 10000000, NULL },
		{ "samples", "how many of them are its sample", &samples_each, 1, 10000, NULL },
		{ 0 },
	};
	double seconds, alone = 0;
	struct part part, *all;
	bool right = true;
	unsigned int *keys;

	example_options(argc, argv, "Sorts numbers.", options);
	splitc_init();
	keys = make_keys(MYPROC);
	counts = splitc_spread_malloc(long, (size_t)PROCS *(size_t)PROCS);
	places = splitc_spread_malloc(splitc_global(unsigned int), (size_t)PROCS * (size_t)PROCS);
	part = run(keys, &seconds);
	all = example_malloc((size_t)PROCS, sizeof(*all));
	splitc_all_gather(&part, all, sizeof(part));
	splitc_on_one right = check_alone(all, &alone);
	example_verdict("sample sort", seconds, alone, right);
	free(all);
	free(part.keys);
	free(keys);
	splitc_exit(0);
}
