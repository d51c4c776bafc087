/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The state of the daemon, grouped by the files that maintain it. */
#ifndef DAEMON_H
#define DAEMON_H

#include <net/if.h>

#include "../platform/link.h"
#include "loop/loop.h"
#include "process/process.h"
#include "vnetd.h"

#define FILE_BUCKETS 256

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

	/* clients/listen.c */
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

	/* link/place.c, keys.c, faults.c */
	char *gids_dir;
	struct link_keys keys;
	struct link_faults faults;
	struct link_faulty_peers faulty_peers;

	/* devices/faults.c */
	struct storm storm;

	/* clients/pager.c */
	struct pagers {
		struct pager *running;
		u32 nrunning;
		/* Ring of the most recent pagers that ended without bringing their pages. */
		u32 failures;
		struct pager_failure {
			u32 space;
			u64 start, end;
			u64 since;
		} failure[16];
	} pagers;
};

/* struct device, with the core's private part. */
struct nic_device {
	struct device device;
	/* eventfd that kicks write to; watched edge-triggered. */
	struct source kick;
	/* Copy of the NIC's header up to the words that may change, to detect overwriting. */
	u8 header[offsetof(struct nic_header, agent_life)];
	/* processor.c: when the firmware has to run next; NEVER. */
	u64 run_at;
	char gid_ndev[NIC_MAX_GIDS][IF_NAMESIZE];
	/* Index of the GID that is the link's own address; 0: none. */
	u32 link_gid;
	/* link/link.c: socket (fd -1: no link), and memory shared with clients. */
	struct source link;
	int link_memory_fd;
	struct link_memory *link_memory;
	char link_ndev[IF_NAMESIZE];
	/* Why the NIC has no link. */
	const char *link_problem;
	/* Transport settings, which are kept when NIC memory is reset. */
	struct nic_settings settings;
	/* When to check that clients still poll the socket. NEVER: the daemon watches it. */
	u64 link_at;
};

static inline struct nic_device *nic_device(struct device *device)
{
	return container_of(device, struct nic_device, device);
}

/* signals.c: calls the rooms that signals concern. */
int signals_init(struct daemon *daemon);

/* control.c: passes messages of clients to the rooms. */

struct vnet_msg;
/*
 * Handles one message. CALL_PARK: the caller passes the same message again later. CALL_DONE: the
 * connection may have been closed.
 */
enum call_outcome control_message(struct conn *conn, const struct vnet_msg *msg);

#endif /* DAEMON_H */
