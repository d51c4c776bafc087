// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Broadcast and all-gather. */
#include <string.h>

#include "splitc_collect.h"
#include "splitc_core.h"

#define SMALL 16384u /* bytes up to which a broadcast sends the data; larger ones are fetched */

/* Position of @proc in a binomial tree with root @root, and the inverse. */
static int place_of(int proc, int root)
{
	return (proc - root + splitc_procs) % splitc_procs;
}

static int proc_at(int place, int root)
{
	return (place + root) % splitc_procs;
}

/* The lowest set bit of @place. For the root: the lowest power of two that is at least PROCS. */
static int reach(int place)
{
	int step = 1;

	while (step < splitc_procs && !(place & step))
		step *= 2;
	return step;
}

static void pass_on(int root, const void *values, size_t n)
{
	int place = place_of(splitc_my_proc, root);

	for (int step = reach(place) / 2; step; step /= 2) {
		if (place + step < splitc_procs)
			sc_collect_send(proc_at(place + step, root), values, n);
	}
}

/* Tells the children where the data are, and waits until they have fetched them. */
static void offer(int root, void *values)
{
	int place = place_of(splitc_my_proc, root);
	splitc_gptr where = splitc_gptr_make(splitc_my_proc, (uintptr_t)values);

	pass_on(root, &where, sizeof(where));
	for (int step = reach(place) / 2; step; step /= 2) {
		if (place + step < splitc_procs)
			sc_collect_receive(proc_at(place + step, root), NULL, 0);
	}
}

void splitc_all_bcast_bulk(int root, void *values, size_t n)
{
	int place, parent;
	splitc_gptr where;

	if (root < 0 || root >= splitc_procs)
		sc_fail("a broadcast from processor %d, which does not exist", root);
	sc_collect_begin();
	place = place_of(splitc_my_proc, root);
	parent = proc_at(place - (place ? reach(place) : 0), root);
	if (n <= SMALL) {
		if (place)
			sc_collect_receive(parent, values, n);
		pass_on(root, values, n);
		return;
	}
	if (place) {
		sc_collect_receive(parent, &where, sizeof(where));
		splitc_bulk_read(values, where, n);
		sc_collect_send(parent, NULL, 0);
	}
	offer(root, values);
}

void splitc_all_gather(const void *mine, void *all, size_t n)
{
	uint8_t *at = all;

	sc_collect_begin();
	memmove(at + (size_t)splitc_my_proc * n, mine, n);
	for (int step = 1; step < splitc_procs; step++) {
		int to = (splitc_my_proc + step) % splitc_procs;
		int from = (splitc_my_proc - step + splitc_procs) % splitc_procs;

		sc_collect_send(to, at + (size_t)splitc_my_proc * n, n);
		sc_collect_receive(from, at + (size_t)from * n, n);
	}
}
