// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"

/* Longer lines are split. */
#define LINE_SIZE 8192
/* A write of this size to a pipe that is writable does not block: PIPE_BUF. */
#define WRITE_SIZE 4096

/* A destination: stdout or stderr of the launcher. */
struct sink {
	int fd;
	char *text; /* not yet written */
	size_t length;
	size_t room;
	bool gone; /* the reader has closed it */
};

/* A source: a pipe from a process. */
struct stream {
	int fd; /* -1: closed */
	int rank;
	struct sink *sink;
	size_t length;
	char line[LINE_SIZE];
};

struct output {
	int ranks;
	int width; /* number of digits of the largest rank */
	struct sink sinks[2];
	struct stream streams[]; /* stdout and stderr of rank 0, of rank 1, ... */
};

struct output *output_open(int ranks, int err)
{
	struct output *output =
		calloc(1, sizeof(*output) + 2 * (size_t)ranks * sizeof(output->streams[0]));

	if (!output)
		return NULL;
	output->ranks = ranks;
	output->width = snprintf(NULL, 0, "%d", ranks - 1);
	output->sinks[0].fd = STDOUT_FILENO;
	output->sinks[1].fd = err;
	for (int i = 0; i < 2 * ranks; i++) {
		output->streams[i].fd = -1;
		output->streams[i].rank = i / 2;
		output->streams[i].sink = &output->sinks[i % 2];
	}
	return output;
}

int output_pipes(struct output *output, int rank, int *out, int *err)
{
	int *ends[2] = { out, err };

	for (int i = 0; i < 2; i++) {
		int pipe_fds[2];

		if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
			int error = errno;

			if (i)
				close(*out);
			return error;
		}
		fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
		output->streams[2 * rank + i].fd = pipe_fds[0];
		*ends[i] = pipe_fds[1];
	}
	return 0;
}

static bool append(struct sink *sink, const char *text, size_t length)
{
	if (sink->length + length > sink->room) {
		size_t room = 2 * (sink->length + length);
		char *more = realloc(sink->text, room);

		if (!more)
			return false;
		sink->text = more;
		sink->room = room;
	}
	memcpy(sink->text + sink->length, text, length);
	sink->length += length;
	return true;
}

static void put_line(const struct output *output, struct stream *stream, const char *line,
		     size_t length)
{
	char label[16];
	int n = snprintf(label, sizeof(label), "%*d | ", output->width, stream->rank);

	if (!stream->sink->gone && append(stream->sink, label, (size_t)n) &&
	    append(stream->sink, line, length))
		append(stream->sink, "\n", 1);
}

static void end_stream(const struct output *output, struct stream *stream)
{
	if (stream->length)
		put_line(output, stream, stream->line, stream->length);
	stream->length = 0;
	close(stream->fd);
	stream->fd = -1;
}

/* Reads once, and queues the complete lines. False: nothing more to read now. */
static bool read_stream(const struct output *output, struct stream *stream)
{
	ssize_t n = read(stream->fd, stream->line + stream->length, LINE_SIZE - stream->length);
	char *line = stream->line, *end;

	if (n < 0)
		return errno == EINTR;
	if (n == 0) {
		end_stream(output, stream);
		return false;
	}
	stream->length += (size_t)n;
	while ((end = memchr(line, '\n', stream->length))) {
		put_line(output, stream, line, (size_t)(end - line));
		stream->length -= (size_t)(end + 1 - line);
		line = end + 1;
	}
	if (stream->length == LINE_SIZE) {
		put_line(output, stream, line, LINE_SIZE);
		stream->length = 0;
	}
	memmove(stream->line, line, stream->length);
	return true;
}

/*
 * Closes the pipes of this sink, so that the processes get SIGPIPE, as if they wrote to it
 * themselves.
 */
static void sink_gone(struct output *output, struct sink *sink)
{
	sink->gone = true;
	sink->length = 0;
	for (int i = 0; i < 2 * output->ranks; i++)
		if (output->streams[i].fd >= 0 && output->streams[i].sink == sink) {
			close(output->streams[i].fd);
			output->streams[i].fd = -1;
		}
}

static void write_sink(struct output *output, struct sink *sink)
{
	size_t length = sink->length < WRITE_SIZE ? sink->length : WRITE_SIZE;
	ssize_t n = write(sink->fd, sink->text, length);

	if (n < 0) {
		if (errno != EINTR && errno != EAGAIN)
			sink_gone(output, sink);
		return;
	}
	sink->length -= (size_t)n;
	memmove(sink->text, sink->text + n, sink->length);
}

nfds_t output_poll_fds(struct output *output, struct pollfd *fds)
{
	nfds_t n = 0;

	for (int i = 0; i < 2; i++)
		if (output->sinks[i].length)
			fds[n++] = (struct pollfd){ output->sinks[i].fd, POLLOUT, 0 };
	for (int i = 0; i < 2 * output->ranks; i++) {
		struct stream *stream = &output->streams[i];

		if (stream->fd >= 0 && !stream->sink->length)
			fds[n++] = (struct pollfd){ stream->fd, POLLIN, 0 };
	}
	return n;
}

static void handle(struct output *output, int fd)
{
	for (int i = 0; i < 2; i++)
		if (output->sinks[i].fd == fd)
			write_sink(output, &output->sinks[i]);
	for (int i = 0; i < 2 * output->ranks; i++)
		if (output->streams[i].fd == fd)
			read_stream(output, &output->streams[i]);
}

void output_handle(struct output *output, const struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].revents)
			handle(output, fds[i].fd);
}

/*
 * A descendant of a process may still hold the pipe open, so read only what is there, not
 * until EOF.
 */
void output_close(struct output *output)
{
	for (int i = 0; i < 2 * output->ranks; i++) {
		struct stream *stream = &output->streams[i];

		while (stream->fd >= 0 && read_stream(output, stream))
			;
		if (stream->fd >= 0)
			end_stream(output, stream);
	}
	for (int i = 0; i < 2; i++) {
		struct pollfd fd = { output->sinks[i].fd, POLLOUT, 0 };

		while (output->sinks[i].length && poll(&fd, 1, -1) != 0)
			write_sink(output, &output->sinks[i]);
		free(output->sinks[i].text);
	}
	free(output);
}
