/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Measures the LogP parameters of a transport that sends requests and receives answers.
 *
 * The method is that of Culler, Liu, Martin and Yoshikawa ("Assessing Fast Network
 * Interfaces", 1996).
 */
#ifndef VNET_BENCH_LOGP_H
#define VNET_BENCH_LOGP_H

#include <stdbool.h>

/*
 * The transport. All functions return 0, or a value that ends the measurement. A call is measured
 * until it returns, including its waits.
 */
struct logp_subject {
	/* Sends a request, waiting for room if necessary. @answer: the request will be answered. */
	int (*send)(void *arg, bool answer);
	/* Polls once for answers. */
	int (*poll)(void *arg);
	/* Waits until nothing is outstanding. */
	int (*drain)(void *arg);
	void *arg;
	unsigned int window; /* number of requests that send() accepts before it waits */
};

/*
 * Measures about @messages of each kind and prints lines "name_ns value". With @curves,
 * also prints lines "burst M delay_ns ns_per_message": the time per message in bursts of M,
 * with such a delay after each message.
 */
int logp_measure(const struct logp_subject *subject, unsigned long messages, bool curves);

#endif
