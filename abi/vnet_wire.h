/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames between two vnet NICs: what stands in a datagram of the link below.
 * doc/protocol.md tells what they are for; this is where their bytes are.
 *
 * A frame is a struct vnet_frame, then `nacks` of struct vnet_frame_ack, then,
 * by its kind, a struct vnet_frame_hello or a struct vnet_frame_op, then
 * payload_len bytes of payload, and nothing else.
 *
 * The law of this file:
 *  - little-endian, whatever the machine; immediate data and payload are carried
 *    as the application gave them;
 *  - everything is naturally aligned from the start of the frame, padding is
 *    named, and every size and offset asserted (vnet_layout.h);
 *  - reserved fields are zero when sent and ignored when received;
 *  - every frame proves who sent it (enum vnet_frame_proof); one that does not, or
 *    that fails any check of a field, is counted and dropped, and changes nothing;
 *  - with a MAC, struct vnet_wire_trailer follows the frame, and the CRC is 0 when sent
 *    and ignored when received; without, the CRC is over the whole frame with the crc
 *    field 0.
 */
#ifndef VNET_WIRE_H
#define VNET_WIRE_H

#include <linux/types.h>
#include "vnet_hw.h"

/* Raised whenever the meaning or layout of anything here changes. */
#define VNET_WIRE_VERSION 9
#define VNET_WIRE_MAGIC 0x6e76 /* "vn" */

/* UDP port of the link, unless it is told another one. */
#define VNET_WIRE_PORT 4790

enum vnet_wire_limits {
	/* Logical channels of a pair of NICs, in each direction. */
	VNET_WIRE_CHANNELS = 64,
	/* Acknowledgements in one frame. */
	VNET_WIRE_ACKS = 64,
	/* The longest frame: what a UDP datagram holds, less room for a MAC. */
	VNET_WIRE_MAX_FRAME = 65440,
	/*
	 * A frame is at most so much longer than the payload limit that was agreed,
	 * headers and acknowledgements together.
	 */
	VNET_WIRE_SLACK = 224,
	/* The shortest payload limit that a NIC may ask for. */
	VNET_WIRE_MIN_PAYLOAD = 256,
	VNET_WIRE_GID_SIZE = 16,
	VNET_WIRE_KEY_SIZE = 32,
	VNET_WIRE_SALT_SIZE = 16,
	VNET_WIRE_MAC_SIZE = 16,
	VNET_WIRE_SECRET_SIZE = 16,
	VNET_WIRE_NONCE_SIZE = 16,
	VNET_WIRE_COOKIE_SIZE = 16,
	/*
	 * Number of a queue pair that all members of a multicast group have (IB vol 1, 10.5);
	 * and all who may have an Ethernet frame.
	 */
	VNET_WIRE_GROUP_QPN = 0xffffff,
};

enum vnet_frame_kind {
	/*
	 * The handshake. Without the receiver's incarnation and a cookie of its: "who are
	 * you?"; answered by WELCOME with both, and no state. With them: "be my peer";
	 * WELCOME then names the row, too.
	 */
	VNET_FRAME_HELLO = 1,
	VNET_FRAME_WELCOME = 2,
	/* A packet on a logical channel. */
	VNET_FRAME_DATA = 3,
	/*
	 * Acknowledgements alone; a payload belongs to the first of them (data of
	 * an RDMA read).
	 */
	VNET_FRAME_ACK = 4,
	/*
	 * To a HELLO under a key that the receiver does not have: a HELLO's body with its
	 * nonce, and enum vnet_refusal in place of the flags. It proves nothing: who gets
	 * it stops waiting for the first answer of that NIC, and believes nothing else.
	 */
	VNET_FRAME_REFUSE = 5,
};

/* What a frame proves that its sender is the one that it says it is. */
enum vnet_frame_proof {
	/* The MAC in the trailer. HELLO and WELCOME always have one. */
	VNET_PROOF_MAC = 0,
	/*
	 * The secret that both ends derived from their key in the handshake, one for each
	 * direction: DATA and ACK, between NICs of one machine that agreed on it.
	 */
	VNET_PROOF_SECRET = 1,
	/* None: REFUSE. */
	VNET_PROOF_NONE = 2,
};

enum vnet_refusal {
	VNET_REFUSAL_KEY = 1,
};

/* Before everything else. */
struct vnet_frame {
	__le16 magic;
	__u8 version;
	/* enum vnet_frame_kind */
	__u8 kind;
	/* CRC32C (Castagnoli), as in iSCSI; 0 in a frame with a MAC. */
	__le32 crc;
	/*
	 * Which life of the sending NIC this is, and which of the receiving one it
	 * is for: a later life has a greater number. 0: not known.
	 */
	__le64 src_incarnation;
	__le64 dst_incarnation;
	/*
	 * Row of the channel tables at the receiver, as that one told; at the sender. A row
	 * that begins anew has another number, so frames of before it are for nobody.
	 */
	__le32 dst_row;
	__le32 src_row;
	__le16 payload_len;
	__u8 nacks;
	/* enum vnet_frame_proof */
	__u8 proof;
	__u8 rsvd[4];
	/* VNET_PROOF_SECRET; 0 in others. */
	__u8 secret[VNET_WIRE_SECRET_SIZE];
};

enum vnet_ack_code {
	/* Written into the destination endpoint. */
	VNET_ACK_DONE = 0,
	/* With `result`: the word before an atomic operation. */
	VNET_ACK_RESULT = 1,

	/* Not now; the packet is sent again by its timer. */
	VNET_NACK_FIRST = 16,
	/*
	 * The endpoint is not resident; or memory that is paged on demand is not there:
	 * `result` is how soon it may be, ns, or 0.
	 */
	VNET_NACK_ABSENT = 16,
	/* Somebody is inside, or a table is full. */
	VNET_NACK_BUSY = 17,
	/* No receive: `result` is the wait that the responder asks for, ns. */
	VNET_NACK_RNR = 18,
	/* Packets of this queue pair before it are missing. */
	VNET_NACK_EARLY = 19,

	/* Never: the packet goes back to its sender. */
	VNET_RETURN_FIRST = 32,
	/* No such queue pair, or not for us: nobody answers. */
	VNET_RETURN_NOBODY = 32,
	/* `result` is the enum vnet_wc_status that the requester completes with. */
	VNET_RETURN_ERROR = 33,
	/*
	 * A datagram that is refused: `result` is the enum vnet_wc_status that tells why.
	 * Its sender learns that where it has asked to (return to sender).
	 */
	VNET_RETURN_DROPPED = 34,
};

/* What became of the packet with sequence number seq on a channel. */
struct vnet_frame_ack {
	__le32 seq;
	/* Of the transmission that is answered. */
	__le32 timestamp;
	__u8 channel;
	/* enum vnet_ack_code */
	__u8 code;
	__u8 rsvd[6];
	__le64 result;
};

enum vnet_hello_flags {
	/*
	 * The peer's address is one of this machine, where nobody reads frames on their way:
	 * secrets may stand for MACs, if both ends say so.
	 */
	VNET_HELLO_LOCAL = 1 << 0,
};

/* HELLO, WELCOME and REFUSE. */
struct vnet_frame_hello {
	__u8 src_gid[VNET_WIRE_GID_SIZE];
	__u8 dst_gid[VNET_WIRE_GID_SIZE];
	/* The most payload that the sender takes in a frame. */
	__le32 payload;
	/* Bytes that its receive buffer holds before it drops. */
	__le32 window;
	/* Fresh for each series of calls; WELCOME and REFUSE bring back the HELLO's. */
	__u8 nonce[VNET_WIRE_NONCE_SIZE];
	/*
	 * WELCOME without a row: by whose sender alone it can be made and checked, for the
	 * address that the HELLO came from. HELLO: that of the last WELCOME, or 0.
	 */
	__u8 cookie[VNET_WIRE_COOKIE_SIZE];
	/* The sender's part of what the secrets are derived from; fresh for each row. */
	__u8 share[VNET_WIRE_NONCE_SIZE];
	/* enum vnet_hello_flags, or enum vnet_refusal */
	__le32 flags;
	__u8 rsvd[4];
};

enum vnet_op_flags {
	VNET_OP_FIRST = 1 << 0,
	VNET_OP_LAST = 1 << 1,
	VNET_OP_SOLICITED = 1 << 2,
	/* The payload begins with a VNET_GRH_SIZE byte header, which is IPv4's. */
	VNET_OP_GRH_IPV4 = 1 << 3,
	/* Of opcodes with immediate data: it has 64 bits. */
	VNET_OP_IMM64 = 1 << 4,
	/*
	 * The VNET_GRH_SIZE bytes with which the payload begins are no header: the
	 * datagram was sent by LID alone.
	 */
	VNET_OP_NO_GRH = 1 << 5,
	/* All there are. */
	VNET_OP_FLAGS = (1 << 6) - 1,
};

/* A DATA frame's operation, or the piece of one. */
struct vnet_frame_op {
	__le32 seq;
	/* The sender's clock at this transmission, us. */
	__le32 timestamp;
	__u8 channel;
	/* enum vnet_wr_opcode */
	__u8 opcode;
	/* enum vnet_op_flags */
	__u8 flags;
	/*
	 * enum ibv_qp_type of both ends, or (XRC_SEND) of the requester. RAW_PACKET: a SEND
	 * whose payload is an Ethernet frame, whole, to VNET_WIRE_GROUP_QPN.
	 */
	__u8 qp_type;
	__le32 src_qpn;
	__le32 dst_qpn;
	/* Connected: the place among all packets of the queue pair, from 0. */
	__le32 psn;
	/* Where in the message this piece is, and how long the message is. */
	__le32 offset;
	__le32 msg_len;
	/*
	 * Immediate data as given (VNET_OP_IMM64: its lower half, big endian), or (le32)
	 * the key to invalidate.
	 */
	__u32 imm;
	/* Read: bytes wanted. Datagram: its Q_Key. */
	__le32 read_len;
	union {
		/* Of this piece. */
		__le64 remote_addr;
		/* Datagram to a group (dst_qpn VNET_WIRE_GROUP_QPN): half of its GID, as it is. */
		__u8 group_high[8];
	};
	union {
		__le32 rkey;
		/* Datagram: its service level. */
		__le32 sl;
	};
	union {
		/* Connected: packets before this one are not under way any more. */
		__le32 floor;
		/* XRC_SEND: the SRQ that the request names. */
		__le32 srqn;
	};
	union {
		/* VNET_WR_FLUSH: the length of the range. */
		__le64 compare_add;
		/* The other half. */
		__u8 group_low[8];
	};
	union {
		/* Compare and swap; VNET_WR_FLUSH: vnet_flush_operand(). */
		__le64 swap;
		/* VNET_OP_IMM64: the upper half. */
		__le32 imm_high;
	};
};

/* What follows a frame where keys are used; doc/protocol-link.md has its making. */
struct vnet_wire_trailer {
	__le32 key_id;
	__u8 rsvd[4];
	/*
	 * Together the nonce, which a key is used with once: a random number that the
	 * sender has made for itself, and how many frames it has sealed.
	 */
	__u8 salt[VNET_WIRE_SALT_SIZE];
	__le64 number;
	__u8 mac[VNET_WIRE_MAC_SIZE];
};

/* What the MAC is over, before the frame; IPv4 addresses are mapped. */
struct vnet_wire_prefix {
	__u8 from[16];
	__u8 to[16];
	__be16 from_port;
	__be16 to_port;
	/* Of the frame. */
	__le32 length;
	__u8 rsvd[8];
};

#endif /* VNET_WIRE_H */
