// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int input_open(struct input *input)
{
	int ends[2];

	input->rank_fd = STDIN_FILENO;
	input->pipe_fd = -1;
	input->length = 0;
	if (!isatty(STDIN_FILENO))
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return errno;
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	input->rank_fd = ends[0];
	input->pipe_fd = ends[1];
	return 0;
}

bool input_poll_fd(const struct input *input, struct pollfd *fd)
{
	if (input->pipe_fd < 0)
		return false;
	fd->revents = 0;
	if (input->length) {
		fd->fd = input->pipe_fd;
		fd->events = POLLOUT;
		return true;
	}
	/*
	 * Do not read while the launcher is in the background: that input is for other
	 * processes.
	 */
	fd->fd = STDIN_FILENO;
	fd->events = POLLIN;
	return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void end(struct input *input)
{
	close(input->pipe_fd);
	input->pipe_fd = -1;
	input->length = 0;
}

static void fill(struct input *input)
{
	ssize_t n = read(STDIN_FILENO, input->text, sizeof(input->text));

	if (n > 0)
		input->length = (size_t)n;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		end(input);
}

static void drain(struct input *input)
{
	ssize_t n = write(input->pipe_fd, input->text, input->length);

	if (n < 0) {
		if (errno != EINTR && errno != EAGAIN)
			end(input);
		return;
	}
	input->length -= (size_t)n;
	memmove(input->text, input->text + n, input->length);
}

void input_handle(struct input *input, const struct pollfd *fd)
{
	if (!fd->revents || input->pipe_fd < 0)
		return;
	if (fd->fd == STDIN_FILENO)
		fill(input);
	else
		drain(input);
}
