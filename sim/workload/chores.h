/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Chores: what programs do besides sending messages, each with queue pairs of its own. Windows,
 * fast registration, small completion queues, channels, states, invalid requests. Each chore
 * checks its results itself.
 */
#ifndef SIM_CHORES_H
#define SIM_CHORES_H

#include "workload/workload.h"

/* Execute a random chore, between this process and `other`, which may be the same. Takes time. */
void chore_do(struct actor *a, struct actor *other);

#endif /* SIM_CHORES_H */
