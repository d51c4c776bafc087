// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion of gets, puts and stores, and the barrier. */
#include "splitc_mapping.h"

void splitc_sync(void)
{
	sc_enter();
	if (!sc.outstanding)
		return;
	sc.mapping->push(-1);
	sc_wait_until(!sc.outstanding);
}

bool splitc_is_sync(void)
{
	sc_enter();
	if (!sc.outstanding)
		return true;
	sc.mapping->push(-1);
	if (!sc_progress())
		sc_idle();
	return !sc.outstanding;
}

void splitc_store_sync(size_t n)
{
	sc_enter();
	sc_wait_until(sc.mapping->stored() - sc.stored_taken >= n);
	sc.stored_taken += n;
}

/*
 * Stores are counted by the parity of the number of these calls, because a processor may
 * start the next stores while others are still in this call. The barrier prevents it from
 * getting further ahead.
 */
void splitc_all_store_sync(void)
{
	unsigned int parity = sc.epoch & 1;

	sc_enter();
	sc.mapping->flush_stores();
	sc.epoch++;
	splitc_barrier();
	sc.stored[parity] = 0;
	for (int i = 0; i < splitc_procs; i++) {
		sc.peers[i].stored = 0;
		__atomic_store_n(
			&sc.board->stored[parity * (unsigned int)splitc_procs + (unsigned int)i], 0,
			__ATOMIC_RELAXED);
	}
	sc.stored_taken = 0;
}

void sc_arrived_at_barrier(const struct sc_message *m)
{
	if (m->what >= SC_BARRIER_ROUNDS)
		sc_fail("there is no barrier of %u rounds", m->what);
	__atomic_store_n(&sc.board->arrived[m->address & 1][m->what], m->address, __ATOMIC_RELAXED);
}

/*
 * Dissemination barrier: in round r, each processor notifies the one at distance 2^r, and
 * waits for a notification from distance -2^r. After the last round, all have heard from
 * all. Other processors may be in the next barrier already, but not further, so there are
 * two places for each round.
 */
void splitc_barrier(void)
{
	uint64_t number = ++sc.barrier, *arrived = sc.board->arrived[number & 1];
	unsigned int round = 0;

	sc_enter();
	for (int step = 1; step < splitc_procs; step *= 2, round++) {
		sc.mapping->barrier_tell((splitc_my_proc + step) % splitc_procs, round, number);
		sc_wait_until(__atomic_load_n(&arrived[round], __ATOMIC_ACQUIRE) >= number);
	}
	if (splitc_procs == 1)
		sc_progress();
}
