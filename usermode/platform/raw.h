/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * System calls for code that runs inside a program's verbs calls. They are made directly: no
 * wrapper of a preloaded library sees them, they are no cancellation points, and errno does not
 * change. Errors are returned as negative errno.
 */
#ifndef RAW_H
#define RAW_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "layout/types.h"

#if defined(__x86_64__)
static inline long raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "raw_syscall() is not written for this processor"
#endif

static inline long raw_pread(int fd, void *buf, size_t length, u64 offset)
{
	return raw_syscall(SYS_pread64, fd, (long)buf, (long)length, (long)offset, 0, 0);
}

static inline long raw_pwrite(int fd, const void *buf, size_t length, u64 offset)
{
	return raw_syscall(SYS_pwrite64, fd, (long)buf, (long)length, (long)offset, 0, 0);
}

/* The offset's high word is for 32-bit machines only. */
static inline long raw_preadv(int fd, const struct iovec *iov, u32 n, u64 offset)
{
	return raw_syscall(SYS_preadv, fd, (long)iov, n, (long)offset, 0, 0);
}

static inline long raw_pwritev(int fd, const struct iovec *iov, u32 n, u64 offset)
{
	return raw_syscall(SYS_pwritev, fd, (long)iov, n, (long)offset, 0, 0);
}

static inline long raw_process_vm(bool write, u32 pid, const struct iovec *local, u32 nlocal,
				  const struct iovec *remote, u32 nremote)
{
	return raw_syscall(write ? SYS_process_vm_writev : SYS_process_vm_readv, pid, (long)local,
			   nlocal, (long)remote, nremote, 0);
}

static inline void raw_close(int fd)
{
	(void)raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline u32 raw_getpid(void)
{
	return (u32)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline void *raw_mmap(void *addr, size_t length, int prot, int flags)
{
	long ret = raw_syscall(SYS_mmap, (long)addr, (long)length, prot, flags, -1, 0);

	return (unsigned long)ret > -4096ul ? NULL : (void *)ret;
}

static inline void raw_munmap(void *addr, size_t length)
{
	(void)raw_syscall(SYS_munmap, (long)addr, (long)length, 0, 0, 0, 0);
}

/* A signal set in the kernel's format. */
typedef u64 raw_sigset_t;

static inline raw_sigset_t raw_sigmask(int how, raw_sigset_t set)
{
	raw_sigset_t old = 0;

	(void)raw_syscall(SYS_rt_sigprocmask, how, (long)&set, (long)&old, sizeof(set), 0, 0);
	return old;
}

#endif /* RAW_H */
