// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cache of keys to other processors' memory, which are requested on demand and kept until
 * revoked.
 */
#include <stdlib.h>
#include <string.h>

#include "splitc_core.h"

struct sc_keys {
	unsigned int n, size;
	struct sc_lookup key[];
};

static bool fits(const struct sc_lookup *key, uint64_t address, bool write)
{
	return address >= key->begin && address < key->end && (key->writable || !write);
}

static const struct sc_lookup *find(struct sc_peer *peer, uint64_t address, bool write)
{
	const struct sc_keys *keys = peer->keys;

	if (fits(&peer->key, address, write))
		return &peer->key;
	for (unsigned int i = 0; keys && i < keys->n; i++) {
		const struct sc_lookup *key = &keys->key[i];

		if (!fits(key, address, write))
			continue;
		/* sc_key_at_hand() does not check the result, so only store RDMA keys there. */
		if (key->result == SC_MEMORY_KEY)
			peer->key = *key;
		return key;
	}
	return NULL;
}

static void keep(struct sc_peer *peer, const struct sc_lookup *key)
{
	struct sc_keys *keys = peer->keys;
	unsigned int size = keys ? keys->size : 0;

	if (!keys || keys->n == size) {
		size = size ? 2 * size : 8;
		keys = realloc(keys, sizeof(*keys) + size * sizeof(keys->key[0]));
		if (!keys)
			sc_fail("no memory");
		if (!peer->keys)
			keys->n = 0;
		keys->size = size;
		peer->keys = keys;
	}
	keys->key[keys->n++] = *key;
}

/*
 * Requests a key from @peer. If the peer revoked a key meanwhile, that may concern the
 * answer: repeat.
 */
static struct sc_lookup ask(struct sc_peer *peer, uint64_t address, size_t n, bool write)
{
	struct sc_lookup key = { .result = SC_MEMORY_NONE };
	unsigned int revoked;

	do {
		revoked = peer->revoked;
		sc_call(&(struct sc_request){ .proc = peer->proc,
					      .op = SC_LOOKUP,
					      .what = write,
					      .length = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX,
					      .address = address,
					      .to = &key,
					      .wanted = sizeof(key) });
	} while (peer->revoked != revoked);
	return key;
}

/* The key to this processor's own memory, for atomic operations by the device. */
static struct sc_lookup own(uint64_t address, size_t n, bool write)
{
	struct sc_lookup key = { .result = SC_MEMORY_KEY };
	bool there;
	const struct sc_export *e = sc_export(address, n, write, &there);

	if (!e) {
		key.result = there ? SC_MEMORY_CONSTANT : SC_MEMORY_NONE;
		return key;
	}
	key.begin = e->begin;
	key.end = e->end;
	key.rkey = e->rkey;
	if (e->ask)
		key.result = SC_MEMORY_ASK;
	return key;
}

const struct sc_lookup *sc_key(struct sc_peer *peer, uint64_t address, size_t n, bool write,
			       const char *what)
{
	const struct sc_lookup *found = find(peer, address, write);
	static struct sc_lookup key;

	if (__builtin_expect(!!found, 1))
		return found;
	key = peer->proc == splitc_my_proc ? own(address, n, write) : ask(peer, address, n, write);
	if (key.result == SC_MEMORY_NONE || key.result == SC_MEMORY_CONSTANT)
		sc_bad_access(what, n, address, peer->proc, splitc_my_proc,
			      key.result == SC_MEMORY_CONSTANT);
	if (address < key.begin || address >= key.end)
		sc_fail("processor %d sent what is no key", peer->proc);
	if (peer->proc != splitc_my_proc)
		keep(peer, &key);
	return &key;
}

void sc_revoked(struct sc_peer *peer, const struct sc_message *m)
{
	uint64_t begin = m->address, end = begin + ((uint64_t)m->length << 12);
	struct sc_keys *keys = peer->keys;
	unsigned int n = 0;

	for (unsigned int i = 0; keys && i < keys->n; i++) {
		if (keys->key[i].end <= begin || keys->key[i].begin >= end)
			keys->key[n++] = keys->key[i];
	}
	if (keys)
		keys->n = n;
	peer->key = (struct sc_lookup){ .begin = 0 };
	peer->revoked++;
}
