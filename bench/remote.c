// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The copies of remote.h, by system calls without the C library's wrappers.
 *
 * The user-mode platform does not use the wrappers either, as they are cancellation points.
 */
#include "remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long split_range(struct iovec *iov, void *base, size_t len, bool split)
{
	size_t tail = len > 8 ? 8 : len / 2;

	if (!split) {
		iov[0] = (struct iovec){ base, len };
		return 1;
	}
	iov[0] = (struct iovec){ base, len - tail };
	iov[1] = (struct iovec){ (char *)base + len - tail, tail };
	return 2;
}

void remote_aim(struct remote_copy *copy, void *local, void *remote, size_t len, unsigned int split)
{
	unsigned long first = split & REMOTE_PROOF ? 1 : 0;

	copy->len = len + first;
	copy->local[0] = copy->proof_local;
	copy->remote[0] = copy->proof_remote;
	copy->local_segs =
		first + split_range(copy->local + first, local, len, split & REMOTE_SPLIT_LOCAL);
	copy->remote_segs =
		first + split_range(copy->remote + first, remote, len, split & REMOTE_SPLIT_REMOTE);
}

int remote_open_mem(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return fd;
}

/* Returns 0 or an errno value. A short copy sets no errno: the memory was unmapped half-way. */
static int copied(long n, size_t expected)
{
	if (n < 0)
		return errno;
	return (size_t)n == expected ? 0 : EFAULT;
}

int remote_process_vm_writev(void *arg)
{
	const struct remote_copy *c = arg;

	return copied(syscall(SYS_process_vm_writev, c->pid, c->local, c->local_segs, c->remote,
			      c->remote_segs, 0ul),
		      c->len);
}

int remote_pwrite(void *arg)
{
	const struct remote_copy *c = arg;

	return copied(syscall(SYS_pwrite64, c->memfd, c->local[0].iov_base, c->len,
			      (long)(uintptr_t)c->remote[0].iov_base),
		      c->len);
}

int remote_pwritev(void *arg)
{
	const struct remote_copy *c = arg;

	return copied(syscall(SYS_pwritev, c->memfd, c->local, c->local_segs,
			      (long)(uintptr_t)c->remote[0].iov_base, 0l),
		      c->len);
}

int remote_probe(void *arg)
{
	const struct remote_copy *c = arg;
	char byte;

	return copied(syscall(SYS_pread64, c->memfd, &byte, 1ul,
			      (long)(uintptr_t)c->remote[0].iov_base),
		      1);
}
