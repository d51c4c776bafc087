// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <sys/mman.h>

#include "guard.h"
#include "range.h"
#include "raw.h"
#include "token.h"

/*
 * Range of addresses: above the first 4 GiB, and below the end of every kind of user address space.
 */
#define LOWEST (1ull << 32)
#define HIGHEST (1ull << 46)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* The page's address, and the process that made it. A forked child makes its own. */
static u64 own_token;
static u32 own_pid;

static u64 random_page(void)
{
	u64 address = 0;

	if (raw_syscall(SYS_getrandom, (long)&address, sizeof(address), 0, 0, 0, 0) !=
	    sizeof(address))
		return 0;
	address = page_floor(address & (HIGHEST - 1));
	return address >= LOWEST ? address : 0;
}

/* Make one attempt. Returns 0 if the address is in use or cannot be mapped. */
static u64 map_page(void)
{
	u64 address = random_page();
	struct token_page content = { .magic = TOKEN_MAGIC, .address = address };
	void *want = (void *)address;
	void *page;

	if (!address)
		return 0;
	page = raw_mmap(want, PAGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE);
	if (!page)
		return 0;
	/* Kernels before 4.17 treat the address as a hint. */
	if (page != want)
		goto err_unmap;
	if (raw_syscall(SYS_madvise, (long)page, PAGE_BYTES, MADV_DONTFORK, 0, 0, 0))
		goto err_unmap;
	(void)raw_syscall(SYS_madvise, (long)page, PAGE_BYTES, MADV_DONTDUMP, 0, 0, 0);
	/*
	 * Sanitizers have no shadow memory for such an address, so store without instrumentation.
	 */
	(void)guard_copy_raw(page, &content, sizeof(content));
	return address;

err_unmap:
	raw_munmap(page, PAGE_BYTES);
	return 0;
}

u64 token_own(void)
{
	u32 pid = raw_getpid();
	u64 token = 0;

	if (nic_load_acquire(&own_pid) == pid)
		return nic_load(&own_token);
	for (int attempt = 0; attempt < 64 && !token; attempt++)
		token = map_page();
	nic_store(&own_token, token);
	nic_store_release(&own_pid, pid);
	return token;
}

bool token_verify(u32 pid, u64 token)
{
	struct token_page content = { .magic = 0 };
	const struct iovec local = { .iov_base = &content, .iov_len = sizeof(content) };
	const struct iovec remote = { .iov_base = (void *)token, .iov_len = sizeof(content) };

	return raw_process_vm(false, pid, &local, 1, &remote, 1) == sizeof(content) &&
	       content.magic == TOKEN_MAGIC && content.address == token;
}
