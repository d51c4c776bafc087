/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The parameters of LogP, by the method of Culler, Liu, Martin and Yoshikawa
 * ("Assessing Fast Network Interfaces", 1996), for anything that sends requests
 * and gets them answered.
 */
#ifndef VNET_BENCH_LOGP_H
#define VNET_BENCH_LOGP_H

#include <stdbool.h>

/*
 * What is measured. All return 0, or a value that ends the measurement.
 * Times count from the call to its return: what a request has to wait for is
 * part of it.
 */
struct logp_subject {
	/* Sends a request, waiting for room if need be. @answer: it will be answered. */
	int (*send)(void *arg, bool answer);
	/* Looks once for answers. */
	int (*poll)(void *arg);
	/* Waits until nothing is outstanding. */
	int (*drain)(void *arg);
	void *arg;
	unsigned int window; /* requests that send() can take before it waits */
};

/*
 * Measures about @messages of each kind and prints "name_ns value" lines; with
 * @curves also "burst M delay_ns ns_per_message" lines: the time per message in
 * bursts of M with such a delay after each.
 */
int logp_measure(const struct logp_subject *subject, unsigned long messages, bool curves);

#endif
