/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames between two vnet NICs: layout of a datagram of the link below. doc/protocol.md describes
 * their use.
 *
 * A frame is a struct vnet_frame, then `nacks` of struct vnet_frame_ack, then, by its kind, a
 * struct vnet_frame_hello or a struct vnet_frame_op, then payload_len bytes of payload, and nothing
 * else.
 *
 * Rules of this file:
 *   - All fields are little-endian; immediate data and payload are carried as the application gave
 *     them.
 *   - Everything is naturally aligned from the start of the frame, padding is named, and
 *     vnet_layout.h asserts each size and offset.
 *   - Reserved fields are zero when sent, and ignored when received.
 *   - Each frame proves its sender (enum vnet_frame_proof). A frame without its proof, or with an
 *     invalid field, is counted and dropped, and changes nothing.
 *   - With a MAC, struct vnet_wire_trailer follows the frame, and the CRC is 0 when sent and
 *     ignored when received. Without one, the CRC covers the whole frame, with the crc field 0.
 */
#ifndef VNET_WIRE_H
#define VNET_WIRE_H

#include <linux/types.h>
#include "vnet_hw.h"

/* Incremented whenever the meaning or layout of anything here changes. */
#define VNET_WIRE_VERSION 9
#define VNET_WIRE_MAGIC 0x6e76 /* "vn" */

/* Default UDP port of the link. */
#define VNET_WIRE_PORT 4790

enum vnet_wire_limits {
	/* Channels of a pair of NICs, in each direction. */
	VNET_WIRE_CHANNELS = 64,
	/* Limit of acknowledgements in a frame. */
	VNET_WIRE_ACKS = 64,
	/* Limit of a frame: the payload of a UDP datagram, less room for a MAC. */
	VNET_WIRE_MAX_FRAME = 65440,
	/*
	 * A frame is at most this much longer than the agreed payload limit; for headers and
	 * acknowledgements.
	 */
	VNET_WIRE_SLACK = 224,
	/* Minimum of the payload limit that a NIC may announce. */
	VNET_WIRE_MIN_PAYLOAD = 256,
	VNET_WIRE_GID_SIZE = 16,
	VNET_WIRE_KEY_SIZE = 32,
	VNET_WIRE_SALT_SIZE = 16,
	VNET_WIRE_MAC_SIZE = 16,
	VNET_WIRE_SECRET_SIZE = 16,
	VNET_WIRE_NONCE_SIZE = 16,
	VNET_WIRE_COOKIE_SIZE = 16,
	/*
	 * QP number of all members of a multicast group (IB vol 1, 10.5), and of all receivers of
	 * Ethernet frames.
	 */
	VNET_WIRE_GROUP_QPN = 0xffffff,
};

enum vnet_frame_kind {
	/*
	 * The handshake. A HELLO without the receiver's incarnation and cookie asks for both;
	 * WELCOME returns them, and keeps no state. A HELLO with them asks to be a peer; WELCOME
	 * then names the row, too.
	 */
	VNET_FRAME_HELLO = 1,
	VNET_FRAME_WELCOME = 2,
	/* A packet on a channel. */
	VNET_FRAME_DATA = 3,
	/*
	 * Acknowledgements only; a payload is the data of an RDMA read, and belongs to the first
	 * one.
	 */
	VNET_FRAME_ACK = 4,
	/*
	 * Answer to a HELLO under a key that the receiver does not have: body of a HELLO with its
	 * nonce, and enum vnet_refusal in the place of the flags. It has no proof: it only ends the
	 * wait for the first answer of that NIC.
	 */
	VNET_FRAME_REFUSE = 5,
};

/* How a frame proves its sender. */
enum vnet_frame_proof {
	/* MAC in the trailer. Required for HELLO and WELCOME. */
	VNET_PROOF_MAC = 0,
	/*
	 * Secret that both ends derived from their key in the handshake, one for each direction.
	 * For DATA and ACK between NICs of one machine that agreed on it.
	 */
	VNET_PROOF_SECRET = 1,
	/* None: only REFUSE. */
	VNET_PROOF_NONE = 2,
};

enum vnet_refusal {
	VNET_REFUSAL_KEY = 1,
};

/* Header of each frame. */
struct vnet_frame {
	__le16 magic;
	__u8 version;
	/* enum vnet_frame_kind */
	__u8 kind;
	/* CRC32C (Castagnoli), as in iSCSI; 0 in a frame with a MAC. */
	__le32 crc;
	/*
	 * Incarnations of the sender and of the addressed receiver; a later one has a greater
	 * number. 0: not known.
	 */
	__le64 src_incarnation;
	__le64 dst_incarnation;
	/*
	 * Number of the row at the receiver, as learned from the receiver; and of the row at the
	 * sender. A row that restarts has another number, so older frames do not match.
	 */
	__le32 dst_row;
	__le32 src_row;
	__le16 payload_len;
	__u8 nacks;
	/* enum vnet_frame_proof */
	__u8 proof;
	__u8 rsvd[4];
	/* With VNET_PROOF_SECRET; else 0. */
	__u8 secret[VNET_WIRE_SECRET_SIZE];
};

enum vnet_ack_code {
	/* The packet was executed. */
	VNET_ACK_DONE = 0,
	/* The same for an atomic operation; `result` is the former value. */
	VNET_ACK_RESULT = 1,

	/* Refused for now; the sender's timer sends the packet again. */
	VNET_NACK_FIRST = 16,
	/*
	 * The endpoint is not resident, or memory that is paged on demand is not present. `result`:
	 * when to try again, ns, or 0.
	 */
	VNET_NACK_ABSENT = 16,
	/* A lock is held by another, or a table is full. */
	VNET_NACK_BUSY = 17,
	/* No receive; `result`: wait that the responder asks for, ns. */
	VNET_NACK_RNR = 18,
	/* Earlier packets of the queue pair are missing. */
	VNET_NACK_EARLY = 19,

	/* Refused for good. */
	VNET_RETURN_FIRST = 32,
	/* No such queue pair, or not for this sender. */
	VNET_RETURN_NO_QP = 32,
	/* Fails the request; `result`: its enum vnet_wc_status. */
	VNET_RETURN_ERROR = 33,
	/*
	 * A refused datagram; `result`: enum vnet_wc_status, the reason. The program learns of it
	 * only with return to sender.
	 */
	VNET_RETURN_DROPPED = 34,
};

/* Answer to the packet with sequence number seq on a channel. */
struct vnet_frame_ack {
	__le32 seq;
	/* Timestamp of the transmission that is answered. */
	__le32 timestamp;
	__u8 channel;
	/* enum vnet_ack_code */
	__u8 code;
	__u8 rsvd[6];
	__le64 result;
};

enum vnet_hello_flags {
	/*
	 * The peer's address is on this machine, where no other process without CAP_NET_RAW can
	 * read the frames. Secrets are used instead of MACs if both ends set this flag.
	 */
	VNET_HELLO_LOCAL = 1 << 0,
};

/* Body of HELLO, WELCOME and REFUSE. */
struct vnet_frame_hello {
	__u8 src_gid[VNET_WIRE_GID_SIZE];
	__u8 dst_gid[VNET_WIRE_GID_SIZE];
	/* Limit of the payload in a frame that the sender of this one accepts. */
	__le32 payload;
	/* Bytes that its receive buffer holds. */
	__le32 window;
	/* Drawn for each series of calls; WELCOME and REFUSE return that of the HELLO. */
	__u8 nonce[VNET_WIRE_NONCE_SIZE];
	/*
	 * WELCOME without a row: a value that only its sender can make and check, for the address
	 * of the HELLO's sender. HELLO: the cookie of the last WELCOME, or 0.
	 */
	__u8 cookie[VNET_WIRE_COOKIE_SIZE];
	/* The sender's part of the secrets' derivation; drawn for each row. */
	__u8 share[VNET_WIRE_NONCE_SIZE];
	/* enum vnet_hello_flags, or enum vnet_refusal */
	__le32 flags;
	__u8 rsvd[4];
};

enum vnet_op_flags {
	VNET_OP_FIRST = 1 << 0,
	VNET_OP_LAST = 1 << 1,
	VNET_OP_SOLICITED = 1 << 2,
	/* The payload begins with an IPv4 header in VNET_GRH_SIZE bytes. */
	VNET_OP_GRH_IPV4 = 1 << 3,
	/* The immediate data has 64 bits. */
	VNET_OP_IMM64 = 1 << 4,
	/*
	 * The first VNET_GRH_SIZE bytes of the payload are undefined: the datagram was sent by LID
	 * only.
	 */
	VNET_OP_NO_GRH = 1 << 5,
	/* All defined flags. */
	VNET_OP_FLAGS = (1 << 6) - 1,
};

/* Operation of a DATA frame, or a piece of it. */
struct vnet_frame_op {
	__le32 seq;
	/* Clock of the sender at this transmission, us. */
	__le32 timestamp;
	__u8 channel;
	/* enum vnet_wr_opcode */
	__u8 opcode;
	/* enum vnet_op_flags */
	__u8 flags;
	/*
	 * enum ibv_qp_type of both ends, or for XRC of the requester (XRC_SEND). RAW_PACKET: a SEND
	 * whose payload is one Ethernet frame, to VNET_WIRE_GROUP_QPN.
	 */
	__u8 qp_type;
	__le32 src_qpn;
	__le32 dst_qpn;
	/* Connections: packet number of the queue pair, from its starting PSN on; 32 bits. */
	__le32 psn;
	/* Offset of this piece in the message, and length of the message. */
	__le32 offset;
	__le32 msg_len;
	/*
	 * Immediate data as given (with VNET_OP_IMM64 the lower half, big endian), or the key to
	 * invalidate (le32).
	 */
	__u32 imm;
	/* Read: bytes requested. Datagram: Q_Key. */
	__le32 read_len;
	union {
		/* Remote address of this piece. */
		__le64 remote_addr;
		/*
		 * Multicast datagram (dst_qpn VNET_WIRE_GROUP_QPN): first half of the group's GID.
		 */
		__u8 group_high[8];
	};
	union {
		__le32 rkey;
		/* Datagram: service level. */
		__le32 sl;
	};
	union {
		/* Connections: all packets before this one are done, or given up. */
		__le32 floor;
		/* XRC: number of the SRQ. */
		__le32 srqn;
	};
	union {
		/* Atomic operand; VNET_WR_FLUSH: length of the range. */
		__le64 compare_add;
		/* Multicast datagram: second half of the GID. */
		__u8 group_low[8];
	};
	union {
		/* Compare and swap: operand; VNET_WR_FLUSH: vnet_flush_operand(). */
		__le64 swap;
		/* VNET_OP_IMM64: upper half of the immediate data. */
		__le32 imm_high;
	};
};

/* Trailer of a frame with a MAC; doc/protocol-link.md describes how it is made. */
struct vnet_wire_trailer {
	__le32 key_id;
	__u8 rsvd[4];
	/*
	 * Salt and number form the nonce, which is used only once with a key: a random number that
	 * the sender has drawn for itself, and the number of frames that it has sent with a MAC.
	 */
	__u8 salt[VNET_WIRE_SALT_SIZE];
	__le64 number;
	__u8 mac[VNET_WIRE_MAC_SIZE];
};

/* Covered by the MAC, before the frame; IPv4 addresses are mapped to IPv6. */
struct vnet_wire_prefix {
	__u8 from[16];
	__u8 to[16];
	__be16 from_port;
	__be16 to_port;
	/* Length of the frame. */
	__le32 length;
	__u8 rsvd[8];
};

#endif /* VNET_WIRE_H */
