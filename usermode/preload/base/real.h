/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The functions that this library interposes on. They are the next definitions in the program's
 * search order: the C library's, or another preloaded library's.
 */
#ifndef REAL_H
#define REAL_H

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/result.h"

/* Declared since glibc 2.34 only, and not there before. */
pid_t _Fork(void);
/* What pthread_atfork() calls, which is in each library itself. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
/* Declared in <setjmp.h> only for programs with _FORTIFY_SOURCE. */
void __longjmp_chk(struct __jmp_buf_tag env[1], int value) __attribute__((noreturn));

/* On 64-bit machines the variants with 64 in their name (open64, ...) are the same functions. */
/* clang-format off */
#define REAL_FUNCTIONS(X) \
	X(mmap) X(mprotect) X(munmap) X(mremap) X(madvise) X(read) X(pread64) X(preadv64) X(write) X(readv) X(writev) X(close) X(ioctl) \
	X(fcntl) X(open) X(openat) X(creat) X(fopen) X(freopen) X(stat) X(lstat) \
	X(fstat) X(fstatat) X(statx) X(access) X(faccessat) X(euidaccess) \
	X(readlink) X(readlinkat) X(realpath) X(chdir) X(opendir) X(scandir) \
	X(scandirat) X(glob) X(getxattr) X(lgetxattr) X(listxattr) X(llistxattr) \
	X(dup) X(dup2) X(dup3) X(epoll_ctl) X(close_range) X(closefrom) X(clone) X(_Fork) X(__register_atfork) X(execve) \
	X(execvpe) X(fexecve) X(execveat) X(sigaction) X(signal) X(sigprocmask) \
	X(pthread_sigmask) X(socket) X(bind) X(connect) X(getsockname) X(getpeername) \
	X(getsockopt) X(setsockopt) X(send) X(sendto) X(sendmsg) X(recv) X(recvfrom) X(recvmsg) X(recvmmsg) \
	X(prctl) X(getrlimit) X(setrlimit) X(prlimit) X(longjmp) X(_longjmp) X(siglongjmp) X(__longjmp_chk)
/* clang-format on */

struct real {
	bool ready;
#define REAL_MEMBER(name) __typeof__(name) *name;
	REAL_FUNCTIONS(REAL_MEMBER)
#undef REAL_MEMBER
};

extern struct real real_functions;

/* Called by our constructor, or earlier if another library's constructor calls us first. */
void real_init(void);

static inline const struct real *real(void)
{
	if (unlikely(!__atomic_load_n(&real_functions.ready, __ATOMIC_ACQUIRE)))
		real_init();
	return &real_functions;
}

#endif /* REAL_H */
