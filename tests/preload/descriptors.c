// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of descriptors of the device, their duplicates, and reused numbers. The program cannot
 * damage the library's own descriptors, and those never get in the way of the program's files.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define CDEV "/dev/infiniband/uverbs0"
/* Limit of descriptor numbers, above those of the library's own. */
#define NUMBERS 2048

static bool is_device(int fd)
{
	struct ib_uverbs_cmd_hdr hdr = { .command = IB_USER_VERBS_CMD_GET_CONTEXT };
	struct stat st;
	bool by_stat = !fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev != 0 &&
		       (st.st_rdev >> 8) == 231;

	/* The device refuses a command that is too short; another file would accept the bytes. */
	EXPECT(!by_stat || (write(fd, &hdr, 4) == -1 && errno == EINVAL));
	return by_stat;
}

static off_t size_of(int fd)
{
	struct stat st;

	EXPECT(!fstat(fd, &st));
	return st.st_size;
}

static int scratch_file(void)
{
	int fd = memfd_create("scratch", MFD_CLOEXEC);

	EXPECT(fd >= 0);
	return fd;
}

static void duplicates(void)
{
	int fd = open(CDEV, O_RDWR | O_CLOEXEC);
	int copies[] = { dup(fd), dup2(fd, 200), dup3(fd, 201, O_CLOEXEC), fcntl(fd, F_DUPFD, 202),
			 fcntl(fd, F_DUPFD_CLOEXEC, 203) };

	EXPECT(is_device(fd));
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		EXPECT(copies[i] >= 0 && is_device(copies[i]));
	EXPECT(dup2(fd, fd) == fd && is_device(fd));
	close(fd);
	EXPECT(!is_device(fd));
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		EXPECT(is_device(copies[i]));
		close(copies[i]);
	}
}

/* Duplicates made by system calls, which the library does not intercept. */
static void unseen_duplicates(void)
{
	int fd = open(CDEV, O_RDWR | O_CLOEXEC);
	int copy = (int)syscall(SYS_dup, fd);

	EXPECT(copy >= 0 && is_device(copy));
	close(fd);
	EXPECT(is_device(copy));
	close(copy);
}

/*
 * The number of a device file is reused for another file, by intercepted functions and by system
 * calls. Then writes go to that file.
 */
static void other_file(void)
{
	int fd, file = scratch_file();

	fd = open(CDEV, O_RDWR | O_CLOEXEC);
	EXPECT(dup2(file, fd) == fd);
	EXPECT(!is_device(fd) && write(fd, "abc", 3) == 3 && size_of(file) == 3);
	close(fd);

	fd = open(CDEV, O_RDWR | O_CLOEXEC);
	EXPECT(syscall(SYS_dup3, file, fd, 0) == fd);
	EXPECT(!is_device(fd) && write(fd, "abc", 3) == 3 && size_of(file) == 6);
	close(fd);

	fd = open(CDEV, O_RDWR | O_CLOEXEC);
	syscall(SYS_close, fd);
	EXPECT(syscall(SYS_fcntl, file, F_DUPFD, fd) == fd);
	EXPECT(!is_device(fd) && write(fd, "abc", 3) == 3 && size_of(file) == 9);
	close(fd);

	fd = open(CDEV, O_RDWR | O_CLOEXEC);
	EXPECT(!close_range((unsigned int)fd, (unsigned int)fd, 0));
	EXPECT(!is_device(fd) && write(fd, "abc", 3) == -1 && errno == EBADF);
	close(file);
}

static void vectors(void)
{
	struct ib_uverbs_cmd_hdr hdr = { .command = IB_USER_VERBS_CMD_GET_CONTEXT };
	struct iovec iov[2] = { { .iov_base = &hdr, .iov_len = 4 },
				{ .iov_base = (char *)&hdr + 4, .iov_len = 4 } };
	void *volatile nowhere = (void *)16;
	int fd = open(CDEV, O_RDWR | O_CLOEXEC);

	/* Each element of the vector is a command of its own, and too short. */
	REFUSES(writev(fd, iov, 2), EINVAL);
	REFUSES(readv(fd, iov, 2), EINVAL);
	REFUSES(write(fd, nowhere, 64), EFAULT);
	close(fd);
}

/* A program that closes all descriptors that it does not know. */
static void closes_all(void)
{
	struct pair pair;

	pair_make(&pair);
	expect_traffic(&pair);
	for (int fd = 3; fd < NUMBERS; fd++)
		if (fd != pair.context->cmd_fd && fd != pair.context->async_fd &&
		    fd != pair.channel->fd)
			close(fd);
	EXPECT(!close_range(300, ~0u, 0));
	closefrom(400);
	expect_traffic(&pair);
	expect_alive(pair.context);
	pair_end(&pair);
}

/* A program that replaces all descriptors with a file of its own. */
static void takes_all(void)
{
	struct pair pair;
	int file;

	pair_make(&pair);
	expect_traffic(&pair);
	file = scratch_file();
	for (int fd = 3; fd < NUMBERS; fd++)
		if (fd != pair.context->cmd_fd && fd != pair.context->async_fd &&
		    fd != pair.channel->fd && fd != file)
			EXPECT((fd % 2 ? dup2(file, fd) : dup3(file, fd, 0)) == fd);
	expect_traffic(&pair);
	expect_alive(pair.context);
	EXPECT(!ibv_req_notify_cq(pair.cq, 0));
	expect_traffic(&pair);
	EXPECT(size_of(file) == 0);
	for (int fd = 3; fd < NUMBERS; fd++)
		if (fd != pair.context->cmd_fd && fd != pair.context->async_fd &&
		    fd != pair.channel->fd && fd != file)
			EXPECT(!close(fd));
	pair_end(&pair);
	EXPECT(size_of(file) == 0);
	close(file);
}

static int count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 2 * NUMBERS; fd++)
		n += syscall(SYS_fcntl, fd, F_GETFD, 0) >= 0;
	return n;
}

/*
 * The same by system calls, which the library does not see. The device goes on, with new
 * connections. Nothing is sent to the program's file, and none of its numbers is closed.
 */
static void takes_all_unseen(void)
{
	struct pair pair;
	int n = 0, sock[2];
	char byte;

	pair_make(&pair);
	expect_traffic(&pair);
	EXPECT(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock));
	for (int fd = NUMBERS / 8; fd < 2 * NUMBERS; fd++)
		if (syscall(SYS_fcntl, fd, F_GETFD, 0) >= 0)
			EXPECT(syscall(SYS_dup3, sock[0], fd, 0) == fd && ++n);
	EXPECT(n > 2);
	expect_alive(pair.context);
	expect_alive(pair.context);
	REFUSES(recv(sock[1], &byte, 1, MSG_DONTWAIT), EAGAIN);
	n = count_open();
	pair_end(&pair);
	/* The device's file, its async file and the channel. */
	EXPECT(count_open() == n - 3);
	REFUSES(recv(sock[1], &byte, 1, MSG_DONTWAIT), EAGAIN);
}

/* Files that the program opens get the lowest free numbers. */
static void low_numbers(void)
{
	struct ibv_context *context = open_first();
	int fd = open("/dev/null", O_RDONLY);

	EXPECT(context->cmd_fd < 16 && context->async_fd < 16 && fd < 16);
	close(fd);
	ibv_close_device(context);
}

int main(void)
{
	duplicates();
	unseen_duplicates();
	other_file();
	vectors();
	low_numbers();
	closes_all();
	takes_all();
	takes_all_unseen();
	return 0;
}
