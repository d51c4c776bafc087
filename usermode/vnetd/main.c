// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Main program of vnetd: start, main loop, and end. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clients/clients.h"
#include "clients/connections.h"
#include "cm/cm.h"
#include "daemon.h"
#include "devices/devices.h"
#include "link/link.h"
#include "loop/loop.h"
#include "mad/mad.h"
#include "process/process.h"
#include "sysfs/sysfs.h"

/* Time limit for another vnetd to start or to end. */
#define NODE_LOCK_TIMEOUT (10 * NSEC_PER_SEC)
#define NODE_LOCK_POLL_USEC 5000
/* When an operation has been parked for so long, check whether the lock's owner lives. */
#define STUCK_TIME (100 * NSEC_PER_MSEC)

int failed(struct daemon *daemon, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(daemon->problem, sizeof(daemon->problem), format, args);
	va_end(args);
	return -error;
}

static int __attribute__((noreturn)) give_up(struct daemon *daemon)
{
	if (daemon->options.foreground || daemon->lock_fd < 0)
		fprintf(stderr, "vnetd: %s\n", daemon->problem);
	else
		log_line("%s", daemon->problem);
	ready_fail(daemon);
	exit(1);
}

/* Takes the node's lock. Exits if another daemon answers, or if the lock stays taken. */
static void acquire_node_lock(struct daemon *daemon)
{
	u64 give_up_at = clock_now() + NODE_LOCK_TIMEOUT;

	while (clock_now() < give_up_at) {
		int error = rundir_lock(daemon);

		if (!error)
			return;
		if (error != -EWOULDBLOCK)
			give_up(daemon);
		if (rundir_answers(daemon)) {
			ready_tell(daemon);
			exit(0);
		}
		usleep(NODE_LOCK_POLL_USEC);
	}
	failed(daemon, ETIMEDOUT, "another vnetd holds %s, but does not answer", daemon->dir);
	give_up(daemon);
}

/* One step per line. */
/* clang-format off */
static const struct {
	const char *what;
	int (*init)(struct daemon *daemon);
} steps[] = {
	{ "guardian", guardian_start },
	{ "signals", signals_init },
	{ "places of nodes", link_gid_dir_init },
	{ "keys", link_keys_init },
	{ "faults", link_faults_init },
	{ "devices", devices_init },
	{ "sign of life", agent_life_init },
	{ "NIC processor", processor_init },
	{ "connection manager", cm_init },
	{ "folder tree", sysfs_init },
	{ "addresses", identity_watch },
	{ "socket", listen_open },
};
/* clang-format on */

static void init(struct daemon *daemon)
{
	int error = loop_init(&daemon->loop);

	if (error) {
		failed(daemon, -error, "event loop: %s", strerror(-error));
		give_up(daemon);
	}
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		error = steps[i].init(daemon);
		if (!error)
			continue;
		if (!daemon->problem[0])
			failed(daemon, -error, "%s: %s", steps[i].what, strerror(-error));
		give_up(daemon);
	}
}

/*
 * Returns a reason if parked operations wait for a lock without a living owner. There is no time
 * limit for locks of living processes.
 */
static const char *stuck(struct daemon *daemon, u64 now)
{
	if (now < daemon->stuck_at || !park_waits(&daemon->park, now, STUCK_TIME))
		return NULL;
	daemon->stuck_at = now + STUCK_TIME;
	return devices_stuck(daemon);
}

static void run(struct daemon *daemon)
{
	while (!daemon->stop) {
		u64 now = clock_now();
		u64 deadline = processor_run(daemon, now);

		deadline = earlier(deadline, link_run(daemon, now));
		deadline = earlier(deadline, cm_run(daemon, now));
		deadline = earlier(deadline, umad_run(now));
		deadline = earlier(deadline, device_faults_run(daemon, now));
		deadline = earlier(deadline, park_run(&daemon->park, now));
		deadline = earlier(deadline, conn_run(daemon, now));
		deadline = earlier(deadline, client_run(daemon, now));
		deadline = earlier(deadline, listen_run(daemon, now));
		if (!daemon->stop)
			daemon->stop = devices_damage(daemon);
		if (!daemon->stop)
			daemon->stop = stuck(daemon, now);
		if (daemon->stop)
			break;
		loop_turn(&daemon->loop, deadline);
		processor_awake(daemon);
	}
}

int main(int argc, char **argv)
{
	static struct daemon daemon = {
		.lock_fd = -1,
		.greet_at = NEVER,
		.watch_at = NEVER,
		.idle_since = NEVER,
		.renewed = true,
	};
	int error;

	options_parse(&daemon.options, argc, argv);
	/* Private files have an explicit mode; the sysfs tree is readable as under /sys. */
	umask(022);
	close_inherited(daemon.options.ready_fd);
	if (rundir_open(&daemon) < 0)
		give_up(&daemon);
	acquire_node_lock(&daemon);

	raise_descriptor_limit();
	park_init(&daemon.park);
	daemon.started = clock_now();
	error = daemonise(&daemon);
	if (error < 0) {
		failed(&daemon, -error, "cannot become a daemon: %s", strerror(-error));
		give_up(&daemon);
	}
	daemon.reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	init(&daemon);
	device_port(&daemon, !daemon.faults.down);
	log_line("serves %s: %s", daemon.dir, daemon.options.devices);
	ready_tell(&daemon);

	run(&daemon);

	/* Refuse new clients, and let present ones see the end at once. */
	log_line("ends: %s", daemon.stop);
	listen_close(&daemon);
	link_withdraw_gids(&daemon);
	devices_fatal(&daemon);
	return 0;
}
