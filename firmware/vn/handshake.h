/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the rows (vn/row.c) and the handshake (vn/handshake.c). */
#ifndef NIC_VN_HANDSHAKE_H
#define NIC_VN_HANDSHAKE_H

#include "vn/vn.h"

/* Attempts to reclaim a row; size of a bitmap for the largest table. */
#define NIC_RECLAIM_TRIES 3u
#define NIC_ROW_MAP_WORDS (NIC_MAX_ROWS / 64)

/* Compare GIDs, secrets or cookies in constant time. */
static inline bool nic_equal16(const u8 *a, const u8 *b)
{
	u64 x[2], y[2];

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

/* -- vn/row.c */

/*
 * Find or create a row. NIC_NONE: no free row, or row_lock is held by another for `tries` attempts.
 */
u32 nic_row_make(struct nic *nic, const u8 *gid, const u8 *own_gid,
		 const struct nic_address *address, u32 tries);
/* Is this the row of both GIDs? Under its lock, or as a look without. */
bool nic_row_is_between(const struct nic_row *row, const u8 *gid, const u8 *own_gid);
bool nic_address_equal(const struct nic_address *a, const struct nic_address *b);
/* The peer's row restarted in the same incarnation: restart the channels, keep the row. */
void nic_row_restart(struct nic *nic, struct nic_row *row);

#endif /* NIC_VN_HANDSHAKE_H */
