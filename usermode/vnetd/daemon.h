/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal interface of the daemon's core, grouped by implementing file. Functions that return
 * int return 0 or -errno unless their comment says otherwise.
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
	/* Comma-separated names. */
	const char *devices;
	bool foreground;
	/* Receives a line when the daemon can be reached, or the reason why not; -1: none. */
	int ready_fd;
	/* Nanoseconds; 0: never. */
	u64 idle_exit;
	/* The link's addresses, key files, peers (comma-separated), faults, settings; or NULL. */
	const char *listen;
	const char *key;
	const char *peers;
	const char *faults;
	const char *settings;
	u32 port;
	/* Link layer of the ports is InfiniBand; else Ethernet. */
	bool infiniband;
};

/* Exits for --help, --version and invalid arguments. */
void options_parse(struct options *options, int argc, char **argv);

/* ------------------------------------------------------------------- loop.c */

/* A descriptor in the epoll set. Embedded in a larger structure. */
struct source {
	int fd;
	/* NULL after removal: events that are already in the current batch are dropped. */
	void (*ready)(struct source *source, u32 events);
	/* Removed in this turn: list and memory that are freed at its end. */
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
/* Switches level-triggered EPOLLIN on or off. Hang-ups are always reported. */
void loop_listen(struct loop *loop, struct source *source, bool on);
/* Replaces the events to watch. */
void loop_change(struct loop *loop, struct source *source, u32 events);
/*
 * Stops watching the source (idempotent). `memory`, which contains the source, is freed at the
 * end of this turn; NULL: nothing is freed.
 */
void loop_remove(struct loop *loop, struct source *source, void *memory);
/* Waits for events until `deadline`, and dispatches them. */
void loop_turn(struct loop *loop, u64 deadline);

/* ------------------------------------------------------------------ pager.c */

/*
 * Makes pages of a client resident, by a separate process so that the daemon does not block.
 * Returns 0 if they are resident; -EAGAIN if they are not after wait_ms, in which case the NIC
 * processors are woken when they are; -EFAULT if an attempt that began at `since` (plat_clock())
 * or later failed.
 */
int pager_bring(struct client *client, u64 addr, u64 length, u64 since, int wait_ms);

/* ------------------------------------------------------------------- park.c */

/* An operation that is retried until it completes. */
struct parked {
	/* Returning CALL_DONE removes it from the list. */
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
/* Whether any operation has been parked for at least `time`. */
bool park_waits(const struct park *park, u64 now, u64 time);
/* Retries operations that are due. Returns the time of the next call. */
u64 park_run(struct park *park, u64 now);

/* --------------------------------------------------------------- the daemon */

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

	/* rundir.c */
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

	/* conn.c */
	struct conn *conns;
	u32 nconns;
	/* Earliest conn.greet_by. */
	u64 greet_at;

	/* client.c */
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

	/* file.c */
	struct file *files[FILE_BUCKETS];
	u32 nfiles;
	u32 last_file;

	/* device.c */
	struct nic_device *device[VNET_MAX_NICS];
	u32 ndevices;

	/* signals.c */
	struct source signals;
	/* rtnetlink socket that reports changes of the host's addresses: identity.c. */
	struct source addresses;

	/* cm/wire.c */
	struct cm *cm;

	/* guardian.c: fd is -1 if there is no guardian. */
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
	/* link.c: socket (fd -1: no link), and memory shared with clients. */
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

/* ------------------------------------------------------------------- main.c */

/* Stores a message for the starting process in daemon->problem. Returns -error. */
int failed(struct daemon *daemon, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ----------------------------------------------------------------- rundir.c */

/*
 * rundir_open() creates or checks <runtime directory>/<node>/. rundir_lock() takes the node's
 * lock; -EWOULDBLOCK: another daemon holds it.
 */
int rundir_open(struct daemon *daemon);
int rundir_lock(struct daemon *daemon);
/* Whether a daemon listens on the node's socket. */
bool rundir_answers(const struct daemon *daemon);

/* -------------------------------------------------------------- daemonise.c */

/*
 * Forks, unless in the foreground. The parent waits for ready_tell() or ready_fail(), and exits
 * with status 0 or 1.
 */
int daemonise(struct daemon *daemon);
/* Reports to the starting processes that the daemon can be reached. */
void ready_tell(struct daemon *daemon);
/* Reports daemon->problem to the starting processes. */
void ready_fail(struct daemon *daemon);
/* Closes all inherited descriptors but stdio and `keep`. Call before opening any. */
void close_inherited(int keep);
/* Closes descriptors first to last, open or not. */
void close_all_between(unsigned int first, unsigned int last);
void raise_descriptor_limit(void);

/* -------------------------------------------------------------------- log.c */

/* Redirects the log from stderr to <dir>/vnetd.log. */
int log_open(int dir_fd);

/* ---------------------------------------------------------------- signals.c */

int signals_init(struct daemon *daemon);

/* ----------------------------------------------------------------- listen.c */

int listen_open(struct daemon *daemon);
/* Removes the listening socket, so that no more clients connect. */
void listen_close(struct daemon *daemon);
/*
 * Handles idle exit, and resumes accepting after descriptors ran out. Returns the time of the
 * next call. May set daemon->stop.
 */
u64 listen_run(struct daemon *daemon, u64 now);

/* ------------------------------------------------------------------- conn.c */

struct conn {
	struct daemon *daemon;
	struct source source;
	struct parked parked;
	pid_t pid;
	/* The client; NULL before HELLO. */
	struct client *client;
	/* Deadline for the first message; NEVER once it has arrived. */
	u64 greet_by;
	/* Descriptors attached to the message at hand or parked; -1: taken by a handler. */
	int attached[VNET_MSG_FDS];
	u32 nattached;
	/* When the current call was first tried (plat_clock()). */
	u64 call_since;
	/* Message of the parked call. */
	struct vnet_msg *message;
	/* File whose count of parked calls includes this one. */
	struct file *file;
	struct conn *prev, *next;
};

/* Takes ownership of fd, an accepted connection of the daemon's own user. */
void conn_new(struct daemon *daemon, int fd, pid_t pid);
void conn_close(struct conn *conn);
/* Closes connections that sent no first message in time. Returns the time of the next call. */
u64 conn_run(struct daemon *daemon, u64 now);
/* Closes all connections of a dead client. */
void conn_close_client(struct daemon *daemon, struct client *client);
/*
 * Sends a message with descriptors, without waiting. On failure (the peer is gone, or does not
 * read its replies) closes the connection and returns false.
 */
bool conn_send(struct conn *conn, const void *message, u32 length, const int *fds, u32 nfds);
/* Sends likewise on a bare socket, and closes nothing. */
bool socket_send(int sock, const void *message, u32 length, const int *fds, u32 nfds);
/* Frees the connection without closing its socket, which is returned: it becomes a file. */
int conn_release(struct conn *conn);

/* ---------------------------------------------------------------- control.c */

/*
 * Handles one message. CALL_PARK: the caller passes the same message again later. CALL_DONE: the
 * connection may have been closed.
 */
enum call_outcome control_message(struct conn *conn, const struct vnet_msg *msg);

/* ----------------------------------------------------------------- client.c */

/*
 * Files of a process' folder in /proc, opened by the process itself; -1 if not passed. The daemon
 * cannot always open them by PID: access fails if the process has changed its user, or is in
 * another PID or user namespace.
 */
struct client_files {
	int fd[4];
	/* Number of descriptors that were attached, of any kind. */
	u32 given;
};

/* Moves those of the n descriptors that are such files into `files`; they become -1 in `fd`. */
void client_files_take(struct client_files *files, int *fd, u32 n, pid_t pid);
/* Creates a client; always takes the files. Returns NULL on failure, with an errno in *error. */
struct client *client_new(struct daemon *daemon, pid_t pid, struct client_files *files,
			  const char *command, int *error);
/* Ends a client that did not receive its WELCOME. Its process may send HELLO again. */
void client_gave_up(struct client *client);
/* Count control connections of a client. A close also probes whether its space has ended. */
void client_conn_added(struct client *client);
void client_conn_closed(struct client *client);
/* Ends a client's space before exec() (CALL_PARK: peers still copy), or takes that back. */
enum call_outcome client_leave(struct client *client);
void client_stay(struct client *client);
/* Returns a new descriptor of the space's memory, or -errno. */
int client_memory(struct client *client);
u32 client_conns(const struct client *client);
/* Whether the client has sent LEAVE: its space is not valid at present. */
bool client_left(const struct client *client);
/* Probes clients without a pidfd or a connection. Returns the time of the next call. */
u64 client_run(struct daemon *daemon, u64 now);
/* Whether the shared client table has the values that the daemon wrote. */
bool client_table_sane(struct daemon *daemon);

/* ------------------------------------------------------------------- file.c */

/*
 * Makes a file of an accepted FILE or NETLINK connection; takes sock if it succeeds. cookie:
 * SO_COOKIE of the program's end, or 0. Returns NULL on failure, and the caller closes sock.
 */
struct file *file_accept(struct daemon *daemon, struct device *device, enum vnet_file_kind kind,
			 int sock, u64 cookie);
/* Switches on or off the calls of netlink_room() when the socket has room. */
void file_want_room(struct file *file, bool want);
/* Returns the file that has `fd` as the program's end of its socket, or NULL. */
struct file *file_by_descriptor(struct daemon *daemon, int fd);
/* Returns the file that received this nonce (VNET_MSG_ADOPT), or NULL. */
struct file *file_by_nonce(struct daemon *daemon, u64 nonce);
/* Counts parked calls on a file, which delay its closing. */
void file_call_begin(struct file *file);
void file_call_end(struct file *file);

/* Sends channels to the guardian that it does not have yet. Returns true when it has all. */
bool files_guard(struct daemon *daemon);

/* --------------------------------------------------------------- guardian.c */

int guardian_start(struct daemon *daemon);
/*
 * Has the guardian shut down this socket when the daemon dies. Returns false if the guardian's
 * socket is full; files_guard() is called when there is room.
 */
bool guardian_keep(struct daemon *daemon, int fd);
void guardian_forget(struct daemon *daemon, int fd);

/* ----------------------------------------------------------------- device.c */

/* Creates all devices that the options name. */
int devices_init(struct daemon *daemon);
struct device *device_by_minor(struct daemon *daemon, u32 minor);
/* Copies GID `index` and the number of GIDs to the NIC's header. */
void device_set_gid(struct nic_device *made, u32 index);
/* Sets the port's state in the NIC's header. Returns false if it was so already. */
bool device_set_port(struct nic_device *made, bool up);
/* Returns NULL if the NICs' headers and the client table are intact, else what is wrong. */
const char *devices_damage(struct daemon *daemon);
/* Returns NULL, or a reason why parked calls can never complete. */
const char *devices_stuck(struct daemon *daemon);
/* Whether a NIC has exchanged frames with other NICs since its memory was reset. */
bool devices_spoke(const struct daemon *daemon);
/*
 * Resets NIC memory while there is no client, so that data that a client left there, by error or
 * malice, cannot affect the next.
 */
void devices_renew(struct daemon *daemon);
/* Sets the fatal flag of all NICs, which tells all processes that the devices are lost. */
void devices_fatal(struct daemon *daemon);

/* --------------------------------------------------------------- identity.c */

/* Sets the device's GUID, LID, GIDs and their net devices. */
int identity_init(struct nic_device *device);
/* Starts to follow changes of the host's addresses. */
int identity_watch(struct daemon *daemon);

/* ------------------------------------------------------------------- life.c */

/* Sets the agent_life words. The kernel sets FUTEX_OWNER_DIED in them when the daemon ends. */
int life_init(struct daemon *daemon);
/* Returns NULL, or a message if an agent_life word was overwritten. */
const char *life_damage(struct daemon *daemon);

/* ---------------------------------------------------------------- netlink.c */

/* Initialises and frees the NETLINK_RDMA part of a file; type is SOCK_RAW or SOCK_DGRAM. */
int netlink_open(struct file *file, u32 type);
void netlink_close(struct file *file);
/* Executes a VNET_MSG_NETLINK request; *value is returned to the program. */
int netlink_call(struct file *file, const struct vnet_msg_netlink *call, u32 *value);
/* Sends queued answers when the socket has room again. */
void netlink_room(struct file *file);

/* -------------------------------------------------------------- processor.c */

int processor_init(struct daemon *daemon);
/* Runs the firmware. Returns the time of the next call; the sleep flags are set until then. */
u64 processor_run(struct daemon *daemon, u64 now);
void processor_awake(struct daemon *daemon);

/* ------------------------------------------------------------------ sysfs.c */

/* Writes the tree below <dir>/sys and <dir>/dev. */
int sysfs_init(struct daemon *daemon);
/* Writes the current values of counters into the tree. */
int sysfs_counters(struct daemon *daemon);
/* Updates the tree after a GID was added or removed. */
void sysfs_gid(const struct nic_device *made, u32 index);
/* Writes the state of a device's port into the tree. */
void sysfs_port(struct daemon *daemon, const struct device *device, bool up);

/* ------------------------------------------------------------------- tree.c */

/* Paths are relative to dir_fd. Missing parent folders are created. */
int tree_dir(int dir_fd, const char *path);
int tree_file(int dir_fd, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Replaces a file by rename; processes that have the old file open continue to read that one. */
int tree_replace(int dir_fd, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int tree_link(int dir_fd, const char *path, const char *target);
/* Removes a path recursively; absence is success. */
int tree_remove(int dir_fd, const char *path);

/* ----------------------------------------------------------------- status.c */

/* Returns a descriptor of the JSON text, positioned at its start; or -errno. */
int status_make(struct daemon *daemon);

#endif /* DAEMON_H */
