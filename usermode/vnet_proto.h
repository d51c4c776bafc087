/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the preload library and vnetd say to each other: SOCK_SEQPACKET unix
 * sockets at <runtime directory>/<node>/vnetd.sock. Both come from one build;
 * the version catches a daemon that outlived an upgrade.
 *
 * A connection is one of
 *  - CONTROL: requests and replies, one at a time. Private to a process
 *    (close-on-exec, closed in forked children).
 *  - FILE: an opened device file. The program holds this very socket as its
 *    descriptor. After VNET_MSG_OPEN it carries nothing but VNET_MSG_ADOPT; when
 *    its last copy is closed, the daemon frees all that the file owned.
 *  - NETLINK: a FILE that stands for a NETLINK_RDMA socket. It carries netlink
 *    datagrams to the program; what the program sends goes by CONTROL, so that
 *    answers are there when send() returns, as they would be.
 *
 * Every message starts with struct vnet_msg; the daemon checks each length.
 *
 * Starting: whoever finds no socket, or is refused or reset before the first
 * reply (the daemon was just ending), runs "vnetd --ready-fd FD" and connects
 * again when the line "ready" comes there. Any number may do so at once: one
 * becomes the daemon, all are told when it listens. Another line says why there
 * is no daemon.
 *
 * VNET_MSG_STATUS and VNET_MSG_STOP need no HELLO before them.
 */
#ifndef VNET_PROTO_H
#define VNET_PROTO_H

#include <linux/types.h>

#define VNET_PROTO_VERSION 8
#define VNET_SOCKET_NAME "vnetd.sock"
/* Largest message; uverbs commands are far smaller. */
#define VNET_MSG_MAX 65536
#define VNET_MAX_NICS 16
/* uverbs device numbers that vnet's devices use: major, first minor. */
#define VNET_UVERBS_MAJOR 231
#define VNET_UVERBS_FIRST_MINOR 192
/* Those of umad devices, of the same major: a NIC's index. */
#define VNET_UMAD_MINORS VNET_MAX_NICS
/* The rdma_cm file's: a miscellaneous device. */
#define VNET_RDMA_CM_MAJOR 10
#define VNET_RDMA_CM_MINOR 59
#define VNET_RDMA_CM_ABI_VERSION 4

enum vnet_msg_type {
	/* vnet_msg_link, of anybody → vnet_msg_result, then a memfd with JSON text. */
	VNET_MSG_LINK = 64,
	/*
	 * First message on a CONTROL connection. Request: struct
	 * vnet_msg_hello, with files of /proc/self attached when space is 0, in any
	 * order: mem, and as far as they can be had pagemap, maps and status. Reply:
	 * struct vnet_msg_welcome, with (for a new space) attached, in order:
	 * memory of NIC 0, kick eventfd of NIC 0, and where `links` says so its
	 * link's memory and socket; memory of NIC 1, ...
	 */
	VNET_MSG_HELLO = 1,
	/*
	 * First message on a FILE connection: vnet_msg_open → vnet_msg_opened; with
	 * the memory of struct vnet_cm_wills attached where the file is rdma_cm's.
	 */
	VNET_MSG_OPEN,
	/*
	 * On a FILE connection found in a process that did not open it: one
	 * message with a nonce, no reply. Then VNET_MSG_WHICH on CONTROL names
	 * the nonce, with the descriptor attached, and gets the same answer as
	 * VNET_MSG_OPEN. Files with events are known by the descriptor alone:
	 * nothing can be said there once an edge was made of an event.
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
	 * vnet_msg_call: take the oldest event of this async file → its struct
	 * ib_uverbs_async_event_desc follows vnet_msg_result; error EAGAIN.
	 * file_id is the async file's own.
	 */
	VNET_MSG_ASYNC_READ,
	/* vnet_msg_get → result with the space's mem descriptor attached. */
	VNET_MSG_GET_SPACE,
	/* vnet_msg_get → result with the agent's end of the channel's socket. */
	VNET_MSG_GET_CHANNEL,
	/* The process is about to exec: its space ends now. → vnet_msg_result */
	VNET_MSG_LEAVE,
	/* exec failed after VNET_MSG_LEAVE: the space lives on. */
	VNET_MSG_STAY,
	/* → vnet_msg_result, then a memfd with JSON text attached. */
	VNET_MSG_STATUS,
	/* End the daemon. → vnet_msg_result */
	VNET_MSG_STOP,
	/* First message on a NETLINK connection: vnet_msg_open → vnet_msg_opened. */
	VNET_MSG_SOCKET,
	/* vnet_msg_netlink, and for VNET_NETLINK_SEND a datagram → vnet_msg_result */
	VNET_MSG_NETLINK,
	/* Somebody reads counters in the tree: write what they are. → vnet_msg_result */
	VNET_MSG_COUNTERS,
	/*
	 * vnet_msg_call: all bytes were taken out of this rdma_cm file's socket; put one
	 * in if events are unread. → vnet_msg_result
	 */
	VNET_MSG_SETTLE,
	/*
	 * A socket is attached (SOCK_SEQPACKET, one end of a pair): from now on it is a
	 * connection of this process, as if it had been accepted. No reply.
	 */
	VNET_MSG_CONNECT,
};

/* The most descriptors that a message to the daemon brings. */
#define VNET_MSG_FDS 4

struct vnet_msg {
	__u32 type;
	/* Bytes, this header included. */
	__u32 length;
};

#define VNET_DEVICES_MAX 1024
#define VNET_LINK_LAYER_MAX 16

/*
 * A daemon that nobody else uses, but is of another version or has other devices or
 * another link layer than are wanted, ends in favour of a new one: the connection is reset
 * without an answer.
 */
struct vnet_msg_hello {
	struct vnet_msg msg;
	/* So far the message is the same in every version. */
	__u32 version;
	/* 0: new; else add this connection to an existing space. */
	__u32 space;
	__aligned_u64 cookie;
	/* For status: what runs. */
	char command[64];
	/* Devices that are wanted, as vnetd --devices; empty: whichever. */
	char devices[VNET_DEVICES_MAX];
	/* The link layer that is wanted, as vnetd --link-layer; empty: whichever. */
	char link_layer[VNET_LINK_LAYER_MAX];
};

struct vnet_msg_welcome {
	struct vnet_msg msg;
	/* errno value, 0 if all is well. */
	__u32 error;
	__u32 version;
	/* Address space id: (generation << 16 | slot); also nic.space. */
	__u32 space;
	/* Owner id for locks: slot + 1. */
	__u32 owner;
	__aligned_u64 cookie;
	__u32 nics;
	/* Non-zero: a device that is wanted is not among them. */
	__u32 other_devices;
	__aligned_u64 memory_size[VNET_MAX_NICS];
	/* NICs that have a link to others: bit by bit. */
	__u32 links;
	/* Non-zero: another link layer is wanted. */
	__u32 other_link_layer;
};

#define VNET_LINK_TEXT 1024

/* "fault ...", "key ...", "settings ...", "show": see vnetd/link_command.c. */
struct vnet_msg_link {
	struct vnet_msg msg;
	char text[VNET_LINK_TEXT];
};

struct vnet_msg_open {
	struct vnet_msg msg;
	__u32 version;
	/*
	 * Minor number of the device file, as sysfs tells it. VNET_MSG_SOCKET:
	 * SOCK_RAW or SOCK_DGRAM, which is `number` of the file then.
	 */
	__u32 minor;
	/* SO_COOKIE of the program's end, by which VNET_MSG_WHICH knows it; 0: not known. */
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
	/* The connection manager's. */
	VNET_FILE_RDMA_CM = 5,
	/* Management datagrams'; those that come are read from its socket. */
	VNET_FILE_UMAD = 6,
};

enum vnet_umad_op {
	/* The answer is the agent's number. */
	VNET_UMAD_REGISTER = 1,
	VNET_UMAD_UNREGISTER,
	VNET_UMAD_ENABLE_PKEYS,
};

/* An ioctl() of a umad file, of whichever form. */
struct vnet_umad_ioctl {
	/* enum vnet_umad_op */
	__u32 op;
	/* VNET_UMAD_UNREGISTER: the agent; the rest is VNET_UMAD_REGISTER's. */
	__u32 id;
	__u32 qpn;
	__u8 mgmt_class;
	__u8 class_version;
	__u8 rmpp_version;
	/* Of IB_USER_MAD_REGISTER_AGENT2, by which headers have partitions. */
	__u8 with_pkeys;
	__aligned_u64 method_mask[2];
	/* Of the vendor whose class it is: 24 bits. */
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
	/* rdma_cm: the file of the descriptor that the command names, or 0. */
	__u32 other_file;
	/* VNET_MSG_WRITE, VNET_MSG_IOCTL: user address of the bytes that follow. */
	__aligned_u64 user_addr;
	/*
	 * Descriptors that the command names are attached once the daemon has asked for
	 * them (`wants_fd` of the result): how many, and which numbers they have in the
	 * process, in order.
	 */
	__u32 nfds;
	__s32 fd[VNET_MSG_FDS];
	__u32 rsvd;
};

enum vnet_netlink_op {
	/*
	 * `argument` is the port id that a socket which has none would like;
	 * result: bytes taken.
	 */
	VNET_NETLINK_SEND = 1,
	/* `argument` as above, or (with a `value`) that one or none. */
	VNET_NETLINK_BIND,
	/* Result: the port id; 0: it has none. */
	VNET_NETLINK_NAME,
	/* `argument` is an option of SOL_NETLINK; its value is, or becomes, `value`. */
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

/* A descriptor attached to a result, that becomes a number in the program. */
struct vnet_msg_fd {
	/* Where the shim stores the number, and how many bytes (4 or 8). */
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

/* What the program of an id of rdma_cm is told when the daemon is gone. */
struct vnet_cm_will {
	/* The program's name for it; 0: it has none yet, and hears nothing. */
	__aligned_u64 uid;
	/* Of the file that the id is of; 0: there is no such id. Written last. */
	__u32 file_id;
	/* As DESTROY_ID would answer. */
	__u32 events_reported;
	/* It is bound to a device, which is gone, too. */
	__u32 has_device;
	__u32 rsvd;
};

/* By handle. The daemon writes, nobody else can. */
struct vnet_cm_wills {
	/* There are none from here on. */
	__u32 high;
	__u32 rsvd;
	struct vnet_cm_will id[VNET_CM_MAX_IDS];
};

#define VNET_RESULT_FDS 2

struct vnet_msg_result {
	struct vnet_msg msg;
	/* errno value, or 0. */
	__u32 error;
	/* Return value where error is 0 (write: bytes taken). */
	__s32 value;
	/* vnet_alloc_ucontext_resp was written here: add gate and cookie. */
	__aligned_u64 ucontext_addr;
	__u32 ucontext_nic;
	/* Descriptors attached, described by fd[]. */
	__u32 nfds;
	struct vnet_msg_fd fd[VNET_RESULT_FDS];
	/*
	 * Non-zero: nothing was done yet. The command names descriptor `wanted_fd` of the
	 * process: the same request again, with that attached, too.
	 */
	__u32 wants_fd;
	__s32 wanted_fd;
};

#endif /* VNET_PROTO_H */
