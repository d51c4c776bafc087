/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What programs do besides sending messages: windows, regions that requests
 * register, small completion queues, channels, states, mistakes. Each such chore has
 * queue pairs of its own, and is judged by itself.
 */
#ifndef SIM_CHORES_H
#define SIM_CHORES_H

#include "workload.h"

/* One of them, with the help of `other`, which may be the same. Takes time. */
void chore_do(struct actor *a, struct actor *other);

#endif /* SIM_CHORES_H */
