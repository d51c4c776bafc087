/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the system tells of a client process: its memory map, its descriptors.
 */
#ifndef UVERBS_PROCESS_H
#define UVERBS_PROCESS_H

#include "../vnetd.h"

/*
 * Is all of [start, start + length) mapped, readable, and writable if asked?
 * 0 or -EFAULT. No page is touched, but where a stack may grow. *file (or NULL): is some
 * of it a file's that is not in memory for good?
 */
int uv_process_mapped(struct client *client, u64 start, u64 length, bool writable, bool *file);

/* Does the mapping at this address have huge pages? */
bool uv_process_huge(const struct client *client, u64 address);
/*
 * Inode of the socket behind a descriptor of the process: 0 or -EBADF; UV_PARK: the
 * process is asked for the descriptor, and repeats the call.
 */
int uv_process_socket(struct call *call, s64 fd, u64 *inode);
/*
 * Any file behind a descriptor of the process: 0, and one of our own that holds it,
 * -EBADF, or UV_PARK as above.
 */
int uv_process_file(struct call *call, s64 fd, int *file);
/* Has the process this capability (CAP_...) in the user namespace of the daemon? */
bool uv_process_capable(const struct client *client, u32 capability);
/* Inode of a socket of our own. */
int uv_socket_inode(int fd, u64 *inode);

#endif /* UVERBS_PROCESS_H */
