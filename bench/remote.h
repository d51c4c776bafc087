/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* System calls that copy into another process's memory. */
#ifndef VNET_BENCH_REMOTE_H
#define VNET_BENCH_REMOTE_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#define REMOTE_SEGS 3

struct remote_copy {
	pid_t pid; /* the target process, for process_vm_writev() */
	int memfd; /* its /proc/PID/mem, for pread(), pwrite() and pwritev() */
	size_t len;
	/* With REMOTE_PROOF: the byte that is copied first, and its destination. */
	struct iovec proof_local, proof_remote;
	struct iovec local[REMOTE_SEGS];
	struct iovec remote[REMOTE_SEGS];
	unsigned long local_segs, remote_segs;
};

/* How the copy is split into iovecs. All but REMOTE_WHOLE are flags. */
enum remote_split {
	REMOTE_WHOLE = 0,
	/* The last 8 bytes (the second half, if there are at most 8) are a separate iovec. */
	REMOTE_SPLIT_LOCAL = 1,
	REMOTE_SPLIT_REMOTE = 2,
	/* The first iovec is one byte, to a page that exists only in the right address space. */
	REMOTE_PROOF = 4,
};

/* Prepares @copy for @len bytes from @local to @remote, split by @split. */
void remote_aim(struct remote_copy *copy, void *local, void *remote, size_t len,
		unsigned int split);

/* Opens /proc/@pid/mem. Prints an error and returns -1 if it cannot. */
int remote_open_mem(pid_t pid);

/* Each returns 0 or an errno value, and can be passed to time_op(). */
int remote_process_vm_writev(void *copy);
int remote_pwrite(void *copy);
int remote_pwritev(void *copy); /* the destination must not be split */
int remote_probe(void *copy); /* reads one byte, to check that the address space still exists */

#endif
