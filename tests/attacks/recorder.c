// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An attacker on the cable between two machines: records frames, and sends them again. It can
 * send any Ethernet frame, but has no key.
 *
 *   attack_recorder INTERFACE FRAMES
 *
 * Records FRAMES IPv4 frames of the links, in both directions, and prints "recorded". Then it
 * executes the lines of standard input, and answers each with "done" and the number of frames
 * sent:
 *
 *   again   sends all frames unchanged to their destinations
 *   back    sends all frames back to their senders, in the name of the other end
 *   bent    sends all frames with one bit changed, a different one in each
 *
 * Frames for the end of the cable at which it runs are left out: they would leave by the other
 * end.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../abi/vnet_wire.h"

#define LONGEST 10240

struct packet {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	unsigned char frame[LONGEST];
} __attribute__((packed));

struct record {
	size_t length;
	struct packet *packet;
};

static int sock;
static unsigned char own[ETH_ALEN];

static void stop(const char *what)
{
	perror(what);
	exit(1);
}

static void open_interface(const char *name)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(name),
	};
	socklen_t size = sizeof(at);
	int bytes = 8 << 20;

	sock = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	if (sock < 0 || !at.sll_ifindex || bind(sock, (void *)&at, sizeof(at)) < 0)
		stop(name);
	if (getsockname(sock, (void *)&at, &size) < 0)
		stop("getsockname");
	memcpy(own, at.sll_addr, sizeof(own));
	(void)setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

static int is_ours(const struct packet *p, ssize_t n)
{
	return n > (ssize_t)offsetof(struct packet, frame) && p->eth.h_proto == htons(ETH_P_IP) &&
	       p->ip.ihl == 5 && p->ip.protocol == IPPROTO_UDP &&
	       p->udp.uh_dport == htons(VNET_WIRE_PORT);
}

static void record(struct record *records, size_t count)
{
	static struct packet p;
	size_t n = 0;

	while (n < count) {
		ssize_t length = recv(sock, &p, sizeof(p), 0);

		if (length < 0)
			stop("recv");
		if (!is_ours(&p, length))
			continue;
		/*
		 * Frames on a veth may not have a checksum yet. A checksum of 0 means none, and
		 * is valid.
		 */
		p.udp.uh_sum = 0;
		records[n].length = (size_t)length;
		records[n].packet = malloc((size_t)length);
		if (!records[n].packet)
			stop("malloc");
		memcpy(records[n++].packet, &p, (size_t)length);
	}
}

static void turn_round(struct packet *p)
{
	unsigned char hardware[ETH_ALEN];
	unsigned short port = p->udp.uh_sport;
	unsigned int address = p->ip.saddr;

	memcpy(hardware, p->eth.h_source, sizeof(hardware));
	memcpy(p->eth.h_source, p->eth.h_dest, sizeof(hardware));
	memcpy(p->eth.h_dest, hardware, sizeof(hardware));
	/* The header checksum is a sum, so it remains valid. */
	p->ip.saddr = p->ip.daddr;
	p->ip.daddr = address;
	p->udp.uh_sport = p->udp.uh_dport;
	p->udp.uh_dport = port;
}

/* Flips a bit of the vnet frame, including its header and trailer. */
static void bend(struct packet *p, size_t length, size_t i)
{
	size_t bytes = length - offsetof(struct packet, frame);

	p->frame[i * 7 % bytes] ^= (unsigned char)(1 << i % 8);
}

static size_t send_all(const struct record *records, size_t count, const char *how)
{
	static struct packet p;
	size_t went = 0;

	for (size_t i = 0; i < count; i++) {
		memcpy(&p, records[i].packet, records[i].length);
		if (!strcmp(how, "back"))
			turn_round(&p);
		if (!strcmp(how, "bent"))
			bend(&p, records[i].length, i);
		if (!memcmp(p.eth.h_dest, own, sizeof(own)))
			continue;
		went += send(sock, &p, records[i].length, 0) == (ssize_t)records[i].length;
	}
	return went;
}

int main(int argc, char **argv)
{
	size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	struct record *records = calloc(count + 1, sizeof(*records));
	char line[16];

	if (!count || !records) {
		free(records);
		return 2;
	}
	open_interface(argv[1]);
	puts("ready");
	fflush(stdout);
	record(records, count);
	puts("recorded");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		printf("done %zu\n", send_all(records, count, line));
		fflush(stdout);
	}
	for (size_t i = 0; i < count; i++)
		free(records[i].packet);
	free(records);
	return 0;
}
