// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The log: writes lines to stderr, in a daemon <dir>/vnetd.log. Its size is limited (an older
 * half is kept as vnetd.log.old), and so is its rate.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/loop.h"
#include "process.h"

#define LOG_NAME "vnetd.log"
#define LOG_OLD_NAME "vnetd.log.old"
#define LOG_MAX_BYTES (128 * 1024)
/* Rate limit: a burst of 50 lines, and one more each 100 ms. */
#define LOG_BURST 50
#define LOG_INTERVAL (100 * NSEC_PER_MSEC)

static struct {
	/* -1: stderr is not a log file, and is not rotated. */
	int dir_fd;
	off_t bytes;
	u32 tokens;
	u64 refilled;
	u32 suppressed;
} log_state = { .dir_fd = -1, .tokens = LOG_BURST };

int log_open(int dir_fd)
{
	struct stat st;
	int fd = openat(dir_fd, LOG_NAME, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			0600);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || dup2(fd, STDERR_FILENO) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	if (fd != STDERR_FILENO)
		close(fd);
	log_state.dir_fd = dir_fd;
	log_state.bytes = st.st_size;
	return 0;
}

static void rotate(void)
{
	if (log_state.dir_fd < 0 || log_state.bytes < LOG_MAX_BYTES)
		return;
	if (renameat(log_state.dir_fd, LOG_NAME, log_state.dir_fd, LOG_OLD_NAME) == 0)
		log_open(log_state.dir_fd);
}

static bool take_token(void)
{
	u64 now = clock_now();
	u64 earned = (now - log_state.refilled) / LOG_INTERVAL;

	if (earned) {
		log_state.refilled = now;
		log_state.tokens = earned + log_state.tokens > LOG_BURST ?
					   LOG_BURST :
					   log_state.tokens + (u32)earned;
	}
	if (!log_state.tokens)
		return false;
	log_state.tokens--;
	return true;
}

static void write_line(const char *text)
{
	struct timespec ts;
	struct tm tm;
	char when[32];
	int n;

	clock_gettime(CLOCK_REALTIME, &ts);
	localtime_r(&ts.tv_sec, &tm);
	strftime(when, sizeof(when), "%F %T", &tm);
	n = dprintf(STDERR_FILENO, "%s.%03ld vnetd[%d]: %s\n", when, ts.tv_nsec / 1000000, getpid(),
		    text);
	if (n > 0)
		log_state.bytes += n;
}

void log_line(const char *format, ...)
{
	int saved = errno;
	char text[512];
	va_list args;

	if (!take_token()) {
		log_state.suppressed++;
		errno = saved;
		return;
	}
	rotate();
	if (log_state.suppressed) {
		snprintf(text, sizeof(text), "(%u lines left out)", log_state.suppressed);
		log_state.suppressed = 0;
		write_line(text);
	}
	va_start(args, format);
	errno = saved; /* for %m */
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	write_line(text);
	errno = saved;
}
