// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that starting the daemon leaves no traces in the program. The daemon must not inherit
 * anything of the program either.
 */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRSTS 20

static volatile sig_atomic_t child_signals;

static void on_child(int sig)
{
	child_signals++;
}

/* Changes attributes of the process that the daemon must not inherit. */
static void set_scene(void)
{
	struct rlimit files = { .rlim_cur = 1000, .rlim_max = 4000 };
	struct sigaction act = { .sa_handler = on_child };
	cpu_set_t one;
	sigset_t set;

	EXPECT(!sigaction(SIGCHLD, &act, NULL));
	EXPECT(signal(SIGTERM, SIG_IGN) != SIG_ERR);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	EXPECT(!sigprocmask(SIG_SETMASK, &set, NULL));
	EXPECT(!setrlimit(RLIMIT_NOFILE, &files));
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	EXPECT(!sched_setaffinity(0, sizeof(one), &one));
	EXPECT(open("/dev/zero", O_RDONLY) >= 0);
	EXPECT(!chdir(getenv("VNET_TEST_DIR")));
	umask(0);
	setenv("SECRET", "s", 1);
}

static void program_untouched(void)
{
	struct rlimit files;
	sigset_t set, want;

	EXPECT(child_signals == 0);
	REFUSES(waitpid(-1, NULL, WNOHANG), ECHILD);
	EXPECT(!sigprocmask(SIG_BLOCK, NULL, &set));
	sigemptyset(&want);
	sigaddset(&want, SIGUSR2);
	EXPECT(!memcmp(&set, &want, sizeof(long)));
	EXPECT(!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur == 1000);
	EXPECT(umask(0) == 0);
}

/* Reads a file in the daemon's /proc folder. */
static void daemon_text(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t n;
	FILE *file;

	sprintf(path, "/proc/%d/%s", pid, name);
	file = fopen(path, "r");
	EXPECT(file);
	n = fread(text, 1, size - 1, file);
	fclose(file);
	/* Strings that end with a zero byte become lines. */
	text[n] = '\0';
	while (n--)
		if (!text[n])
			text[n] = '\n';
}

static void daemon_untouched(pid_t pid)
{
	char text[65536], path[64], link[4096];
	struct dirent *entry;
	ssize_t n;
	DIR *dir;

	daemon_text(pid, "environ", text, sizeof(text));
	EXPECT(!strstr(text, "SECRET") && !strstr(text, "LD_PRELOAD"));
	EXPECT(strstr(text, "VNET_RUNTIME_DIR="));
	daemon_text(pid, "maps", text, sizeof(text));
	EXPECT(!strstr(text, "libvnet-preload"));
	daemon_text(pid, "status", text, sizeof(text));
	EXPECT(!strstr(text, "Cpus_allowed:\t1\n") || sysconf(_SC_NPROCESSORS_CONF) == 1);
	daemon_text(pid, "limits", text, sizeof(text));
	EXPECT(!strstr(text, "Max open files            1000"));

	sprintf(path, "/proc/%d/fd", pid);
	dir = opendir(path);
	EXPECT(dir);
	while ((entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = '\0';
		EXPECT(strcmp(link, "/dev/zero") != 0);
		EXPECT(strncmp(link, "pipe:", 5) != 0);
		EXPECT(strncmp(link, "/dev/pts", 8) != 0);
	}
	closedir(dir);
	sprintf(path, "/proc/%d/cwd", pid);
	EXPECT(readlink(path, link, sizeof(link)) == 1 && link[0] == '/');
	EXPECT(getsid(pid) != getsid(0));
}

/* Many processes use the device for the first time at once. All must find it. */
static void all_at_once(void)
{
	pid_t pid[FIRSTS];
	int gate[2];
	char byte;

	EXPECT(!pipe(gate));
	for (int i = 0; i < FIRSTS; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		close(gate[1]);
		EXPECT(read(gate[0], &byte, 1) == 0);
		expect_alive(open_first());
		_exit(0);
	}
	close(gate[0]);
	close(gate[1]);
	for (int i = 0; i < FIRSTS; i++)
		expect_exit(pid[i], 0);
}

int main(void)
{
	struct ibv_context *context;
	pid_t pid;

	signal(SIGCHLD, SIG_DFL);
	all_at_once();
	pid = daemon_pid();
	EXPECT(pid > 0 && !kill(pid, SIGKILL));
	AWAIT(kill(pid, 0) == -1);

	set_scene();
	context = open_first();
	expect_alive(context);
	program_untouched();
	EXPECT(daemon_pid() > 0);
	daemon_untouched(daemon_pid());
	return 0;
}
