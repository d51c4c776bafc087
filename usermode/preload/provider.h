/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The device's libibverbs provider, where libibverbs does not load it by itself. */
#ifndef PROVIDER_H
#define PROVIDER_H

/* A session has been made: before libibverbs looks for who drives its devices. */
void provider_load(void);

#endif /* PROVIDER_H */
