// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * copy_from_user() and copy_to_user(), by a client's own memory descriptor:
 * bound to its address space, and no permission asked.
 */
#include <errno.h>
#include <unistd.h>

#include "daemon.h"

/* Addresses beyond are negative offsets, which the calls refuse. */
static bool in_range(u64 addr, size_t length)
{
	return addr <= INT64_MAX && length <= INT64_MAX - addr;
}

int user_read(struct client *client, void *dst, u64 addr, size_t length)
{
	u8 *to = dst;

	if (client->dead || !in_range(addr, length))
		return -EFAULT;
	while (length) {
		ssize_t n = pread(client->mem_fd, to, length, (off_t)addr);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EFAULT;
		to += n;
		addr += (u64)n;
		length -= (size_t)n;
	}
	return 0;
}

int user_write(struct client *client, u64 addr, const void *src, size_t length)
{
	const u8 *from = src;

	if (client->dead || !in_range(addr, length))
		return -EFAULT;
	while (length) {
		ssize_t n = pwrite(client->mem_fd, from, length, (off_t)addr);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EFAULT;
		from += n;
		addr += (u64)n;
		length -= (size_t)n;
	}
	return 0;
}
