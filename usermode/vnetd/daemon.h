/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state of the daemon, grouped by the files that maintain it. It declares functions of main
 * files only; those of rooms are in their headers.
 */
#ifndef DAEMON_H
#define DAEMON_H

#include "../platform/link.h"
#include "clients/clients.h"
#include "device.h"
#include "loop/loop.h"
#include "process/process.h"
#include "vnetd.h"

#define FILE_BUCKETS 256

struct cm;
struct conn;

/* Injected fault: queue pairs find no receives for `on` ns, once (period 0) or in each period. */
struct storm {
	/* 0: fault is off. */
	u64 on;
	u64 period;
	u64 change_at;
	bool starves;
};

struct daemon {
	struct options options;
	struct loop loop;
	struct park park;
	/* Reason why the daemon ends; NULL: it continues. */
	const char *stop;
	/* When to check next whether parked operations wait for a lock without a living owner. */
	u64 stuck_at;
	/* Why the start failed: see failed(). */
	char problem[512];
	u64 started;

	/* process/rundir.c */
	char *dir;
	int dir_fd;
	int lock_fd;

	/* listen.c */
	struct source listener;
	int reserve_fd;
	u64 resume_at;
	u64 idle_since;
	/* No client has connected since NIC memory was reset. */
	bool renewed;

	/* clients/conn.c */
	struct conn *conns;
	u32 nconns;
	/* Earliest conn.greet_by. */
	u64 greet_at;

	/* clients/client.c */
	struct client *clients;
	/* Number of living clients. */
	u32 nclients;
	/* When to probe next the clients without a pidfd or a connection. */
	u64 watch_at;
	u32 last_slot;
	struct client *slot[HOST_MAX_CLIENTS];
	u16 generation[HOST_MAX_CLIENTS];
	/* Device 0's client table, in NIC memory that all clients map. */
	struct host_client *table;

	/* clients/file.c */
	struct file *files[FILE_BUCKETS];
	u32 nfiles;
	u32 last_file;

	/* devices/device.c */
	struct nic_device *device[VNET_MAX_NICS];
	u32 ndevices;

	/* signals.c */
	struct source signals;
	/* rtnetlink socket that reports changes of the host's addresses: devices/identity.c. */
	struct source addresses;

	/* cm/wire.c */
	struct cm *cm;

	/* clients/guardian.c: fd is -1 if there is no guardian. */
	struct source guardian;

	/* link/gid_directory.c, keys.c, faults.c */
	char *gids_dir;
	struct link_keys keys;
	struct link_faults faults;
	struct link_faulty_peers faulty_peers;

	/* devices/faults.c */
	struct storm storm;

	/* clients/pager.c */
	struct pagers pagers;
};

/* signals.c: calls the rooms that signals concern. */
int signals_init(struct daemon *daemon);

/* listen.c: the listening socket, and the exit of an idle daemon. */

int listen_open(struct daemon *daemon);
/* Removes the listening socket, so that no more clients connect. */
void listen_close(struct daemon *daemon);
/*
 * Handles idle exit, and resumes accepting after descriptors ran out. Returns the time of the
 * next call. May set daemon->stop.
 */
u64 listen_run(struct daemon *daemon, u64 now);

#endif /* DAEMON_H */
