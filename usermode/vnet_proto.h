/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The protocol between the preload library and vnetd. It uses SOCK_SEQPACKET Unix sockets at
 * <runtime directory>/<node>/vnetd.sock. Library and daemon come from one build; the version
 * number detects a daemon that outlived an upgrade.
 *
 * Each connection has one of these roles:
 * - CONTROL: requests and replies, one at a time. Private to a process (close-on-exec, closed in
 *   forked children).
 * - FILE: an open device file. The program holds this socket itself as its descriptor. After
 *   VNET_MSG_OPEN, the program sends nothing but VNET_MSG_ADOPT on it. When the last copy of the
 *   descriptor is closed, the daemon frees everything that the file owned.
 * - NETLINK: a FILE that stands for a NETLINK_RDMA socket. It carries netlink datagrams to the
 *   program. Datagrams from the program go by CONTROL, so that the answers are available when
 *   send() returns, as with the kernel.
 *
 * Every message starts with struct vnet_msg; the daemon checks each length.
 *
 * Starting the daemon: a client that finds no socket, or whose connection is refused or reset
 * before the first reply (the daemon was about to end), runs "vnetd --ready-fd FD" and connects
 * again when FD delivers the line "ready". Several clients may do so at once: one of the started
 * processes becomes the daemon, and all starters are told when it listens. Any other line is the
 * reason why there is no daemon.
 *
 * VNET_MSG_STATUS, VNET_MSG_STOP and VNET_MSG_LINK need no HELLO before them.
 */
#ifndef VNET_PROTO_H
#define VNET_PROTO_H

#include <linux/types.h>

#define VNET_PROTO_VERSION 9
#define VNET_SOCKET_NAME "vnetd.sock"
/* Size of the largest message. uverbs commands are far smaller. */
#define VNET_MSG_MAX 65536
#define VNET_MAX_NICS 16
/* Device numbers of vnet's uverbs files: major, and first minor. */
#define VNET_UVERBS_MAJOR 231
#define VNET_UVERBS_FIRST_MINOR 192
/* Minor numbers of umad files are below this: the NIC's index. The major is that of uverbs. */
#define VNET_UMAD_MINORS VNET_MAX_NICS
/* Device number of the rdma_cm file, a miscellaneous device. */
#define VNET_RDMA_CM_MAJOR 10
#define VNET_RDMA_CM_MINOR 59
#define VNET_RDMA_CM_ABI_VERSION 4

enum vnet_msg_type {
	/* vnet_msg_link → vnet_msg_result with a memfd of JSON text attached. Needs no HELLO. */
	VNET_MSG_LINK = 64,
	/*
	 * First message on a CONTROL connection. Request: struct vnet_msg_hello. If `space` is 0,
	 * files of /proc/self are attached, in any order: mem, and pagemap, maps and status as far
	 * as the process can open them. Reply: struct vnet_msg_welcome. For a new space, these
	 * descriptors are attached for each NIC, in order: its memory, its kick eventfd, and, if
	 * its bit in `links` is set, the memory and the socket of its link.
	 */
	VNET_MSG_HELLO = 1,
	/*
	 * First message on a FILE connection: vnet_msg_open → vnet_msg_opened. For the rdma_cm
	 * file, the memory of struct vnet_cm_orphans is attached.
	 */
	VNET_MSG_OPEN,
	/*
	 * ADOPT and WHICH identify a FILE descriptor in a process that did not open it. The process
	 * sends ADOPT with a nonce on the FILE connection; there is no reply. It then sends WHICH
	 * with that nonce and the descriptor attached on CONTROL; the reply is that of
	 * VNET_MSG_OPEN. Files with events are identified by the attached descriptor alone: once
	 * the daemon has made an edge of an event, it no longer receives on that socket.
	 */
	VNET_MSG_ADOPT,
	VNET_MSG_WHICH,
	/* vnet_msg_call + the bytes of a write() → vnet_msg_result. */
	VNET_MSG_WRITE,
	/*
	 * vnet_msg_call + struct ib_uverbs_ioctl_hdr and attrs, or struct
	 * vnet_umad_ioctl → vnet_msg_result.
	 */
	VNET_MSG_IOCTL,
	/*
	 * vnet_msg_call: take the oldest event of this async file. struct
	 * ib_uverbs_async_event_desc follows vnet_msg_result; the error is EAGAIN if there is no
	 * event. file_id is that of the async file.
	 */
	VNET_MSG_ASYNC_READ,
	/* vnet_msg_get → result with the space's mem descriptor attached. */
	VNET_MSG_GET_SPACE,
	/* vnet_msg_get → result with the agent's end of the channel's socket. */
	VNET_MSG_GET_CHANNEL,
	/* The process is about to call exec(): its space ends now. → vnet_msg_result */
	VNET_MSG_LEAVE,
	/* exec() failed after VNET_MSG_LEAVE: the space continues. → vnet_msg_result */
	VNET_MSG_STAY,
	/* → vnet_msg_result, then a memfd with JSON text attached. */
	VNET_MSG_STATUS,
	/* The daemon ends. → vnet_msg_result */
	VNET_MSG_STOP,
	/* First message on a NETLINK connection: vnet_msg_open → vnet_msg_opened. */
	VNET_MSG_SOCKET,
	/* vnet_msg_netlink, and for VNET_NETLINK_SEND a datagram → vnet_msg_result */
	VNET_MSG_NETLINK,
	/* The program will read counters in the sysfs tree: update them. → vnet_msg_result */
	VNET_MSG_COUNTERS,
	/*
	 * vnet_msg_call: the program has read all bytes from the socket of this rdma_cm file. The
	 * daemon sends a byte if events are unread. → vnet_msg_result
	 */
	VNET_MSG_RESIGNAL,
	/*
	 * One end of a SOCK_SEQPACKET socket pair is attached. The daemon treats it as a new
	 * connection of this process, as if it had been accepted. No reply.
	 */
	VNET_MSG_CONNECT,
	/*
	 * vnet_msg_get → result with the memory file of this space attached. The process' own is
	 * created if there is none.
	 */
	VNET_MSG_GET_MEMORY,
	/* vnet_msg_map: the process moves pages into its memory file. → vnet_msg_result */
	VNET_MSG_MAP,
};

/* Limit of descriptors that are attached to a message to the daemon. */
#define VNET_MSG_FDS 4

struct vnet_msg {
	__u32 type;
	/* Length of the message in bytes, with this header. */
	__u32 length;
};

#define VNET_DEVICES_MAX 1024
#define VNET_LINK_LAYER_MAX 16

/*
 * If the daemon has another version, other devices or another link layer than this message asks
 * for, and no other process uses it, it ends in favour of a new daemon: it resets the connection
 * without an answer.
 */
struct vnet_msg_hello {
	struct vnet_msg msg;
	/* The message is the same in every version up to here. */
	__u32 version;
	/* 0: create a space. Otherwise: add this connection to this space. */
	__u32 space;
	__aligned_u64 cookie;
	/* Name of the program, for `vnet status`. */
	char command[64];
	/* Devices that the program needs, in the form of vnetd --devices; empty: any. */
	char devices[VNET_DEVICES_MAX];
	/* Link layer that the program needs, as in vnetd --link-layer; empty: any. */
	char link_layer[VNET_LINK_LAYER_MAX];
};

struct vnet_msg_welcome {
	struct vnet_msg msg;
	/* errno value, 0 on success. */
	__u32 error;
	__u32 version;
	/* Space id: generation << 16 | slot. The process stores it in nic.space. */
	__u32 space;
	/* Owner id for lock words: slot + 1. */
	__u32 owner;
	__aligned_u64 cookie;
	__u32 nics;
	/* Non-zero: the daemon lacks a device that the program needs. */
	__u32 other_devices;
	__aligned_u64 memory_size[VNET_MAX_NICS];
	/* Bit i: NIC i has a link to other nodes. */
	__u32 links;
	/* Non-zero: the daemon has another link layer than the program needs. */
	__u32 other_link_layer;
};

#define VNET_LINK_TEXT 1024

/* "fault ...", "device ...", "key ...", "settings ...", "compare ...", or "show": see vnetd/status/command.c. */
struct vnet_msg_link {
	struct vnet_msg msg;
	char text[VNET_LINK_TEXT];
};

struct vnet_msg_open {
	struct vnet_msg msg;
	__u32 version;
	/*
	 * Minor number of the device file, as in sysfs. With VNET_MSG_SOCKET: SOCK_RAW or
	 * SOCK_DGRAM, which becomes the file's `number`.
	 */
	__u32 minor;
	/* SO_COOKIE of the program's end, by which VNET_MSG_WHICH finds the file; 0: unknown. */
	__u64 cookie;
};

struct vnet_msg_opened {
	struct vnet_msg msg;
	__u32 error;
	__u32 file_id;
	__u32 minor;
	/* enum vnet_file_kind */
	__u32 kind;
	/* As in struct vnet_msg_fd. */
	__u32 nic;
	__u32 number;
	__u32 generation;
	__u32 rsvd;
};

enum vnet_file_kind {
	VNET_FILE_UVERBS = 1,
	/* Completion channel; `number` is its index in the NIC. */
	VNET_FILE_CHANNEL = 2,
	VNET_FILE_ASYNC = 3,
	/* NETLINK_RDMA socket; `number` is its type. */
	VNET_FILE_NETLINK = 4,
	/* The rdma_cm file. */
	VNET_FILE_RDMA_CM = 5,
	/* A umad file. The program reads received datagrams from its socket. */
	VNET_FILE_UMAD = 6,
};

enum vnet_umad_op {
	/* The result is the agent's id. */
	VNET_UMAD_REGISTER = 1,
	VNET_UMAD_UNREGISTER,
	VNET_UMAD_ENABLE_PKEYS,
};

/* An ioctl() of a umad file: all request codes use this form. */
struct vnet_umad_ioctl {
	/* enum vnet_umad_op */
	__u32 op;
	/* VNET_UMAD_UNREGISTER: the agent's id. VNET_UMAD_REGISTER uses the fields below. */
	__u32 id;
	__u32 qpn;
	__u8 mgmt_class;
	__u8 class_version;
	__u8 rmpp_version;
	/* From IB_USER_MAD_REGISTER_AGENT2: the headers of its MADs contain a P_Key index. */
	__u8 with_pkeys;
	__aligned_u64 method_mask[2];
	/* 24-bit OUI of a vendor class. */
	__u32 oui;
	__u32 rsvd;
};

struct vnet_msg_adopt {
	struct vnet_msg msg;
	__aligned_u64 nonce;
};

struct vnet_msg_call {
	struct vnet_msg msg;
	__u32 file_id;
	/* rdma_cm: id of the file whose descriptor the command names, or 0. */
	__u32 other_file;
	/* VNET_MSG_WRITE, VNET_MSG_IOCTL: user address of the bytes that follow. */
	__aligned_u64 user_addr;
	/*
	 * Number of descriptors that are attached because the daemon asked for them (`wants_fd` of
	 * the result), and their numbers in the process, in the order in which they are attached.
	 */
	__u32 nfds;
	__s32 fd[VNET_MSG_FDS];
	__u32 rsvd;
};

enum vnet_netlink_op {
	/* `argument` is the preferred port id for a socket that has none. Result: bytes taken. */
	VNET_NETLINK_SEND = 1,
	/*
	 * Assign a port id. `argument` is the preferred one; if `value` is non-zero, fail rather
	 * than choose another.
	 */
	VNET_NETLINK_BIND,
	/* Result: the port id, 0 if the socket has none. */
	VNET_NETLINK_NAME,
	/* `argument` is an option of SOL_NETLINK. GET returns its value, SET stores `value`. */
	VNET_NETLINK_GET_OPTION,
	VNET_NETLINK_SET_OPTION,
};

struct vnet_msg_netlink {
	struct vnet_msg msg;
	__u32 file_id;
	/* enum vnet_netlink_op */
	__u32 op;
	__u32 argument;
	__u32 value;
};

struct vnet_msg_get {
	struct vnet_msg msg;
	__u32 nic;
	/* Space id, or channel index. */
	__u32 number;
	__u32 generation;
	__u32 rsvd;
};

enum vnet_map_op {
	/*
	 * The process is about to move the whole pages of this range into its memory file. EBUSY: a
	 * region that is not mapped overlaps them. DONE or REFUSED follows.
	 */
	VNET_MAP_BEGIN = 1,
	/* The whole pages of this range are in the memory file. */
	VNET_MAP_DONE,
	/* The pages stay where they are; `why` is the reason. */
	VNET_MAP_REFUSED,
	/* The whole pages of this range will leave the memory file. */
	VNET_MAP_GONE,
};

/* Why the pages of a region are not in the memory file of their process. */
enum vnet_unmapped {
	/* VNET_MAP_REGIONS=never, or memory that is never mapped: device memory, on-demand. */
	VNET_UNMAPPED_NEVER = 0,
	/* The region contains no whole page. */
	VNET_UNMAPPED_SMALL,
	/* Not private anonymous memory with the rights to read and write. */
	VNET_UNMAPPED_KIND,
	/* The program has set flags of the mapping (madvise, mlock, userfaultfd, ...). */
	VNET_UNMAPPED_FLAGS,
	/* The program has several threads, and userfaultfd is refused, or (hot) might be fatal. */
	VNET_UNMAPPED_USERFAULTFD,
	/* Another thread was in a system call that may write to the pages. */
	VNET_UNMAPPED_BUSY,
	/* The program uses io_uring, AIO or RDMA devices of the machine. */
	VNET_UNMAPPED_PINNED,
	/* Another region, which is not mapped, overlaps. */
	VNET_UNMAPPED_OVERLAP,
	/* No memory, or a limit. */
	VNET_UNMAPPED_MEMORY,
	/* VNET_MAP_REGIONS=hot, and the region, or all together, would be large. */
	VNET_UNMAPPED_LARGE,
	/* VNET_MAP_REGIONS=hot, and moves have taken too much of the process' time. */
	VNET_UNMAPPED_SLOW,
};

struct vnet_msg_map {
	struct vnet_msg msg;
	/* enum vnet_map_op */
	__u32 op;
	/* enum vnet_unmapped */
	__u32 why;
	__aligned_u64 start;
	__aligned_u64 length;
};

/* A descriptor that is attached to a result, and of which the program receives the number. */
struct vnet_msg_fd {
	/* Address at which the shim stores the number, and its size (4 or 8 bytes). */
	__aligned_u64 user_addr;
	__u32 user_size;
	/* enum vnet_file_kind */
	__u32 kind;
	__u32 file_id;
	/* Channel: NIC, index and generation. */
	__u32 nic;
	__u32 number;
	__u32 generation;
};

#define VNET_CM_MAX_IDS 65536

/* State of an rdma_cm id, which the preload library reads after the daemon's death. */
struct vnet_cm_orphan {
	/* The program's uid for the id. 0: it has none yet, and receives no event. */
	__aligned_u64 uid;
	/* File id of the rdma_cm file that owns the id. 0: entry not in use. Written last. */
	__u32 file_id;
	/* Value that DESTROY_ID would return. */
	__u32 events_reported;
	/* The id is bound to a device, which is lost with the daemon. */
	__u32 has_device;
	__u32 rsvd;
};

/* Table indexed by the id's handle. Only the daemon can write it. */
struct vnet_cm_orphans {
	/* All entries in use have a lower index. */
	__u32 high;
	__u32 rsvd;
	struct vnet_cm_orphan id[VNET_CM_MAX_IDS];
};

#define VNET_RESULT_FDS 2

struct vnet_msg_result {
	struct vnet_msg msg;
	/* errno value, or 0. */
	__u32 error;
	/* Return value if `error` is 0 (write: bytes taken). */
	__s32 value;
	/* Address of a vnet_alloc_ucontext_resp, to which the shim adds gate and cookie; or 0. */
	__aligned_u64 ucontext_addr;
	__u32 ucontext_nic;
	/* Number of attached descriptors; fd[] describes them. */
	__u32 nfds;
	struct vnet_msg_fd fd[VNET_RESULT_FDS];
	/*
	 * Non-zero: the daemon has not executed the command, which names descriptor `wanted_fd` of
	 * the process. The shim repeats the request with that descriptor attached as well.
	 */
	__u32 wants_fd;
	__s32 wanted_fd;
};

#endif /* VNET_PROTO_H */
