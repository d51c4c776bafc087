// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
	unsigned int flag; /* 0: all programs take it */
	char key;
	const char *name, *arg, *help;
} known[] = {
	{ BENCH_ITERS, 'n', "iters", "N", "how often the measured operation is run" },
	{ BENCH_SIZE, 's', "size", "BYTES", "size of the message" },
	{ BENCH_CPUS, 'c', "cpus", "A,B", "pin the two processes to these CPUs (default: no)" },
	{ BENCH_SPIN, 'S', "spin", "", "poll the socket instead of sleeping in it" },
	{ BENCH_DEVICE, 'd', "device", "NAME", "the verbs device (default: the first)" },
	{ BENCH_WINDOW, 'w', "window", "N", "how many requests may be outstanding" },
	{ BENCH_CURVES, 'C', "curves", "", "print what the figures are read from, too" },
	{ 0, 'h', "help", "", "show this text" },
};

#define MAX_WINDOW 4096

#define N_KNOWN (sizeof(known) / sizeof(known[0]))

static bool takes(const struct bench_program *prog, size_t i)
{
	return !known[i].flag || (prog->takes & known[i].flag);
}

static void print_help(const char *name, const struct bench_program *prog,
		       const struct bench_options *defaults)
{
	printf("Usage: %s [OPTION]...\n%s\n\n", name, prog->purpose);
	for (size_t i = 0; i < N_KNOWN; i++)
		if (takes(prog, i))
			printf("  --%-6s %-6s %s\n", known[i].name, known[i].arg, known[i].help);
	if (prog->takes & BENCH_ITERS)
		printf("\nDefault: --iters %lu", defaults->iters);
	if (prog->takes & BENCH_SIZE)
		printf(" --size %zu", defaults->size);
	if (prog->takes & BENCH_WINDOW)
		printf(" --window %u", defaults->window);
	printf("\n");
}

static void __attribute__((noreturn))
usage_error(const char *name, const char *what, const char *arg)
{
	fprintf(stderr, "%s: %s '%s' (try --help)\n", name, what, arg);
	exit(2);
}

static unsigned long parse_number(const char *name, const char *arg, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(arg, &end, 0);
	if (errno || end == arg || *end || arg[0] == '-' || !value || value > max)
		usage_error(name, "not a number in range:", arg);
	return value;
}

static void parse_cpus(const char *name, const char *arg, int cpu[2])
{
	char rest;

	if (sscanf(arg, "%d,%d%c", &cpu[0], &cpu[1], &rest) != 2 || cpu[0] < 0 || cpu[1] < 0 ||
	    cpu[0] >= CPU_SETSIZE || cpu[1] >= CPU_SETSIZE)
		usage_error(name, "not two CPUs:", arg);
}

/* Selects the options that the program takes, so that getopt_long() rejects all others. */
static void select_options(const struct bench_program *prog, struct option *longopts)
{
	for (size_t i = 0; i < N_KNOWN; i++) {
		if (!takes(prog, i))
			continue;
		*longopts++ = (struct option){
			.name = known[i].name,
			.has_arg = known[i].arg[0] ? required_argument : no_argument,
			.val = known[i].key,
		};
	}
	*longopts = (struct option){ 0 };
}

void bench_parse(int argc, char **argv, const struct bench_program *prog, struct bench_options *opt)
{
	const struct bench_options defaults = *opt;
	struct option longopts[N_KNOWN + 1];
	int key;

	select_options(prog, longopts);
	while ((key = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		switch (key) {
		case 'n':
			opt->iters = parse_number(argv[0], optarg, 1ul << 32);
			break;
		case 's':
			opt->size = parse_number(argv[0], optarg, prog->max_size);
			break;
		case 'c':
			parse_cpus(argv[0], optarg, opt->cpu);
			break;
		case 'S':
			opt->spin = true;
			break;
		case 'd':
			opt->device = optarg;
			break;
		case 'w':
			opt->window = (unsigned int)parse_number(argv[0], optarg, MAX_WINDOW);
			break;
		case 'C':
			opt->curves = true;
			break;
		case 'h':
			print_help(argv[0], prog, &defaults);
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind < argc)
		usage_error(argv[0], "no argument expected:", argv[optind]);
}
