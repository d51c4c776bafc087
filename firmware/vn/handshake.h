/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What rows (vn/row.c) and the handshake that brings them up share. */
#ifndef NIC_VN_HANDSHAKE_H
#define NIC_VN_HANDSHAKE_H

#include "vn/vn.h"

/* Rows that are tried, before a call finds none to reclaim; and a bit for each of the largest table. */
#define NIC_RECLAIM_TRIES 3u
#define NIC_TRIED_WORDS (NIC_MAX_ROWS / 64)

/* GIDs, secrets, cookies: in as many steps wherever they differ. */
static inline bool nic_equal16(const u8 *a, const u8 *b)
{
	u64 x[2], y[2];

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

/* -- vn/row.c */

/* Made, if there is none: NIC_NONE: no room, or somebody has row_lock for so many tries. */
u32 nic_row_make(struct nic *nic, const u8 *gid, const u8 *own_gid,
		 const struct nic_address *address, u32 tries);
/* Is it this row? The lock is held, or it is only a look. */
bool nic_row_is_between(const struct nic_row *row, const u8 *gid, const u8 *own_gid);
bool nic_address_equal(const struct nic_address *a, const struct nic_address *b);
/* The peer's row began anew, in the same life: channels begin anew, the row stays what it is. */
void nic_row_restart(struct nic *nic, struct nic_row *row);

#endif /* NIC_VN_HANDSHAKE_H */
