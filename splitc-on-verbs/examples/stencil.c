// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Example: heat in a plate; in each step, a point becomes the mean of its four neighbours.
 *
 *	vnet run -n 4 build/release/bin/splitc_stencil --rows 100 --columns 200
 *
 * Each processor has some rows of the plate, and ghosts of the row before its first and of
 * the row after its last. Before a step, all processors store their outermost rows into
 * their neighbours' ghosts. There are two plates, which are alternately the old and the new
 * one.
 *
 * Each step waits for all processors. Waiting for two rows by splitc_store_sync() would be
 * wrong: the neighbour on one side may be a step ahead, and its next row would be counted
 * as the other neighbour's.
 */
#include <math.h>
#include <splitc.h>
#include <stdlib.h>

#include "example.h"

static long rows = 40, columns = 100, steps = 50;

/* Row @i of a plate. A processor's own rows are 1 to rows. */
static double *row(double *plate, long i)
{
	return plate + i * columns;
}

/* Collective: allocates a plate of @rows and two ghosts on each processor, at the same address. */
static double *make_plate(void)
{
	size_t size = (size_t)((rows + 2) * columns) * sizeof(double);

	return (double *)(uintptr_t)splitc_gptr_address(
		splitc_all_spread_malloc((size_t)PROCS, size));
}

/*
 * The initial temperature of a point, and the constant one of the edge. @i counts the rows
 * of all processors.
 */
static double first_value(long i, long j)
{
	return (double)(example_random((uint64_t)((i + 1) * columns + j)) % 100);
}

static void fill(double *plate, long first, long last)
{
	for (long i = first; i <= last; i++) {
		for (long j = 0; j < columns; j++)
			row(plate, i - first)[j] = first_value(i, j);
	}
}

static void fill_ghosts(double *plate)
{
	size_t n = (size_t)columns;

	if (MYPROC > 0)
		splitc_store_bulk(splitc_toglobal(MYPROC - 1, row(plate, rows + 1)), row(plate, 1),
				  n);
	if (MYPROC < PROCS - 1)
		splitc_store_bulk(splitc_toglobal(MYPROC + 1, row(plate, 0)), row(plate, rows), n);
	splitc_all_store_sync();
}

static void step_row(double *to, double *plate, long i)
{
	const double *up = row(plate, i - 1), *here = row(plate, i), *down = row(plate, i + 1);

	for (long j = 1; j < columns - 1; j++)
		to[j] = (up[j] + down[j] + here[j - 1] + here[j + 1]) / 4;
}

/* Returns the plate that has the result. */
static double *run(double *plate, double *other, double *seconds)
{
	example_start();
	for (long step = 0; step < steps; step++) {
		double *old = plate;

		fill_ghosts(old);
		for (long i = 1; i <= rows; i++)
			step_row(row(other, i), old, i);
		plate = other;
		other = old;
	}
	*seconds = example_stop();
	return plate;
}

/* ---- sequential program ---- */

static bool same(double *plate, double *alone)
{
	double *theirs = example_malloc((size_t)columns, sizeof(*theirs));
	bool right = true;

	for (long i = 0; i < rows * PROCS && right; i++) {
		splitc_read_bulk(theirs, splitc_toglobal((int)(i / rows), row(plate, i % rows + 1)),
				 (size_t)columns);
		for (long j = 0; j < columns; j++)
			right = right && fabs(theirs[j] - row(alone, i + 1)[j]) <= 1e-9;
	}
	free(theirs);
	return right;
}

static bool check_alone(double *plate, double *seconds)
{
	long all = rows * PROCS;
	double *mine = example_malloc((size_t)((all + 2) * columns), sizeof(*mine));
	double *other = example_malloc((size_t)((all + 2) * columns), sizeof(*other));
	bool right;

	fill(mine, -1, all);
	fill(other, -1, all);
	*seconds = splitc_get_seconds();
	for (long step = 0; step < steps; step++) {
		double *old = mine;

		for (long i = 1; i <= all; i++)
			step_row(row(other, i), old, i);
		mine = other;
		other = old;
	}
	*seconds = splitc_get_seconds() - *seconds;
	right = same(plate, mine);
	free(mine);
	free(other);
	return right;
}

int main(int argc, char **argv)
{
	const struct example_option options[] = {
		{ "rows", "rows of each processor", &rows, 1, 100000, NULL },
		{ "columns", "points in a row", &columns, 2, 100000, NULL },
		{ "steps", "steps that are computed", &steps, 0, 1000000, NULL },
		{ 0 },
	};
	double *plate, *other, seconds, alone = 0;
	bool right = true;

	example_options(argc, argv, "Heat in a plate.", options);
	splitc_init();
	plate = make_plate();
	other = make_plate();
	fill(plate, MYPROC * rows - 1, (MYPROC + 1) * rows);
	fill(other, MYPROC * rows - 1, (MYPROC + 1) * rows);
	plate = run(plate, other, &seconds);
	splitc_on_one right = check_alone(plate, &alone);
	example_verdict("stencil", seconds, alone, right);
	splitc_exit(0);
}
