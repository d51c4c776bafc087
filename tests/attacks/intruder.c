// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An attacker with UDP sockets, as an ordinary user, against a node of another user.
 *
 *   attack_intruder ATTACK VICTIM PEER GID PEER-GID QPN PEER-QPN RKEY ADDR [KEY]
 *
 * VICTIM and PEER are the link addresses of two nodes that communicate. The other arguments are
 * what their programs exchange. KEY is the file of the nodes' key: with it, the attacker is a
 * hostile member of their group. Prints the received frames as lines "<kind> <count>". Exit
 * status 0: the attack was executed, whatever its result; 1: it could not be.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../usermode/platform/link.h"

#define FIRST_ATTACKER 0x7fc80101u
#define CLAIMS 300

struct attack {
	union link_address victim, peer;
	u8 gid[16], peer_gid[16];
	u32 qpn, peer_qpn, rkey;
	u64 addr;
	bool member;
	struct link_memory *link;
	int sock;
};

static u64 bytes_sent, bytes_back, count_back[8];
static u64 buffer[VNET_WIRE_MAX_FRAME / sizeof(u64)];
static struct vnet_frame *const head = (struct vnet_frame *)buffer;

static void stop(const char *what)
{
	perror(what);
	exit(1);
}

static union link_address address_of(u32 ip, unsigned int port)
{
	union link_address address;

	memset(&address, 0, sizeof(address));
	address.in.sin_family = AF_INET;
	address.in.sin_port = htons((u16)port);
	address.in.sin_addr.s_addr = htonl(ip);
	return address;
}

static void from_text(const char *text, union link_address *address)
{
	*address = address_of(0, VNET_WIRE_PORT);
	if (inet_pton(AF_INET, text, &address->in.sin_addr) != 1)
		exit(1);
}

static void be_at(struct attack *a, u32 ip)
{
	a->link->own = address_of(ip, VNET_WIRE_PORT);
	a->sock = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (a->sock < 0 || bind(a->sock, &a->link->own.any, sizeof(a->link->own.in)) < 0)
		stop("bind");
}

/* ---------------------------------------------------------------------- frames */

static void begin(u8 kind, u64 life, u64 its_life)
{
	memset(buffer, 0, 512);
	head->magic = htole16(VNET_WIRE_MAGIC);
	head->version = VNET_WIRE_VERSION;
	head->kind = kind;
	head->src_incarnation = htole64(life);
	head->dst_incarnation = htole64(its_life);
	head->src_row = htole32(3);
	head->dst_row = htole32(~0u);
}

/* Sends the frame with a CRC or a MAC, by the group's key or a random one. */
static void send_frame(struct attack *a, u32 length, u8 proof)
{
	head->crc = 0;
	head->proof = proof;
	length = link_seal(a->link, &a->victim, (u8 *)buffer, length);
	if (sendto(a->sock, buffer, length, 0, &a->victim.any, sizeof(a->victim.in)) < 0 &&
	    errno != EAGAIN)
		stop("sendto");
	bytes_sent += length;
}

/*
 * Receives frames until none comes for `ms`. Copies the last WELCOME to `buffer`; returns true
 * if there was one.
 */
static bool listen_for(struct attack *a, int ms)
{
	struct pollfd pfd = { .fd = a->sock, .events = POLLIN };
	static u8 frame[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	bool welcome = false;
	ssize_t n;

	while (poll(&pfd, 1, ms) > 0) {
		n = recv(a->sock, frame, sizeof(frame), 0);
		if (n < (ssize_t)sizeof(*head))
			continue;
		bytes_back += (u64)n;
		count_back[((struct vnet_frame *)frame)->kind % 8]++;
		if (((struct vnet_frame *)frame)->kind != VNET_FRAME_WELCOME)
			continue;
		memcpy(buffer, frame, (size_t)n);
		welcome = true;
		if (a->member)
			break;
	}
	return welcome;
}

static u32 make_hello(const u8 *gid, const struct attack *a, u64 life, u64 its_life,
		      const u8 *cookie)
{
	struct vnet_frame_hello *hello = (struct vnet_frame_hello *)(head + 1);

	begin(VNET_FRAME_HELLO, life, its_life);
	memcpy(hello->src_gid, gid, 16);
	memcpy(hello->dst_gid, a->gid, 16);
	hello->payload = htole32(1024);
	hello->window = htole32(65536);
	memset(hello->nonce, 0x33, sizeof(hello->nonce));
	if (cookie)
		memcpy(hello->cookie, cookie, sizeof(hello->cookie));
	return sizeof(*head) + sizeof(*hello);
}

/* Sends HELLO with this GID. Returns true if the victim has created a row for it. */
static bool meet(struct attack *a, const u8 *gid, u64 life)
{
	const struct vnet_frame_hello *answer = (const struct vnet_frame_hello *)(head + 1);
	u8 cookie[VNET_WIRE_COOKIE_SIZE];
	u64 its_life;

	send_frame(a, make_hello(gid, a, life, 0, NULL), VNET_PROOF_MAC);
	if (!listen_for(a, a->member ? 1000 : 50))
		return false;
	memcpy(cookie, answer->cookie, sizeof(cookie));
	its_life = le64toh(head->src_incarnation);
	send_frame(a, make_hello(gid, a, life, its_life, cookie), VNET_PROOF_MAC);
	return listen_for(a, a->member ? 200 : 50) && head->src_row != htole32(~0u);
}

static u32 request(const struct attack *a, u8 opcode, u32 psn)
{
	struct vnet_frame_op *op = (struct vnet_frame_op *)(head + 1);
	bool read = opcode == VNET_WR_RDMA_READ;

	begin(VNET_FRAME_DATA, 1, 1);
	head->payload_len = htole16(read ? 0 : 64);
	*op = (struct vnet_frame_op){
		.seq = htole32(psn + 1),
		.opcode = opcode,
		.flags = VNET_OP_FIRST | VNET_OP_LAST,
		.qp_type = NIC_QPT_RC,
		.src_qpn = htole32(a->peer_qpn),
		.dst_qpn = htole32(a->qpn),
		.psn = htole32(psn),
		.msg_len = htole32(64),
		.read_len = htole32(read ? 64 : 0),
		.remote_addr = htole64(a->addr),
		.rkey = htole32(a->rkey),
	};
	memset(op + 1, 0xee, 64);
	return (u32)(sizeof(*head) + sizeof(*op)) + (read ? 0 : 64);
}

/* --------------------------------------------------------------------- attacks */

/* Claims to be the peer with a later incarnation, then sends RDMA writes and reads. */
static void take_over(struct attack *a)
{
	struct timespec now;
	u64 life;

	clock_gettime(CLOCK_REALTIME, &now);
	life = (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
	for (u32 i = 0; i < 20; i++)
		(void)meet(a, a->peer_gid, life + i);
	for (u32 i = 0; i < 2000; i++) {
		u32 length = request(a, i % 2 ? VNET_WR_RDMA_READ : VNET_WR_RDMA_WRITE, i / 2);

		head->dst_row = htole32((u32)random() << 16);
		head->src_row = htole32((u32)random() << 16);
		randombytes_buf(head->secret, i % 3 ? sizeof(head->secret) : 0);
		send_frame(a, length, i % 5 == 4 ? VNET_PROOF_MAC : VNET_PROOF_SECRET);
	}
}

/* Tries to bind to the peer's address. */
static void spoof(struct attack *a)
{
	int sock = socket(AF_INET, SOCK_DGRAM, 0), one = 1;

	(void)setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	(void)setsockopt(sock, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	if (bind(sock, &a->peer.any, sizeof(a->peer.in)) == 0)
		puts("bound 1");
	close(sock);
}

/* Sends HELLO for many NICs that do not exist. */
static void exhaust(struct attack *a)
{
	u8 gid[16];

	memcpy(gid, a->peer_gid, sizeof(gid));
	for (u32 i = 0; i < CLAIMS; i++) {
		gid[13] = (u8)(i >> 8 | 0x40);
		gid[14] = (u8)i;
		if (a->member && meet(a, gid, 1000 + i))
			continue;
		send_frame(a, make_hello(gid, a, 1000 + i, 0, NULL), VNET_PROOF_MAC);
	}
}

/* Sends datagrams with a controlled Q_Key to queue pair 1, and Ethernet frames. */
static void privileged(struct attack *a)
{
	struct vnet_frame_op *op = (struct vnet_frame_op *)(head + 1);
	u32 length = sizeof(*head) + sizeof(*op) + VNET_GRH_SIZE + 256;

	for (u32 i = 0; i < 200; i++) {
		begin(VNET_FRAME_DATA, 1, 1);
		head->payload_len = htole16(VNET_GRH_SIZE + 256);
		*op = (struct vnet_frame_op){
			.seq = htole32(i + 1),
			.opcode = VNET_WR_SEND,
			.flags = VNET_OP_FIRST | VNET_OP_LAST,
			.qp_type = i % 2 ? NIC_QPT_RAW_PACKET : NIC_QPT_UD,
			.src_qpn = htole32(77),
			.dst_qpn = htole32(i % 2 ? VNET_WIRE_GROUP_QPN : 1),
			.msg_len = htole32(VNET_GRH_SIZE + 256),
			.read_len = htole32(0x80010000),
		};
		send_frame(a, length, i % 4 < 2 ? VNET_PROOF_SECRET : VNET_PROOF_MAC);
	}
}

/* The victim must not answer with more bytes than it receives. */
static void reflect(struct attack *a)
{
	for (u32 i = 0; i < 500; i++) {
		send_frame(a, make_hello(a->peer_gid, a, i + 1, 0, NULL), VNET_PROOF_MAC);
		if (i % 50 == 0)
			(void)listen_for(a, 20);
	}
}

static const struct {
	const char *name;
	void (*run)(struct attack *a);
} attacks[] = {
	{ "takeover", take_over },    { "spoof", spoof },     { "exhaust", exhaust },
	{ "privileged", privileged }, { "reflect", reflect },
};

static void read_key(struct link_keys *keys, const char *path)
{
	u8 secret[4096];
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd < 0 ? 0 : read(fd, secret, sizeof(secret));

	if (path && n < 1)
		stop(path);
	if (!path)
		randombytes_buf(secret, (size_t)(n = 32));
	link_key_derive(&keys->key[0], secret, (size_t)n);
	keys->n = 1;
}

int main(int argc, char **argv)
{
	static const char *const kinds[8] = { "other", "hello",  "welcome", "data",
					      "ack",   "refuse", "other",   "other" };
	static struct link_memory link;
	static struct link_keys keys;
	struct attack a = { .link = &link };

	if (argc < 10 || sodium_init() < 0)
		return 1;
	from_text(argv[2], &a.victim);
	from_text(argv[3], &a.peer);
	if (inet_pton(AF_INET6, argv[4], a.gid) != 1 ||
	    inet_pton(AF_INET6, argv[5], a.peer_gid) != 1)
		return 1;
	a.qpn = (u32)strtoul(argv[6], NULL, 10);
	a.peer_qpn = (u32)strtoul(argv[7], NULL, 10);
	a.rkey = (u32)strtoul(argv[8], NULL, 10);
	a.addr = strtoull(argv[9], NULL, 10);
	a.member = argc > 10;
	read_key(&keys, a.member ? argv[10] : NULL);
	link_keys_set(&link, &keys);
	be_at(&a, FIRST_ATTACKER + (u32)getpid() % 200);
	for (u32 i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		if (strcmp(argv[1], attacks[i].name) != 0)
			continue;
		attacks[i].run(&a);
		a.member = false;
		(void)listen_for(&a, 300);
		for (i = 0; i < 8; i++)
			if (count_back[i])
				printf("%s %llu\n", kinds[i], (unsigned long long)count_back[i]);
		printf("sent %llu\nback %llu\n", (unsigned long long)bytes_sent,
		       (unsigned long long)bytes_back);
		return 0;
	}
	return 1;
}
