/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * vnetd's own state: who is connected, what they opened, what they made. All
 * of it is private memory of the daemon, and decides who may do what; NIC
 * memory, which clients can scribble on, is never asked.
 *
 * One thread. Nothing blocks: what would have to wait is parked and called
 * again, so every handler may be called more than once for one call and must
 * change nothing, or only what is idempotent, before it answers CALL_PARK.
 */
#ifndef VNETD_H
#define VNETD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "../../abi/vnet-abi.h"
#include "../platform/host.h"
#include "../vnet_proto.h"

struct daemon;
struct uctx;
struct uv_block;
struct cm;

/* What the device says of itself, in sysfs and in query_device alike. */
enum device_identity {
	DEVICE_VENDOR_ID = 0x766e,
	DEVICE_PART_ID = 0x6574,
	DEVICE_HW_REV = 1,
	DEVICE_PKEYS = 1,
	/* CM is supported; on InfiniBand, speeds beyond QDR; on Ethernet, GIDs are IP addresses. */
	DEVICE_CAP_EXTENDED_SPEEDS = 1 << 14,
	DEVICE_CAP_CM = 1 << 16,
	DEVICE_CAP_IP_BASED_GIDS = 1 << 26,
};
#define DEVICE_FW_VER VNET_FW_VER_PREFIX VNET_VERSION

/* That a port has, of either kind. */
#define MOST_COUNTERS 32

/* One emulated NIC and the device that stands for it. */
struct device {
	struct daemon *daemon;
	u32 index;
	char name[64];
	/* Its files are uverbs<minor - VNET_UVERBS_FIRST_MINOR>. */
	u32 minor;
	/* As it goes into __be64 fields; constant for user, node and name. */
	u8 node_guid[8];
	/* Of port 1, if its link layer is InfiniBand; 0: it is Ethernet. */
	u16 lid;
	/*
	 * GIDs 0 .. ngids - 1 of port 1, all of them RoCE v2, and the net device
	 * with the address; the table has NIC_MAX_GIDS entries. Copies of our
	 * own: NIC memory has them for the firmware. Programs see the first
	 * gids_shown of them: where the link layer is InfiniBand only that of the
	 * port, and the addresses' are for the connection manager.
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
	/* What queue pairs counted that are gone. */
	struct nic_qp_counters retired;
	/* How often the cable was pulled. */
	u32 downs;
	/* What the port's counters had when somebody cleared them: port_counters.c. */
	u64 cleared[MOST_COUNTERS];
};

/* No GID: of an address that went, or that never was. */
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

/* A process that said hello: an address space and an owner of locks. */
struct client {
	struct daemon *daemon;
	/* Space id; and lock owner id = slot + 1. */
	u32 space;
	u32 owner;
	u64 cookie;
	pid_t pid;
	int pidfd;
	/* Its /proc/self/mem; -1 once it is gone. */
	int mem_fd;
	/* Its page map, map and status; -1: it cannot be seen. */
	int pagemap_fd;
	int maps_fd;
	int status_fd;
	/* A page that was in memory when the call at hand looked; NO_PAGE. */
	u64 present_page;
	/* When that call was first tried (plat_clock()), and the socket that it came by. */
	u64 call_since;
	int call_sock;
	bool dead;
	/* Control connections, and objects that still name this client. */
	u32 refs;
	/* The uverbs server's: rings to be given back when it is gone. */
	struct uv_block *mapped;
	char command[64];
	struct client *next;
};

/*
 * An opened device file (verbs, umad or rdma_cm), a completion channel, an async event
 * file or a socket.
 */
struct file {
	struct daemon *daemon;
	u32 id;
	enum vnet_file_kind kind;
	/* NETLINK, RDMA_CM: none. */
	struct device *device;
	/*
	 * The daemon's end. UVERBS, RDMA_CM, NETLINK, UMAD: the accepted connection, by which
	 * the datagrams go that come for UMAD. CHANNEL and ASYNC: one end of a socketpair whose
	 * other end the program holds; a byte in it makes the program's end readable. Its
	 * hang-up closes the file.
	 */
	int sock;
	/* Close is under way (parked). */
	bool closing;
	/*
	 * CHANNEL: index and generation in the NIC; filled in by who made it.
	 * NETLINK: the socket's type.
	 */
	u32 number;
	u32 generation;
	/* The uverbs server's part (uverbs/): context, channel or async state; */
	/* or netlink.c's, the connection manager's (cm/), or that of datagrams (mad/). */
	void *priv;
	struct file *next;
};

enum call_outcome {
	CALL_DONE,
	/* Call the same handler again later (within a millisecond or so). */
	CALL_PARK,
};

/* A request under way. */
struct call {
	struct client *client;
	struct file *file;
	u64 user_addr;
	/* RDMA_CM: the file whose descriptor the command names; 0: none. */
	u32 other_file;
	/* Other descriptors that it names and that came along: their numbers, and ours. */
	const s32 *fd_number;
	const int *fd_attached;
	u32 nfds;
	/* The bytes of the write() or ioctl(), in the daemon's memory. */
	const u8 *data;
	u32 length;
	/* The answer; zeroed before each call of the handler. */
	struct vnet_msg_result result;
	/* Descriptors to attach (result.nfds), closed after sending. */
	int fd[VNET_RESULT_FDS];
	/* ASYNC_READ: the record that follows the result. */
	u8 record[64];
	u32 record_length;
};

/* ------------------------------------------------------------ daemon core */

/* Make a socketpair file; *peer_fd is the program's end. NULL: errno is set. */
struct file *file_create(struct daemon *daemon, struct device *device, enum vnet_file_kind kind,
			 void *priv, int *peer_fd);
/* Find by id; NULL if there is none, or it is closing. */
struct file *file_find(struct daemon *daemon, u32 id);
/*
 * Close the daemon's end and forget the file: for one that file_create() made
 * and nobody got. After uverbs_file_close() the core does it.
 */
void file_destroy(struct file *file);

/* Find by space id; NULL if it is gone. */
struct client *client_find(struct daemon *daemon, u32 space);
/* References keep the structure and its slot, not the process: see dead. */
struct client *client_get(struct client *client);
void client_put(struct client *client);

/*
 * copy_from_user, copy_to_user, by the client's mem descriptor: 0, -EFAULT, or UV_PARK
 * (uverbs/uverbs.h) while pages are brought: the call is tried again when they are there.
 * Nothing is written for a caller that does not wait any more (-EFAULT).
 */
int user_read(struct client *client, void *dst, u64 addr, size_t length);
int user_write(struct client *client, u64 addr, const void *src, size_t length);
/* The pages of a range are there (0), are being brought (UV_PARK), or cannot be (-EFAULT). */
int user_bring(struct client *client, u64 addr, u64 length);
/* Does the caller at the other end of this connection wait for the answer to its call? */
bool user_waits(int sock);

/*
 * A program is about to receive from groups, or to send to them; or the same of Ethernet
 * frames: see link_meet.c.
 */
void peers_meet(struct device *device);

/* ---------------------------------------------------------- uverbs server */

int uverbs_device_init(struct device *device);
void uverbs_device_fini(struct device *device);

/* An accepted FILE connection becomes a uverbs file: 0 or -errno. */
int uverbs_file_open(struct file *file);
enum call_outcome uverbs_write(struct call *call);
enum call_outcome uverbs_ioctl(struct call *call);
enum call_outcome uverbs_async_read(struct call *call);
/*
 * The program closed its last descriptor of this file (any kind), and no call
 * on it is under way: free what it owned, in the order that dependences ask.
 * CALL_PARK: call again. CALL_DONE: the core destroys the file.
 */
enum call_outcome uverbs_file_close(struct file *file);
/*
 * The file of a completion channel, for VNET_MSG_GET_CHANNEL and the daemon's
 * own firmware; NULL if there is none.
 */
struct file *uverbs_channel_file(struct device *device, u32 channel, u32 generation);
/* The process is gone (nic_recover() has run on every device). */
void uverbs_client_dead(struct client *client);
/* Events are waiting in NIC memory (nic_async_take): file them. */
void uverbs_collect_async(struct device *device);
/* An event of the device itself (element: its port) for all its contexts. */
void uverbs_device_event(struct device *device, u32 event, u64 element);
/*
 * Objects of this device as JSON members, with no comma before or after:
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
 * "dest_lid": on a port of InfiniBand the peer's LID, by which frames go, else 0; "dest_gid"
 * is empty there unless the peer has a global route. "waits": why its send queue waits ("", rnr, stall, peer or lock); "holder":
 * process id of who holds a lock of it just now (0: nobody).
 */
void uverbs_status(struct device *device, FILE *out);

/* What a port counts, by the names of the kernel's driver. */
struct counter {
	const char *name;
	u64 value;
};

/* The device's own. Answers how many there are. */
u32 counters_read(const struct device *device, struct counter counters[MOST_COUNTERS]);
/* Of queue pairs, those that are gone among them. */
struct nic_qp_counters counters_sum(const struct device *device);

/* Those of every RDMA device's port: how many there are. */
u32 port_counters_read(const struct device *device, struct counter counters[MOST_COUNTERS]);
/* Those of these names count on from zero. */
void port_counters_clear(struct device *device, const char *const *names, u32 nnames);
/* A counter of so many bits stays at its most. */
u64 counter_saturated(u64 value, u32 bits);

/* ---------------------------------------------------- management datagrams */

/* An accepted FILE connection becomes a umad file: 0 or -errno. */
int umad_file_open(struct file *file);
void umad_file_close(struct file *file);
/* A datagram that the program sends; struct vnet_umad_ioctl. */
enum call_outcome umad_write(struct call *call);
enum call_outcome umad_ioctl(struct call *call);
/* Repeat, and give up; answers when to come back. */
u64 umad_run(u64 now);

/* ----------------------------------------------------- connection manager */

int cm_init(struct daemon *daemon);
/* An accepted FILE connection becomes an rdma_cm file: 0 or -errno. */
int cm_file_open(struct file *file);
void cm_file_close(struct file *file);
/* The memory that whoever has such a file reads when we are gone. */
int cm_will_fd(const struct daemon *daemon);
enum call_outcome cm_write(struct call *call);
/* The program took all bytes out of its socket: put one in if events are unread. */
void cm_file_settle(struct file *file);
/* NIC memory was made as new. */
void cm_renew(struct daemon *daemon);
/* Deliver, repeat, give up: answers when to come back. */
u64 cm_run(struct daemon *daemon, u64 now);
/*
 * A file (ASYNC, RDMA_CM) has an unread event, the first or one more: the program's end is
 * readable, and who waits there for edges has one.
 */
void file_tell(struct file *file, bool first);
/* The NIC of this GID refuses a device's, or is refused: its answers are not waited for. */
void cm_refused(struct cm *cm, const struct device *device, const u8 *gid);
/*
 * "cm_ids": [{"id": 0, "pid": 4711, "ps": "TCP", "state": "listen", "src": "0.0.0.0",
 *             "src_port": 7471, "dst": "", "dst_port": 0, "qpn": 0}, ...]
 */
void cm_status(struct daemon *daemon, FILE *out);

/* A string as JSON, in its quotes; bytes that are not UTF-8 become '?'. */
void json_string(FILE *out, const char *text);
/* A line in the daemon's log, rate-limited. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* VNETD_H */
