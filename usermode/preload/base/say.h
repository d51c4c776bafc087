/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Messages on standard error to the person who started the program. */
#ifndef SAY_H
#define SAY_H

/*
 * Print one line. Only for what the user must know to see a device at all: a verbs program itself
 * would only say that it found none.
 */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* SAY_H */
