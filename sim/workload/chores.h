/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Chores: tests of single features, which processes execute during a random schedule.
 *
 * Each chore has queue pairs of its own, and checks its results itself, without the oracle.
 */
#ifndef SIM_CHORES_H
#define SIM_CHORES_H

#include "workload/workload.h"

/* Execute a random chore between this process and `other`, which may be the same one. */
void chore_do(struct actor *a, struct actor *other);

#endif /* SIM_CHORES_H */
