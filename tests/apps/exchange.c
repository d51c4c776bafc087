// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An MPI test program: a token in a ring, MPI_Alltoall(), MPI_Put() and MPI_Accumulate(). All
 * received data is checked; rank 0 prints the result.
 *
 *   exchange [BYTES]    largest part in MPI_Alltoall()
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 50

static int rank, ranks;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void go_round(void)
{
	int token;

	for (int i = 0; i < ROUNDS; i++) {
		if (rank == 0) {
			token = i;
			MPI_Send(&token, 1, MPI_INT, 1 % ranks, i, MPI_COMM_WORLD);
		}
		MPI_Recv(&token, 1, MPI_INT, (rank + ranks - 1) % ranks, i, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		check(token == i + (rank + ranks - 1) % ranks, "the token");
		token++;
		if (rank != 0)
			MPI_Send(&token, 1, MPI_INT, (rank + 1) % ranks, i, MPI_COMM_WORLD);
	}
}

static uint32_t word(int from, int to, int at)
{
	return (uint32_t)from * 1000003u + (uint32_t)to * 4099u + (uint32_t)at;
}

static void all_to_all(int words)
{
	uint32_t *sent = malloc((size_t)(ranks * words) * sizeof(*sent));
	uint32_t *got = malloc((size_t)(ranks * words) * sizeof(*got));

	check(sent && got, "memory");
	for (int peer = 0; peer < ranks; peer++)
		for (int i = 0; i < words; i++)
			sent[peer * words + i] = word(rank, peer, i);
	MPI_Alltoall(sent, words, MPI_UINT32_T, got, words, MPI_UINT32_T, MPI_COMM_WORLD);
	for (int peer = 0; peer < ranks; peer++)
		for (int i = 0; i < words; i++)
			check(got[peer * words + i] == word(peer, rank, i), "a part");
	free(sent);
	free(got);
}

static void put_and_add(void)
{
	long *memory, one = 1, mine = rank;
	MPI_Win window;

	MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
			 &window);
	memory[0] = memory[1] = 0;
	MPI_Win_fence(0, window);
	MPI_Put(&mine, 1, MPI_LONG, (rank + 1) % ranks, 0, 1, MPI_LONG, window);
	MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, window);
	MPI_Win_fence(0, window);
	check(memory[0] == (rank + ranks - 1) % ranks, "what was put");
	check(rank != 0 || memory[1] == ranks, "the sum");
	MPI_Win_free(&window);
}

int main(int argc, char *argv[])
{
	int largest;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	largest = argc > 1 ? atoi(argv[1]) : 1 << 16;
	go_round();
	for (int bytes = 4; bytes <= largest; bytes *= 16)
		all_to_all(bytes / 4);
	put_and_add();
	if (rank == 0)
		printf("%d ranks exchanged all that they had\n", ranks);
	MPI_Finalize();
	return 0;
}
