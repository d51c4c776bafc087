/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* CRC32C (Castagnoli, reflected, inverted at both ends), as in iSCSI. */
#ifndef SIM_CRC32C_H
#define SIM_CRC32C_H

#include "layout/types.h"

/* Extend a CRC by `length` bytes. The initial value is 0. */
u32 crc32c(u32 crc, const void *data, u64 length);

#endif /* SIM_CRC32C_H */
