/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Traffic of every operation between two queue pairs, with checks of data and order. Also the
 * table of tests of a program.
 */
#ifndef VN_STREAMS_H
#define VN_STREAMS_H

#include "world.h"

/* Configuration of both NICs. */
extern const struct nic_config config;

/* The queue pairs of side 0 and side 1 that connect_two() or connect_extended() made last. */
extern struct end *connected[2];

void connect_two(u8 type, bool srq);

/* Makes a world with two connected queue pairs that have exchanged messages, or datagrams. */
void begin_connected(u32 seed, u8 type);

/* Connects an XRC initiator of side 0 to an XRC target of side 1, which has the SRQ. */
void connect_extended(void);

/*
 * Sends n messages from a to b, with at most `window` outstanding, and checks their order. With
 * `late`, receives are posted late.
 */
void stream_sends(struct end *a, struct end *b, u32 n, u32 window, bool late);

/* Sends n datagrams, one at a time. */
void datagrams(struct end *a, struct end *b, u32 n);

/* Runs each operation of each queue pair type n times. */
void everything(u32 n);

void print_counters(void);

struct vn_test {
	const char *name;
	void (*run)(void);
	/*
	 * The test runs in the world of begin_connected() with this type, which is freed
	 * afterwards; OWN_WORLD: it makes its worlds itself.
	 */
	u8 type;
};

#define OWN_WORLD 0

/*
 * Runs the test that the command line names, or lists the tests with "--list". Returns the exit
 * status of main().
 */
int run_named(int argc, char **argv, const struct vn_test *tests, u32 n);

#endif
