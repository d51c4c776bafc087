// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the daemon's guardian process. It keeps each completion channel while that exists, ends
 * with the daemon, and may be stopped or killed without effect on clients.
 *
 * death.c tests that sleeping clients wake up.
 */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More channels than messages to a stopped guardian fit into its socket. */
#define CHANNELS 700
/* Number of destroyed channels that fit into the socket. */
#define AT_ONCE 50
#define TIME_LIMIT 10000

/* Returns the state of a process and its parent; 0 if the process does not exist. */
static char look(pid_t pid, pid_t *parent)
{
	char path[32], line[256] = "", state = 0;
	const char *rest;
	FILE *file;

	*parent = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	rest = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return rest && sscanf(rest, ") %c %d", &state, parent) == 2 ? state : 0;
}

static pid_t parent_of(pid_t pid)
{
	pid_t parent;

	(void)look(pid, &parent);
	return parent;
}

static bool is_stopped(pid_t pid)
{
	pid_t parent;

	return look(pid, &parent) == 'T';
}

/* Returns the daemon's only child; 0 if there is none. */
static pid_t guardian_pid(void)
{
	pid_t daemon = daemon_pid(), child = 0;
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	EXPECT(dir && daemon > 0);
	while ((entry = readdir(dir)))
		if (atoi(entry->d_name) && parent_of(atoi(entry->d_name)) == daemon) {
			EXPECT(!child);
			child = atoi(entry->d_name);
		}
	closedir(dir);
	return child;
}

/*
 * Returns the number of sockets of the process. A descriptor of anything else but /dev/null makes
 * it much larger.
 */
static int count_sockets(pid_t pid)
{
	char path[32], target[64];
	struct dirent *entry;
	int count = 0;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	EXPECT(dir);
	while ((entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		/* A directory, or a descriptor that has been closed meanwhile. */
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (!strncmp(target, "socket:", 7))
			count++;
		else if (strcmp(target, "/dev/null") != 0)
			count += 2 * CHANNELS;
	}
	closedir(dir);
	return count;
}

static bool goes(int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };

	return poll(&pfd, 1, TIME_LIMIT) == 1;
}

static void has_its_own_name(pid_t pid)
{
	char path[32], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "r");
	EXPECT(file && fgets(name, sizeof(name), file));
	fclose(file);
	EXPECT(!strcmp(name, "vnetd-guardian\n"));
}

/* The daemon keeps what does not fit into the socket, and sends it later. */
static void keeps_every_channel(struct ibv_context *context)
{
	static struct ibv_comp_channel *channel[CHANNELS];
	pid_t pid = guardian_pid();

	EXPECT(pid);
	has_its_own_name(pid);
	AWAIT(count_sockets(pid) == 1);
	EXPECT(!kill(pid, SIGSTOP));
	AWAIT(is_stopped(pid));
	for (int i = 0; i < CHANNELS; i++)
		EXPECT((channel[i] = ibv_create_comp_channel(context)));
	EXPECT(count_sockets(pid) == 1);
	EXPECT(!kill(pid, SIGCONT));
	AWAIT(count_sockets(pid) == CHANNELS + 1);
	for (int i = CHANNELS - 1; i >= 0; i--) {
		EXPECT(!ibv_destroy_comp_channel(channel[i]));
		if (i % AT_ONCE == 0)
			AWAIT(count_sockets(pid) == i + 1);
	}
}

static void goes_with_the_daemon(int sig)
{
	int pidfd = (int)syscall(SYS_pidfd_open, guardian_pid(), 0);

	EXPECT(pidfd >= 0);
	/* A user who ends all processes by SIGTERM ends the daemon as well. */
	EXPECT(!kill(guardian_pid(), SIGTERM));
	EXPECT(!kill(daemon_pid(), sig));
	EXPECT(goes(pidfd));
	close(pidfd);
}

static void may_be_killed(void)
{
	struct pair pair, another;
	pid_t daemon;

	pair_make(&pair);
	daemon = daemon_pid();
	EXPECT(!kill(guardian_pid(), SIGKILL));
	/* The daemon must have reaped the guardian. */
	AWAIT(!guardian_pid());
	expect_traffic(&pair);
	pair_make(&another);
	expect_traffic(&another);
	pair_end(&another);
	pair_end(&pair);
	EXPECT(daemon_pid() == daemon);
	EXPECT(!kill(daemon, SIGKILL));
}

int main(void)
{
	struct ibv_context *context = open_first();

	keeps_every_channel(context);
	goes_with_the_daemon(SIGTERM);
	expect_alive(open_first());
	goes_with_the_daemon(SIGKILL);
	may_be_killed();
	expect_alive(open_first());
	EXPECT(guardian_pid());
	return 0;
}
