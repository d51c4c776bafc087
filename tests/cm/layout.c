// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "layout.h"

#include <stdlib.h>

/* The byte and bit at which a field begins; bit 0 is the most significant one. */
struct field {
	const char *name;
	u32 byte, bit, bits;
};

/* 13.4.3 */
static const struct field header[] = {
	{ "base version", 0, 0, 8 },
	{ "management class", 1, 0, 8 },
	{ "class version", 2, 0, 8 },
	{ "response", 3, 0, 1 },
	{ "method", 3, 1, 7 },
	{ "status", 4, 0, 16 },
	{ "class specific", 6, 0, 16 },
	{ "transaction id", 8, 0, 64 },
	{ "attribute id", 16, 0, 16 },
	{ "attribute modifier", 20, 0, 32 },
	{ NULL, 0, 0, 0 },
};

/* 12.6.5. From here on, bytes are counted from the end of the header. */
static const struct field req[] = {
	{ "local communication id", 0, 0, 32 },
	/* Part of enhanced connection establishment (ECE), in a reserved place. */
	{ "vendor id", 5, 0, 24 },
	{ "service id", 8, 0, 64 },
	{ "local CA GUID", 16, 0, 64 },
	{ "local Q_Key", 28, 0, 32 },
	{ "local QPN", 32, 0, 24 },
	{ "responder resources", 35, 0, 8 },
	{ "local EECN", 36, 0, 24 },
	{ "initiator depth", 39, 0, 8 },
	{ "remote EECN", 40, 0, 24 },
	{ "remote CM response timeout", 43, 0, 5 },
	{ "transport service type", 43, 5, 2 },
	{ "end-to-end flow control", 43, 7, 1 },
	{ "starting PSN", 44, 0, 24 },
	{ "local CM response timeout", 47, 0, 5 },
	{ "retry count", 47, 5, 3 },
	{ "partition key", 48, 0, 16 },
	{ "path packet payload MTU", 50, 0, 4 },
	{ "RDC exists", 50, 4, 1 },
	{ "RNR retry count", 50, 5, 3 },
	{ "max CM retries", 51, 0, 4 },
	{ "SRQ", 51, 4, 1 },
	{ "extended transport type", 51, 5, 3 },
	{ "primary local LID", 52, 0, 16 },
	{ "primary remote LID", 54, 0, 16 },
	{ "primary local GID", 56, 0, 128 },
	{ "primary remote GID", 72, 0, 128 },
	{ "primary flow label", 88, 0, 20 },
	{ "primary packet rate", 91, 2, 6 },
	{ "primary traffic class", 92, 0, 8 },
	{ "primary hop limit", 93, 0, 8 },
	{ "primary SL", 94, 0, 4 },
	{ "primary subnet local", 94, 4, 1 },
	{ "primary local ACK timeout", 95, 0, 5 },
	{ "alternate local LID", 96, 0, 16 },
	{ "alternate remote LID", 98, 0, 16 },
	{ "alternate local GID", 100, 0, 128 },
	{ "alternate remote GID", 116, 0, 128 },
	{ "alternate flow label", 132, 0, 20 },
	{ "alternate packet rate", 135, 2, 6 },
	{ "alternate traffic class", 136, 0, 8 },
	{ "alternate hop limit", 137, 0, 8 },
	{ "alternate SL", 138, 0, 4 },
	{ "alternate subnet local", 138, 4, 1 },
	{ "alternate local ACK timeout", 139, 0, 5 },
	/* A11: with IP addresses, the private data begins with these. */
	{ "IP major version", 140, 0, 4 },
	{ "IP minor version", 140, 4, 4 },
	{ "IP version", 141, 0, 4 },
	{ "IP source port", 142, 0, 16 },
	{ "IP source address", 144, 0, 128 },
	{ "IP destination address", 160, 0, 128 },
	{ "private data", 176, 0, 56 * 8 },
	{ NULL, 0, 0, 0 },
};

/* 12.6.6 */
static const struct field mra[] = {
	{ "local communication id", 0, 0, 32 }, { "remote communication id", 4, 0, 32 },
	{ "message MRAed", 8, 0, 2 },           { "service timeout", 9, 0, 5 },
	{ "private data", 10, 0, 222 * 8 },     { NULL, 0, 0, 0 },
};

/* 12.6.7 */
static const struct field rej[] = {
	{ "local communication id", 0, 0, 32 },
	{ "remote communication id", 4, 0, 32 },
	{ "message rejected", 8, 0, 2 },
	{ "reject info length", 9, 0, 7 },
	{ "reason", 10, 0, 16 },
	{ "additional reject information", 12, 0, 72 * 8 },
	{ "private data", 84, 0, 148 * 8 },
	{ NULL, 0, 0, 0 },
};

/* 12.6.8 */
static const struct field rep[] = {
	{ "local communication id", 0, 0, 32 },
	{ "remote communication id", 4, 0, 32 },
	{ "local Q_Key", 8, 0, 32 },
	{ "local QPN", 12, 0, 24 },
	/* Part of ECE, in three reserved places. */
	{ "vendor id, low", 15, 0, 8 },
	{ "local EE context number", 16, 0, 24 },
	{ "vendor id, middle", 19, 0, 8 },
	{ "starting PSN", 20, 0, 24 },
	{ "vendor id, high", 23, 0, 8 },
	{ "responder resources", 24, 0, 8 },
	{ "initiator depth", 25, 0, 8 },
	{ "target ACK delay", 26, 0, 5 },
	{ "failover accepted", 26, 5, 2 },
	{ "end-to-end flow control", 26, 7, 1 },
	{ "RNR retry count", 27, 0, 3 },
	{ "SRQ", 27, 3, 1 },
	{ "local CA GUID", 28, 0, 64 },
	{ "private data", 36, 0, 196 * 8 },
	{ NULL, 0, 0, 0 },
};

/* 12.6.9, and 12.6.11 of DREP */
static const struct field rtu_or_drep[] = {
	{ "local communication id", 0, 0, 32 },
	{ "remote communication id", 4, 0, 32 },
	{ "private data", 8, 0, 224 * 8 },
	{ NULL, 0, 0, 0 },
};

/* 12.6.10 */
static const struct field dreq[] = {
	{ "local communication id", 0, 0, 32 },
	{ "remote communication id", 4, 0, 32 },
	{ "remote QPN", 8, 0, 24 },
	{ "private data", 12, 0, 220 * 8 },
	{ NULL, 0, 0, 0 },
};

/* 12.11.1 */
static const struct field sidr_req[] = {
	{ "request id", 0, 0, 32 },
	{ "partition key", 4, 0, 16 },
	{ "service id", 8, 0, 64 },
	{ "IP major version", 16, 0, 4 },
	{ "IP minor version", 16, 4, 4 },
	{ "IP version", 17, 0, 4 },
	{ "IP source port", 18, 0, 16 },
	{ "IP source address", 20, 0, 128 },
	{ "IP destination address", 36, 0, 128 },
	{ "private data", 52, 0, 180 * 8 },
	{ NULL, 0, 0, 0 },
};

/* 12.11.2 */
static const struct field sidr_rep[] = {
	{ "request id", 0, 0, 32 },
	{ "status", 4, 0, 8 },
	{ "additional information length", 5, 0, 8 },
	/* Part of ECE: all but the low byte. */
	{ "vendor id, high", 6, 0, 16 },
	{ "QPN", 8, 0, 24 },
	{ "vendor id, low", 11, 0, 8 },
	{ "service id", 12, 0, 64 },
	{ "Q_Key", 20, 0, 32 },
	{ "additional information", 24, 0, 72 * 8 },
	{ "private data", 96, 0, 136 * 8 },
	{ NULL, 0, 0, 0 },
};

static const struct field *fields_of(enum layout_attribute attribute)
{
	switch (attribute) {
	case LAYOUT_REQ:
		return req;
	case LAYOUT_MRA:
		return mra;
	case LAYOUT_REJ:
		return rej;
	case LAYOUT_REP:
		return rep;
	case LAYOUT_RTU:
	case LAYOUT_DREP:
		return rtu_or_drep;
	case LAYOUT_DREQ:
		return dreq;
	case LAYOUT_SIDR_REQ:
		return sidr_req;
	case LAYOUT_SIDR_REP:
		return sidr_rep;
	}
	return header;
}

/* ---------------------------------------------------------------------- bits */

#define HEADER_BYTES 24u

static const struct field *find(const struct field *fields, const char *name)
{
	for (; fields->name; fields++)
		if (!strcmp(fields->name, name))
			return fields;
	return NULL;
}

/* Returns the number of the field's first bit, and its length in bits. */
static u32 place(const struct layout *layout, const char *name, u32 *bits)
{
	const struct field *field = find(fields_of(layout->attribute), name);
	u32 start = HEADER_BYTES;

	if (!field) {
		field = find(header, name);
		start = 0;
	}
	if (!field) {
		fail_msg("there is no field %s", name);
		abort();
	}
	*bits = field->bits;
	return (start + field->byte) * 8 + field->bit;
}

static u8 mask(u32 bit)
{
	return (u8)(0x80 >> bit % 8);
}

static void put_bit(u8 *bytes, u32 bit, bool value)
{
	bytes[bit / 8] = (u8)((bytes[bit / 8] & ~mask(bit)) | (value ? mask(bit) : 0));
}

static bool take_bit(struct layout *layout, u32 bit)
{
	layout->done[bit / 8] |= mask(bit);
	return layout->bytes[bit / 8] & mask(bit);
}

/* ------------------------------------------------------------------- writing */

void layout_set(struct layout *layout, const char *field, u64 value)
{
	u32 bits, first = place(layout, field, &bits);

	assert_true(bits <= 64 && (bits == 64 || value < 1ull << bits));
	for (u32 i = 0; i < bits; i++)
		put_bit(layout->bytes, first + i, value >> (bits - 1 - i) & 1);
}

void layout_set_bytes(struct layout *layout, const char *field, const void *bytes)
{
	u32 bits, first = place(layout, field, &bits);

	assert_true(first % 8 == 0 && bits % 8 == 0);
	memcpy(layout->bytes + first / 8, bytes, bits / 8);
}

void layout_begin(struct layout *layout, enum layout_attribute attribute, u64 tid)
{
	memset(layout, 0, sizeof(*layout));
	memset(layout->bytes, 0xff, sizeof(layout->bytes));
	layout->attribute = attribute;
	layout_set(layout, "base version", 1);
	layout_set(layout, "management class", 7);
	layout_set(layout, "class version", 2);
	layout_set(layout, "response", 0);
	layout_set(layout, "method", 3);
	layout_set(layout, "transaction id", tid);
	layout_set(layout, "attribute id", attribute);
}

void layout_hear(const struct layout *layout)
{
	struct mad mad;

	static_assert(sizeof(mad) == sizeof(layout->bytes), "a datagram");
	memcpy(&mad, layout->bytes, sizeof(mad));
	node_hear(&mad);
}

/* ------------------------------------------------------------------- reading */

u64 layout_get(struct layout *layout, const char *field)
{
	u32 bits, first = place(layout, field, &bits);
	u64 value = 0;

	assert_true(bits <= 64);
	for (u32 i = 0; i < bits; i++)
		value = value << 1 | take_bit(layout, first + i);
	return value;
}

void layout_expect(struct layout *layout, const char *field, u64 value)
{
	u64 found = layout_get(layout, field);

	if (found != value)
		fail_msg("%s: %llx in place of %llx", field, (unsigned long long)found,
			 (unsigned long long)value);
}

void layout_expect_bytes(struct layout *layout, const char *field, const void *bytes, u32 length)
{
	u32 bits, first = place(layout, field, &bits);

	assert_true(first % 8 == 0 && length <= bits / 8);
	if (memcmp(layout->bytes + first / 8, bytes, length) != 0)
		fail_msg("%s: other bytes", field);
	for (u32 i = 0; i < bits; i++)
		if (take_bit(layout, first + i) && i / 8 >= length)
			fail_msg("%s: more than %u bytes", field, length);
}

static void expect_zero_bits(struct layout *layout, const struct field *field)
{
	u32 first = (HEADER_BYTES + field->byte) * 8 + field->bit;

	for (u32 i = 0; i < field->bits; i++)
		if (take_bit(layout, first + i))
			fail_msg("%s: not zero", field->name);
}

void layout_expect_zero(struct layout *layout, const char *fields)
{
	const struct field *field = fields_of(layout->attribute);
	u32 count = 0;

	for (; field->name; field++)
		if (!strncmp(field->name, fields, strlen(fields))) {
			expect_zero_bits(layout, field);
			count++;
		}
	assert_true(count);
}

void layout_said(struct layout *layout, enum layout_attribute attribute)
{
	struct mad mad;

	assert_true(node_said(&mad));
	memset(layout, 0, sizeof(*layout));
	memcpy(layout->bytes, &mad, sizeof(mad));
	layout->attribute = attribute;
	layout_expect(layout, "base version", 1);
	layout_expect(layout, "management class", 7);
	layout_expect(layout, "class version", 2);
	layout_expect(layout, "response", 0);
	layout_expect(layout, "method", 3);
	/* SIDR_REP has a field of that name, too. */
	assert_int_equal(mad.byte[4] << 8 | mad.byte[5], 0);
	layout->done[4] = layout->done[5] = 0xff;
	layout_expect(layout, "class specific", 0);
	layout_expect(layout, "attribute id", attribute);
}

static bool is_reserved(const struct field *field, u32 start, u32 bit)
{
	for (; field->name; field++) {
		u32 first = (start + field->byte) * 8 + field->bit;

		if (bit >= first && bit < first + field->bits)
			return false;
	}
	return true;
}

void layout_end(const struct layout *layout)
{
	const struct field *fields = fields_of(layout->attribute);

	for (u32 bit = 0; bit < sizeof(layout->bytes) * 8; bit++) {
		if (layout->done[bit / 8] & mask(bit))
			continue;
		if (!is_reserved(header, 0, bit) || !is_reserved(fields, HEADER_BYTES, bit))
			fail_msg("byte %u, bit %u: nobody has read it", bit / 8, bit % 8);
		if (layout->bytes[bit / 8] & mask(bit))
			fail_msg("byte %u, bit %u: reserved, and not zero", bit / 8, bit % 8);
	}
}
