// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Stress test: each process sends to all processes, itself included, as fast as credits permit.
 *
 *	am_test_flood COUNT [PARTNERS]
 *
 * COUNT requests are sent to each process, or to the PARTNERS next ranks. All must arrive once,
 * with their data. Handlers must run one at a time, and each reply must arrive once.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { TAKE = 5, TAKE_DATA, GOT, GOT_DATA };

#define BYTES 600

static uint8_t *segment;
static int *taken; /* by the sender's rank */
static bool *seen, *replied; /* by the other's rank and number */
static int count, partners, replies_wanted, replies;
static bool in_handler;

static size_t length_of(int number)
{
	return (size_t)(number * 37 % (BYTES + 1));
}

static uint32_t seed_of(int from, int to, int number)
{
	return (uint32_t)(from * 1000 + to) * 65537 + (uint32_t)number;
}

static bool wants_reply(int number)
{
	return number % 4 != 3;
}

static void enter(void)
{
	CHECK(!in_handler);
	in_handler = true;
}

static void leave(void)
{
	/* Some handlers poll. Further handlers must not run before they return. */
	if (rand() % 16 == 0)
		OK(AM_Poll(eb));
	CHECK(in_handler);
	in_handler = false;
}

/* Marks a message as received, which must happen once. The order is not defined. */
static void once(bool *list, int from, int number)
{
	CHECK(from >= 0 && from < size && number >= 0 && number < count);
	CHECK(!list[from * count + number]);
	list[from * count + number] = true;
}

static void take(void *token, int32_t from, int32_t number)
{
	enter();
	once(seen, from, number);
	taken[from]++;
	if (wants_reply(number))
		OK(AM_Reply2(token, GOT, rank, number));
	leave();
}

static void take_data(void *token, void *buf, int nbytes, int32_t from, int32_t number)
{
	uint8_t answer[BYTES];

	enter();
	once(seen, from, number);
	taken[from]++;
	IS(nbytes, length_of(number));
	CHECK(filled(buf, (size_t)nbytes, seed_of(from, rank, number)));
	fill(answer, (size_t)nbytes, seed_of(rank, from, number));
	if (wants_reply(number))
		OK(AM_ReplyI2(token, GOT_DATA, answer, (size_t)nbytes, rank, number));
	leave();
}

static void got(void *token, int32_t from, int32_t number)
{
	enter();
	once(replied, from, number);
	replies++;
	leave();
}

static void got_data(void *token, void *buf, int nbytes, int32_t from, int32_t number)
{
	IS(nbytes, length_of(number));
	CHECK(filled(buf, (size_t)nbytes, seed_of(from, rank, number)));
	got(token, from, number);
}

static void send_one(int to, int number)
{
	uint8_t bytes[BYTES];
	size_t n = length_of(number);
	uintptr_t place = (uintptr_t)(rank * count + number) * BYTES;

	fill(bytes, n, seed_of(rank, to, number));
	replies_wanted += wants_reply(number);
	if (number % 3 == 0)
		OK(AM_Request2(ep, to, TAKE, rank, number));
	else if (number % 3 == 1)
		OK(AM_RequestI2(ep, to, TAKE_DATA, bytes, n, rank, number));
	else
		OK(AM_RequestXfer2(ep, to, place, TAKE_DATA, bytes, n, rank, number));
}

static void set_up(void)
{
	size_t length = (size_t)size * (size_t)count * BYTES;

	segment = malloc(length);
	taken = calloc((size_t)size, sizeof(*taken));
	seen = calloc((size_t)size * (size_t)count, sizeof(*seen));
	replied = calloc((size_t)size * (size_t)count, sizeof(*replied));
	CHECK(segment && taken && seen && replied);
	OK(AM_SetSeg(ep, segment, length));
	OK(AM_SetHandler(ep, TAKE, take));
	OK(AM_SetHandler(ep, TAKE_DATA, take_data));
	OK(AM_SetHandler(ep, GOT, got));
	OK(AM_SetHandler(ep, GOT_DATA, got_data));
}

int main(int argc, char **argv)
{
	job_begin(AM_SEQ);
	count = argc > 1 ? atoi(argv[1]) : 100;
	partners = argc > 2 && atoi(argv[2]) < size ? atoi(argv[2]) : size;
	srand((unsigned int)rank);
	set_up();
	OK(AM_SPMDBarrier());
	for (int number = 0; number < count; number++) {
		for (int step = 0; step < partners; step++)
			send_one((rank + step) % size, number);
	}
	POLL_UNTIL(replies == replies_wanted);
	for (int step = 0; step < partners; step++)
		POLL_UNTIL(taken[(rank + size - step) % size] == count);
	OK(AM_SPMDBarrier());
	IS(replies, replies_wanted);
	for (int from = 0; from < size; from++)
		IS(taken[from], (rank + size - from) % size < partners ? count : 0);
	AM_SPMDExit(0);
}
