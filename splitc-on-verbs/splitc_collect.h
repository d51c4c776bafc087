/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Messages between processors that are in the same collective operation. */
#ifndef SPLITC_COLLECT_H
#define SPLITC_COLLECT_H

#include <stddef.h>

/* Begins an operation, which all processors begin in the same order. */
void sc_collect_begin(void);
/* @n bytes to @proc, or from it, which the other side takes or sends likewise. */
void sc_collect_send(int proc, const void *data, size_t n);
void sc_collect_receive(int proc, void *data, size_t n);

#endif
