// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Measures the bandwidth of TCP between two processes on the loopback interface. */
#include "measure.h"
#include "options.h"
#include "pair.h"
#include "sockets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

struct stream {
	const struct bench_options *opt;
	int fds[2];
	char *buf;
};

static int server(struct pair *pair, void *arg)
{
	const struct stream *s = arg;
	unsigned long long left = (unsigned long long)s->opt->iters * s->opt->size;

	while (left) {
		ssize_t n = recv(s->fds[1], s->buf, s->opt->size, 0);

		if (!n || (n < 0 && errno != EINTR)) {
			fprintf(stderr, "the stream ended early\n");
			return 1;
		}
		left -= n > 0 ? (unsigned long long)n : 0;
	}
	return pair_post(pair) ? 1 : 0;
}

static int send_message(const struct stream *s)
{
	size_t done = 0;

	while (done < s->opt->size) {
		ssize_t n = send(s->fds[0], s->buf, s->opt->size - done, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR) {
			perror("send");
			return -1;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The measurement ends when the server has received all data, not when the last send() returns. */
static int client(struct pair *pair, void *arg)
{
	const struct stream *s = arg;
	uint64_t start = now_ns();
	double bytes = (double)s->opt->iters * (double)s->opt->size;

	for (unsigned long i = 0; i < s->opt->iters; i++)
		if (send_message(s))
			return 1;
	if (pair_await(pair))
		return 1;
	printf("bandwidth_mib_per_sec %.1f\n",
	       bytes / (double)(now_ns() - start) * 1e9 / (1 << 20));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose = "One process streams messages to another over TCP on the loopback\n"
			   "interface: bandwidth until the last byte has been read.",
		.takes = BENCH_ITERS | BENCH_SIZE | BENCH_CPUS,
		.max_size = 1u << 30,
	};
	struct bench_options opt = { .iters = 20000, .size = 65536, .cpu = { -1, -1 } };
	struct stream s = { .opt = &opt };

	bench_parse(argc, argv, &prog, &opt);
	if (tcp_pair(s.fds))
		return 1;
	s.buf = calloc(1, opt.size);
	if (!s.buf) {
		perror("calloc");
		return 1;
	}
	return pair_run(&opt, server, client, &s);
}
