/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The firmware as a context of this process enters it. */
#ifndef GATE_H
#define GATE_H

#include "../../abi/vnet_hw.h"

/* The firmware's entry points; their cookie is a struct client_nic's address. */
extern const struct vnet_gate gate;

#endif /* GATE_H */
