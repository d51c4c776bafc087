// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Encoder for netlink messages and attributes. */
#include <string.h>

#include "inside.h"

/* Reserves zeroed bytes in the datagram. Returns NULL if they do not fit. */
static void *reserve(struct netlink_message *message, u32 length)
{
	u32 whole = NLMSG_ALIGN(length);
	u8 *at = message->bytes + message->length;

	if (message->full || whole > sizeof(message->bytes) - message->length) {
		message->full = true;
		return NULL;
	}
	memset(at, 0, whole);
	message->length += whole;
	return at;
}

void netlink_begin(struct netlink_message *message, u32 type, u32 flags, u32 seq, u32 port)
{
	u32 start = message->length;
	struct nlmsghdr *header = reserve(message, NLMSG_HDRLEN);

	if (!header)
		return;
	message->start = start;
	header->nlmsg_type = (u16)type;
	header->nlmsg_flags = (u16)flags;
	header->nlmsg_seq = seq;
	header->nlmsg_pid = port;
}

void netlink_end(struct netlink_message *message)
{
	struct nlmsghdr *header = (void *)(message->bytes + message->start);

	header->nlmsg_len = message->length - message->start;
}

void netlink_cut(struct netlink_message *message, u32 length)
{
	message->length = length;
	message->full = false;
}

void netlink_put(struct netlink_message *message, u32 type, const void *data, u32 length)
{
	struct nlattr *attr = reserve(message, NLA_HDRLEN + length);

	if (!attr)
		return;
	attr->nla_type = (u16)type;
	attr->nla_len = (u16)(NLA_HDRLEN + length);
	if (length)
		memcpy((u8 *)attr + NLA_HDRLEN, data, length);
}

void netlink_put_u8(struct netlink_message *message, u32 type, u8 value)
{
	netlink_put(message, type, &value, sizeof(value));
}

void netlink_put_u32(struct netlink_message *message, u32 type, u32 value)
{
	netlink_put(message, type, &value, sizeof(value));
}

void netlink_put_u64(struct netlink_message *message, u32 type, u64 value)
{
	netlink_put(message, type, &value, sizeof(value));
}

void netlink_put_string(struct netlink_message *message, u32 type, const char *text)
{
	netlink_put(message, type, text, (u32)strlen(text) + 1);
}

u32 netlink_nest(struct netlink_message *message, u32 type)
{
	u32 nest = message->length;

	netlink_put(message, type, NULL, 0);
	return nest;
}

void netlink_nest_end(struct netlink_message *message, u32 nest)
{
	struct nlattr *attr = (void *)(message->bytes + nest);

	if (!message->full)
		attr->nla_len = (u16)(message->length - nest);
}
