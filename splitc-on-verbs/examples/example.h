/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared code of the examples: options, pseudo-random numbers, clock, and check of results. */
#ifndef SPLITC_EXAMPLE_H
#define SPLITC_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct example_option {
	const char *name, *help;
	long *value; /* contains the default, and receives the value */
	long min, max;
	/* if not NULL: the option is one of these words, and the value is its index */
	const char *const *words;
};

/*
 * Parses --NAME VALUE for each of @options, which ends with an entry without a name. Exits
 * for --help, and with status 2 for an unknown option or an invalid value. Called before
 * splitc_init(), so that --help needs no job.
 */
void example_options(int argc, char **argv, const char *purpose,
		     const struct example_option *options);

/* A pseudo-random number, always the same for the same @n. */
uint64_t example_random(uint64_t n);

void *example_malloc(size_t count, size_t size);

/* Collective: waits for all, then starts the clock. */
void example_start(void);
/* Collective: waits for all, then returns the seconds since example_start(). */
double example_stop(void);

/*
 * Collective: processor 0 prints both times. @right: whether this processor found the
 * result right. If it is false on any, the program ends with an error.
 */
void example_verdict(const char *what, double seconds, double sequential_seconds, bool right);

#endif
