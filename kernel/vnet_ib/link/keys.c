// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Link keys, and which of them applies to a peer. Devices of one machine and network namespace
 * share a common key from their creation, which no process can read. Further keys are given to a
 * link by processes that may configure the network.
 */
#include <crypto/hash.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "layers.h"
#include "mac.h"

#define VNET_LEAST_SECRET 16
/* Number of the common key. Numbers of given keys are hashes. */
#define VNET_COMMON_KEY 1u

/* ----------------------------------------------------------- choice of a key */

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

const struct vnet_key *vnet_key_of(const struct vnet_link *link, const struct vnet_keys *keys,
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

const struct vnet_key *vnet_key_find(const struct vnet_link *link, const struct vnet_keys *keys,
				     const u8 ip[16], bool local, __le32 id)
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

/* ----------------------------------------------------------------------- keys */

static const char vnet_key_purpose[] = "vnet link key 2";
/* Input of the derivation of secret_key, as in user mode. No salt equals it, as salts are random. */
static const u8 vnet_secret_purpose[VNET_WIRE_SALT_SIZE] = "vnet link secret";

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
	nic_replay_set_keys(link->replay, ids, n);
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
