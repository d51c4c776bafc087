// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "other_end.h"

#include <unistd.h>

#include "check.h"

#define MOST_WORDS 64u

static size_t append(char **words, size_t n, char *const *more)
{
	for (; *more; more++) {
		CHECK(n < MOST_WORDS - 3);
		words[n++] = *more;
	}
	return n;
}

void become_other_end(int sock, char *const *command, char *const *program)
{
	char *words[MOST_WORDS], number[16];
	size_t n = append(words, 0, command);

	n = append(words, n, program);
	/* Without the close-on-exec flag. */
	sock = dup(sock);
	CHECK(sock >= 0);
	snprintf(number, sizeof(number), "%d", sock);
	words[n++] = (char[]){ "--end" };
	words[n++] = number;
	words[n] = NULL;
	unsetenv("LD_PRELOAD");
	execvp(words[0], words);
	FAIL("no %s", words[0]);
}
