/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The wirings, which connect endpoints: by UD datagrams, and by rdma_cm (objects/am_wiring.h).
 *
 * This room calls connections, and polls by am_drain() of messages. Lower rooms call a wiring by
 * its table of functions, with the bundle's lock held. A look-up of a moved endpoint takes the lock
 * of the list of bundles (objects/am_process.h).
 */
#ifndef AM_WIRINGS_H
#define AM_WIRINGS_H

#include "objects/am_wiring.h"

extern const struct am_wiring am_wiring_hand, am_wiring_cm;

/* The wiring with a number as in am_settings.wiring, or NULL. */
const struct am_wiring *am_wiring(unsigned int number);

#endif
