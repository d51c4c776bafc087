// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Runs a command under a seccomp filter that refuses process_vm_readv() and
 * process_vm_writev(). Container runtimes and Yama refuse them, too. The filter also applies to
 * processes that the command starts.
 *
 *   no_process_vm CMD...
 */
#define _GNU_SOURCE
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int refuse(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err;

	if (!filter)
		return -ENOMEM;
	err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(process_vm_readv), 0);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(process_vm_writev),
				       0);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* Checks that the filter works; otherwise tests would prove nothing. */
static int is_refused(void)
{
	char from = 1, to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) < 0 && errno == EPERM &&
	       process_vm_writev(getpid(), &local, 1, &remote, 1, 0) < 0 && errno == EPERM;
}

int main(int argc, char **argv)
{
	int err;

	if (argc < 2 || !strcmp(argv[1], "--help")) {
		fprintf(stderr, "usage: no_process_vm CMD [ARG...]\n");
		return 2;
	}
	err = refuse();
	if (err) {
		fprintf(stderr, "no_process_vm: no filter: %s\n", strerror(-err));
		return 125;
	}
	if (!is_refused()) {
		fprintf(stderr, "no_process_vm: the filter does not refuse\n");
		return 125;
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "no_process_vm: %s: %s\n", argv[1], strerror(errno));
	return 127;
}
