// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Formats a line of a trace, and writes it with one write(). So lines of several threads and
 * processes are not mixed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

/* Space reserved for the end of a line. */
#define ROOM 16
/* Above the descriptor numbers that programs usually get. */
#define FIRST_FD 100

static struct vnet_trace_settings settings;
static struct vnet_trace_counters no_file;
static struct vnet_trace_counters *counters = &no_file;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The output. Programs may close descriptors that they did not open, so its identity is stored. */
static struct {
	int fd;
	dev_t dev;
	ino_t ino;
	/* A pipe or socket: writing may raise SIGPIPE. */
	bool has_reader;
} out = { .fd = -1 };

/* ---------------------------------------------------------------- settings */

static void set_word(const char *word)
{
	if (!strcmp(word, "json"))
		settings.json = true;
	else if (!strcmp(word, "colour"))
		settings.colour = true;
	else if (!strcmp(word, "warnings"))
		settings.lines = false;
	else if (!strcmp(word, "summary"))
		settings.lines = settings.warnings = false;
	else if (!strncmp(word, "epoch=", 6))
		settings.epoch = strtoull(word + 6, NULL, 10);
	else if (!strncmp(word, "pid=", 4))
		settings.pid = (pid_t)strtol(word + 4, NULL, 10);
}

static void open_output(void)
{
	const char *file = getenv(VNET_TRACE_FILE_ENV);
	struct stat st;
	int fd;

	if (file && *file)
		fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	else
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, FIRST_FD);
	if (fd < 0 && !file)
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd >= 0 && fstat(fd, &st)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		return;
	out.dev = st.st_dev;
	out.ino = st.st_ino;
	out.has_reader = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
	out.fd = fd;
}

static void map_counters(void)
{
	const char *file = getenv(VNET_TRACE_COUNTERS_ENV);
	struct stat st;
	void *map;
	int fd;

	if (!file || !*file)
		return;
	fd = open(file, O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof(*counters)) {
		map = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map != MAP_FAILED)
			counters = map;
	}
	close(fd);
}

static void name_counters(void)
{
	unsigned int i;

	static_assert((int)TRACE_WARNINGS <= (int)VNET_TRACE_WARNINGS, "a row each");
	for (i = 0; i < VNET_TRACE_OPERATIONS; i++)
		if (vnet_trace_operation_names[i])
			snprintf(counters->operation[i].name, VNET_TRACE_NAME, "%s",
				 vnet_trace_operation_names[i]);
	for (i = 0; i < TRACE_WARNINGS; i++)
		snprintf(counters->warning[i].name, VNET_TRACE_NAME, "%s",
			 vnet_trace_warning_names[i]);
}

static void read_environment(void)
{
	const char *value = getenv(VNET_TRACE_ENV);
	char *list, *word, *rest;

	if (!value || !*value)
		return;
	list = strdup(value);
	if (!list)
		return;
	settings.on = settings.lines = settings.warnings = true;
	settings.epoch = vnet_clock_ns(CLOCK_MONOTONIC);
	for (word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		set_word(word);
	free(list);
	open_output();
	map_counters();
	name_counters();
}

const struct vnet_trace_settings *vnet_trace_settings(void)
{
	pthread_once(&once, read_environment);
	return &settings;
}

struct vnet_trace_counters *vnet_trace_counters(void)
{
	return counters;
}

/* --------------------------------------------------------------- formatting */

static void put(struct vnet_trace_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Append text, or set `full` if it does not fit; then nothing more is appended. */
static void put(struct vnet_trace_line *line, const char *format, ...)
{
	unsigned int room = TRACE_LINE - ROOM - line->len;
	va_list ap;
	int len;

	if (line->full)
		return;
	va_start(ap, format);
	len = vsnprintf(line->text + line->len, room, format, ap);
	va_end(ap);
	if (len < 0 || (unsigned int)len >= room)
		line->full = true;
	else
		line->len += (unsigned int)len;
}

/* Append a JSON string. */
static void put_quoted(struct vnet_trace_line *line, const char *text)
{
	const char *c;

	put(line, "\"");
	for (c = text; *c; c++) {
		if (*c == '"' || *c == '\\')
			put(line, "\\%c", *c);
		else if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			put(line, "?");
		else
			put(line, "%c", *c);
	}
	put(line, "\"");
}

/* Remove a field that did not fit, so that JSON remains valid. */
static void finish(struct vnet_trace_line *line, unsigned int start)
{
	if (line->full)
		line->len = start;
}

static void put_label(struct vnet_trace_line *line, const char *key, const char *label)
{
	if (settings.json)
		put(line, ",\"%s\":", key);
	else if (label && *label)
		put(line, " %s ", label);
	else
		put(line, " ");
}

void vnet_trace_word(struct vnet_trace_line *line, const char *key, const char *label,
		     const char *word)
{
	unsigned int start = line->len;

	put_label(line, key, label);
	if (settings.json)
		put_quoted(line, word);
	else
		put(line, "%s", word);
	finish(line, start);
}

void vnet_trace_number(struct vnet_trace_line *line, const char *key, const char *label,
		       uint64_t value, const char *unit)
{
	unsigned int start = line->len;

	put_label(line, key, label);
	put(line, "%" PRIu64, value);
	if (!settings.json && unit)
		put(line, " %s", unit);
	finish(line, start);
}

/* A string, because JSON numbers may not hold 64 bits. */
void vnet_trace_hex(struct vnet_trace_line *line, const char *key, const char *label,
		    uint64_t value)
{
	unsigned int start = line->len;

	put_label(line, key, label);
	put(line, settings.json ? "\"0x%" PRIx64 "\"" : "0x%" PRIx64, value);
	finish(line, start);
}

void vnet_trace_time(struct vnet_trace_line *line, const char *key, const char *label, uint64_t ns)
{
	unsigned int start = line->len;

	put_label(line, key, label);
	put(line, "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
	if (!settings.json)
		put(line, " us");
	finish(line, start);
}

void vnet_trace_flags(struct vnet_trace_line *line, const char *key, const char *label,
		      uint32_t flags, const struct vnet_trace_name *names)
{
	unsigned int start = line->len;
	const char *between = "";

	if (!flags && !settings.json)
		return;
	put_label(line, key, label);
	if (settings.json)
		put(line, "[");
	for (; names->name; names++) {
		if (!(flags & names->flag))
			continue;
		flags &= ~names->flag;
		put(line, settings.json ? "%s\"%s\"" : "%s%s", between, names->name);
		between = settings.json ? "," : "|";
	}
	if (flags)
		put(line, settings.json ? "%s\"0x%x\"" : "%s0x%x", between, flags);
	if (settings.json)
		put(line, "]");
	finish(line, start);
}

/* --------------------------------------------------------------- whole lines */

static void put_colour(struct vnet_trace_line *line, enum vnet_trace_colour colour)
{
	static const char *const codes[] = {
		[TRACE_PLAIN] = "",         [TRACE_RED] = "\033[31m",
		[TRACE_GREEN] = "\033[32m", [TRACE_YELLOW] = "\033[1;33m",
		[TRACE_CYAN] = "\033[36m",  [TRACE_DIM] = "\033[2m",
	};

	if (settings.colour && !settings.json)
		put(line, "%s", codes[colour]);
}

void vnet_trace_begin(struct vnet_trace_line *line, const struct ibv_context *context,
		      const char *object, uint32_t number, const char *event,
		      enum vnet_trace_colour colour)
{
	const char *device = context->device->name;
	uint64_t now = vnet_clock_ns(CLOCK_MONOTONIC) - settings.epoch;
	pid_t tid = (pid_t)syscall(SYS_gettid), pid = getpid();
	unsigned int us = (unsigned int)(now % 1000);

	line->len = 0;
	line->full = false;
	if (settings.json) {
		put(line,
		    "{\"time\":%" PRIu64 ".%03u,\"pid\":%d,\"tid\":%d,\"device\":", now / 1000, us,
		    pid, tid);
		put_quoted(line, device);
		if (object)
			put(line, ",\"%s\":%u", object, number);
		put(line, ",\"event\":\"%s\"", event);
		return;
	}
	put_colour(line, colour);
	if (tid != pid)
		put(line, "[%d/%d] ", pid, tid);
	else if (pid != settings.pid)
		put(line, "[%d] ", pid);
	put(line, "%8" PRIu64 ".%03u %s", now / 1000, us, device);
	if (object)
		put(line, " %s %-3u", object, number);
	put(line, " %-10s", event);
}

/* The end of the reader must not kill the program by SIGPIPE. */
static ssize_t write_without_signal(const char *text, size_t len)
{
	const struct timespec no_time = { 0 };
	sigset_t pipe_set, pending, before;
	bool was_pending;
	ssize_t n;
	int error;

	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
	n = write(out.fd, text, len);
	error = errno;
	if (n < 0 && error == EPIPE && !was_pending)
		while (sigtimedwait(&pipe_set, NULL, &no_time) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return n;
}

/* Is the descriptor still the output? If not, it may be another file by now: do not use it. */
static bool output_is_ours(void)
{
	struct stat st;

	if (out.fd < 0)
		return false;
	if (fstat(out.fd, &st) || st.st_dev != out.dev || st.st_ino != out.ino) {
		out.fd = -1;
		if (getenv(VNET_TRACE_FILE_ENV))
			open_output();
	}
	return out.fd >= 0;
}

static void write_all(const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = out.has_reader ? write_without_signal(text, len) : write(out.fd, text, len);
		if (n >= 0) {
			text += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			struct pollfd full = { .fd = out.fd, .events = POLLOUT };

			poll(&full, 1, -1);
		} else if (errno != EINTR) {
			/*
			 * The output has failed, for example because its reader is gone: stop
			 * printing.
			 */
			close(out.fd);
			out.fd = -1;
			return;
		}
	}
}

void vnet_trace_end(struct vnet_trace_line *line)
{
	int error = errno;

	line->full = false;
	line->len += (unsigned int)snprintf(line->text + line->len, ROOM, "%s\n",
					    settings.json   ? "}" :
					    settings.colour ? "\033[0m" :
							      "");
	if (output_is_ours())
		write_all(line->text, line->len);
	errno = error;
}
