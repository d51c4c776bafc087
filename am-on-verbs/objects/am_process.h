/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Internal functions of the process-wide state (am_init.c), for bundles, endpoints and wiring. */
#ifndef AM_PROCESS_H
#define AM_PROCESS_H

#include "am_core.h"

/* am_init.c */
uint32_t am_endpoint_number(void);
void am_endpoints_lock(void);
void am_endpoints_unlock(void);
void am_bundle_register(struct am_eb *eb);
bool am_bundle_unregister(struct am_eb *eb);
bool am_endpoint_elsewhere(const struct am_eb *eb, const en_t *name, en_t *now);

/*
 * am_bundle.c, am_endpoint.c: free the object and all that belongs to it. A bundle must
 * have been unregistered.
 */
void am_bundle_free(struct am_eb *eb);
void am_endpoint_free(struct am_ep *ep);

#endif
