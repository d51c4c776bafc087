/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Messages on standard error to the person who started the program. */
#ifndef SAY_H
#define SAY_H

/*
 * Print one line. Only for reasons why the program sees no device or cannot use it: a verbs program
 * itself only reports that it has found none.
 */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* SAY_H */
