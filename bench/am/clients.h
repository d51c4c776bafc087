/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A job of one server, rank 0, and several clients; measures the request rate of each client. */
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
	int rank, n; /* number of clients, which are ranks 1 to n */
	unsigned int window;
	uint64_t run_ns;
	/* The server's endpoint for each client. Valid on all ranks after clients_meet(). */
	en_t name[CLIENTS_MAX];
};

/*
 * The whole program: parses the command line, joins the job, runs @serve on the server,
 * lets the clients send for some time, and prints the rate of each client.
 */
int clients_run(int argc, char **argv, const struct bench_program *prog,
		void (*serve)(struct clients *c));
/*
 * Allocates an endpoint that accepts all messages. The caller sets its handlers, with the
 * numbers above.
 */
ep_t clients_endpoint(struct clients *c, eb_t bundle, en_t *name);
/* Collective: distributes the server's endpoint names. */
void clients_meet(struct clients *c);
/* Ends the job if @err is not AM_OK. */
void clients_check(struct clients *c, const char *what, int err);

#endif
