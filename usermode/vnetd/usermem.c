// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * copy_from_user() and copy_to_user(), by a client's own memory descriptor:
 * bound to its address space, and no permission asked. Only what is in memory is
 * copied: a page that is not may be a file's whose server does not answer.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "../platform/presence.h"
#include "daemon.h"
#include "uverbs/uverbs.h"

/* Most pages come in this time; a call that needs others is parked. */
#define SHORT_WAIT_MS 2
#define PAGE_OFFSET_BITS 12

/* Addresses beyond are negative offsets, which the calls refuse. */
static bool in_range(u64 addr, size_t length)
{
	return addr <= INT64_MAX && length <= INT64_MAX - addr;
}

/* Structures of one call are mostly on one page, which is looked for once. */
static bool is_present(struct client *client, u64 addr, u64 length)
{
	u64 page = addr >> PAGE_OFFSET_BITS;

	if (client->pagemap_fd < 0 || !length)
		return true;
	if (page == client->present_page && (addr + length - 1) >> PAGE_OFFSET_BITS == page)
		return true;
	if (!presence_of(client->pagemap_fd, addr, length))
		return false;
	client->present_page = page;
	return true;
}

int user_bring(struct client *client, u64 addr, u64 length)
{
	int err;

	if (client->dead || !in_range(addr, length) || is_present(client, addr, length))
		return 0;
	err = pager_bring(client, addr, length, client->call_since, SHORT_WAIT_MS);
	return err == -EAGAIN ? UV_PARK : err;
}

/*
 * A caller that has given up hangs up first. What it gave as room for the answer may be
 * another function's stack by now.
 */
bool user_waits(int sock)
{
	struct pollfd look = { .fd = sock, .events = POLLRDHUP };

	return poll(&look, 1, 0) == 0;
}

int user_read(struct client *client, void *dst, u64 addr, size_t length)
{
	u8 *to = dst;

	if (client->dead || !in_range(addr, length))
		return -EFAULT;
	/* What cannot be brought is copied: that fails as soon as it comes to it. */
	if (user_bring(client, addr, length) == UV_PARK)
		return UV_PARK;
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

	if (client->dead || !in_range(addr, length) || !user_waits(client->call_sock))
		return -EFAULT;
	/* What cannot be brought is copied: that fails as soon as it comes to it. */
	if (user_bring(client, addr, length) == UV_PARK)
		return UV_PARK;
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
