/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Interposed functions for signal handlers and signal masks. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

/* Call after host_guard_init(): from now on the guard's handlers stay in front of the program's. */
void signals_guarded(void);
/* Do all of the program's handlers have SA_RESTART? */
bool signals_restart(void);

#endif /* SIGNALS_H */
