/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* MACs of frames: XChaCha20-Poly1305 over additional data only. Usable in any context. */
#ifndef VNET_IB_LINK_MAC_H
#define VNET_IB_LINK_MAC_H

#include "link.h"

/* Derive the subkey of a sender from a key and the sender's salt. */
void vnet_mac_subkey(const u8 key[VNET_WIRE_KEY_SIZE], const u8 salt[VNET_WIRE_SALT_SIZE],
		     u8 subkey[VNET_WIRE_KEY_SIZE]);
void vnet_mac_make(const u8 subkey[VNET_WIRE_KEY_SIZE], __le64 number,
		   const struct vnet_wire_prefix *prefix, const u8 *frame, u32 length,
		   u8 mac[VNET_WIRE_MAC_SIZE]);

#endif /* VNET_IB_LINK_MAC_H */
