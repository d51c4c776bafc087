/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * System calls for the library's own use, made directly as in platform/raw.h. No wrapper sees them
 * (ours or that of another preloaded library). They are no cancellation points, return errors as
 * negative errno values, and do not change errno.
 */
#ifndef SYS_H
#define SYS_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../platform/raw.h"

#define SYS_SIX(number, a, b, c, d, e, f, ...)                                                     \
	raw_syscall(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define sys(...) SYS_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

/* Identity of an open file, independent of descriptor numbers. */
struct identity {
	dev_t dev;
	ino_t ino;
};

static inline int sys_open(const char *path, int flags)
{
	return (int)sys(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

static inline void sys_close(int fd)
{
	if (fd >= 0)
		(void)sys(SYS_close, fd);
}

static inline int sys_stat(const char *path, struct stat *st)
{
	return (int)sys(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

static inline int sys_fstat(int fd, struct stat *st)
{
	return (int)sys(SYS_fstat, fd, st);
}

static inline int sys_identity(int fd, struct identity *id)
{
	struct stat st = { 0 };
	int ret = sys_fstat(fd, &st);

	if (ret)
		return ret;
	id->dev = st.st_dev;
	id->ino = st.st_ino;
	return 0;
}

static inline pid_t sys_getpid(void)
{
	return (pid_t)raw_getpid();
}

static inline void *sys_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	long ret = sys(SYS_mmap, addr, length, prot, flags, fd, offset);

	return (unsigned long)ret > -4096ul ? NULL : (void *)ret;
}

/*
 * Block all signals, so that no handler of the program runs in a critical section. Returns the
 * previous mask.
 */
static inline raw_sigset_t sys_block_signals(void)
{
	return raw_sigmask(SIG_SETMASK, ~0ull);
}

static inline void sys_restore_signals(raw_sigset_t saved)
{
	(void)raw_sigmask(SIG_SETMASK, saved);
}

#endif /* SYS_H */
