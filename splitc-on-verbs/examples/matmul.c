// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Example: C = A * B, for matrices whose blocks are spread over the processors.
 *
 *	vnet run -n 4 build/release/bin/splitc_matmul --blocks 8 --fetch get
 *
 * Each processor computes its blocks of C. For each of them, it fetches a row of A's blocks
 * and a column of B's: either each block when it is needed ("read"), or the next two while
 * it multiplies the last two ("get").
 */
#include <math.h>
#include <splitc.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

#define SIDE 32 /* rows and columns of a block */

typedef double block_t[SIDE][SIDE];
typedef splitc_spread(block_t) matrix_t;

static long blocks = 6, fetch = 1;
static matrix_t a, b, c;

static double element(unsigned int matrix, long row, long column)
{
	uint64_t n = (uint64_t)(row * blocks * SIDE + column) * 2 + matrix;

	return (double)(example_random(n) % 2000) / 1000 - 1;
}

static void multiply_add(double *to, const double *left, const double *right)
{
	for (int i = 0; i < SIDE; i++) {
		for (int k = 0; k < SIDE; k++) {
			for (int j = 0; j < SIDE; j++)
				to[i * SIDE + j] += left[i * SIDE + k] * right[k * SIDE + j];
		}
	}
}

/* Block (@i, @j) of @matrix. */
static splitc_global(block_t) block_of(matrix_t matrix, long i, long j)
{
	return splitc_spread_global(matrix, i * blocks + j);
}

static void by_read(double *to, long i, long j)
{
	static block_t left, right;

	for (long k = 0; k < blocks; k++) {
		splitc_read_bulk(left, block_of(a, i, k), 1);
		splitc_read_bulk(right, block_of(b, k, j), 1);
		multiply_add(to, *left, *right);
	}
}

static void by_get(double *to, long i, long j)
{
	static block_t left[2], right[2];

	splitc_get_bulk(left[0], block_of(a, i, 0), 1);
	splitc_get_bulk(right[0], block_of(b, 0, j), 1);
	for (long k = 0; k < blocks; k++) {
		splitc_sync();
		if (k + 1 < blocks) {
			splitc_get_bulk(left[(k + 1) % 2], block_of(a, i, k + 1), 1);
			splitc_get_bulk(right[(k + 1) % 2], block_of(b, k + 1, j), 1);
		}
		multiply_add(to, *left[k % 2], *right[k % 2]);
	}
}

static void (*const ways[])(double *to, long i, long j) = { by_read, by_get };
static const char *const way_names[] = { "read", "get", NULL };

/* Local address of a block of this processor. */
static double *my_block(matrix_t matrix, long i, long j)
{
	return (double *)splitc_tolocal(block_of(matrix, i, j));
}

static void fill(matrix_t matrix, unsigned int which)
{
	splitc_for_my_2d(i, j, blocks, blocks)
	{
		double *block = my_block(matrix, i, j);

		for (long n = 0; n < (long)SIDE * SIDE; n++)
			block[n] = element(which, i * SIDE + n / SIDE, j * SIDE + n % SIDE);
	}
}

static double run(void)
{
	example_start();
	splitc_for_my_2d(i, j, blocks, blocks) ways[fetch](my_block(c, i, j), i, j);
	return example_stop();
}

/* ---- sequential program ---- */

static double *whole(unsigned int which)
{
	long side = blocks * SIDE;
	double *matrix = example_malloc((size_t)(side * side), sizeof(*matrix));

	for (long n = 0; n < side * side; n++)
		matrix[n] = element(which, n / side, n % side);
	return matrix;
}

static bool same_block(const double *matrix, long i, long j)
{
	long side = blocks * SIDE;
	block_t theirs;

	splitc_read_bulk(theirs, block_of(c, i, j), 1);
	for (long row = 0; row < SIDE; row++) {
		for (long column = 0; column < SIDE; column++) {
			double mine = matrix[(i * SIDE + row) * side + j * SIDE + column];

			if (!(fabs(mine - theirs[row][column]) <= 1e-9 * (double)side))
				return false;
		}
	}
	return true;
}

static bool check_alone(double *seconds)
{
	long side = blocks * SIDE;
	double *left = whole(0), *right = whole(1), *to;
	bool is_right = true;

	to = example_malloc((size_t)(side * side), sizeof(*to));
	*seconds = splitc_get_seconds();
	for (long i = 0; i < side; i++) {
		for (long k = 0; k < side; k++) {
			for (long j = 0; j < side; j++)
				to[i * side + j] += left[i * side + k] * right[k * side + j];
		}
	}
	*seconds = splitc_get_seconds() - *seconds;
	for (long n = 0; n < blocks * blocks && is_right; n++)
		is_right = same_block(to, n / blocks, n % blocks);
	free(left);
	free(right);
	free(to);
	return is_right;
}

int main(int argc, char **argv)
{
	const struct example_option options[] = {
		{ "blocks", "blocks of 32 x 32 in a row of a matrix", &blocks, 1, 256, NULL },
		{ "fetch", "how blocks come", &fetch, .words = way_names },
		{ 0 },
	};
	double seconds, alone = 0;
	bool right = true;
	size_t n;

	example_options(argc, argv, "Multiplies two matrices.", options);
	splitc_init();
	n = (size_t)(blocks * blocks);
	a = splitc_spread_malloc(block_t, n);
	b = splitc_spread_malloc(block_t, n);
	c = splitc_spread_malloc(block_t, n); /* its bytes are zero */
	fill(a, 0);
	fill(b, 1);
	seconds = run();
	splitc_on_one right = check_alone(&alone);
	example_verdict(way_names[fetch], seconds, alone, right);
	splitc_exit(0);
}
