/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What NIC memory holds of the wire (see layout/memory.h): the channels to other NICs,
 * endpoints' state of it, and how the protocol behaves.
 */
#ifndef NIC_MEMORY_WIRE_H
#define NIC_MEMORY_WIRE_H

#include "layout/limits.h"
#include "vnet_hw.h"
#include "vnet_wire.h"

/* Where a frame goes, in the host's own form (a socket address, a node number). */
struct nic_address {
	u8 bytes[32];
};

/* Whom a row of the channel tables is about, and how far that is known. */
enum nic_row_state {
	NIC_ROW_FREE = 0,
	/* Frames are addressed to it, and it has not answered. */
	NIC_ROW_CALLING,
	NIC_ROW_UP,
};

/*
 * Sender's end of a logical channel: stop and wait, one packet at a time. The
 * packet itself is the request in the send queue, and is gathered from there for
 * every transmission.
 */
struct nic_tx {
	/* Of the packet under way, or of the last one. */
	u32 seq;
	/* QP whose packet is under way; 0: the channel is free. */
	u32 qpn;
	/* Which request it is a piece of, and which piece. */
	u32 sq_index;
	u32 psn;
	u32 offset;
	u32 length;
	/* Of its latest transmission, us; what an acknowledgement echoes. */
	u32 timestamp;
	u16 retries;
	/* enum nic_tx_flags */
	u8 flags;
	u8 opcode;
	/* NIC clock, ns: when it is sent again; when it was sent first. */
	u64 due;
	u64 since;
	/* When the receiver was last heard of this packet, or `since`; by nic_patience(). */
	u64 answered;
	/* How many times its timer has run out since the receiver was heard of it. */
	u32 backoff;
	/* The latest transmission was refused, as its queue pair's peer is not there. */
	u32 nobody;
};
static_assert(sizeof(struct nic_tx) == 64, "sender's end of a channel");

enum nic_tx_flags {
	/* The latest transmission was refused for the time being. */
	NIC_TX_NACKED = 1 << 0,
	/* A datagram's: not in its queue pair's order. */
	NIC_TX_UNORDERED = 1 << 1,
	/* It waits for a receive. */
	NIC_TX_RNR = 1 << 2,
	/* It was taken, or failed. */
	NIC_TX_ANSWERED = 1 << 3,
	/* It is sent again before its timer runs out. */
	NIC_TX_SOONER = 1 << 4,
	/* A copy of a datagram to a multicast group. */
	NIC_TX_GROUP = 1 << 5,
	/* A datagram's: not transmitted, as own memory is still to come. */
	NIC_TX_KEPT = 1 << 6,
	/* Who refused its latest transmission is well: nobody is silent. */
	NIC_TX_HEARD = 1 << 7,
};

/* Receiver's end. */
struct nic_rx {
	/* Of the last packet that was written into its endpoint. */
	u32 seq;
	/* Of the last packet that came, and its answer (enum vnet_ack_code). */
	u32 answer_seq;
	u32 timestamp;
	u8 code;
	u8 rsvd[3];
	u64 result;
	/* Owner id of who is writing a packet of this channel; 0: nobody. */
	u32 busy;
	/*
	 * Of a datagram to a group that was refused for the time being, the packet member_seq:
	 * those of the group before this one have had their turn, and this one's since, us.
	 */
	u32 member;
	u32 member_seq;
	u32 member_since;
};
static_assert(sizeof(struct nic_rx) == 40, "receiver's end of a channel");

/* The most rows that a NIC may have. */
#define NIC_MAX_ROWS (1u << 12)

/* All that is known of one other NIC: written under lock. */
struct nic_row {
	nic_lock_t lock;
	/* enum nic_row_state */
	u32 state;
	u8 gid[16];
	/* Which of our own GIDs it knows us by. */
	u8 own_gid[16];
	/* Its life; 0: not known. And the number of the row that it keeps about us. */
	u64 incarnation;
	u32 peer_row;
	/* Payload that a frame to it may have, and bytes it can take at once. */
	u32 payload;
	u32 window;
	/*
	 * This row's number in frames: its index (nic_row_index_of()), and random bits that
	 * are drawn anew whenever it begins anew.
	 */
	u32 id;
	struct nic_address address;
	/* What frames from and to it prove themselves by, if it is local. */
	u8 secret_in[VNET_WIRE_SECRET_SIZE];
	u8 secret_out[VNET_WIRE_SECRET_SIZE];
	/* secret_in before its key was changed. */
	u8 secret_was[VNET_WIRE_SECRET_SIZE];
	/* Both ends agreed to use secrets in place of MACs. */
	u32 local;
	/* Number of the key that its last HELLO or WELCOME was sealed with. */
	u32 peer_key;
	/* Next in the chain of its hash value: row + 1, or 0. */
	u32 hash_next;
	/* It has answered the present series of calls with REFUSE: enum vnet_refusal, or 0. */
	u32 refused;
	/* Of the present series of calls; the last cookie that it gave us; our part, and its. */
	u8 nonce[VNET_WIRE_NONCE_SIZE];
	u8 cookie[VNET_WIRE_COOKIE_SIZE];
	u8 share[VNET_WIRE_NONCE_SIZE];
	u8 peer_share[VNET_WIRE_NONCE_SIZE];
	/*
	 * Somebody else says that he is this NIC, and nothing was heard at `address` since,
	 * NIC clock, ns; 0: no.
	 */
	u64 doubted_since;
	/* Channels with a packet under way, and how many; bytes of these. */
	u64 busy;
	u32 unacked;
	u32 unacked_bytes;
	/* Receiver's channels that are owed an answer. */
	u64 owed;
	u32 nowed;
	/* Channels that may be in use at once, in 1/256: see vn/channel.c. */
	u32 credit;
	/* Round trip and its deviation, us. */
	u32 rtt;
	u32 rtt_deviation;
	/* NIC clock, ns: oldest answer owed since; last heard; next call. */
	u64 owed_since;
	u64 heard;
	u64 call_at;
	/* Next due time of any packet; 0: none. */
	u64 due;
	u32 calls;
	/* When credit was last taken away, us. */
	u32 cut_at;
	/* How many QPs found no channel (queue), and since when the first may come. */
	u32 queued;
	/* The newest packet was sent again to hear something, and nothing was heard. */
	u32 probed;
	u64 queue_since;
	/* Packets were seen to overtake each other by so much, us. */
	u32 slack;
	/* A long frame was lost: none until then, NIC clock, ns; for so long, ms. */
	u32 short_for;
	u64 short_until;
	/* Datagrams to it that were given up since it was last heard, at most NIC_LONELIEST. */
	u32 lonely;
	u32 rsvd[9];

	struct nic_tx tx[VNET_WIRE_CHANNELS];
	struct nic_rx rx[VNET_WIRE_CHANNELS];
	/* QPs that found no channel, oldest first. */
	u32 queue[NIC_ROW_QUEUE];
};
static_assert(sizeof(struct nic_row) == 384 + 64 * 104 + 4 * NIC_ROW_QUEUE,
	      "row of the channel tables");
static_assert(offsetof(struct nic_row, tx) % 64 == 0 && sizeof(struct nic_row) % 64 == 0,
	      "a packet under way is in a line of its own");

/* A receive that a message in pieces is being written to. */
struct nic_open_receive {
	u64 wr_id;
	u16 num_sge;
	/* The low bits of nic_srq.use, and the SRQ's number, where requests name it. */
	u16 srq_use;
	/* Whether one is open; it was this one of its receive queue. */
	u32 open;
	u32 index;
	u32 srqn;
	/*
	 * Of a queue that matches tags (tags/tm.c). What the message matched: enum
	 * nic_tm_kind, and nic_tag.added of the tag, whose index is above, or what
	 * nic_tm.unexpected became. Its headers, as they came.
	 */
	u32 tm_kind;
	u32 tm_count;
	u8 tm_headers[32];
	struct vnet_sge sge[VNET_MAX_SGE];
};
static_assert(sizeof(struct nic_open_receive) == 64 + VNET_MAX_SGE * 16, "open receive");

/* What a queue pair wants an endpoint frame for. */
enum nic_want {
	NIC_WANT_NONE = 0,
	NIC_WANT_SEND = 1,
	/* A packet came for it, and was refused. */
	NIC_WANT_PACKET = 2,
};

/*
 * An endpoint's state of the wire: in an endpoint frame while it is resident, in
 * its place in host memory else. Requester's part under the QP's sq_lock,
 * responder's under both of its locks.
 */
struct nic_endpoint {
	/* Whose it is; 0: the frame is free. */
	u32 qpn;
	/* Packets made so far; all below `una` are done. */
	u32 next;
	u32 una;
	/*
	 * Next request to cut into packets, and how far the first of these is cut: bytes; or
	 * of a datagram to a group, or a frame, nic_group_mark() of the next row.
	 */
	u32 sq_next;
	u32 cut;
	/* How long its packets are: all the same, see nic_arrive_early(). */
	u32 piece;
	/* One of `again` waits for own memory: nobody is silent but from when it is sent. */
	u32 kept;
	/* Requests are queued, and cannot be sent until an answer comes. */
	u32 resting;
	/* Packet una + i is done: bit (una + i) % NIC_WINDOW; atomic. */
	u64 done;
	/* The first that failed, and with what (0: none); under the row's lock. */
	u32 failed_psn;
	u32 failed_status;
	/* NIC clock, ns: nothing is sent before (RNR); the head waits since. */
	u64 hold_until;
	/* Packets sent since it came into its frame, and whether it is to leave. */
	u32 sent;
	u32 leaving;
	/* Used recently: second chance of the clock that chooses who leaves. */
	u32 used;
	/* The last packet of a read, an atomic operation or a flush, + 1; for fences. */
	u32 read_end;
	/* No channel can be had since, because the other NIC is not known; 0: no. */
	u64 waits_since;
	/* When the peer of a connection was last heard of packets. Both by nic_patience(). */
	u64 answered;
	/* Unreliable messages stall for a receive since, NIC clock, ns; 0: no. */
	u64 stalled;
	/*
	 * Packets that were under way and have been taken back, to be sent again,
	 * a bit as in `done`; and which piece of which request each packet is.
	 */
	u64 again;
	/* They wait while this is the oldest packet, which is refused as well. */
	u32 gate;
	u32 gated;
	/*
	 * Of those, so many may be under way at once: one after a refusal, twice as
	 * many after each that is done.
	 */
	u32 allowed;
	/* It does not leave until it was used for this, or until then; NIC clock, ns. */
	u32 kept_for;
	u64 kept_until;
	/* Its turn in the frame ends. */
	u64 turn_until;
	u32 index[NIC_WINDOW];
	u32 offset[NIC_WINDOW];
	u32 length[NIC_WINDOW];
	/* Last packet of request i of those under way, i = index % NIC_WINDOW. */
	u32 last[NIC_WINDOW];
	/* What an atomic operation brought back. */
	u64 result[NIC_WINDOW];
	/*
	 * What became of the datagram that is request i of those under way, as above:
	 * enum vnet_wc_status; under the row's lock while its packet is under way.
	 */
	u8 fate[NIC_WINDOW];

	/* Next packet expected; later ones that are written already. */
	u32 expected;
	/* Of the unreliable message that it is a packet of, others never came. */
	u32 lacks;
	u64 ahead;
	/* Of the message in pieces: what came so far. */
	u32 got;
	/* What it is when packet got_at is expected: see nic_arrive_piece(). */
	u32 got_next;
	u32 got_at;
	/* Requester's: packets that were given up, of an unreliable connection, since any came. */
	u32 lonely;
	/*
	 * Of a reliable connection: packets that were taken since data went back, and whose
	 * answers its peer may not have, bit psn % NIC_WINDOW; the channels by which they
	 * came; and the first that the peer had no answer for, as it said last.
	 */
	u64 taken;
	u8 taken_by[NIC_WINDOW];
	u32 taken_floor;
	u32 rsvd;
	/* Results of the last atomic operations, for packets that come again. */
	u32 atomic_psn[NIC_RESULTS];
	u64 atomic_result[NIC_RESULTS];
	struct nic_open_receive receive;
};

#define NIC_DEFAULT_BUDGET 64u
#define NIC_MOST_BUDGET 4096u

/* How the protocol behaves; the agent may change it at any time. */
struct nic_settings {
	/* Payload in a frame, and bytes that this NIC's link holds for it. */
	u32 payload;
	u32 window;
	/* Packets whose acknowledgement is collected (0: what has come), and for how long, us. */
	u32 ack_unit;
	u32 ack_delay;
	/* Channels of a pair in use at most, of VNET_WIRE_CHANNELS. */
	u32 channels;
	/* Retransmission timer's bounds, us. */
	u32 rto_min;
	u32 rto_max;
	/* Nobody answers for so long: datagrams are given up, ms. */
	u32 unreachable;
	/* Packets of one connection before another may take its endpoint's frame. */
	u32 loiter;
	/* 32; or 1: the alternating bit, for links that keep order. */
	u32 sequence_bits;
	/* Adapt the number of channels in use; acknowledge along with data. */
	u32 adaptive;
	u32 piggyback;
	/* The NIC processor waits so many turns at an endpoint that it emptied. */
	u32 linger;
	/*
	 * Payload of a frame that no network on the way has to cut (0: any). Longer ones
	 * are made as long as they arrive.
	 */
	u32 fit;
	/* Tagged messages that no tag fits are for nobody: see nic_deliver_tm(). */
	u32 drop_unexpected;
	/*
	 * Requests of one queue before the next has its turn at the NIC processor; 0 or
	 * too many: as usual.
	 */
	u32 budget;
	/* Share of the NIC processor of connections by service level; 0 counts as 1. */
	u8 weight[16];
};
static_assert(sizeof(struct nic_settings) == 80, "settings");

#endif /* NIC_MEMORY_WIRE_H */
