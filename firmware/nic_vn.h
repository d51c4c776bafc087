/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The vn transport, between its own files; grouped by the file that implements
 * them. doc/protocol.md tells the whole.
 *
 * Lock order: a QP's locks, then a row's, then row_lock; frame_lock is a leaf.
 */
#ifndef NIC_VN_H
#define NIC_VN_H

#include "nic_internal.h"

/* -- nic_vn_row.c: other NICs */

#endif /* NIC_VN_H */
