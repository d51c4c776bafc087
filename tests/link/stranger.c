// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * link_stranger: sends one frame to a node's link, valid except for one error.
 *
 *   link_stranger FROM TO PORT WHAT [KEY [TIMES]]
 * FROM and TO are IPv4 addresses; WHAT: empty, short, garbage, version, old (an earlier one),
 * crc, field, code (of an acknowledgement), hello, welcome, data, group, ack, truncated. With
 * KEY, a key file (empty: none), the frame gets a MAC by it; WHAT may then also be mac (a wrong
 * MAC), or moved (as if it came from another address). Without KEY, all kinds except hello and
 * welcome claim the secret 0. The same bytes are sent TIMES times (1).
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../usermode/platform/link.h"

static union link_address address_of(const char *text, unsigned int port)
{
	union link_address address;

	memset(&address, 0, sizeof(address));
	address.in.sin_family = AF_INET;
	address.in.sin_port = htons((u16)port);
	if (inet_pton(AF_INET, text, &address.in.sin_addr) != 1)
		exit(2);
	return address;
}

static void gid_of(const union link_address *address, u8 gid[16])
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, &address->in.sin_addr, 4);
}

/* A packet to a queue pair or a group. */
static u32 make_data(struct vnet_frame *frame, bool group)
{
	frame->kind = VNET_FRAME_DATA;
	frame->dst_incarnation = 815;
	*(struct vnet_frame_op *)(frame + 1) = (struct vnet_frame_op){
		.opcode = VNET_WR_SEND,
		.flags = VNET_OP_FIRST | VNET_OP_LAST,
		.qp_type = group ? NIC_QPT_UD : NIC_QPT_RC,
		.src_qpn = 17,
		.dst_qpn = group ? VNET_WIRE_GROUP_QPN : 8192,
		.msg_len = group ? VNET_GRH_SIZE : 0,
	};
	frame->payload_len = group ? VNET_GRH_SIZE : 0;
	return (u32)(sizeof(*frame) + sizeof(struct vnet_frame_op)) + frame->payload_len;
}

static u32 make_ack(struct vnet_frame *frame, u8 code)
{
	frame->kind = VNET_FRAME_ACK;
	frame->dst_incarnation = 815;
	frame->nacks = 1;
	*(struct vnet_frame_ack *)(frame + 1) = (struct vnet_frame_ack){ .seq = 1, .code = code };
	return sizeof(*frame) + sizeof(struct vnet_frame_ack);
}

static u32 make_frame(u8 *bytes, const char *what, bool sealed, const union link_address *from,
		      const union link_address *to)
{
	struct vnet_frame *frame = (void *)bytes;
	struct vnet_frame_hello *hello = (void *)(frame + 1);
	u32 length = sizeof(*frame) + sizeof(*hello);

	frame->magic = VNET_WIRE_MAGIC;
	frame->version = VNET_WIRE_VERSION;
	frame->kind = VNET_FRAME_HELLO;
	frame->src_incarnation = 4711;
	gid_of(from, hello->src_gid);
	gid_of(to, hello->dst_gid);
	hello->payload = 1024;
	hello->window = 65536;
	if (!strcmp(what, "welcome"))
		frame->kind = VNET_FRAME_WELCOME;
	if (!strcmp(what, "data") || !strcmp(what, "group") || !strcmp(what, "truncated"))
		length = make_data(frame, what[0] == 'g');
	if (!strcmp(what, "ack") || !strcmp(what, "code"))
		length = make_ack(frame, what[0] == 'c' ? VNET_RETURN_DROPPED + 1 : VNET_ACK_DONE);
	if (!strcmp(what, "version"))
		frame->version = VNET_WIRE_VERSION + 1;
	if (!strcmp(what, "old"))
		frame->version = VNET_WIRE_VERSION - 1;
	if (!strcmp(what, "field"))
		frame->kind = 99;
	if (!strcmp(what, "truncated"))
		length -= 8;
	if (!sealed && strcmp(what, "hello") != 0 && strcmp(what, "welcome") != 0)
		frame->proof = VNET_PROOF_SECRET;
	frame->crc = plat_crc32c(0, bytes, length);
	if (!strcmp(what, "crc"))
		frame->crc ^= 1;
	if (!strcmp(what, "garbage"))
		memset(bytes, 0xa5, length);
	if (!strcmp(what, "short"))
		length = 7;
	return strcmp(what, "empty") ? length : 0;
}

static u32 seal(u8 *bytes, u32 length, const char *what, const char *file, u32 port,
		const union link_address *from, const union link_address *to)
{
	static struct link_memory memory;
	struct link_keys keys = { .n = 1 };
	u8 secret[4096];
	int fd = open(file, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, secret, sizeof(secret));

	if (n < 1)
		exit(2);
	link_key_derive(&keys.key[0], secret, (size_t)n);
	link_keys_set(&memory, &keys);
	memory.own = *from;
	memory.own.in.sin_port = htons((u16)port);
	if (!strcmp(what, "moved"))
		memory.own.in.sin_addr.s_addr ^= htonl(1);
	length = link_seal(&memory, to, bytes, length);
	if (!strcmp(what, "mac"))
		bytes[length - 1] ^= 0x80;
	return length;
}

int main(int argc, char **argv)
{
	static u8 bytes[4096] __attribute__((aligned(64)));
	union link_address from, to;
	socklen_t size = sizeof(from.in);
	int sock, times;
	u32 length;

	if (argc < 5)
		return 2;
	times = argc > 6 ? atoi(argv[6]) : 1;
	from = address_of(argv[1], 0);
	to = address_of(argv[2], (unsigned int)atoi(argv[3]));
	sock = socket(AF_INET, SOCK_DGRAM, 0);
	if (sock < 0 || bind(sock, &from.any, sizeof(from.in)) < 0 ||
	    getsockname(sock, &from.any, &size) < 0)
		return 1;
	length = make_frame(bytes, argv[4], argc > 5 && argv[5][0], &from, &to);
	if (argc > 5 && argv[5][0])
		length = seal(bytes, length, argv[4], argv[5], ntohs(from.in.sin_port), &from, &to);
	while (times-- > 0)
		if (sendto(sock, bytes, length, 0, &to.any, sizeof(to.in)) < 0)
			return 1;
	close(sock);
	return 0;
}
