/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the examples share: their options, numbers drawn by lot, clock and verdict. */
#ifndef SPLITC_EXAMPLE_H
#define SPLITC_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct example_option {
	const char *name, *help;
	long *value; /* the default, until another is given */
	long min, max;
	const char *const *words; /* if not NULL: it is given as one of these, and is its index */
};

/*
 * Takes --NAME VALUE for each of the @options, whose last has no name. Exits for
 * --help, and with 2 for what is no option or out of range. Comes before
 * splitc_init(): who asks for help needs no other processes.
 */
void example_options(int argc, char **argv, const char *purpose,
		     const struct example_option *options);

/* A number drawn by lot, always the same for the same @n. */
uint64_t example_random(uint64_t n);

void *example_malloc(size_t count, size_t size);

/* All: waits for all, and starts the clock. */
void example_start(void);
/* All: waits for all; the seconds since then. */
double example_stop(void);

/*
 * All: processor 0 prints both times. @right: as far as this processor can tell;
 * if one cannot, the program ends with an error.
 */
void example_verdict(const char *what, double seconds, double sequential_seconds, bool right);

#endif
