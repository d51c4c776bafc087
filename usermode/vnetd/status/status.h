/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests of the vnet command to a running daemon: its state as JSON, faults, keys, settings. */
#ifndef VNETD_STATUS_H
#define VNETD_STATUS_H

#include "vnetd.h"

struct daemon;
struct nic_device;

/* Returns a descriptor of the JSON text, positioned at its start; or -errno. */
int status_make(struct daemon *daemon);

/* Executes a command of `vnet fault` or `vnet key`. Returns a JSON descriptor, or -errno. */
int link_command(struct daemon *daemon, const char *text);
/* Writes the member "link": {...} of a device. */
void link_status(const struct nic_device *device, FILE *out);

#endif /* VNETD_STATUS_H */
