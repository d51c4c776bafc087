// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Options, pseudo-random numbers, clock, and check of results of the examples. */
#include "example.h"

#include <errno.h>
#include <splitc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double started;

static void print_words(FILE *to, const struct example_option *o)
{
	for (int i = 0; o->words[i]; i++)
		fprintf(to, "%s%s", i ? ", " : "", o->words[i]);
}

static void print_help(const char *program, const char *purpose,
		       const struct example_option *options)
{
	printf("Usage: vnet run -n PROCESSORS %s [OPTION]...\n%s\n\n", program, purpose);
	for (const struct example_option *o = options; o->name; o++) {
		printf("  --%-10s %s", o->name, o->help);
		if (o->words) {
			printf(": ");
			print_words(stdout, o);
			printf(" (default: %s)\n", o->words[*o->value]);
		} else {
			printf(", %ld to %ld (default: %ld)\n", o->min, o->max, *o->value);
		}
	}
	printf("  --%-10s show this text\n", "help");
}

static void __attribute__((noreturn)) usage_error(const char *what, const char *argument)
{
	fprintf(stderr, "%s '%s' (try --help)\n", what, argument);
	exit(2);
}

static void take_word(const struct example_option *o, const char *given)
{
	for (int i = 0; o->words[i]; i++) {
		if (!strcmp(given, o->words[i])) {
			*o->value = i;
			return;
		}
	}
	fprintf(stderr, "--%s wants one of ", o->name);
	print_words(stderr, o);
	usage_error(", not", given);
}

static void take_number(const struct example_option *o, const char *given)
{
	char *end;

	errno = 0;
	*o->value = strtol(given, &end, 10);
	if (!errno && end != given && !*end && *o->value >= o->min && *o->value <= o->max)
		return;
	fprintf(stderr, "--%s wants a number from %ld to %ld", o->name, o->min, o->max);
	usage_error(", not", given);
}

static const struct example_option *find(const struct example_option *options, const char *given)
{
	if (strncmp(given, "--", 2) != 0)
		usage_error("what is", given);
	while (options->name && strcmp(options->name, given + 2) != 0)
		options++;
	if (!options->name)
		usage_error("what is", given);
	return options;
}

void example_options(int argc, char **argv, const char *purpose,
		     const struct example_option *options)
{
	for (int i = 1; i < argc; i += 2) {
		const struct example_option *o;

		if (!strcmp(argv[i], "--help")) {
			print_help(argv[0], purpose, options);
			exit(0);
		}
		o = find(options, argv[i]);
		if (i + 1 == argc)
			usage_error("there is no value for", argv[i]);
		if (o->words)
			take_word(o, argv[i + 1]);
		else
			take_number(o, argv[i + 1]);
	}
}

/* The output function of SplitMix64. */
uint64_t example_random(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15u;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

void *example_malloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		splitc_error("no memory for %zu times %zu bytes", count, size);
	return memory;
}

void example_start(void)
{
	splitc_barrier();
	started = splitc_get_seconds();
}

double example_stop(void)
{
	splitc_barrier();
	return splitc_get_seconds() - started;
}

void example_verdict(const char *what, double seconds, double sequential_seconds, bool right)
{
	if (!right)
		splitc_error("%s: the result is not that of a sequential program", what);
	splitc_barrier();
	splitc_on_one
	{
		printf("%s: right; %d processors %.3f ms, one alone %.3f ms (mapping: %s)\n", what,
		       PROCS, seconds * 1e3, sequential_seconds * 1e3, splitc_mapping_name());
		fflush(stdout);
	}
}
