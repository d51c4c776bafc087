// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies from and to client memory, like copy_from_user() and copy_to_user(). They use the
 * client's /proc/self/mem descriptor, which is bound to its address space and needs no permission
 * check. Only resident pages are copied: an absent page may belong to a file whose server does
 * not answer.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "../../platform/presence.h"
#include "clients.h"

/* Most pages are brought in this time; if not, the call is parked. */
#define SHORT_WAIT_MS 2
#define PAGE_OFFSET_BITS 12

/* Higher addresses would be negative file offsets, which pread() and pwrite() refuse. */
static bool in_range(u64 addr, size_t length)
{
	return addr <= INT64_MAX && length <= INT64_MAX - addr;
}

/* Whether a range is resident. Remembers the last page, as calls often use one page. */
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
 * Whether the caller still waits. A caller that does not wait any longer closes its connection
 * first, because the memory for the answer may then be in use for something else.
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
	/* If pages cannot be brought, the copy fails at the first of them. */
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
	/* If pages cannot be brought, the copy fails at the first of them. */
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
