/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Words to the person who started the program. */
#ifndef SAY_H
#define SAY_H

/*
 * One line to standard error: for what a person must know to see any device at
 * all, since a verbs program will only say that it found none.
 */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* SAY_H */
