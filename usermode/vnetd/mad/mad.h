/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Layout of management datagrams (IB vol 1, 13.4), access to fields in network order, and the server
 * of umad files. Offsets are from the start of the MAD. inside.h has what the files of this room have
 * in common.
 *
 * Calls clients, link, sysfs and uverbs, and cm, with which it shares queue pair 1.
 */
#ifndef MAD_MAD_H
#define MAD_MAD_H

#include <stdbool.h>
#include <string.h>

#include "clients/clients.h"
#include "device.h"

#define MAD_SIZE 256
#define MAD_BASE_VERSION 1

/* Fields of the header. The first four are bytes. */
enum {
	MAD_VERSION = 0,
	MAD_CLASS = 1,
	MAD_CLASS_VERSION = 2,
	MAD_METHOD = 3,
	MAD_STATUS = 4,
	MAD_TID = 8,
	MAD_ATTRIBUTE = 16,
	MAD_MODIFIER = 20,
	MAD_HEADER_SIZE = 24,
};

enum mad_class {
	MAD_CLASS_SUBNET = 0x01,
	MAD_CLASS_PERFORMANCE = 0x04,
	MAD_CLASS_CM = 0x07,
	MAD_CLASS_DIRECTED = 0x81,
};

enum mad_method {
	MAD_METHOD_GET = 0x01,
	MAD_METHOD_SET = 0x02,
	MAD_METHOD_SEND = 0x03,
	MAD_METHOD_TRAP_REPRESS = 0x07,
	MAD_METHOD_GET_RESPONSE = 0x81,
	/* Response bit. */
	MAD_METHOD_RESPONSE = 0x80,
};

struct mad {
	u8 byte[MAD_SIZE];
};

static inline u16 mad_get16(const struct mad *mad, u32 at)
{
	return (u16)(mad->byte[at] << 8 | mad->byte[at + 1]);
}

static inline u32 mad_get24(const struct mad *mad, u32 at)
{
	return (u32)mad->byte[at] << 16 | mad_get16(mad, at + 1);
}

static inline u32 mad_get32(const struct mad *mad, u32 at)
{
	return (u32)mad_get16(mad, at) << 16 | mad_get16(mad, at + 2);
}

static inline u64 mad_get64(const struct mad *mad, u32 at)
{
	return (u64)mad_get32(mad, at) << 32 | mad_get32(mad, at + 4);
}

static inline void mad_put16(struct mad *mad, u32 at, u32 value)
{
	mad->byte[at] = (u8)(value >> 8);
	mad->byte[at + 1] = (u8)value;
}

static inline void mad_put24(struct mad *mad, u32 at, u32 value)
{
	mad->byte[at] = (u8)(value >> 16);
	mad_put16(mad, at + 1, value);
}

static inline void mad_put32(struct mad *mad, u32 at, u32 value)
{
	mad_put16(mad, at, value >> 16);
	mad_put16(mad, at + 2, value);
}

static inline void mad_put64(struct mad *mad, u32 at, u64 value)
{
	mad_put32(mad, at, (u32)(value >> 32));
	mad_put32(mad, at + 4, (u32)value);
}

/* Classes of queue pair 0 (SMPs). */
static inline bool mad_is_subnet(u8 class)
{
	return class == MAD_CLASS_SUBNET || class == MAD_CLASS_DIRECTED;
}

static inline bool mad_is_response(const struct mad *mad)
{
	return mad->byte[MAD_METHOD] & MAD_METHOD_RESPONSE ||
	       mad->byte[MAD_METHOD] == MAD_METHOD_TRAP_REPRESS;
}

/* ---------------------------------------------------- umad files: file.c, route.c */

/* Initialises the umad part of an accepted FILE connection. Returns 0 or -errno. */
int umad_file_open(struct file *file);
void umad_file_close(struct file *file);
/* umad_write() sends a datagram; umad_ioctl() executes a struct vnet_umad_ioctl. */
enum call_outcome umad_write(struct call *call);
enum call_outcome umad_ioctl(struct call *call);
/* Resends or ends requests whose timeout has expired. Returns the time of the next call. */
u64 umad_run(u64 now);
/* Handles a MAD that this port received from LID `from`. */
void umad_arrive(struct device *device, u16 from, const struct mad *mad);

#endif /* MAD_MAD_H */
