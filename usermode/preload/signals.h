/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The program's signal handlers and masks, as far as they concern us. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

/* host_guard_init() has been called: from now on its handlers stay in front. */
void signals_guarded(void);
/* Do all handlers of the program let a system call start again? */
bool signals_restart(void);

#endif /* SIGNALS_H */
