/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Standard input of rank 0: the launcher's own, or, where that is a terminal, a
 * pipe that the launcher fills, because only the terminal's foreground process
 * group may read from it.
 */
#ifndef INPUT_H
#define INPUT_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

struct input {
	int rank_fd; /* for rank 0, then to be closed unless it is 0 */
	int pipe_fd; /* -1: no relay, or its end */
	size_t length;
	char text[4096]; /* read, but not yet written */
};

/* 0 or an errno value. */
int input_open(struct input *input);

/* What to poll for; false: nothing now. */
bool input_poll_fd(const struct input *input, struct pollfd *fd);

/* What poll() found. */
void input_handle(struct input *input, const struct pollfd *fd);

#endif
