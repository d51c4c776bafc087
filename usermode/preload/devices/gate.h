/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The gate through which a context of this process calls the firmware. */
#ifndef GATE_H
#define GATE_H

#include "../../../abi/vnet_hw.h"

/* The firmware's entry points; their cookie is the address of a struct client_nic. */
extern const struct vnet_gate gate;

#endif /* GATE_H */
