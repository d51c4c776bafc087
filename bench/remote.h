/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One copy into another process' memory, by each way that the kernel offers. */
#ifndef VNET_BENCH_REMOTE_H
#define VNET_BENCH_REMOTE_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#define REMOTE_SEGS 3

struct remote_copy {
	pid_t pid; /* whose memory: for process_vm_* */
	int memfd; /* its /proc/PID/mem: for pread and pwrite */
	size_t len;
	/* One byte here, and where it is stored before all others: see REMOTE_PROOF. */
	struct iovec proof_local, proof_remote;
	struct iovec local[REMOTE_SEGS];
	struct iovec remote[REMOTE_SEGS];
	unsigned long local_segs, remote_segs;
};

/* How the copy is cut into iovecs; flags, but for REMOTE_WHOLE. */
enum remote_split {
	REMOTE_WHOLE = 0,
	/* The last 8 bytes (of fewer than 9: the last half) are an iovec of their own. */
	REMOTE_SPLIT_LOCAL = 1,
	REMOTE_SPLIT_REMOTE = 2,
	/* A byte in front, to a page that only the right address space has. */
	REMOTE_PROOF = 4,
};

/* Aim @copy at @len bytes at @remote, to be copied from @local, cut by @split. */
void remote_aim(struct remote_copy *copy, void *local, void *remote, size_t len,
		unsigned int split);

/* Open /proc/@pid/mem, or say why not and return -1. */
int remote_open_mem(pid_t pid);

/* Each returns 0 or an errno; their form is that of time_op(). */
int remote_process_vm_writev(void *copy);
int remote_pwrite(void *copy);
int remote_pwritev(void *copy); /* its target is never split */
int remote_probe(void *copy); /* pread of one byte: is it still there? */

#endif
