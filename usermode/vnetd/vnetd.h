/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * State of the daemon: clients, open files and devices. All of it is in the daemon's private
 * memory, and permissions are decided by it alone; NIC memory, which clients can overwrite, is
 * not consulted.
 *
 * The daemon has one thread and never blocks. A call that would have to wait is parked, and its
 * handler is called again. So a handler may run several times for one call; before it returns
 * CALL_PARK, it must have changed nothing, or only in an idempotent way.
 */
#ifndef VNETD_H
#define VNETD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../../abi/vnet-abi.h"
#include "../platform/host.h"
#include "../vnet_proto.h"

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

struct daemon;
struct uctx;
struct uv_block;
struct cm;

/* Identity of the device, in sysfs and in query_device. */
enum device_identity {
	DEVICE_VENDOR_ID = 0x766e,
	DEVICE_PART_ID = 0x6574,
	DEVICE_HW_REV = 1,
	DEVICE_PKEYS = 1,
	/* CM supported; on InfiniBand, extended speeds; on Ethernet, IP-based GIDs. */
	DEVICE_CAP_EXTENDED_SPEEDS = 1 << 14,
	DEVICE_CAP_CM = 1 << 16,
	DEVICE_CAP_IP_BASED_GIDS = 1 << 26,
};
#define DEVICE_FW_VER VNET_FW_VER_PREFIX VNET_VERSION

/* Limit of a port's counters, of either kind. */
#define MOST_COUNTERS 32

/* An emulated NIC and its RDMA device. */
struct device {
	struct daemon *daemon;
	u32 index;
	char name[64];
	/* Its files are uverbs<minor - VNET_UVERBS_FIRST_MINOR>. */
	u32 minor;
	/* In network order; constant for user, node and name. */
	u8 node_guid[8];
	/* LID of port 1 on InfiniBand; 0: link layer Ethernet. */
	u16 lid;
	/*
	 * GIDs 0 .. ngids - 1 of port 1, and the net device of each. They are copies; the
	 * firmware's are in NIC memory. Programs see the first gids_shown: on InfiniBand only the
	 * port's own GID, while those of IP addresses are for the connection manager.
	 */
	u32 ngids;
	u32 gids_shown;
	u8 gid[NIC_MAX_GIDS][16];
	u32 gid_ifindex[NIC_MAX_GIDS];
	int memory_fd;
	void *memory;
	u64 memory_size;
	struct nic nic;
	struct host host;
	/* Allocation of numbers and queue memory: uverbs/alloc.c. */
	struct device_alloc *alloc;
	/* Sum of the counters of destroyed queue pairs. */
	struct nic_qp_counters retired;
	/* How often the port went down. */
	u32 downs;
	/* Values of the port's counters when they were cleared: sysfs/port_counters.c. */
	u64 cleared[MOST_COUNTERS];
};

/* Whether the entry is empty: its address was removed, or never existed. */
static inline bool gid_is_none(const u8 *gid)
{
	u64 half[2];

	memcpy(half, gid, sizeof(half));
	return !(half[0] | half[1]);
}

static inline u32 device_cap_mask(const struct device *device)
{
	return DEVICE_CAP_CM |
	       (device->lid ? DEVICE_CAP_EXTENDED_SPEEDS : DEVICE_CAP_IP_BASED_GIDS);
}

#define NO_PAGE (~0ull)

/* A client process: an address space, and an owner of locks. */
struct client {
	struct daemon *daemon;
	/* Space id, and owner id for lock words. */
	u32 space;
	u32 owner;
	u64 cookie;
	pid_t pid;
	/* Its /proc/self/mem; -1 after its death. */
	int mem_fd;
	/* Its /proc/self/pagemap, maps and status; -1: not accessible. */
	int pagemap_fd;
	int maps_fd;
	int status_fd;
	/* Page number that the current call found resident; NO_PAGE: none. */
	u64 present_page;
	/*
	 * When the current call was first tried (plat_clock()), and the socket of its connection.
	 */
	u64 call_since;
	int call_sock;
	bool dead;
	/* References by control connections and by objects. */
	u32 refs;
	/* uverbs: rings that are freed after the client's death. */
	struct uv_block *mapped;
	char command[64];
	struct client *next;
};

/* An open device file, a completion channel, an async event file, or a NETLINK_RDMA socket. */
struct file {
	struct daemon *daemon;
	u32 id;
	enum vnet_file_kind kind;
	/* NULL for NETLINK and RDMA_CM. */
	struct device *device;
	/*
	 * The daemon's end of the socket. UVERBS, RDMA_CM, NETLINK and UMAD: the accepted
	 * connection, on which UMAD delivers datagrams. CHANNEL and ASYNC: one end of a socket pair
	 * whose other end the program holds; a byte in it makes the program's end readable. A
	 * hang-up closes the file.
	 */
	int sock;
	/* The last descriptor is closed; freeing the objects may be parked. */
	bool closing;
	/*
	 * CHANNEL: index and generation in the NIC, set by its creator. NETLINK: the socket's type.
	 */
	u32 number;
	u32 generation;
	/* Private data of uverbs/ (context, channel or async state), netlink/, cm/, or mad/. */
	void *priv;
	struct file *next;
};

enum call_outcome {
	CALL_DONE,
	/* Call the handler again later (within a few milliseconds). */
	CALL_PARK,
};

/* A call that is being executed. */
struct call {
	struct client *client;
	struct file *file;
	u64 user_addr;
	/* RDMA_CM: id of the file whose descriptor the command names; 0: none. */
	u32 other_file;
	/*
	 * Attached descriptors that the command names: numbers in the process, and in the daemon.
	 */
	const s32 *fd_number;
	const int *fd_attached;
	u32 nfds;
	/* Data of the write() or ioctl(), in the daemon's memory. */
	const u8 *data;
	u32 length;
	/* The result; zeroed before each attempt. */
	struct vnet_msg_result result;
	/* Descriptors to attach (result.nfds), closed after sending. */
	int fd[VNET_RESULT_FDS];
	/* ASYNC_READ: the record that follows the result. */
	u8 record[64];
	u32 record_length;
};

/* ------------------------------------------------ clients (for all rooms) */

/* Creates a CHANNEL or ASYNC file; *peer_fd is the program's end. Returns NULL and errno. */
struct file *file_create(struct daemon *daemon, struct device *device, enum vnet_file_kind kind,
			 void *priv, int *peer_fd);
/* Finds a file by id; NULL if there is none, or it is closing. */
struct file *file_find(struct daemon *daemon, u32 id);
/*
 * Closes the daemon's end and frees the file, if file_create() made it and its descriptor was not
 * passed on. After uverbs_file_close(), the core calls this itself.
 */
void file_destroy(struct file *file);

/* Switches on or off the calls of netlink_room() when the socket has room. */
void file_want_room(struct file *file, bool want);

/* Finds a client by space id; NULL if it is gone. */
struct client *client_find(struct daemon *daemon, u32 space);
/* Whether the shared client table has the values that the daemon wrote. */
bool client_table_sane(struct daemon *daemon);
/* Returns a new descriptor of the space's memory, or -errno. */
int client_memory(struct client *client);
/* A reference keeps the structure and its slot, not the process: see `dead`. */
struct client *client_get(struct client *client);
void client_put(struct client *client);

/*
 * Copy from and to the memory of a client. Return 0, -EFAULT, or UV_PARK (uverbs/uverbs.h) while
 * pages are being brought: the call must be parked. Nothing is written if the caller no longer
 * waits (-EFAULT).
 */
int user_read(struct client *client, void *dst, u64 addr, size_t length);
int user_write(struct client *client, u64 addr, const void *src, size_t length);
/* Makes the pages of a range resident: 0, UV_PARK while they are brought, or -EFAULT. */
int user_bring(struct client *client, u64 addr, u64 length);
/*
 * Makes pages of a client resident, by a separate process so that the daemon does not block.
 * Returns 0 if they are resident; -EAGAIN if they are not after wait_ms, in which case the NIC
 * processors are woken when they are; -EFAULT if an attempt that began at `since` (plat_clock())
 * or later failed.
 */
int pager_bring(struct client *client, u64 addr, u64 length, u64 since, int wait_ms);
/* Ends the client's pagers. */
void pager_client_dead(const struct client *client);
/* Whether the caller at the other end of this connection still waits for the answer. */
bool user_waits(int sock);

/* link/peer_discovery.c: contacts other NICs before multicast or Ethernet frames are used. */
void discover_peers(struct device *device);

/* ----------------------------------------------------------------- uverbs */

int uverbs_device_init(struct device *device);
void uverbs_device_fini(struct device *device);

/* Initialises the uverbs part of an accepted FILE connection. Returns 0 or -errno. */
int uverbs_file_open(struct file *file);
enum call_outcome uverbs_write(struct call *call);
enum call_outcome uverbs_ioctl(struct call *call);
enum call_outcome uverbs_async_read(struct call *call);
/*
 * After an answer of uverbs_async_read() with an event: the event counts as delivered if the answer
 * was sent, otherwise it stays unread.
 */
void uverbs_async_answered(struct file *file, bool sent);
/*
 * Frees what a file of any kind owned, in the order of dependencies. The program has closed its
 * last descriptor, and no call on the file is in progress. CALL_PARK: call again. CALL_DONE: the
 * core destroys the file.
 */
enum call_outcome uverbs_file_close(struct file *file);
/* File of a completion channel, for VNET_MSG_GET_CHANNEL and the firmware; or NULL. */
struct file *uverbs_channel_file(struct device *device, u32 channel, u32 generation);
/* Destroys the objects of a dead client. nic_recover() has run on every device. */
void uverbs_client_dead(struct client *client);
/* Moves events from NIC memory (nic_async_take()) into the event files. */
void uverbs_collect_async(struct device *device);
/* Raises an event of the device (element: its port) in all its contexts. */
void uverbs_device_event(struct device *device, u32 event, u64 element);
/*
 * Writes the objects of this device as JSON members, with no comma before or after:
 *   "qps": [{"qpn": 17, "type": "RC", "state": "RTS", "pid": 4711,
 *            "dest_qpn": 18, "dest_gid": "::ffff:192.0.2.1", "dest_lid": 0,
 *            "waits": "rnr", "holder": 0, "queued": 0, "sent_msgs": 0, "sent_bytes": 0,
 *            "send_errors": 0, "rnr_waits": 0, "retries": 0, "got_msgs": 0,
 *            "got_bytes": 0, "dropped": 0}, ...],
 *   "cqs": [{"cqn": 1, "pid": 4711, "entries": 256, "completions": 0,
 *            "errors": 0}, ...],
 *   "srqs": [{"srqn": 1, "pid": 4711, "entries": 16, "limit": 0}, ...],
 *   "wqs": [{"wqn": 19, "pid": 4711, "entries": 16, "state": "RDY"}, ...],
 *   "mrs": [{"key": 256, "kind": "region", "pid": 4711, "addr": 0,
 *            "length": 4096, "access": 7}, ...]
 * "dest_lid": on InfiniBand the peer's LID, by which frames are routed, else 0; "dest_gid" is
 * empty there unless the peer has a global route. "waits": why the send queue waits ("", rnr,
 * stall, peer, lock, pages, peer pages, turn). "holder": process id of the present
 * owner of one of its locks, 0: none.
 */
void uverbs_status(struct device *device, FILE *out);

/* A port counter, with the name that the kernel driver uses. */
struct counter {
	const char *name;
	u64 value;
};

/* Reads the device's hw_counters. Returns their number. */
u32 counters_read(const struct device *device, struct counter counters[MOST_COUNTERS]);
/* Sums the counters of all queue pairs, also of destroyed ones. */
struct nic_qp_counters counters_sum(const struct device *device);

/* Reads the port's standard counters. Returns their number. */
u32 port_counters_read(const struct device *device, struct counter counters[MOST_COUNTERS]);
/* Clears the counters with these names. */
void port_counters_clear(struct device *device, const char *const *names, u32 nnames);
/* Limits a value to the maximum of a counter of this width. */
u64 counter_saturated(u64 value, u32 bits);

/* ---------------------------------------------------- management datagrams */

/* Initialises the umad part of an accepted FILE connection. Returns 0 or -errno. */
int umad_file_open(struct file *file);
void umad_file_close(struct file *file);
/* umad_write() sends a datagram; umad_ioctl() executes a struct vnet_umad_ioctl. */
enum call_outcome umad_write(struct call *call);
enum call_outcome umad_ioctl(struct call *call);
/* Resends or ends requests whose timeout has expired. Returns the time of the next call. */
u64 umad_run(u64 now);

/* -------------------------------------------------------------- NETLINK_RDMA */

/* Initialises and frees the NETLINK_RDMA part of a file; type is SOCK_RAW or SOCK_DGRAM. */
int netlink_open(struct file *file, u32 type);
void netlink_close(struct file *file);
/* Executes a VNET_MSG_NETLINK request; *value is returned to the program. */
int netlink_call(struct file *file, const struct vnet_msg_netlink *call, u32 *value);
/* Sends queued answers when the socket has room again. */
void netlink_room(struct file *file);

/* ----------------------------------------------------- connection manager */

int cm_init(struct daemon *daemon);
/* Initialises the rdma_cm part of an accepted FILE connection. Returns 0 or -errno. */
int cm_file_open(struct file *file);
void cm_file_close(struct file *file);
/* Memory of struct vnet_cm_orphans, which programs read after the daemon's death. */
int cm_orphans_fd(const struct daemon *daemon);
enum call_outcome cm_write(struct call *call);
/* The program has read all bytes from its socket: sends one if events are unread. */
void cm_file_settle(struct file *file);
/* Creates queue pair 1 again after NIC memory was reset. */
void cm_renew(struct daemon *daemon);
/* Delivers messages and handles timeouts. Returns the time of the next call. */
u64 cm_run(struct daemon *daemon, u64 now);
/*
 * Signals an unread event of a file (ASYNC, RDMA_CM). first: no other is unread, so a byte makes
 * the program's end readable. Otherwise raises an edge for edge-triggered waiters.
 */
void file_tell(struct file *file, bool first);
/* The NIC with this GID refuses frames of the device, or is refused: ends requests to it. */
void cm_refused(struct cm *cm, const struct device *device, const u8 *gid);
/*
 * "cm_ids": [{"id": 0, "pid": 4711, "ps": "TCP", "state": "listen", "src": "0.0.0.0",
 *             "src_port": 7471, "dst": "", "dst_port": 0, "qpn": 0}, ...]
 */
void cm_status(struct daemon *daemon, FILE *out);

/* Writes a JSON string with its quotes. Bytes that are not UTF-8 become '?'. */
void json_string(FILE *out, const char *text);
/* Writes a line to the log, rate-limited. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* VNETD_H */
