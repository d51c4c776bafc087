/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The functions that ours stand in front of: the next ones in the program's
 * search order, which are the C library's or another preloaded library's.
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
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "result.h"

/* As the headers declare it for programs that check their calls. */
void __longjmp_chk(struct __jmp_buf_tag env[1], int value) __attribute__((noreturn));

/* 64-bit twins (open64, ...) are the same functions on 64-bit machines. */
/* clang-format off */
#define REAL_FUNCTIONS(X) \
	X(mmap) X(mprotect) X(read) X(write) X(readv) X(writev) X(close) X(ioctl) \
	X(fcntl) X(open) X(openat) X(creat) X(fopen) X(freopen) X(stat) X(lstat) \
	X(fstat) X(fstatat) X(statx) X(access) X(faccessat) X(euidaccess) \
	X(readlink) X(readlinkat) X(realpath) X(chdir) X(opendir) X(scandir) \
	X(scandirat) X(glob) X(getxattr) X(lgetxattr) X(listxattr) X(llistxattr) \
	X(dup) X(dup2) X(dup3) X(close_range) X(closefrom) X(clone) X(execve) \
	X(execvpe) X(fexecve) X(execveat) X(sigaction) X(signal) X(sigprocmask) \
	X(pthread_sigmask) X(socket) X(bind) X(connect) X(getsockname) X(getpeername) \
	X(getsockopt) X(setsockopt) X(send) X(sendto) X(sendmsg) X(recvfrom) X(recvmsg) \
	X(prctl) X(getrlimit) X(setrlimit) X(prlimit) X(longjmp) X(_longjmp) X(siglongjmp) X(__longjmp_chk)
/* clang-format on */

struct real {
	bool ready;
#define REAL_MEMBER(name) __typeof__(name) *name;
	REAL_FUNCTIONS(REAL_MEMBER)
#undef REAL_MEMBER
};

extern struct real real_functions;

/* Other libraries' constructors may call us before ours has run. */
void real_init(void);

static inline const struct real *real(void)
{
	if (unlikely(!__atomic_load_n(&real_functions.ready, __ATOMIC_ACQUIRE)))
		real_init();
	return &real_functions;
}

#endif /* REAL_H */
