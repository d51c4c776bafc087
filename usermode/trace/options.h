/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Command line options of vnet-trace. */
#ifndef TRACE_OPTIONS_H
#define TRACE_OPTIONS_H

#include <stdbool.h>

#define EXIT_USAGE 2
#define EXIT_TRACE 125
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127

struct options {
	bool json;
	bool warnings;
	bool quiet;
	bool summary;
	/* NULL: stderr */
	const char *output;
	/* NAME=VALUE */
	char **variable;
	unsigned int variables;
	char **program;
};

/* Ends the process if the options are invalid or ask for help. */
void options_read(int argc, char **argv, struct options *options);

#endif /* TRACE_OPTIONS_H */
