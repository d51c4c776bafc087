/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A job of one server, rank 0, and clients: who sends to whom, and what came of it. */
#ifndef VNET_BENCH_CLIENTS_H
#define VNET_BENCH_CLIENTS_H

#include <am.h>
#include <stdbool.h>
#include <stdint.h>

#include "job.h"
#include "options.h"

#define CLIENTS_MAX 32

enum { CLIENTS_REQUEST = 1, CLIENTS_END, CLIENTS_ANSWER };

struct clients {
	struct job *job;
	int rank, n; /* n clients, ranks 1 to n */
	unsigned int window;
	uint64_t run_ns;
	/* The server's endpoints by client; clients put theirs first. */
	en_t name[CLIENTS_MAX];
};

/*
 * A whole program: reads the command line, joins the job, lets the server @serve and the
 * clients send for some time, and prints what each of them has reached.
 */
int clients_run(int argc, char **argv, const struct bench_program *prog,
		void (*serve)(struct clients *c));
/* An endpoint that takes all, with handler numbers as above set by the caller. */
ep_t clients_endpoint(struct clients *c, eb_t bundle, en_t *name);
/* Everybody calls it: the server's names are everybody's then. */
void clients_meet(struct clients *c);
/* Ends the job if @err is not AM_OK. */
void clients_check(struct clients *c, const char *what, int err);

#endif
