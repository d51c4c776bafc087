/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Traffic between two ends, of every operation, whose data and order are checked; and
 * the table of tests of a program.
 */
#ifndef VN_STREAMS_H
#define VN_STREAMS_H

#include "world.h"

/* Half of each side's memory is what it sends from, half what is written to. */
#define HALF (DATA_BYTES / 2)

/* Of both NICs, with queue pairs and endpoint frames enough. */
extern const struct nic_config config;

/* Of side 0 and of side 1, by the last connect_two() or connect_extended(). */
extern struct end *connected[2];

void connect_two(u8 type, bool srq);

/* The near one is where requests come from; the far one has the SRQ, too. */
void connect_extended(void);

/* Content that tells where, and of which message, it is. */
void fill(u8 *at, u32 length, u32 seed);
bool filled(const u8 *at, u32 length, u32 seed);

struct vnet_send_wqe request(u8 opcode, u64 wr_id);

/* Messages from a to b, n of them, at most `window` at once, in order. */
void stream_sends(struct end *a, struct end *b, u32 n, u32 window, bool late);

/* Of unreliable queue pairs, n, one by one. */
void datagrams(struct end *a, struct end *b, u32 n);

/* Each operation of each type of queue pair, n times. */
void everything(u32 n);

void print_counters(void);

struct vn_test {
	const char *name;
	void (*run)(void);
};

/* Runs the test that the command names: main()'s result. */
int run_named(int argc, char **argv, const struct vn_test *tests, u32 n);

#endif
