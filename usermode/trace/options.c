// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"Usage: vnet-trace [OPTIONS] PROGRAM [ARGUMENTS...]\n"
	"Runs PROGRAM, and prints its work requests and completions on vnet's devices.\n"
	"\n"
	"  --json              print one JSON object for each line\n"
	"  --output FILE       write to FILE instead of stderr\n"
	"  --warnings          print only warnings\n"
	"  --quiet             print neither lines nor warnings\n"
	"  --summary           at the end, print the number of requests and warnings, by kind\n"
	"  -x NAME=VALUE       set a variable of the program's environment\n"
	"  --help, --version\n"
	"\n"
	"Status: PROGRAM's; 128 and the signal's number if a signal ended it. 125:\n"
	"vnet-trace failed, 126: PROGRAM cannot be run, 127: there is no PROGRAM.\n";

static void __attribute__((noreturn)) mistake(const char *what, const char *value)
{
	fprintf(stderr, "vnet-trace: %s%s%s; see vnet-trace --help\n", what, value ? ": " : "",
		value ? value : "");
	exit(EXIT_USAGE);
}

static void add_variable(struct options *options, char *variable)
{
	char **all = realloc(options->variable, (options->variables + 1) * sizeof(*all));

	if (!strchr(variable, '='))
		mistake("-x wants NAME=VALUE", variable);
	if (!all)
		exit(EXIT_TRACE);
	options->variable = all;
	all[options->variables++] = variable;
}

void options_read(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "json", no_argument, NULL, 'j' },     { "output", required_argument, NULL, 'o' },
		{ "warnings", no_argument, NULL, 'w' }, { "quiet", no_argument, NULL, 'q' },
		{ "summary", no_argument, NULL, 's' },  { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },  { NULL, 0, NULL, 0 },
	};
	int c;

	memset(options, 0, sizeof(*options));
	while ((c = getopt_long(argc, argv, "+x:", known, NULL)) != -1) {
		switch (c) {
		case 'j':
			options->json = true;
			break;
		case 'o':
			options->output = optarg;
			break;
		case 'w':
			options->warnings = true;
			break;
		case 'q':
			options->quiet = true;
			break;
		case 's':
			options->summary = true;
			break;
		case 'x':
			add_variable(options, optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		case 'V':
			puts("vnet-trace " VNET_VERSION);
			exit(0);
		default:
			exit(EXIT_USAGE);
		}
	}
	if (optind == argc)
		mistake("which program?", NULL);
	options->program = argv + optind;
}
