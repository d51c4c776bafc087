// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Signals: a request to end is an event like others; the rest is ignored. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "link.h"

static void signals_ready(struct source *source, u32 events)
{
	struct daemon *daemon = container_of(source, struct daemon, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		link_keys_again(daemon);
	else
		daemon->stop = info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT";
}

int signals_init(struct daemon *daemon)
{
	sigset_t set;

	/* Writing to a peer that is gone, or past a file size limit, is an errno. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGHUP, SIG_DFL);

	sigemptyset(&set);
	/* At a terminal it is a request to end; else keys are read again. */
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
	/* NIC memory may turn out to have no page behind it. */
	if (host_guard_init() < 0)
		return -EINVAL;
	return loop_add(&daemon->loop, &daemon->signals, EPOLLIN);
}
