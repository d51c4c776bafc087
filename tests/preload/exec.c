// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of exec() in a process that uses the device. A failed call changes nothing. After a
 * successful one, a device file without close-on-exec is still the device.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char garbage[] = "\177ELF and no more";

/* Makes an executable file with invalid contents. */
static void make_garbage(char *path)
{
	const char *dir = getenv("VNET_TEST_DIR");
	int fd;

	sprintf(path, "%s/garbage", dir ? dir : "/tmp");
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0700);
	EXPECT(fd >= 0 && write(fd, garbage, sizeof(garbage)) == sizeof(garbage));
	close(fd);
}

static void failures(void)
{
	char path[4096];
	char *argv[] = { path, NULL };
	struct pair pair;

	/* Folders in PATH without permission would change errno. */
	EXPECT(!setenv("PATH", "/usr/bin:/bin", 1));
	make_garbage(path);
	pair_make(&pair);
	expect_traffic(&pair);
	REFUSES(execl("/nonexistent", "a", "b", NULL), ENOENT);
	REFUSES(execlp("nonexistent-program", "a", NULL), ENOENT);
	REFUSES(execle("/", "a", NULL, environ), EACCES);
	expect_traffic(&pair);
	REFUSES(execv(path, argv), ENOEXEC);
	REFUSES(execve(path, argv, environ), ENOEXEC);
	expect_traffic(&pair);
	REFUSES(execveat(AT_FDCWD, path, argv, environ, 0), ENOEXEC);
	expect_traffic(&pair);
	expect_alive(pair.context);
	pair_end(&pair);
	unlink(path);
}

/* In the new program: the descriptor with this number must be a usable device file. */
static int found(const char *number)
{
	struct ibv_context *context = ibv_import_device(atoi(number));

	EXPECT(context);
	expect_alive(context);
	return 0;
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	char number[16];

	if (argc > 1)
		return found(argv[1]);
	failures();
	context = open_first();
	EXPECT(!fcntl(context->cmd_fd, F_SETFD, 0));
	sprintf(number, "%d", context->cmd_fd);
	execl("/proc/self/exe", argv[0], number, NULL);
	EXPECT(!"exec of ourselves");
	return 1;
}
