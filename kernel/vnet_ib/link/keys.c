// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Link keys, and the MACs and secrets that are derived from them.
 *
 * A MAC covers the addresses and ports of sender and receiver, then the frame. So a frame that
 * is replayed from another address, or reflected, has a wrong MAC. Devices of one machine and
 * network namespace share a common key from their creation, which no process can read. Further
 * keys are given to a link by processes that may configure the network.
 */
#include <crypto/hash.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "link.h"
#include "mac.h"

#define VNET_LEAST_SECRET 16
/* Number of the common key. Numbers of given keys are hashes. */
#define VNET_COMMON_KEY 1u

/* ------------------------------------------------------------------------ MAC */

static void vnet_put_address(const union vnet_address *address, u8 bytes[16], __be16 *port)
{
	struct in6_addr ip;

	if (address->any.sa_family == AF_INET) {
		ipv6_addr_set_v4mapped(address->in.sin_addr.s_addr, &ip);
		*port = address->in.sin_port;
	} else {
		ip = address->in6.sin6_addr;
		*port = address->in6.sin6_port;
	}
	memcpy(bytes, &ip, sizeof(ip));
}

static void vnet_make_prefix(struct vnet_wire_prefix *prefix, const union vnet_address *from,
			     const union vnet_address *to, u32 length)
{
	memset(prefix, 0, sizeof(*prefix));
	vnet_put_address(from, prefix->from, &prefix->from_port);
	vnet_put_address(to, prefix->to, &prefix->to_port);
	prefix->length = cpu_to_le32(length);
}

/* ----------------------------------------------------------- choice of a key */

/* Given keys, or NULL. The caller is in a read section of vnet_inside. */
static const struct vnet_keys *vnet_keys_of(const struct vnet_link *link)
{
	return srcu_dereference(link->keys, &vnet_inside);
}

static bool vnet_is_same(const struct vnet_network *a, const struct vnet_network *b)
{
	return a->bits == b->bits && ipv6_addr_equal(&a->ip, &b->ip);
}

static bool vnet_key_equal(const struct vnet_key *a, const struct vnet_key *b)
{
	return a->id == b->id && !crypto_memneq(a->bytes, b->bytes, sizeof(a->bytes));
}

/* The given key for sending to a peer, or NULL if the peer is in no network. */
static const struct vnet_key *vnet_given_key(const struct vnet_keys *keys, const u8 ip[16])
{
	const struct vnet_key *best = NULL, *key;
	struct in6_addr peer;

	memcpy(&peer, ip, sizeof(peer));
	for (key = keys ? keys->key : NULL; key && key < keys->key + keys->n; key++) {
		if (ipv6_prefix_equal(&key->peers.ip, &peer, key->peers.bits) &&
		    (!best || key->peers.bits > best->peers.bits))
			best = key;
	}
	return best;
}

/* The key for sending to a peer, given or common, or NULL. */
static const struct vnet_key *vnet_key_of(const struct vnet_link *link,
					  const struct vnet_keys *keys,
					  const union vnet_address *peer)
{
	const struct vnet_port *port = vnet_port_of(link, peer);
	const struct vnet_key *given;
	u8 ip[16];
	__be16 udp;

	/* Nobody is reached by a GID that was deleted. */
	if (!port)
		return NULL;
	vnet_put_address(peer, ip, &udp);
	given = vnet_given_key(keys, ip);
	if (given)
		return given;
	return vnet_is_local(port, peer) ? &link->common : NULL;
}

bool vnet_has_key(const struct vnet_link *link, const union vnet_address *peer)
{
	return vnet_key_of(link, vnet_keys_of(link), peer);
}

/* The key with number `id` among those that apply to a peer. local: the peer is on this machine. */
static const struct vnet_key *vnet_key_find(const struct vnet_link *link,
					    const struct vnet_keys *keys, const u8 ip[16],
					    bool local, __le32 id)
{
	const struct vnet_key *first = vnet_given_key(keys, ip), *key;

	if (!first)
		return local && link->common.id == id ? &link->common : NULL;
	for (key = first; key < keys->key + keys->n; key++) {
		if (key->id == id && vnet_is_same(&key->peers, &first->peers))
			return key;
	}
	return NULL;
}

/* The first key of a group, or NULL. */
static const struct vnet_key *vnet_group_first(const struct vnet_keys *keys,
					       const struct vnet_network *peers)
{
	const struct vnet_key *key;

	for (key = keys->key; key < keys->key + keys->n; key++) {
		if (vnet_is_same(&key->peers, peers))
			return key;
	}
	return NULL;
}

/*
 * Whether all peers have the same key. Peers in no network have the common key or none. So this
 * holds if no key is given, or if one is given for all peers and those of other groups equal it.
 */
static bool vnet_is_one_group(const struct vnet_keys *keys)
{
	static const struct vnet_network everybody;
	const struct vnet_key *key, *first;

	if (!keys)
		return true;
	first = vnet_group_first(keys, &everybody);
	for (key = keys->key; first && key < keys->key + keys->n; key++) {
		if (!vnet_key_equal(vnet_group_first(keys, &key->peers), first))
			return false;
	}
	return first;
}

bool vnet_same_key_group(const struct vnet_link *link, const union vnet_address *a,
			 const union vnet_address *b)
{
	const struct vnet_keys *keys = vnet_keys_of(link);
	const struct vnet_key *of_a, *of_b;

	if (!b)
		return vnet_is_one_group(keys);
	of_a = vnet_key_of(link, keys, a);
	of_b = vnet_key_of(link, keys, b);
	return of_a && of_b && vnet_key_equal(of_a, of_b);
}

/* -------------------------------------------------------------------- secrets */

/* Input of the derivation, as in user mode. No salt equals it, as salts are random. */
static const u8 vnet_secret_purpose[VNET_WIRE_SALT_SIZE] = "vnet link secret";

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

/* ------------------------------------------------------------- seal and unseal */

static u32 vnet_seal_mac(struct vnet_link *link, const struct vnet_port *port,
			 const struct vnet_key *key, const union vnet_address *to, u8 *frame,
			 u32 length)
{
	struct vnet_wire_trailer trailer = {
		.key_id = key->id,
		.number = cpu_to_le64(atomic64_inc_return(&link->sealed)),
	};
	struct vnet_wire_prefix prefix;

	vnet_make_prefix(&prefix, &port->own, to, length);
	memcpy(trailer.salt, key->salt, sizeof(trailer.salt));
	vnet_mac_make(key->subkey, trailer.number, &prefix, frame, length, trailer.mac);
	memcpy(frame + length, &trailer, sizeof(trailer));
	return length + sizeof(trailer);
}

u32 vnet_seal(struct vnet_link *link, const union vnet_address *to, u8 *frame, u32 length,
	      bool *leaves)
{
	const struct vnet_keys *keys = vnet_keys_of(link);
	const struct vnet_port *port = vnet_port_of(link, to);
	u8 proof = ((const struct vnet_frame *)frame)->proof;
	const struct vnet_key *key;

	if (proof != VNET_PROOF_MAC) {
		/* A proof by a shared secret is valid on this machine only. */
		*leaves = keys && proof == VNET_PROOF_NONE;
		nic_frame_sum(frame, length);
		return length;
	}
	if (!port) {
		nic_fetch_add(&link->counters.unsent, 1);
		return 0;
	}
	key = vnet_key_of(link, keys, to);
	if (!key) {
		nic_fetch_add(&link->counters.no_key, 1);
		return 0;
	}
	*leaves = key != &link->common;
	return vnet_seal_mac(link, port, key, to, frame, length);
}

static bool vnet_mac_is_right(const struct vnet_key *key, const struct vnet_wire_trailer *trailer,
			      const struct vnet_wire_prefix *prefix, const u8 *frame, u32 length,
			      struct nic_proof *proof)
{
	u8 subkey[VNET_WIRE_KEY_SIZE], mac[VNET_WIRE_MAC_SIZE];

	vnet_mac_subkey(key->bytes, trailer->salt, subkey);
	vnet_mac_make(subkey, trailer->number, prefix, frame, length, mac);
	memcpy(proof->sender, subkey, sizeof(proof->sender));
	proof->number = le64_to_cpu(trailer->number);
	proof->key = le32_to_cpu(key->id);
	proof->given = !crypto_memneq(mac, trailer->mac, sizeof(mac));
	memzero_explicit(subkey, sizeof(subkey));
	return proof->given;
}

static u32 vnet_unseal_mac(struct vnet_link *link, const union vnet_address *from, const u8 *frame,
			   u32 length, struct nic_proof *proof, bool *stranger)
{
	const struct vnet_port *port = vnet_port_of(link, from);
	struct vnet_wire_trailer trailer;
	struct vnet_wire_prefix prefix;
	const struct vnet_key *key;

	if (length < sizeof(struct vnet_frame) + sizeof(trailer)) {
		nic_fetch_add(&link->counters.no_mac, 1);
		return 0;
	}
	length -= sizeof(trailer);
	memcpy(&trailer, frame + length, sizeof(trailer));
	/* The GID may have been deleted since the frame arrived. */
	if (!port) {
		nic_fetch_add(&link->counters.bad_mac, 1);
		return 0;
	}
	vnet_make_prefix(&prefix, from, &port->own, length);
	key = vnet_key_find(link, vnet_keys_of(link), prefix.from, proof->local, trailer.key_id);
	if (!key) {
		nic_fetch_add(&link->counters.unknown_key, 1);
		*stranger = true;
		return 0;
	}
	if (likely(vnet_mac_is_right(key, &trailer, &prefix, frame, length, proof)))
		return length;
	nic_fetch_add(&link->counters.bad_mac, 1);
	return 0;
}

u32 vnet_unseal(struct vnet_link *link, const union vnet_address *from, bool local, const u8 *frame,
		u32 length, struct nic_proof *proof, bool *stranger)
{
	*stranger = false;
	proof->given = false;
	proof->local = local;
	/* The last given key may have been forgotten since the frame arrived. */
	if (!local && !vnet_keys_of(link)) {
		nic_fetch_add(&link->counters.strangers, 1);
		return 0;
	}
	if (length >= sizeof(struct vnet_frame) &&
	    ((const struct vnet_frame *)frame)->proof != VNET_PROOF_MAC)
		return length;
	return vnet_unseal_mac(link, from, frame, length, proof, stranger);
}

bool vnet_is_first(struct nic *nic, struct vnet_link *link, const struct nic_proof *proof)
{
	if (nic_replay_take(nic, link->replay, proof))
		return true;
	nic_fetch_add(&link->counters.replayed, 1);
	return false;
}

/* ----------------------------------------------------------------------- keys */

static const char vnet_key_purpose[] = "vnet link key 2";

/* Derive key and number from the secret that nodes have in common, as in user mode. */
static int vnet_key_derive(struct vnet_key *key, const void *secret, size_t length)
{
	struct crypto_shash *tfm = crypto_alloc_shash("blake2b-512", 0, 0);
	u8 hash[64];
	int err;

	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	{
		SHASH_DESC_ON_STACK(desc, tfm);

		desc->tfm = tfm;
		err = crypto_shash_init(desc) ?:
			      crypto_shash_update(desc, vnet_key_purpose, sizeof(vnet_key_purpose)) ?:
			      crypto_shash_finup(desc, secret, length, hash);
		shash_desc_zero(desc);
	}
	crypto_free_shash(tfm);
	memcpy(key->bytes, hash, sizeof(key->bytes));
	memcpy(&key->id, hash + sizeof(key->bytes), sizeof(key->id));
	memzero_explicit(hash, sizeof(hash));
	return err;
}

/*
 * Prepare a key for sending. Salts must not repeat, so wait until the kernel's random generator
 * is seeded. Returns 0 or -EINTR.
 */
static int vnet_key_ready(struct vnet_key *key)
{
	int err = get_random_bytes_wait(key->salt, sizeof(key->salt));

	if (err)
		return err;
	vnet_mac_subkey(key->bytes, key->salt, key->subkey);
	vnet_mac_subkey(key->bytes, vnet_secret_purpose, key->secret_key);
	return 0;
}

/* The machine's key, drawn once for as long as the module is loaded. Returns 0 or -EINTR. */
static int vnet_machine_key(u8 key[VNET_WIRE_KEY_SIZE])
{
	static u8 machine_key[VNET_WIRE_KEY_SIZE];
	static DEFINE_MUTEX(lock);
	static bool made;
	int err = 0;

	mutex_lock(&lock);
	if (!made)
		err = get_random_bytes_wait(machine_key, sizeof(machine_key));
	made = !err;
	memcpy(key, machine_key, sizeof(machine_key));
	mutex_unlock(&lock);
	return err;
}

/* Derive the common key from the machine's key and the namespace's cookie, which is unique. */
static int vnet_common_key(struct vnet_key *key, const struct net *net)
{
	__le64 cookie[VNET_WIRE_SALT_SIZE / sizeof(__le64)] = { cpu_to_le64(net->net_cookie) };
	u8 machine_key[VNET_WIRE_KEY_SIZE];
	int err = vnet_machine_key(machine_key);

	if (!err)
		vnet_mac_subkey(machine_key, (const u8 *)cookie, key->bytes);
	memzero_explicit(machine_key, sizeof(machine_key));
	key->id = cpu_to_le32(VNET_COMMON_KEY);
	return err ?: vnet_key_ready(key);
}

int vnet_keys_init(struct vnet_link *link, const struct net *net)
{
	mutex_init(&link->keys_lock);
	link->net_cookie = net->net_cookie;
	link->replay = kvzalloc(sizeof(*link->replay), GFP_KERNEL);
	if (!link->replay)
		return -ENOMEM;
	return vnet_common_key(&link->common, net) ?:
		       get_random_bytes_wait(link->own_secret, sizeof(link->own_secret));
}

void vnet_keys_free(struct vnet_link *link)
{
	kfree_sensitive(rcu_replace_pointer(link->keys, NULL, true));
	/* The replay memory contains subkeys as names of senders. */
	kvfree_sensitive(link->replay, sizeof(*link->replay));
	link->replay = NULL;
	memzero_explicit(&link->common, sizeof(link->common));
	memzero_explicit(link->own_secret, sizeof(link->own_secret));
}

/* The caller holds keys_lock, which protects the pointer. */
static struct vnet_keys *vnet_keys_locked(const struct vnet_link *link)
{
	return rcu_dereference_protected(link->keys, lockdep_is_held(&link->keys_lock));
}

/*
 * Replace the given keys, and free the old ones after a grace period. The caller holds
 * keys_lock. May sleep.
 */
static void vnet_keys_replace(struct vnet_link *link, struct vnet_keys *keys)
{
	struct vnet_keys *old = vnet_keys_locked(link);
	u32 ids[VNET_KEYS + 1], n;

	rcu_assign_pointer(link->keys, keys);
	synchronize_srcu(&vnet_inside);
	for (n = 0; keys && n < keys->n; n++)
		ids[n] = le32_to_cpu(keys->key[n].id);
	ids[n++] = VNET_COMMON_KEY;
	/*
	 * The replay memory outlives changes of keys: frames under keys that remain may be
	 * replayed.
	 */
	nic_replay_keep(link->replay, ids, n);
	vnet_link_check(link->dev);
	kfree_sensitive(old);
}

/* A new set with one key, derived from `secret`. It cannot be used for sending yet. */
static struct vnet_keys *vnet_keys_make(const void *secret, size_t length)
{
	struct vnet_keys *keys = kzalloc(sizeof(*keys), GFP_KERNEL);
	int err;

	if (!keys)
		return ERR_PTR(-ENOMEM);
	err = vnet_key_derive(&keys->key[0], secret, length);
	if (!err)
		return keys;
	kfree_sensitive(keys);
	return ERR_PTR(err);
}

/* Append the keys of all other groups. */
static int vnet_keys_keep_others(struct vnet_keys *keys, const struct vnet_keys *old,
				 const struct vnet_network *peers)
{
	const struct vnet_key *key;

	for (key = old->key; key < old->key + old->n; key++) {
		if (vnet_is_same(&key->peers, peers))
			continue;
		if (keys->n == VNET_KEYS)
			return -ENOSPC;
		keys->key[keys->n++] = *key;
	}
	return 0;
}

/*
 * Arrange the new key, keys->key[0], and the key that its group used for sending until now: the
 * new one is first, with `accept` second. If both are equal, it is the only one. The caller
 * holds keys_lock.
 */
static int vnet_keys_order(struct vnet_keys *keys, const struct vnet_keys *old, bool accept)
{
	const struct vnet_key *first = old ? vnet_group_first(old, &keys->key[0].peers) : NULL;

	keys->n = 1;
	if (first && !vnet_key_equal(&keys->key[0], first)) {
		keys->key[keys->n++] = *first;
		if (accept)
			swap(keys->key[0], keys->key[1]);
	}
	return old ? vnet_keys_keep_others(keys, old, &keys->key[0].peers) : 0;
}

int vnet_keys_add(struct vnet_link *link, const struct vnet_network *peers, const void *secret,
		  size_t length, bool accept)
{
	struct vnet_keys *keys;
	int err;

	if (length < VNET_LEAST_SECRET)
		return -EINVAL;
	keys = vnet_keys_make(secret, length);
	if (IS_ERR(keys))
		return PTR_ERR(keys);
	keys->key[0].peers = *peers;
	mutex_lock(&link->keys_lock);
	err = vnet_keys_order(keys, vnet_keys_locked(link), accept) ?:
								      vnet_key_ready(&keys->key[0]);
	if (err)
		kfree_sensitive(keys);
	else
		vnet_keys_replace(link, keys);
	mutex_unlock(&link->keys_lock);
	return err;
}

int vnet_keys_forget(struct vnet_link *link, const struct vnet_network *peers)
{
	struct vnet_keys *keys = kzalloc(sizeof(*keys), GFP_KERNEL), *old;
	int err = -ENOENT;

	if (!keys)
		return -ENOMEM;
	mutex_lock(&link->keys_lock);
	old = vnet_keys_locked(link);
	if (old && vnet_group_first(old, peers))
		err = vnet_keys_keep_others(keys, old, peers);
	if (!err) {
		/* Without a given key, frames stay on this machine again. */
		vnet_keys_replace(link, keys->n ? keys : NULL);
		if (keys->n)
			keys = NULL;
	}
	mutex_unlock(&link->keys_lock);
	kfree_sensitive(keys);
	return err;
}

void vnet_keys_forget_all(struct vnet_link *link)
{
	mutex_lock(&link->keys_lock);
	vnet_keys_replace(link, NULL);
	mutex_unlock(&link->keys_lock);
}
