/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state of the process: its device, the list of its bundles, and the numbers of its endpoints.
 *
 * A mutex of am_process.c guards the list, and the lists of endpoints of all bundles. It is taken
 * after the lock of a bundle, and no other lock is taken while it is held.
 */
#ifndef AM_PROCESS_H
#define AM_PROCESS_H

#include "am_core.h"

/* Changed by AM_Init() and AM_Terminate() only. */
extern struct am_process {
	unsigned int users; /* calls of AM_Init() without AM_Terminate(); atomic */
	struct am_device device;
} am_process;

bool am_initialised(void);
/* NULL: the library is not initialised. */
struct am_device *am_the_device(void);

uint32_t am_endpoint_number(void);
void am_endpoints_lock(void);
void am_endpoints_unlock(void);
bool am_endpoint_elsewhere(const struct am_eb *eb, const en_t *name, en_t *now);

void am_bundle_register(struct am_eb *eb);
bool am_bundle_unregister(struct am_eb *eb);
/* Removes a bundle from the list. NULL: the list is empty. */
struct am_eb *am_bundle_take(void);
/* The first bundle of the list, which no other thread may use any more. */
struct am_eb *am_bundles(void);

#endif
