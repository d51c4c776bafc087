/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Messages between processors within a collective operation. */
#ifndef SPLITC_COLLECT_H
#define SPLITC_COLLECT_H

#include <stddef.h>

/* Begins a collective operation. All processors begin them in the same order. */
void sc_collect_begin(void);
/* Sends @n bytes to @proc, or receives them from it. The other side must call the counterpart. */
void sc_collect_send(int proc, const void *data, size_t n);
void sc_collect_receive(int proc, void *data, size_t n);

#endif
