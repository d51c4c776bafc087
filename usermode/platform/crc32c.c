// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CRC32C with the processor's CRC instruction where it has one, otherwise with tables. The
 * instruction has a latency of three cycles and a throughput of one per cycle. So long data is
 * processed in three lanes, whose results are combined with tables.
 */
#include <string.h>

#include "host.h"

#define POLYNOMIAL 0x82f63b78u
/* Bytes of one lane. */
#define LANE 1360ul

static u32 byte_table[8][256];
/* The effect of LANE zero bytes on a CRC, for each of its four bytes. */
static u32 lane_table[4][256];

static void make_byte_tables(void)
{
	for (u32 i = 0; i < 256; i++) {
		u32 crc = i;

		for (u32 bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		byte_table[0][i] = crc;
	}
	for (u32 t = 1; t < 8; t++)
		for (u32 i = 0; i < 256; i++)
			byte_table[t][i] = byte_table[t - 1][i] >> 8 ^
					   byte_table[0][byte_table[t - 1][i] & 0xff];
}

static u64 load64(const u8 *p)
{
	u64 word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static u32 by_tables(u32 crc, const u8 *p, u64 length)
{
	for (; length >= 8; length -= 8, p += 8) {
		u64 word = load64(p) ^ crc;

		crc = byte_table[7][word & 0xff] ^ byte_table[6][word >> 8 & 0xff] ^
		      byte_table[5][word >> 16 & 0xff] ^ byte_table[4][word >> 24 & 0xff] ^
		      byte_table[3][word >> 32 & 0xff] ^ byte_table[2][word >> 40 & 0xff] ^
		      byte_table[1][word >> 48 & 0xff] ^ byte_table[0][word >> 56];
	}
	while (length--)
		crc = crc >> 8 ^ byte_table[0][(crc ^ *p++) & 0xff];
	return crc;
}

/* A CRC is linear, so the results for single bits give all others. */
static void make_lane_table(void)
{
	static const u8 zeros[LANE];
	u32 bit[32];

	for (u32 i = 0; i < 32; i++) {
		bit[i] = by_tables(1u << i, zeros, LANE);
	}
	for (u32 t = 0; t < 4; t++)
		for (u32 i = 0; i < 256; i++)
			for (u32 b = 0; b < 8; b++)
				lane_table[t][i] ^= i >> b & 1 ? bit[8 * t + b] : 0;
}

static u32 (*best)(u32 crc, const u8 *p, u64 length) = by_tables;

#if defined(__x86_64__)
#define HARDWARE __attribute__((target("sse4.2")))
#define STEP64(crc, word) __builtin_ia32_crc32di(crc, word)
#define STEP8(crc, byte) __builtin_ia32_crc32qi(crc, byte)
#define HAVE_HARDWARE __builtin_cpu_supports("sse4.2")
#elif defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#define HARDWARE __attribute__((target("+crc")))
#define STEP64(crc, word) __builtin_aarch64_crc32cx((u32)(crc), word)
#define STEP8(crc, byte) __builtin_aarch64_crc32cb(crc, byte)
#define HAVE_HARDWARE (getauxval(AT_HWCAP) & HWCAP_CRC32)
#endif

#ifdef HARDWARE
static u32 shift_lane(u32 crc)
{
	return lane_table[0][crc & 0xff] ^ lane_table[1][crc >> 8 & 0xff] ^
	       lane_table[2][crc >> 16 & 0xff] ^ lane_table[3][crc >> 24];
}

HARDWARE static u32 by_hardware(u32 crc, const u8 *p, u64 length)
{
	u64 a = crc;

	for (; length >= 3 * LANE; length -= 3 * LANE, p += 3 * LANE) {
		u64 b = 0, c = 0;

		for (u64 i = 0; i < LANE; i += 8) {
			a = STEP64(a, load64(p + i));
			b = STEP64(b, load64(p + LANE + i));
			c = STEP64(c, load64(p + 2 * LANE + i));
		}
		a = shift_lane(shift_lane((u32)a) ^ (u32)b) ^ (u32)c;
	}
	for (; length >= 8; length -= 8, p += 8)
		a = STEP64(a, load64(p));
	crc = (u32)a;
	while (length--)
		crc = STEP8(crc, *p++);
	return crc;
}
#endif

static void __attribute__((constructor)) prepare(void)
{
	make_byte_tables();
	make_lane_table();
#ifdef HARDWARE
	if (HAVE_HARDWARE)
		best = by_hardware;
#endif
}

u32 plat_crc32c(u32 crc, const void *data, u64 length)
{
	return ~best(~crc, data, length);
}
