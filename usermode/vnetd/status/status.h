/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state of the daemon as JSON, for vnet status.
 */
#ifndef VNETD_STATUS_H
#define VNETD_STATUS_H

#include "vnetd.h"

/* Returns a descriptor of the JSON text, positioned at its start; or -errno. */
int status_make(struct daemon *daemon);

#endif /* VNETD_STATUS_H */
