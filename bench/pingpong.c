// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "pingpong.h"

#include "measure.h"
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct pingpong {
	const struct bench_options *opt;
	const int *fds;
	char *buf;
	int flags; /* for recv(): 0, or MSG_DONTWAIT to poll */
};

static unsigned long rounds(const struct bench_options *opt)
{
	return opt->iters + opt->iters / 10 + 1; /* including warm-up */
}

static int send_message(const struct pingpong *p, int fd)
{
	size_t done = 0;

	while (done < p->opt->size) {
		ssize_t n = send(fd, p->buf + done, p->opt->size - done, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR) {
			perror("send");
			return -1;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int recv_message(const struct pingpong *p, int fd)
{
	size_t done = 0;

	while (done < p->opt->size) {
		ssize_t n = recv(fd, p->buf + done, p->opt->size - done, p->flags);

		if (!n) {
			fprintf(stderr, "recv: the peer is gone\n");
			return -1;
		}
		if (n < 0 && errno != EINTR && errno != EAGAIN) {
			perror("recv");
			return -1;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int server(struct pair *pair, void *arg)
{
	const struct pingpong *p = arg;

	(void)pair;
	for (unsigned long i = rounds(p->opt); i; i--)
		if (recv_message(p, p->fds[1]) || send_message(p, p->fds[1]))
			return 1;
	return 0;
}

static int round_trips(const struct pingpong *p, uint64_t *samples)
{
	unsigned long warmup = rounds(p->opt) - p->opt->iters;

	for (unsigned long i = 0; i < rounds(p->opt); i++) {
		uint64_t start = now_ns();

		if (send_message(p, p->fds[0]) || recv_message(p, p->fds[0]))
			return -1;
		if (i >= warmup)
			samples[i - warmup] = now_ns() - start;
	}
	return 0;
}

static int client(struct pair *pair, void *arg)
{
	const struct pingpong *p = arg;
	unsigned long n = p->opt->iters;
	uint64_t *samples = calloc(n, sizeof(*samples));
	int ret = 1;

	(void)pair;
	if (!samples) {
		perror("calloc");
		return 1;
	}
	if (round_trips(p, samples))
		goto out;

	printf("one_way_average_usec %.3f\n", average(samples, n) / 2e3);
	printf("one_way_median_usec %.3f\n", percentile(samples, n, 50) / 2e3);
	printf("one_way_p99_usec %.3f\n", percentile(samples, n, 99) / 2e3);
	ret = 0;
out:
	free(samples);
	return ret;
}

int pingpong_run(const struct bench_options *opt, const int fds[2])
{
	struct pingpong p = {
		.opt = opt,
		.fds = fds,
		.buf = calloc(1, opt->size),
		.flags = opt->spin ? MSG_DONTWAIT : 0,
	};
	int ret;

	if (!p.buf) {
		perror("calloc");
		return 1;
	}
	ret = pair_run(opt, server, client, &p);
	free(p.buf);
	return ret;
}
