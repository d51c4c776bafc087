/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Loads the libibverbs provider where libibverbs does not load it itself. */
#ifndef PROVIDER_H
#define PROVIDER_H

/* Called when a session has been made, before libibverbs matches its devices with providers. */
void provider_load(void);

#endif /* PROVIDER_H */
