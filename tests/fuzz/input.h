/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Reads the input of a fuzz target from its front; behind its end, all bytes are 0. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const uint8_t *input;
static size_t left;

static void take(void *dst, size_t length)
{
	size_t n = length < left ? length : left;

	memset(dst, 0, length);
	if (n)
		memcpy(dst, input, n);
	input += n;
	left -= n;
}

static inline uint8_t take8(void)
{
	uint8_t value;

	take(&value, sizeof(value));
	return value;
}

static inline uint32_t take32(void)
{
	uint32_t value;

	take(&value, sizeof(value));
	return value;
}

#endif /* FUZZ_INPUT_H */
