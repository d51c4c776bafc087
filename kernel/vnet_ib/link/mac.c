// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MACs of frames: that of XChaCha20-Poly1305, built from ChaCha20 blocks and Poly1305.
 *
 * The key of a frame is one block of ChaCha20. Most of the work is Poly1305, which the kernel
 * does with SIMD instructions if it is given enough data at a time. On emulated CPUs, SIMD may
 * take longer than scalar code. So both are measured once, when the module is loaded; if scalar
 * code is faster, frames are passed to Poly1305 in pieces that are too short for SIMD.
 */
#include <crypto/chacha.h>
#include <crypto/poly1305.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "mac.h"

/* A multiple of Poly1305's block size, below the kernel's threshold for SIMD. */
#define VNET_MAC_PIECE 256u
#define VNET_TRIAL_SIZE 2048u
#define VNET_TRIALS 8

static u32 vnet_mac_piece __ro_after_init = UINT_MAX;

static void vnet_mac_add(struct poly1305_desc_ctx *poly, const u8 *data, u32 length, u32 piece)
{
	u32 now;

	for (; length; data += now, length -= now) {
		now = min(length, piece);
		poly1305_update(poly, data, now);
	}
}

static void vnet_mac_state(u32 state[CHACHA_STATE_WORDS], const u8 key[CHACHA_KEY_SIZE],
			   const u8 iv[CHACHA_IV_SIZE])
{
	u32 words[CHACHA_KEY_SIZE / sizeof(u32)];

	memcpy(words, key, sizeof(words));
	le32_to_cpu_array(words, ARRAY_SIZE(words));
	chacha_init_generic(state, words, iv);
}

void vnet_mac_subkey(const u8 key[VNET_WIRE_KEY_SIZE], const u8 salt[VNET_WIRE_SALT_SIZE],
		     u8 subkey[VNET_WIRE_KEY_SIZE])
{
	u32 words[CHACHA_KEY_SIZE / sizeof(u32)], state[CHACHA_STATE_WORDS];

	vnet_mac_state(state, key, salt);
	hchacha_block_generic(state, words, 20);
	cpu_to_le32_array(words, ARRAY_SIZE(words));
	memcpy(subkey, words, sizeof(words));
}

/* The first block of the key stream. Its first half is the Poly1305 key of this frame. */
static void vnet_mac_block(const u8 subkey[VNET_WIRE_KEY_SIZE], __le64 number,
			   u8 block[CHACHA_BLOCK_SIZE])
{
	/*
	 * Block counter (4 bytes, 0), then a nonce of 12 bytes, of which the last 8 are
	 * `number`.
	 */
	u8 iv[CHACHA_IV_SIZE] = {};
	u32 state[CHACHA_STATE_WORDS];

	memcpy(iv + sizeof(iv) - sizeof(number), &number, sizeof(number));
	vnet_mac_state(state, subkey, iv);
	chacha20_block(state, block);
}

void vnet_mac_make(const u8 subkey[VNET_WIRE_KEY_SIZE], __le64 number,
		   const struct vnet_wire_prefix *prefix, const u8 *frame, u32 length,
		   u8 mac[VNET_WIRE_MAC_SIZE])
{
	__le64 lengths[2] = { cpu_to_le64(sizeof(*prefix) + length) };
	static const u8 zero[POLY1305_BLOCK_SIZE];
	struct poly1305_desc_ctx poly;
	u8 block[CHACHA_BLOCK_SIZE];

	vnet_mac_block(subkey, number, block);
	poly1305_init(&poly, block);
	poly1305_update(&poly, (const u8 *)prefix, sizeof(*prefix));
	vnet_mac_add(&poly, frame, length, vnet_mac_piece);
	if (length % POLY1305_BLOCK_SIZE)
		poly1305_update(&poly, zero, POLY1305_BLOCK_SIZE - length % POLY1305_BLOCK_SIZE);
	poly1305_update(&poly, (const u8 *)lengths, sizeof(lengths));
	poly1305_final(&poly, mac);
}

/* -------------------------------------------------------------- measurement */

/* Returns the shortest of several runs in ns, which was not interrupted. */
static u64 __init vnet_mac_time(const u8 *data, u32 piece)
{
	struct poly1305_desc_ctx poly;
	u64 begin, best = U64_MAX;
	u8 mac[POLY1305_DIGEST_SIZE];
	u32 i;

	for (i = 0; i < VNET_TRIALS; i++) {
		begin = ktime_get_ns();
		poly1305_init(&poly, data);
		vnet_mac_add(&poly, data, VNET_TRIAL_SIZE, piece);
		poly1305_final(&poly, mac);
		best = min(best, ktime_get_ns() - begin);
	}
	return best;
}

void __init vnet_mac_choose(void)
{
	u8 *data = kzalloc(VNET_TRIAL_SIZE, GFP_KERNEL);

	if (!data)
		return;
	if (vnet_mac_time(data, VNET_MAC_PIECE) < vnet_mac_time(data, UINT_MAX))
		vnet_mac_piece = VNET_MAC_PIECE;
	kfree(data);
}
