// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Signals: SIGTERM and SIGINT end the daemon, SIGHUP reads the keys again. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon.h"
#include "link/link.h"
#include "loop/loop.h"

static void signals_ready(struct source *source, u32 events)
{
	struct daemon *daemon = container_of(source, struct daemon, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		link_keys_reload(daemon);
	else
		daemon->stop = info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT";
}

int signals_init(struct daemon *daemon)
{
	sigset_t set;

	/* Writing to a closed socket, or beyond a file size limit, returns an error instead. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGHUP, SIG_DFL);

	sigemptyset(&set);
	/* In the foreground, SIGHUP ends the daemon. */
	if (!daemon->options.foreground)
		sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
		return -errno;
	daemon->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (daemon->signals.fd < 0)
		return -errno;
	daemon->signals.ready = signals_ready;
	/*
	 * Handle SIGSEGV and SIGBUS of guarded copies: the system may lack a page for NIC memory.
	 */
	if (host_guard_init() < 0)
		return -EINVAL;
	return loop_add(&daemon->loop, &daemon->signals, EPOLLIN);
}
