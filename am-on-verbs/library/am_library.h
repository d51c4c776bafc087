/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The functions of am.h that set up the library, bundles and endpoints, set and read their
 * properties, and wait for events; and those of am_spmd.h.
 *
 * This room may call all others, and no other calls it. Each function of am.h takes the lock of the
 * bundle that it uses. AM_Init() and AM_Terminate() hold a mutex of am_init.c until they return,
 * and AM_Terminate() takes the locks of bundles while it holds that mutex.
 */
#ifndef AM_LIBRARY_H
#define AM_LIBRARY_H

#include "objects/am_core.h"

/* am_init.c: drains all bundles; no other thread may use them any more. */
void am_drain_all(void);

/*
 * am_bundle.c, am_endpoint.c: free the object and all that belongs to it. A bundle must
 * have been unregistered. Of am_endpoint_free(), the caller holds the bundle's lock.
 */
void am_bundle_free(struct am_eb *eb);
void am_endpoint_free(struct am_ep *ep);

/*
 * am_set_segment.c: writes segment and tag to the boards of all connected peers, and drains these
 * connections. The caller holds the bundle's lock.
 */
void am_segment_tell_all(struct am_ep *ep);

#endif
