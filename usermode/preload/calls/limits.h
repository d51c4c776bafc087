/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* RLIMIT_MEMLOCK as the program sees it, and how it survives exec. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stddef.h>

/* Number of pointers that limits_environment() needs in room[]. */
size_t limits_room(char *const env[]);
/*
 * Returns the environment for exec: `env`, or a copy that carries limits which the program has set.
 */
char *const *limits_environment(char *const env[], char *room[]);

#endif /* LIMITS_H */
