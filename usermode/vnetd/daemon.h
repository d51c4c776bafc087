/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The daemon's core, between its own files; grouped by the file that implements
 * them. Functions that answer int give 0 or -errno unless they say otherwise.
 */
#ifndef DAEMON_H
#define DAEMON_H

#include <net/if.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "../platform/link.h"
#include "vnetd.h"

#define container_of(ptr, type, member) ((type *)((uintptr_t)(ptr)-offsetof(type, member)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define NEVER UINT64_MAX
#define NSEC_PER_USEC 1000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_SEC 1000000000ull

static inline u64 earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* ---------------------------------------------------------------- options.c */

#define MAX_NODE_NAME 64
#define DEFAULT_NODE "default"

struct options {
	const char *runtime_dir;
	const char *node;
	/* Names with commas between. */
	const char *devices;
	bool foreground;
	/* Told when the daemon can be reached; -1: nobody to tell. */
	int ready_fd;
	/* Nanoseconds; 0: never. */
	u64 idle_exit;
	/* The link: addresses, key files and peers, with commas between; or NULL. */
	const char *listen;
	const char *key;
	const char *peers;
	const char *faults;
	const char *settings;
	u32 port;
	/* The ports' link layer; else it is Ethernet. */
	bool infiniband;
};

/* Ends the program for --help, --version and mistakes. */
void options_parse(struct options *options, int argc, char **argv);

/* ------------------------------------------------------------------- loop.c */

/* A descriptor that is watched. Part of a larger structure. */
struct source {
	int fd;
	/* NULL once it is removed: events of the same turn are dropped. */
	void (*ready)(struct source *source, u32 events);
	/* Removed in this turn; what to free at its end. */
	bool garbage;
	struct source *next_garbage;
	void *memory;
};

struct loop {
	int epoll_fd;
	struct source timer;
	u64 armed;
	struct source *garbage;
};

u64 clock_now(void);
int loop_init(struct loop *loop);
int loop_add(struct loop *loop, struct source *source, u32 events);
/* Level-triggered EPOLLIN on or off; hang-ups are always told. */
void loop_listen(struct loop *loop, struct source *source, bool on);
/* Other events than it was added with. */
void loop_change(struct loop *loop, struct source *source, u32 events);
/*
 * Stop watching, if that is not done yet; free(memory), which contains the
 * source, after this turn (NULL: it stays).
 */
void loop_remove(struct loop *loop, struct source *source, void *memory);
/* Wait for events until `deadline`, and dispatch them. */
void loop_turn(struct loop *loop, u64 deadline);

/* ------------------------------------------------------------------ pager.c */

/*
 * Have pages of a client brought by a process of their own. 0: they are there; -EAGAIN:
 * not yet, after wait_ms, and the NIC processors are woken when they are; -EFAULT: they
 * could not be, now or when that was tried at `since` (plat_clock()) or after.
 */
int pager_bring(struct client *client, u64 addr, u64 length, u64 since, int wait_ms);

/* ------------------------------------------------------------------- park.c */

/* Something to be tried again until it is done. */
struct parked {
	/* CALL_DONE: it is taken out of the list. */
	enum call_outcome (*retry)(struct parked *parked);
	u64 since;
	u64 due;
	bool queued;
	struct parked *prev, *next;
};

struct park {
	struct parked head;
};

void park_init(struct park *park);
void park_add(struct park *park, struct parked *parked);
void park_remove(struct parked *parked);
/* Has anything waited for so long? */
bool park_waits(const struct park *park, u64 now, u64 time);
/* Try what is due; answers when to come back. */
u64 park_run(struct park *park, u64 now);

/* --------------------------------------------------------------- the daemon */

#define FILE_BUCKETS 256

struct conn;

/* Receives are not found for so long, once or in each period (0: once); ns. */
struct storm {
	/* 0: not at all. */
	u64 on;
	u64 period;
	u64 change_at;
	bool starves;
};

struct daemon {
	struct options options;
	struct loop loop;
	struct park park;
	/* Why the daemon ends; NULL: it does not. */
	const char *stop;
	/* When to look next whether what is parked can ever be done. */
	u64 stuck_at;
	/* Why it cannot begin: failed(). */
	char problem[512];
	u64 started;

	/* rundir.c */
	char *dir;
	int dir_fd;
	int lock_fd;

	/* listen.c */
	struct source listener;
	int reserve_fd;
	u64 resume_at;
	u64 idle_since;
	/* Nobody came since NIC memory was made as new. */
	bool renewed;

	/* conn.c */
	struct conn *conns;
	u32 nconns;
	/* Earliest conn.greet_by. */
	u64 greet_at;

	/* client.c */
	struct client *clients;
	/* Those that live. */
	u32 nclients;
	/* When to look after those that nothing tells us of. */
	u64 watch_at;
	u32 last_slot;
	struct client *slot[HOST_MAX_CLIENTS];
	u16 generation[HOST_MAX_CLIENTS];
	/* Shared with every process; device 0's client table. */
	struct host_client *table;

	/* file.c */
	struct file *files[FILE_BUCKETS];
	u32 nfiles;
	u32 last_file;

	/* device.c */
	struct nic_device *device[VNET_MAX_NICS];
	u32 ndevices;

	/* signals.c */
	struct source signals;
	/* Tells that the machine's addresses changed: identity.c. */
	struct source addresses;

	/* cm/wire.c */
	struct cm *cm;

	/* guardian.c: fd -1 where there is none. */
	struct source guardian;

	/* link_place.c, link_keys.c, link_faults.c */
	char *gids_dir;
	struct link_keys keys;
	struct link_faults faults;
	struct link_faulty_peers faulty_peers;

	/* device_faults.c */
	struct storm storm;

	/* pager.c */
	struct pagers {
		struct pager *running;
		u32 nrunning;
		/* The latest that ended without their pages. */
		u32 failures;
		struct pager_failure {
			u32 space;
			u64 start, end;
			u64 since;
		} failure[16];
	} pagers;
};

/* What the core adds to struct device. */
struct nic_device {
	struct device device;
	/* Kicks arrive here; watched edge-triggered and never read. */
	struct source kick;
	/* Header as it was made, up to the words that change. */
	u8 header[offsetof(struct nic_header, agent_life)];
	/* processor.c: more to do at this time; NEVER. */
	u64 run_at;
	char gid_ndev[NIC_MAX_GIDS][IF_NAMESIZE];
	/* Which of them is the link's own address; 0: none. */
	u32 link_gid;
	/* link.c: its socket, or -1; memory that it shares with clients. */
	struct source link;
	int link_memory_fd;
	struct link_memory *link_memory;
	char link_ndev[IF_NAMESIZE];
	/* Why it has none. */
	const char *link_problem;
	/* Of its transport, as the NIC has them in each of its lives. */
	struct nic_settings settings;
	/* Clients poll: look again at this time; NEVER: we wake up for frames. */
	u64 link_at;
};

static inline struct nic_device *nic_device(struct device *device)
{
	return container_of(device, struct nic_device, device);
}

/* ------------------------------------------------------------------- main.c */

/* Note what went wrong, for whoever started us; answers -error. */
int failed(struct daemon *daemon, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ----------------------------------------------------------------- rundir.c */

/*
 * Make or check <runtime directory>/<node>/, and take the node's lock
 * (-EWOULDBLOCK: another daemon has it).
 */
int rundir_open(struct daemon *daemon);
int rundir_lock(struct daemon *daemon);
/* Is anybody listening at the node's socket? */
bool rundir_answers(const struct daemon *daemon);

/* -------------------------------------------------------------- daemonise.c */

/*
 * Fork, unless in the foreground. The parent stays until ready_tell() or
 * ready_fail() and exits with the daemon's success.
 */
int daemonise(struct daemon *daemon);
/* The daemon can be reached. */
void ready_tell(struct daemon *daemon);
/* It cannot: daemon->problem says why. */
void ready_fail(struct daemon *daemon);
/* Close everything that the daemon did not open; call before opening. */
void close_inherited(int keep);
/* Descriptors [first, last], which others may have opened. */
void close_all_between(unsigned int first, unsigned int last);
void raise_descriptor_limit(void);

/* -------------------------------------------------------------------- log.c */

/* Write to <dir>/vnetd.log from now on, in place of stderr. */
int log_open(int dir_fd);

/* ---------------------------------------------------------------- signals.c */

int signals_init(struct daemon *daemon);

/* ----------------------------------------------------------------- listen.c */

int listen_open(struct daemon *daemon);
/* Take the socket away, so that nobody comes any more. */
void listen_close(struct daemon *daemon);
/*
 * Idle exit, and accepting again after exhaustion: answers when to come back.
 * Sets daemon->stop.
 */
u64 listen_run(struct daemon *daemon, u64 now);

/* ------------------------------------------------------------------- conn.c */

struct conn {
	struct daemon *daemon;
	struct source source;
	struct parked parked;
	pid_t pid;
	/* After HELLO. */
	struct client *client;
	/* When the first message is due; NEVER once it came. */
	u64 greet_by;
	/* Descriptors that came with the message being handled, or parked; -1: taken. */
	int attached[VNET_MSG_FDS];
	u32 nattached;
	/* When the call at hand was first tried (plat_clock()). */
	u64 call_since;
	/* Message of the parked call. */
	struct vnet_msg *message;
	/* The parked call counts among this file's. */
	struct file *file;
	struct conn *prev, *next;
};

/* Takes fd, an accepted connection of our own user. */
void conn_new(struct daemon *daemon, int fd, pid_t pid);
void conn_close(struct conn *conn);
/* Drop those that never said what they want; answers when to come back. */
u64 conn_run(struct daemon *daemon, u64 now);
/* Close all connections of a process that is gone. */
void conn_close_client(struct daemon *daemon, struct client *client);
/*
 * Send a message with descriptors, without waiting. A peer that does not read
 * its replies, or is gone, loses the connection: false.
 */
bool conn_send(struct conn *conn, const void *message, u32 length, const int *fds, u32 nfds);
/* The same on a bare socket. */
bool socket_send(int sock, const void *message, u32 length, const int *fds, u32 nfds);
/* The connection is a file now: hand over its socket and forget it. */
int conn_release(struct conn *conn);

/* ---------------------------------------------------------------- control.c */

/*
 * One message. CALL_PARK: the same message again later. The connection may be
 * gone afterwards, where it answers CALL_DONE.
 */
enum call_outcome control_message(struct conn *conn, const struct vnet_msg *msg);

/* ----------------------------------------------------------------- client.c */

/*
 * Files of a process' own folder in /proc, as it opened them: -1 where one did not come. We
 * do not open them by its PID: those of a process that has changed its user, or of another
 * PID or user namespace, are closed to us.
 */
struct client_files {
	int fd[4];
	/* How many descriptors came, of whatever kind. */
	u32 given;
};

/* Which of these n descriptors are such files; they are taken, and become -1. */
void client_files_take(struct client_files *files, int *fd, u32 n, pid_t pid);
/* Takes the files in any case. NULL: *error is an errno value. */
struct client *client_new(struct daemon *daemon, pid_t pid, struct client_files *files,
			  const char *command, int *error);
/* It hung up before it was welcome: its process may say hello anew. */
void client_gave_up(struct client *client);
/* A control connection of it came or went. */
void client_conn_added(struct client *client);
void client_conn_closed(struct client *client);
/* Its space ends, because it is about to exec (CALL_PARK: not yet); or not. */
enum call_outcome client_leave(struct client *client);
void client_stay(struct client *client);
/* A new descriptor of the space's memory, or -errno. */
int client_memory(struct client *client);
u32 client_conns(const struct client *client);
/* About to exec: its space is nobody's just now. */
bool client_left(const struct client *client);
/* Look after those without connections; answers when to come back. */
u64 client_run(struct daemon *daemon, u64 now);
/* The table that processes see is what we wrote. */
bool client_table_sane(struct daemon *daemon);

/* ------------------------------------------------------------------- file.c */

/*
 * A FILE or NETLINK connection: takes sock; cookie: of the program's end, or 0. NULL: errno is
 * set.
 */
struct file *file_accept(struct daemon *daemon, struct device *device, enum vnet_file_kind kind,
			 int sock, u64 cookie);
/* Call netlink_room() when there is room in the socket, or do not. */
void file_want_room(struct file *file, bool want);
/* The file whose program's end this is; NULL: it is not known. */
struct file *file_by_descriptor(struct daemon *daemon, int fd);
/* A file that holds this nonce (VNET_MSG_ADOPT); NULL. */
struct file *file_by_nonce(struct daemon *daemon, u64 nonce);
/* Calls under way keep a file from being closed. */
void file_call_begin(struct file *file);
void file_call_end(struct file *file);

/* The guardian has room again. Are all channels with it now? */
bool files_guard(struct daemon *daemon);

/* --------------------------------------------------------------- guardian.c */

int guardian_start(struct daemon *daemon);
/*
 * Have this socket of ours hung up when we are gone. false: there is no room
 * just now, and files_guard() will be called when there is.
 */
bool guardian_keep(struct daemon *daemon, int fd);
void guardian_forget(struct daemon *daemon, int fd);

/* ----------------------------------------------------------------- device.c */

/* Make all devices that the options ask for. */
int devices_init(struct daemon *daemon);
struct device *device_by_minor(struct daemon *daemon, u32 minor);
/* A GID, or how many there are, has changed: the NIC learns of it. */
void device_set_gid(struct nic_device *made, u32 index);
/* The port goes up or down; false: it is so already. */
bool device_set_port(struct nic_device *made, bool up);
/* NULL: all headers are as they were made; else what is wrong. */
const char *devices_damage(struct daemon *daemon);
/* NULL, or what keeps calls waiting that nobody will ever end. */
const char *devices_stuck(struct daemon *daemon);
/* A NIC has met others by its link since it was new. */
bool devices_spoke(const struct daemon *daemon);
/*
 * Nobody is here: NIC memory as new, so that whatever somebody left in it, by
 * mistake or by malice, meets nobody.
 */
void devices_renew(struct daemon *daemon);
/* Tell every process that the devices are gone for good. */
void devices_fatal(struct daemon *daemon);

/* --------------------------------------------------------------- identity.c */

/* GUID, LID, GIDs and their net devices. */
int identity_init(struct nic_device *device);
/* From now on, GIDs come and go with the machine's addresses. */
int identity_watch(struct daemon *daemon);

/* ------------------------------------------------------------------- life.c */

/* The agent_life words get our thread id, and OWNER_DIED when we are gone. */
int life_init(struct daemon *daemon);
/* NULL, or what is wrong with the words. */
const char *life_damage(struct daemon *daemon);

/* ---------------------------------------------------------------- netlink.c */

/* A file becomes a NETLINK_RDMA socket of this type; and ends. */
int netlink_open(struct file *file, u32 type);
void netlink_close(struct file *file);
/* A request of the process that has it; *value is a part of the answer. */
int netlink_call(struct file *file, const struct vnet_msg_netlink *call, u32 *value);
/* There is room in the socket for what waits. */
void netlink_room(struct file *file);

/* -------------------------------------------------------------- processor.c */

int processor_init(struct daemon *daemon);
/* Run what is due; then sleep flags are set for a wait until the answer. */
u64 processor_run(struct daemon *daemon, u64 now);
void processor_awake(struct daemon *daemon);

/* ------------------------------------------------------------------ sysfs.c */

/* The tree below <dir>/sys and <dir>/dev. */
int sysfs_init(struct daemon *daemon);
/* Let its counters say what is counted by now. */
int sysfs_counters(struct daemon *daemon);
/* A GID of a port has come or gone. */
void sysfs_gid(const struct nic_device *made, u32 index);
/* The files of a device's port say whether it is up. */
void sysfs_port(struct daemon *daemon, const struct device *device, bool up);

/* ------------------------------------------------------------------- tree.c */

/* Paths are relative to dir_fd; missing folders are made. */
int tree_dir(int dir_fd, const char *path);
int tree_file(int dir_fd, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A file in place of the one that is there; who has that one open reads on in it. */
int tree_replace(int dir_fd, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int tree_link(int dir_fd, const char *path, const char *target);
/* Remove with all that is below; absence is success. */
int tree_remove(int dir_fd, const char *path);

/* ----------------------------------------------------------------- status.c */

/* A descriptor with the JSON text, positioned at its start; or -errno. */
int status_make(struct daemon *daemon);

#endif /* DAEMON_H */
