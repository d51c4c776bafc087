// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Example: the connected components of the black points of an image.
 *
 *	vnet run -n 4 build/release/bin/splitc_components --rows 200 --columns 300
 *
 * Each processor has some rows. Points are numbered through the whole image. Each has a
 * parent: another point of its component with a lower number, or itself if it is a root. In
 * the beginning all are roots. For each two black neighbours, the lower one of their roots
 * becomes the parent of the higher one. That is an atomic operation, because the root may
 * be on another processor, and others may change it at the same time. In the end, each
 * component has one root, its lowest point.
 */
#include <splitc.h>
#include <stdio.h>
#include <stdlib.h>

#include "example.h"

static long rows = 30, columns = 60, density = 58;

static long *parent; /* of this processor's points; the same address on all processors */

static bool black(long point)
{
	return (long)(example_random((uint64_t)point) % 100) < density;
}

/* ---- union-find on points of all processors ---- */

static splitc_global(long) parent_of(long point)
{
	long here = rows * columns;

	return splitc_toglobal((int)(point / here), parent + point % here);
}

static long root(long point)
{
	for (;;) {
		long up = splitc_read(parent_of(point));

		if (up == point)
			return point;
		point = up;
	}
}

static void join(long a, long b)
{
	for (;;) {
		long high, low;

		a = root(a);
		b = root(b);
		if (a == b)
			return;
		high = a > b ? a : b;
		low = a > b ? b : a;
		/* Fails if @high is not a root any more. */
		if (splitc_cmp_and_swap(parent_of(high), high, low) == high)
			return;
	}
}

/* ---- the image ---- */

static long first_point(void)
{
	return MYPROC * rows * columns;
}

static void make_roots(void)
{
	for (long i = 0; i < rows * columns; i++)
		parent[i] = first_point() + i;
	splitc_barrier();
}

/* Joins a point with its neighbours to the left and above. */
static void join_point(long point)
{
	if (!black(point))
		return;
	if (point % columns && black(point - 1))
		join(point, point - 1);
	if (point >= columns && black(point - columns))
		join(point, point - columns);
}

static void run(double *seconds)
{
	make_roots();
	example_start();
	/*
	 * First without the first row, whose neighbours above are on another processor:
	 * that shortens the paths to roots.
	 */
	for (long i = columns; i < rows * columns; i++)
		join_point(first_point() + i);
	splitc_barrier();
	for (long i = 0; i < columns; i++)
		join_point(first_point() + i);
	*seconds = example_stop();
}

static long count_mine(void)
{
	long n = 0;

	for (long i = 0; i < rows * columns; i++)
		n += parent[i] == first_point() + i && black(first_point() + i);
	return n;
}

/* ---- sequential program ---- */

/* Labels the component whose lowest point is @start. */
static void flood(long *label, long *stack, long start)
{
	long depth = 0;

	label[start] = start;
	stack[depth++] = start;
	while (depth) {
		long point = stack[--depth], column = point % columns;
		const long next[] = { column ? point - 1 : -1,
				      column < columns - 1 ? point + 1 : -1, point - columns,
				      point + columns };

		for (int i = 0; i < 4; i++) {
			long to = next[i];

			if (to < 0 || to >= rows * columns * PROCS || label[to] >= 0 || !black(to))
				continue;
			label[to] = start;
			stack[depth++] = to;
		}
	}
}

static void label_alone(long *label, long *stack)
{
	for (long i = 0; i < rows * columns * PROCS; i++)
		label[i] = -1;
	for (long i = 0; i < rows * columns * PROCS; i++) {
		if (label[i] < 0 && black(i))
			flood(label, stack, i);
	}
}

/*
 * Checks that each point's parent is in its component, and that only the lowest point is
 * its own parent.
 */
static bool same(const long *label)
{
	size_t each = (size_t)(rows * columns);
	long *theirs = example_malloc(each, sizeof(*theirs));
	bool right = true;

	for (long i = 0; i < (long)each * PROCS && right; i++) {
		long up;

		if (i % (long)each == 0)
			splitc_read_bulk(theirs, splitc_toglobal((int)(i / (long)each), parent),
					 each);
		up = theirs[i % (long)each];
		if (!black(i))
			right = up == i;
		else
			right = up >= 0 && up <= i && label[up] == label[i] &&
				(up == i) == (label[i] == i);
	}
	free(theirs);
	return right;
}

static bool check_alone(double *seconds)
{
	size_t all = (size_t)(rows * columns * PROCS);
	long *label = example_malloc(all, sizeof(*label));
	long *stack = example_malloc(all, sizeof(*stack));
	bool right;

	*seconds = splitc_get_seconds();
	label_alone(label, stack);
	*seconds = splitc_get_seconds() - *seconds;
	right = same(label);
	free(label);
	free(stack);
	return right;
}

int main(int argc, char **argv)
{
	const struct example_option options[] = {
		{ "rows", "rows of each processor", &rows, 1, 10000, NULL },
		{ "columns", "points in a row", &columns, 1, 10000, NULL },
		{ "density", "percent of the points that are black", &density, 0, 100, NULL },
		{ 0 },
	};
	double seconds, alone = 0;
	bool right = true;
	long count;

	example_options(argc, argv, "Connected components of an image.", options);
	splitc_init();
	parent = (long *)(uintptr_t)splitc_gptr_address(splitc_all_spread_malloc(
		(size_t)PROCS, (size_t)(rows * columns) * sizeof(*parent)));
	run(&seconds);
	count = splitc_all_reduce_to_one_add(count_mine());
	splitc_on_one right = check_alone(&alone);
	example_verdict("connected components", seconds, alone, right);
	splitc_on_one printf("%ld components\n", count);
	splitc_exit(0);
}
