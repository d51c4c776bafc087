// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the firmware asks about a peer: its address, whether it has the key of another, and the
 * secrets that are derived from that key.
 */
#include "layers.h"
#include "mac.h"

/* ------------------------------------------------------------------ addresses */

bool plat_resolve(struct nic *nic, const u8 *gid, struct nic_address *to)
{
	const struct vnet_view *view = nic->host;
	struct vnet_link *link = view->dev->link;
	struct vnet_port *port = NULL;
	union vnet_address address;
	bool found = false;
	int idx = srcu_read_lock(&vnet_inside);

	if (vnet_address_of(gid, view->dev->netdev->ifindex, &address))
		port = vnet_port_towards(link, gid, address.any.sa_family);
	if (port) {
		address.port = port->own.port;
		*to = address.nic;
		found = vnet_has_key(link, &address);
		/* The peer would not answer without a key. */
		if (!found)
			nic_fetch_add(&link->counters.no_key, 1);
	}
	srcu_read_unlock(&vnet_inside, idx);
	return found;
}

bool plat_same_key_group(struct nic *nic, const struct nic_address *a, const struct nic_address *b)
{
	const struct vnet_view *view = nic->host;
	int idx = srcu_read_lock(&vnet_inside);
	bool same = vnet_same_key_group(view->dev->link, (const union vnet_address *)a,
					(const union vnet_address *)b);

	srcu_read_unlock(&vnet_inside, idx);
	return same;
}

void plat_report_refused(struct nic *nic, const u8 *gid, u32 why)
{
	const struct vnet_view *view = nic->host;

	/* enum vnet_refusal has one reason only. */
	ibdev_warn_ratelimited(
		&view->dev->ibdev,
		"the device with GID %pI6 has another key: give both the same (use_key)\n", gid);
}

/* Not logged, as any program could fill the system log. */
void plat_report_unknown(struct nic *nic, const u8 *gid)
{
}

/* -------------------------------------------------------------------- secrets */

/* The key for secrets with a peer on this machine (see plat_secret()), or NULL. */
static const struct vnet_key *vnet_secret_key(const struct vnet_link *link,
					      const union vnet_address *peer, u32 id)
{
	const struct vnet_port *port = vnet_port_of(link, peer);
	const struct vnet_keys *keys = vnet_keys_of(link);
	u8 ip[16];
	__be16 udp;

	if (!port || !vnet_is_local(port, peer))
		return NULL;
	if (!id)
		return vnet_key_of(link, keys, peer);
	vnet_put_address(peer, ip, &udp);
	return vnet_key_find(link, keys, ip, true, cpu_to_le32(id));
}

/*
 * Derive a secret by a cascade of HChaCha20, which is a PRF. For it to be one, all texts under
 * one key have the same length.
 */
static void vnet_secret_make(const u8 key[VNET_WIRE_KEY_SIZE], const u8 *text, u32 length,
			     u8 secret[VNET_WIRE_SECRET_SIZE])
{
	u8 state[VNET_WIRE_KEY_SIZE];
	u32 i;

	memcpy(state, key, sizeof(state));
	for (i = 0; i < length; i += VNET_WIRE_SALT_SIZE)
		vnet_mac_subkey(state, text + i, state);
	memcpy(secret, state, VNET_WIRE_SECRET_SIZE);
	memzero_explicit(state, sizeof(state));
}

bool plat_secret(struct nic *nic, const struct nic_address *peer, u32 key, const void *text,
		 u32 length, u8 secret[VNET_WIRE_SECRET_SIZE])
{
	const struct vnet_view *view = nic->host;
	const struct vnet_link *link = view->dev->link;
	const struct vnet_key *shared;
	int idx;

	if (!peer) {
		vnet_secret_make(link->own_secret, text, length, secret);
		return true;
	}
	idx = srcu_read_lock(&vnet_inside);
	shared = vnet_secret_key(link, (const union vnet_address *)peer, key);
	if (shared)
		vnet_secret_make(shared->secret_key, text, length, secret);
	srcu_read_unlock(&vnet_inside, idx);
	return shared;
}
