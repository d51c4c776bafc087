// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mapping device files, and protecting memory that may be registered. */
#define _GNU_SOURCE
#include <stdarg.h>

#include "base/real.h"
#include "devices/device.h"
#include "mapped/mapped.h"
#include "devices/regions.h"

#define PAGE_MASK_OF(page) (~((u64)(page)-1))

/* Is this range inside queue memory? The rest of NIC memory must not be mapped by the program. */
static bool is_queue_memory(const struct client_nic *cn, u64 offset, u64 length)
{
	const struct nic *nic = &cn->nic;

	return length && offset >= nic->off_queue && length <= nic->queue_bytes &&
	       offset - nic->off_queue <= nic->queue_bytes - length;
}

/*
 * NIC memory is already mapped here, so map its pages once more from that mapping: mremap() of a
 * shared mapping with old size 0 makes a second mapping.
 */
static long map_again(const struct client_nic *cn, void *address, u64 length, int prot, int flags,
		      u64 offset)
{
	int how = MREMAP_MAYMOVE | (flags & MAP_FIXED ? MREMAP_FIXED : 0);
	long ret = sys(SYS_mremap, cn->memory + offset, 0, length, how, address);

	if (ret < 0 && ret > -4096)
		return ret;
	if (prot != (PROT_READ | PROT_WRITE))
		(void)sys(SYS_mprotect, ret, length, prot);
	return ret;
}

static long device_mmap(const struct fd_entry *entry, void *address, size_t length, int prot,
			int flags, off_t offset)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	struct session *s;
	int ret;

	if (entry->kind != FD_UVERBS)
		return -ENODEV;
	ret = device_session(entry, &s);
	if (ret)
		return ret;
	length = (length + page - 1) & PAGE_MASK_OF(page);
	if ((flags & MAP_TYPE) == MAP_PRIVATE || offset < 0 || ((u64)offset & (page - 1)) ||
	    entry->nic >= s->nnics || !is_queue_memory(s->nic[entry->nic], (u64)offset, length))
		return -EINVAL;
	if (prot & PROT_EXEC)
		return -EPERM;
	return map_again(s->nic[entry->nic], address, length, prot, flags, (u64)offset);
}

/* Returns the entry of a device descriptor, also of one that the process got without our notice. */
static bool device_entry(int fd, struct fd_entry *entry)
{
	enum fd_kind kind = fdtable_hint(fd);

	return kind != FD_NONE && kind != FD_KEPT && fdtable_get(fd, entry);
}

/* The program replaces pages that may be mapped by peers. */
static void *mmap_over(void *address, size_t length, int prot, int flags, int fd, off_t offset)
{
	struct mapped_change change;
	void *ret;
	int saved;

	mapped_change_begin(&change, address, length);
	ret = real()->mmap(address, length, prot, flags, fd, offset);
	saved = errno;
	mapped_change_end(&change, ret != MAP_FAILED);
	errno = saved;
	return ret;
}

static void *do_mmap(void *address, size_t length, int prot, int flags, int fd, off_t offset)
{
	struct fd_entry entry;
	void *ret;

	if (fd >= 0 && unlikely(device_entry(fd, &entry)))
		return (void *)libc_result(
			device_mmap(&entry, address, length, prot, flags, offset));
	if (unlikely(flags & MAP_FIXED && nic_load(&mapped_count)))
		ret = mmap_over(address, length, prot, flags, fd, offset);
	else
		ret = real()->mmap(address, length, prot, flags, fd, offset);
	if (likely(ret != MAP_FAILED))
		regions_protected(ret, length, prot);
	return ret;
}

INTERPOSED void *mmap(void *address, size_t length, int prot, int flags, int fd, off_t offset)
{
	return do_mmap(address, length, prot, flags, fd, offset);
}

INTERPOSED void *mmap64(void *address, size_t length, int prot, int flags, int fd, off64_t offset)
{
	return do_mmap(address, length, prot, flags, fd, offset);
}

INTERPOSED int mprotect(void *address, size_t length, int prot)
{
	int ret = real()->mprotect(address, length, prot);

	if (!ret)
		regions_protected(address, length, prot);
	return ret;
}

INTERPOSED int munmap(void *address, size_t length)
{
	struct mapped_change change;
	int ret, saved;

	if (likely(!nic_load(&mapped_count)))
		return real()->munmap(address, length);
	mapped_change_begin(&change, address, length);
	ret = real()->munmap(address, length);
	saved = errno;
	mapped_change_end(&change, !ret);
	errno = saved;
	return ret;
}

INTERPOSED void *mremap(void *address, size_t old_length, size_t length, int flags, ...)
{
	void *to = NULL;
	va_list args;

	if (flags & MREMAP_FIXED) {
		va_start(args, flags);
		to = va_arg(args, void *);
		va_end(args);
	}
	if (unlikely(nic_load(&mapped_count))) {
		/* Shared pages elsewhere would be at the wrong place of the file. */
		if (!mapped_make_private(address, old_length)) {
			errno = ENOMEM;
			return MAP_FAILED;
		}
		if (to)
			(void)mapped_make_private(to, length);
	}
	return real()->mremap(address, old_length, length, flags, to);
}

INTERPOSED int madvise(void *address, size_t length, int advice)
{
	if (likely(!nic_load(&mapped_count)))
		return real()->madvise(address, length, advice);
	return (int)libc_result(mapped_madvise(address, length, advice));
}
