// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An ordinary user's UDP socket sends frames to a device in the name of another device. Both
 * devices are on this machine; the frames come before these two communicate, and while they do.
 * The device accepts no frame, creates or changes no row, keeps memory and traffic intact, and
 * counts each frame by the reason of its rejection.
 *
 *   kernel_impostor DEVICE PEER
 *
 * If the caller has CAP_NET_RAW, the impostor reads one frame of the peer. It then knows
 * incarnations, rows and sequence numbers, and lacks the secret only.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../usermode/platform/link.h"
#include "../faults/side.h"

/* Frames of each kind that are sent in a row. */
#define TIMES 40
#define GID_INDEX 1
#define SECRET_BYTES 4096u
#define TALK 8192u
#define VICTIM_MARK 0x5ec4e7u
#define PEER_MARK 0x0eeeu
/* ID of the key that devices of one machine share: kernel/vnet_ib/link/keys.c */
#define COMMON_KEY 1u

struct party {
	const char *device;
	struct side side;
	struct address address;
};

static struct party victim, peer;
static union link_address to;
static struct link_memory memory;
static int sock, sniffer;

/* The frame that is being built; and a frame of the peer, if one was read. */
static u64 bytes[VNET_WIRE_MAX_FRAME / sizeof(u64)];
static struct vnet_frame *const head = (struct vnet_frame *)bytes;
static u64 seen_bytes[64];
static const struct vnet_frame *const seen = (const struct vnet_frame *)seen_bytes;
static bool has_seen;
static u32 heard;

/* --------------------------------------------------------------------- counters */

static u64 number_in(const char *device, const char *folder, const char *name)
{
	char path[256];
	unsigned long long value;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s/%s", device, folder, name);
	file = fopen(path, "r");
	CHECK(file && fscanf(file, "%llu", &value) == 1);
	fclose(file);
	return value;
}

static u64 counter(const char *name)
{
	return number_in(victim.device, "ports/1/hw_counters", name);
}

static u64 rows(void)
{
	return number_in(victim.device, "link", "rows") + number_in(peer.device, "link", "rows");
}

static void await_counter(const char *name, u64 least, const char *what)
{
	u64 since = now_ns();

	while (counter(name) < least) {
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("%s: %s is %llu, not %llu", what, name,
			     (unsigned long long)counter(name), (unsigned long long)least);
		usleep(10000);
	}
}

/* ---------------------------------------------------------------- the two devices */

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = MADE(ibv_open_device(list[i]));
	ibv_free_device_list(list);
	return context;
}

static void open_party(struct party *p, const char *device, u32 mark)
{
	struct wish wish = { .timeout = 16, .gid_index = GID_INDEX };

	p->device = device;
	wish.context = open_named(device);
	side_open(&p->side, &wish);
	p->address = side_address(&p->side);
	fill(p->side.buffer, SECRET_BYTES, mark);
}

static void check_memory(void)
{
	CHECK(is_filled(victim.side.buffer, SECRET_BYTES, VICTIM_MARK));
	CHECK(is_filled(peer.side.buffer, SECRET_BYTES, PEER_MARK));
}

static void write_and_read(struct side *s, u32 mark)
{
	fill(s->buffer + TALK, 64, mark);
	side_post(s, IBV_WR_RDMA_WRITE, 1, TALK, 64);
	side_expect(s, 1, IBV_WC_SUCCESS);
	memset(s->buffer + TALK, 0, 64);
	side_post(s, IBV_WR_RDMA_READ, 2, TALK, 64);
	side_expect(s, 2, IBV_WC_SUCCESS);
	CHECK(is_filled(s->buffer + TALK, 64, mark));
}

static void talk(void)
{
	static u32 mark = 100;

	write_and_read(&peer.side, mark++);
	write_and_read(&victim.side, mark++);
	check_memory();
}

/* ---------------------------------------------------------------- the impostor */

static struct in_addr ip_of(const struct party *p)
{
	struct in_addr ip;

	CHECK(IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)p->address.gid.raw));
	memcpy(&ip, p->address.gid.raw + 12, sizeof(ip));
	return ip;
}

static void open_sockets(void)
{
	struct sockaddr_ll loopback = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	socklen_t size = sizeof(memory.own.in);

	to.in.sin_family = AF_INET;
	to.in.sin_port = htons(VNET_WIRE_PORT);
	to.in.sin_addr = ip_of(&victim);
	memory.own.in.sin_family = AF_INET;
	memory.own.in.sin_addr = ip_of(&peer);
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	CHECK(sock >= 0 && bind(sock, &memory.own.any, size) == 0 &&
	      getsockname(sock, &memory.own.any, &size) == 0);
	/* The impostor has the peer's address, but another port. */
	CHECK(memory.own.in.sin_port != to.in.sin_port);
	loopback.sll_ifindex = (int)if_nametoindex("lo");
	sniffer = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(ETH_P_IP));
	if (sniffer >= 0)
		CHECK_EQ(bind(sniffer, (struct sockaddr *)&loopback, sizeof(loopback)), 0);
}

/* Reads a data frame of the peer from the loopback device. */
static void sniff(void)
{
	static u8 packet[65536] __attribute__((aligned(8)));
	const struct iphdr *ip = (const struct iphdr *)packet;
	const struct udphdr *udp = (const struct udphdr *)(ip + 1);
	const struct vnet_frame *frame = (const struct vnet_frame *)(udp + 1);
	struct in_addr from = ip_of(&peer);

	while (sniffer >= 0 && recv(sniffer, packet, sizeof(packet), 0) > 0) {
		if (ip->protocol != IPPROTO_UDP || udp->dest != to.in.sin_port ||
		    ip->saddr != from.s_addr || frame->kind != VNET_FRAME_DATA ||
		    frame->proof != VNET_PROOF_SECRET || frame->nacks)
			continue;
		memcpy(seen_bytes, frame, sizeof(struct vnet_frame) + sizeof(struct vnet_frame_op));
		has_seen = true;
	}
}

/*
 * Checks the answers of the device: only refusals, which contain no incarnation and are not
 * longer than a HELLO.
 */
static void hear_refusals(void)
{
	static struct vnet_frame answer[2];
	ssize_t n;

	while ((n = recv(sock, answer, sizeof(answer), MSG_TRUNC)) > 0) {
		CHECK((size_t)n <= sizeof(struct vnet_frame) + sizeof(struct vnet_frame_hello));
		CHECK_EQ(answer[0].kind, VNET_FRAME_REFUSE);
		CHECK_EQ(answer[0].src_incarnation, 0);
		heard++;
	}
}

/* ---------------------------------------------------------------- false frames */

static void begin(u8 kind, u8 proof)
{
	memset(bytes, 0, 1024);
	head->magic = htole16(VNET_WIRE_MAGIC);
	head->version = VNET_WIRE_VERSION;
	head->kind = kind;
	head->proof = proof;
	head->src_incarnation = htole64(now_ns() | 1ull << 62);
	head->dst_row = htole32(NIC_NONE);
	head->src_row = htole32(0x10000);
}

/* With the incarnations and rows of the frame that was read. */
static void begin_as_seen(u8 kind, u8 proof)
{
	begin(kind, proof);
	head->src_incarnation = seen->src_incarnation;
	head->dst_incarnation = seen->dst_incarnation;
	head->dst_row = seen->dst_row;
	head->src_row = seen->src_row;
}

static u32 hello(void)
{
	struct vnet_frame_hello *body = (struct vnet_frame_hello *)(head + 1);

	memcpy(body->src_gid, peer.address.gid.raw, sizeof(body->src_gid));
	memcpy(body->dst_gid, victim.address.gid.raw, sizeof(body->dst_gid));
	body->payload = htole32(1024);
	body->window = htole32(65536);
	memset(body->nonce, 0x33, sizeof(body->nonce));
	return sizeof(*head) + sizeof(*body);
}

/* An RDMA write to the victim's memory, with the sequence number of the peer's next packet. */
static u32 packet(u32 i)
{
	struct vnet_frame_op *op = (struct vnet_frame_op *)(head + 1);
	const struct vnet_frame_op *last = (const struct vnet_frame_op *)(seen + 1);

	head->payload_len = htole16(64);
	*op = (struct vnet_frame_op){
		.seq = htole32(le32toh(last->seq) + 1 + i),
		.channel = last->channel,
		.opcode = VNET_WR_RDMA_WRITE,
		.flags = VNET_OP_FIRST | VNET_OP_LAST,
		.qp_type = IBV_QPT_RC,
		.src_qpn = htole32(peer.address.qpn),
		.dst_qpn = htole32(victim.address.qpn),
		.psn = htole32(le32toh(last->psn) + 1 + i),
		.msg_len = htole32(64),
		.remote_addr = htole64(victim.address.addr),
		.rkey = htole32(victim.address.rkey),
	};
	memset(op + 1, 0xee, 64);
	return (u32)(sizeof(*head) + sizeof(*op)) + 64;
}

static u32 answer(void)
{
	struct vnet_frame_ack *ack = (struct vnet_frame_ack *)(head + 1);

	head->nacks = 1;
	*ack = (struct vnet_frame_ack){ .seq = htole32(1), .code = VNET_ACK_DONE };
	return sizeof(*head) + sizeof(*ack);
}

static u32 tell_call(u32 i)
{
	begin(VNET_FRAME_HELLO, VNET_PROOF_MAC);
	return hello();
}

static u32 tell_call_unproven(u32 i)
{
	begin(VNET_FRAME_HELLO, i % 2 ? VNET_PROOF_NONE : VNET_PROOF_SECRET);
	return hello();
}

static u32 tell_welcome_unproven(u32 i)
{
	begin(VNET_FRAME_WELCOME, i % 2 ? VNET_PROOF_NONE : VNET_PROOF_SECRET);
	return hello();
}

static u32 tell_welcome(u32 i)
{
	begin(VNET_FRAME_WELCOME, VNET_PROOF_MAC);
	return hello();
}

static u32 tell_packet_blind(u32 i)
{
	begin(VNET_FRAME_DATA, VNET_PROOF_SECRET);
	head->dst_incarnation = htole64(i);
	return packet(i);
}

/* No room for a MAC, and in some cases none for a header. */
static u32 tell_short(u32 i)
{
	begin(VNET_FRAME_HELLO, VNET_PROOF_MAC);
	return (u32)sizeof(*head) + 8 - i;
}

/* The row number has other random bits. */
static u32 tell_packet_astray(u32 i)
{
	begin_as_seen(VNET_FRAME_DATA, VNET_PROOF_SECRET);
	head->dst_row ^= htole32((1 + i) << 16);
	return packet(i);
}

static u32 tell_packet_without(u32 i)
{
	begin_as_seen(VNET_FRAME_DATA, i % 2 ? VNET_PROOF_NONE : VNET_PROOF_SECRET);
	return packet(i);
}

static u32 tell_packet_with(u32 i)
{
	begin_as_seen(VNET_FRAME_DATA, VNET_PROOF_SECRET);
	randombytes_buf(head->secret, sizeof(head->secret));
	return packet(i);
}

static u32 tell_packet_mac(u32 i)
{
	begin_as_seen(VNET_FRAME_DATA, VNET_PROOF_MAC);
	return packet(i);
}

static u32 tell_answer(u32 i)
{
	begin_as_seen(VNET_FRAME_ACK, i % 2 ? VNET_PROOF_NONE : VNET_PROOF_SECRET);
	return answer();
}

static u32 tell_refusal(u32 i)
{
	begin_as_seen(VNET_FRAME_REFUSE, VNET_PROOF_NONE);
	return hello();
}

enum sealing {
	/* A valid CRC, whatever proof the frame announces. */
	SEAL_CRC,
	/* A MAC by a key of the impostor, with another ID. */
	SEAL_OWN,
	/* A MAC by a key of the impostor, with the ID of the devices' common key. */
	SEAL_NUMBER,
	/* Neither a CRC nor a MAC. */
	SEAL_NONE,
};

static const struct lie {
	const char *what;
	u32 (*tell)(u32 i);
	enum sealing sealing;
	/* Needs a frame of the peer. */
	bool seen;
	/* The counter that the frame increases. */
	const char *counter;
} lies[] = {
	{ "a call with a CRC", tell_call, SEAL_CRC, false, "link_unknown_key" },
	{ "a call with no proof", tell_call_unproven, SEAL_CRC, false, "bad_proof" },
	{ "a call by a key of one's own", tell_call, SEAL_OWN, false, "link_unknown_key" },
	{ "a call by a key of that number", tell_call, SEAL_NUMBER, false, "link_bad_mac" },
	{ "a call that is too short", tell_short, SEAL_NONE, false, "link_no_mac" },
	{ "an answer with a CRC", tell_welcome, SEAL_CRC, false, "link_unknown_key" },
	{ "an answer with no proof", tell_welcome_unproven, SEAL_CRC, false, "bad_proof" },
	{ "an answer by a key of one's own", tell_welcome, SEAL_OWN, false, "link_unknown_key" },
	{ "a packet to any life", tell_packet_blind, SEAL_CRC, false, "bad_incarnation" },
	{ "a packet to any row", tell_packet_astray, SEAL_CRC, true, "bad_row" },
	{ "a packet with no secret", tell_packet_without, SEAL_CRC, true, "bad_proof" },
	{ "a packet with any secret", tell_packet_with, SEAL_CRC, true, "bad_proof" },
	{ "a packet by a key of one's own", tell_packet_mac, SEAL_OWN, true, "link_unknown_key" },
	{ "a packet by a key of that number", tell_packet_mac, SEAL_NUMBER, true, "link_bad_mac" },
	{ "an acknowledgement with no secret", tell_answer, SEAL_CRC, true, "bad_proof" },
	{ "a refusal", tell_refusal, SEAL_CRC, true, "bad_row" },
};

static void use_key(u32 id)
{
	struct link_keys keys = { .n = 1 };

	keys.key[0].id = id;
	link_keys_set(&memory, &keys);
}

static void send_lie(const struct lie *lie, u32 i)
{
	u32 length = lie->tell(i);

	if (lie->sealing == SEAL_CRC)
		nic_frame_set_crc(bytes, length);
	else if (lie->sealing != SEAL_NONE)
		length = link_seal(&memory, &to, (u8 *)bytes, length);
	CHECK(length && sendto(sock, bytes, length, 0, &to.any, sizeof(to.in)) == (ssize_t)length);
}

static void tell_lie(const struct lie *lie, bool talks)
{
	u64 before = counter(lie->counter), all = rows();

	use_key(lie->sealing == SEAL_NUMBER ? COMMON_KEY : (u32)random() | 2);
	for (u32 i = 0; i < TIMES; i++) {
		send_lie(lie, i);
		if (talks && i % 8 == 4)
			talk();
	}
	await_counter(lie->counter, before + TIMES, lie->what);
	hear_refusals();
	check_memory();
	if (talks)
		talk();
	if (rows() != all)
		FAIL("%s: there are %llu rows, and were %llu", lie->what,
		     (unsigned long long)rows(), (unsigned long long)all);
}

static void tell_lies(bool talks)
{
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		if (!lies[i].seen || has_seen)
			tell_lie(&lies[i], talks);
}

int main(int argc, char **argv)
{
	u64 refused;

	CHECK(argc == 3 && geteuid() != 0 && sodium_init() >= 0);
	open_party(&victim, argv[1], VICTIM_MARK);
	open_party(&peer, argv[2], PEER_MARK);
	open_sockets();
	refused = counter("refusals_sent");
	tell_lies(false);
	CHECK(heard && counter("refusals_sent") >= refused + TIMES);
	side_connect(&victim.side, &peer.address);
	side_connect(&peer.side, &victim.address);
	talk();
	sniff();
	note("%s of the peer's packets", has_seen ? "knows one" : "knows none");
	tell_lies(true);
	CHECK(side_state(&victim.side) == IBV_QPS_RTS && side_state(&peer.side) == IBV_QPS_RTS);
	side_close(&victim.side);
	side_close(&peer.side);
	return 0;
}
