// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "presence.h"
#include "raw.h"

#define PAGE_IS_PRESENT (1ull << 63)
/* Entries that are read at a time: 512 KiB of memory in pages of 4 KiB. */
#define ENTRIES 128

int presence_open(u32 pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/pagemap", pid);
	return (int)raw_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

bool presence_of(int pagemap, u64 addr, u64 length)
{
	u64 size = (u64)sysconf(_SC_PAGESIZE);
	u64 page = addr / size, end = length ? (addr + length - 1) / size + 1 : page;
	u64 entry[ENTRIES] = { 0 };

	while (page < end) {
		u64 n = end - page < ENTRIES ? end - page : ENTRIES;
		long got = raw_pread(pagemap, entry, n * sizeof(*entry), page * sizeof(*entry));

		if (got < (long)sizeof(*entry))
			return got != 0;
		n = (u64)got / sizeof(*entry);
		for (u64 i = 0; i < n; i++)
			if (!(entry[i] & PAGE_IS_PRESENT))
				return false;
		page += n;
	}
	return true;
}
