/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Information about a client process: memory map, descriptors, and capabilities. */
#ifndef UVERBS_PROCESS_H
#define UVERBS_PROCESS_H

#include "clients/clients.h"

/*
 * Checks that [start, start + length) is mapped readable, and, if asked, writable. Returns 0 or
 * -EFAULT. Touches no page, except where a stack may grow. *file (or NULL): set if a part belongs
 * to a file whose pages may be absent.
 */
int uv_process_mapped(struct client *client, u64 start, u64 length, bool writable, bool *file);

/* Whether the mapping at this address has huge pages. */
bool uv_process_huge(const struct client *client, u64 address);
/*
 * Stores the inode of the socket behind a descriptor of the process. Returns 0, -EBADF, or
 * UV_PARK: the process is asked to repeat the call with the descriptor attached.
 */
int uv_process_socket(struct call *call, s64 fd, u64 *inode);
/* Likewise for any file: stores an O_PATH descriptor of it. */
int uv_process_file(struct call *call, s64 fd, int *file);
/* Whether the process has this capability (CAP_...) in the daemon's user namespace. */
bool uv_process_capable(const struct client *client, u32 capability);
/* Stores the inode of one of the daemon's own sockets. */
int uv_socket_inode(int fd, u64 *inode);

#endif /* UVERBS_PROCESS_H */
