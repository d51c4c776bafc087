// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* CRC32C, by the CPU's instruction if it has one, else by a table. */
#include "base/crc32c.h"

#define POLYNOMIAL 0x82f63b78u

static u32 crc_by_table(u32 crc, const u8 *at, u64 length)
{
	static u32 table[256];
	u32 i, bit;

	if (!table[1]) {
		for (i = 0; i < 256; i++) {
			u32 x = i;

			for (bit = 0; bit < 8; bit++)
				x = x >> 1 ^ (x & 1 ? POLYNOMIAL : 0);
			table[i] = x;
		}
	}
	while (length--)
		crc = crc >> 8 ^ table[(crc ^ *at++) & 0xff];
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static u32 crc_by_machine(u32 crc, const u8 *at, u64 length)
{
	u64 sum = crc, word;

	for (; length >= 8; length -= 8, at += 8) {
		memcpy(&word, at, 8);
		sum = __builtin_ia32_crc32di(sum, word);
	}
	crc = (u32)sum;
	while (length--)
		crc = __builtin_ia32_crc32qi(crc, *at++);
	return crc;
}
#endif

u32 crc32c(u32 crc, const void *data, u64 length)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_by_machine(~crc, data, length);
#endif
	return ~crc_by_table(~crc, data, length);
}
