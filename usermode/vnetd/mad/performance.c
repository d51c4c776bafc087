// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The performance management class: reads and clears port counters (IB vol 1, 16.1). They are
 * those of sysfs.
 */
#include "inside.h"
#include "sysfs/sysfs.h"

#define DATA_SIZE 192u
#define ALL_PORTS 0xffu

enum attribute {
	CLASS_PORT_INFO = 0x01,
	PORT_COUNTERS = 0x12,
	PORT_COUNTERS_EXTENDED = 0x1d,
};

/* Capability mask of ClassPortInfo. */
enum {
	CAPABLE_OF_ALL_PORTS = 1 << 8,
	CAPABLE_OF_EXTENDED = 1 << 9,
};

/* Fields of both counter attributes. */
enum { PORT_SELECT = 1, COUNTER_SELECT = 2 };

/* A counter's offset, width, and its bit in CounterSelect. */
struct place {
	const char *name;
	u32 at, bits, select;
};

/* Counters that share a byte are always zero, and are left out. */
static const struct place plain[] = {
	{ "symbol_error", 4, 16, 0 },
	{ "link_error_recovery", 6, 8, 1 },
	{ "link_downed", 7, 8, 2 },
	{ "port_rcv_errors", 8, 16, 3 },
	{ "port_rcv_remote_physical_errors", 10, 16, 4 },
	{ "port_rcv_switch_relay_errors", 12, 16, 5 },
	{ "port_xmit_discards", 14, 16, 6 },
	{ "port_xmit_constraint_errors", 16, 8, 7 },
	{ "port_rcv_constraint_errors", 17, 8, 8 },
	{ "VL15_dropped", 22, 16, 11 },
	{ "port_xmit_data", 24, 32, 12 },
	{ "port_rcv_data", 28, 32, 13 },
	{ "port_xmit_packets", 32, 32, 14 },
	{ "port_rcv_packets", 36, 32, 15 },
};

static const struct place extended[] = {
	{ "port_xmit_data", 8, 64, 0 },          { "port_rcv_data", 16, 64, 1 },
	{ "port_xmit_packets", 24, 64, 2 },      { "port_rcv_packets", 32, 64, 3 },
	{ "unicast_xmit_packets", 40, 64, 4 },   { "unicast_rcv_packets", 48, 64, 5 },
	{ "multicast_xmit_packets", 56, 64, 6 }, { "multicast_rcv_packets", 64, 64, 7 },
};

static void put(struct mad *mad, const struct place *place, u64 value)
{
	u64 fits = counter_saturated(value, place->bits);

	for (u32 i = 0; i < place->bits / 8; i++)
		mad->byte[UMAD_DATA + place->at + i] = (u8)(fits >> (place->bits - 8 - 8 * i));
}

static u64 value_of(const struct counter *counters, u32 count, const char *name)
{
	for (u32 i = 0; i < count; i++)
		if (!strcmp(counters[i].name, name))
			return counters[i].value;
	return 0;
}

static void clear(struct device *device, u16 select, const struct place *places, u32 nplaces)
{
	const char *names[MOST_COUNTERS];
	u32 nnames = 0;

	for (u32 i = 0; i < nplaces; i++)
		if (select >> places[i].select & 1)
			names[nnames++] = places[i].name;
	port_counters_clear(device, names, nnames);
}

static u32 counters_answer(struct device *device, struct mad *mad, const struct place *places,
			   u32 nplaces)
{
	struct counter counters[MOST_COUNTERS];
	u8 port = mad->byte[UMAD_DATA + PORT_SELECT];
	u16 select = mad_get16(mad, UMAD_DATA + COUNTER_SELECT);
	u32 count;

	if (port != 1 && port != ALL_PORTS)
		return UMAD_STATUS_BAD_VALUE;
	if (mad->byte[MAD_METHOD] == MAD_METHOD_SET)
		clear(device, select, places, nplaces);
	count = port_counters_read(device, counters);
	memset(mad->byte + UMAD_DATA, 0, DATA_SIZE);
	mad->byte[UMAD_DATA + PORT_SELECT] = port;
	mad_put16(mad, UMAD_DATA + COUNTER_SELECT, select);
	for (u32 i = 0; i < nplaces; i++)
		put(mad, &places[i], value_of(counters, count, places[i].name));
	return 0;
}

static u32 class_port_info(struct mad *mad)
{
	if (mad->byte[MAD_METHOD] != MAD_METHOD_GET)
		return UMAD_STATUS_NO_ATTRIBUTE;
	memset(mad->byte + UMAD_DATA, 0, DATA_SIZE);
	mad->byte[UMAD_DATA] = MAD_BASE_VERSION;
	mad->byte[UMAD_DATA + 1] = UMAD_CLASS_VERSION;
	mad_put16(mad, UMAD_DATA + 2, CAPABLE_OF_ALL_PORTS | CAPABLE_OF_EXTENDED);
	return 0;
}

static u32 answer(struct device *device, struct mad *mad)
{
	u8 method = mad->byte[MAD_METHOD];

	if (mad->byte[MAD_CLASS_VERSION] != UMAD_CLASS_VERSION)
		return UMAD_STATUS_BAD_VERSION;
	if (method != MAD_METHOD_GET && method != MAD_METHOD_SET)
		return UMAD_STATUS_NO_METHOD;
	switch (mad_get16(mad, MAD_ATTRIBUTE)) {
	case CLASS_PORT_INFO:
		return class_port_info(mad);
	case PORT_COUNTERS:
		return counters_answer(device, mad, plain, ARRAY_SIZE(plain));
	case PORT_COUNTERS_EXTENDED:
		return counters_answer(device, mad, extended, ARRAY_SIZE(extended));
	default:
		return UMAD_STATUS_NO_ATTRIBUTE;
	}
}

void performance_answer(struct device *device, struct mad *mad)
{
	mad_put16(mad, MAD_STATUS, answer(device, mad));
	mad->byte[MAD_METHOD] = MAD_METHOD_GET_RESPONSE;
}
