// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The subnet management class: attributes of the node and its port (IB vol 1, chapter 14).
 * No attribute can be set: vnetd has configured all that a subnet manager would configure.
 */
#include <unistd.h>

#include "daemon.h"
#include "link/lid.h"
#include "inside.h"

#define DATA_SIZE 64u
#define PKEYS_A_BLOCK 32u

enum attribute {
	NODE_DESCRIPTION = 0x10,
	NODE_INFO = 0x11,
	GUID_INFO = 0x14,
	PORT_INFO = 0x15,
	PKEY_TABLE = 0x16,
};

static void put8(struct mad *mad, u32 at, u32 value)
{
	mad->byte[UMAD_DATA + at] = (u8)value;
}

static void put16(struct mad *mad, u32 at, u32 value)
{
	mad_put16(mad, UMAD_DATA + at, value);
}

static void put32(struct mad *mad, u32 at, u32 value)
{
	mad_put32(mad, UMAD_DATA + at, value);
}

static void put_guid(struct mad *mad, u32 at, const u8 guid[8])
{
	memcpy(mad->byte + UMAD_DATA + at, guid, 8);
}

/* Port GUID: the second half of GID 0. */
static const u8 *port_guid(const struct device *device)
{
	return device->gid[0] + 8;
}

/* As in sysfs, truncated. */
static u32 node_description(const struct device *device, struct mad *mad)
{
	char text[DATA_SIZE + 2 + sizeof(device->name)] = "localhost";
	size_t length;

	(void)!gethostname(text, DATA_SIZE);
	text[DATA_SIZE] = '\0';
	strcat(strcat(text, " "), device->name);
	length = strlen(text);
	memcpy(mad->byte + UMAD_DATA, text, length < DATA_SIZE ? length : DATA_SIZE);
	return 0;
}

static u32 node_info(const struct device *device, struct mad *mad)
{
	enum { CHANNEL_ADAPTER = 1 };

	put8(mad, 0, MAD_BASE_VERSION);
	put8(mad, 1, UMAD_CLASS_VERSION);
	put8(mad, 2, CHANNEL_ADAPTER);
	put8(mad, 3, 1);
	put_guid(mad, 4, device->node_guid);
	put_guid(mad, 12, device->node_guid);
	put_guid(mad, 20, port_guid(device));
	put16(mad, 28, DEVICE_PKEYS);
	put16(mad, 30, DEVICE_PART_ID);
	put32(mad, 32, DEVICE_HW_REV);
	/* Port number, and 24-bit vendor id. */
	put32(mad, 36, 1u << 24 | DEVICE_VENDOR_ID);
	return 0;
}

static u32 guid_info(const struct device *device, struct mad *mad)
{
	if (mad_get32(mad, MAD_MODIFIER))
		return UMAD_STATUS_BAD_VALUE;
	put_guid(mad, 0, port_guid(device));
	return 0;
}

static u32 port_info(const struct device *device, struct mad *mad)
{
	enum {
		X4 = 2,
		QDR = 4,
		TO_QDR = 7,
		EDR = 2,
		ACTIVE = 4,
		DOWN = 1,
		LINK_UP = 5,
		DISABLED = 3,
		MTU_4096 = 5
	};
	bool up = device->daemon ? !device->daemon->faults.down : true;

	if (mad_get32(mad, MAD_MODIFIER) > 1)
		return UMAD_STATUS_BAD_VALUE;
	memcpy(mad->byte + UMAD_DATA + 8, device->gid[0], 8);
	put16(mad, 16, device->lid);
	put16(mad, 18, LID_SUBNET_MANAGER);
	put32(mad, 20, device_cap_mask(device));
	/* Local port; width enabled, supported, active. */
	put32(mad, 28, 1u << 24 | X4 << 16 | X4 << 8 | X4);
	put8(mad, 32, TO_QDR << 4 | (up ? ACTIVE : DOWN));
	put8(mad, 33, (up ? LINK_UP : DISABLED) << 4 | 2);
	put8(mad, 35, QDR << 4 | TO_QDR);
	put8(mad, 36, MTU_4096 << 4);
	/* One virtual lane. */
	put8(mad, 37, 1 << 4);
	put8(mad, 41, MTU_4096);
	put8(mad, 43, 1 << 4);
	put8(mad, 50, 1);
	put8(mad, 62, EDR << 4 | EDR);
	put8(mad, 63, EDR);
	return 0;
}

static u32 pkey_table(const struct device *device, struct mad *mad)
{
	(void)device;
	if (mad_get32(mad, MAD_MODIFIER) & 0xffff)
		return UMAD_STATUS_BAD_VALUE;
	static_assert(DEVICE_PKEYS == 1 && DEVICE_PKEYS <= PKEYS_A_BLOCK, "the default one");
	put16(mad, 0, 0xffff);
	return 0;
}

static u32 answer(const struct device *device, struct mad *mad)
{
	u8 method = mad->byte[MAD_METHOD];

	if (mad->byte[MAD_CLASS_VERSION] != UMAD_CLASS_VERSION)
		return UMAD_STATUS_BAD_VERSION;
	if (method != MAD_METHOD_GET && method != MAD_METHOD_SET)
		return UMAD_STATUS_NO_METHOD;
	if (method == MAD_METHOD_SET)
		return UMAD_STATUS_NO_ATTRIBUTE;
	memset(mad->byte + UMAD_DATA, 0, DATA_SIZE);
	switch (mad_get16(mad, MAD_ATTRIBUTE)) {
	case NODE_DESCRIPTION:
		return node_description(device, mad);
	case NODE_INFO:
		return node_info(device, mad);
	case GUID_INFO:
		return guid_info(device, mad);
	case PORT_INFO:
		return port_info(device, mad);
	case PKEY_TABLE:
		return pkey_table(device, mad);
	default:
		return UMAD_STATUS_NO_ATTRIBUTE;
	}
}

void subnet_answer(const struct device *device, struct mad *mad)
{
	u32 status = answer(device, mad);

	if (mad->byte[MAD_CLASS] == MAD_CLASS_DIRECTED)
		status |= UMAD_STATUS_DIRECTION;
	mad_put16(mad, MAD_STATUS, status);
	mad->byte[MAD_METHOD] = MAD_METHOD_GET_RESPONSE;
}
