/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Standard input of rank 0, relayed if the launcher's stdin is a terminal.
 *
 * Otherwise rank 0 inherits the launcher's stdin. A relay is needed because only the
 * terminal's foreground process group, which is the launcher's, may read from it.
 */
#ifndef INPUT_H
#define INPUT_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

struct input {
	int rank_fd; /* stdin of rank 0; the launcher closes it afterwards, unless it is 0 */
	int pipe_fd; /* write end of the relay's pipe; -1: no relay, or closed */
	size_t length;
	char text[4096]; /* read from the terminal, not yet written to the pipe */
};

/* Returns 0 or an errno value. */
int input_open(struct input *input);

/* Fills in what the relay waits for. False: nothing to poll now. */
bool input_poll_fd(const struct input *input, struct pollfd *fd);

/* Handles the result of poll() for the descriptor of input_poll_fd(). */
void input_handle(struct input *input, const struct pollfd *fd);

#endif
