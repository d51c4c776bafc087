// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Measures the one-way latency of TCP between two processes on the loopback interface. */
#include "pingpong.h"
#include "sockets.h"

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose = "Two processes play ping-pong over TCP on the loopback interface,\n"
			   "each asleep until the other's message comes: one-way time.",
		.takes = BENCH_ITERS | BENCH_SIZE | BENCH_CPUS | BENCH_SPIN,
		.max_size = PINGPONG_MAX_SIZE,
	};
	struct bench_options opt = { .iters = 20000, .size = 2, .cpu = { -1, -1 } };
	int fds[2];

	bench_parse(argc, argv, &prog, &opt);
	if (tcp_pair(fds))
		return 1;
	return pingpong_run(&opt, fds);
}
