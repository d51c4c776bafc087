// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The victim of attacks: a program that detects changes of its memory and connection.
 *
 *   attack_victim OWN PEER
 *
 * Writes its address to the file OWN ("qpn gid rkey addr"), connects to the queue pair whose
 * address is in PEER, and executes the lines of standard input, each answered by "ok" or
 * "wrong":
 *
 *   check   is the memory unchanged?
 *   talk    writes to the peer's memory, beyond the checked part, and reads it back
 *
 * Ends at the end of the input.
 */
#include <arpa/inet.h>
#include <unistd.h>

#include "side.h"

#define SECRET_BYTES 4096u
#define MARK 0x5ec4e7u
#define TALK 8192u

static void write_address(const char *path, const struct address *own)
{
	char fresh[4096], gid[INET6_ADDRSTRLEN];
	FILE *out;

	snprintf(fresh, sizeof(fresh), "%s.new", path);
	out = fopen(fresh, "w");
	CHECK(out && inet_ntop(AF_INET6, own->gid.raw, gid, sizeof(gid)));
	fprintf(out, "%u %s %u %llu\n", own->qpn, gid, own->rkey, (unsigned long long)own->addr);
	CHECK(fclose(out) == 0 && rename(fresh, path) == 0);
}

static struct address read_address(const char *path)
{
	struct address peer = { 0 };
	unsigned long long addr;
	char gid[INET6_ADDRSTRLEN];
	FILE *in;

	/* Waits for the peer's file. The test has a time limit. */
	while (!(in = fopen(path, "r")))
		usleep(10000);
	CHECK(fscanf(in, "%u %45s %u %llu", &peer.qpn, gid, &peer.rkey, &addr) == 4);
	fclose(in);
	peer.addr = addr;
	CHECK(inet_pton(AF_INET6, gid, peer.gid.raw) == 1);
	return peer;
}

static bool is_well(struct side *s)
{
	struct ibv_wc wc;

	/* Also checks that there is no completion. */
	return is_filled(s->buffer, SECRET_BYTES, MARK) && ibv_poll_cq(s->cq, 1, &wc) == 0 &&
	       side_state(s) == IBV_QPS_RTS;
}

static bool talks(struct side *s)
{
	fill(s->buffer + TALK, 64, 77);
	side_post(s, IBV_WR_RDMA_WRITE, 1, TALK, 64);
	side_expect(s, 1, IBV_WC_SUCCESS);
	memset(s->buffer + TALK, 0, 64);
	side_post(s, IBV_WR_RDMA_READ, 2, TALK, 64);
	side_expect(s, 2, IBV_WC_SUCCESS);
	return is_filled(s->buffer + TALK, 64, 77);
}

int main(int argc, char **argv)
{
	struct wish wish = { .timeout = 16 };
	struct address own, peer;
	struct side s;
	char line[64];

	if (argc != 3)
		return 2;
	side_open(&s, &wish);
	fill(s.buffer, SECRET_BYTES, MARK);
	own = side_address(&s);
	write_address(argv[1], &own);
	peer = read_address(argv[2]);
	side_connect(&s, &peer);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		bool good = line[0] == 't' ? talks(&s) : is_well(&s);

		puts(good ? "ok" : "wrong");
		fflush(stdout);
	}
	return 0;
}
