/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Limits that programs see instead of the system's, beyond exec. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stddef.h>

/* How many pointers limits_environment() needs. */
size_t limits_room(char *const env[]);
/* The environment for exec: `env`, or a copy that tells of limits that the program has set. */
char *const *limits_environment(char *const env[], char *room[]);

#endif /* LIMITS_H */
