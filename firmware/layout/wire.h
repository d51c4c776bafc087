/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The vn transport in NIC memory (layout/memory.h): rows with their channels, endpoints, and
 * settings.
 */
#ifndef NIC_MEMORY_WIRE_H
#define NIC_MEMORY_WIRE_H

#include "layout/limits.h"
#include "vnet_hw.h"
#include "vnet_wire.h"

/* Address of a NIC on the link, in the host's format (socket address, node number). */
struct nic_address {
	u8 bytes[32];
};

/* State of a row: how far the handshake with its NIC is. */
enum nic_row_state {
	NIC_ROW_FREE = 0,
	/* Frames are to be sent to the NIC, and the handshake is not complete. */
	NIC_ROW_CALLING,
	NIC_ROW_UP,
};

/*
 * Sending end of a channel: stop-and-wait, one outstanding packet. The packet is not stored: each
 * transmission gathers it from the request in the send queue.
 */
struct nic_tx {
	/* Sequence number of the outstanding packet, or of the last one. */
	u32 seq;
	/* QP of the outstanding packet; 0: none. */
	u32 qpn;
	/* Request, packet number, and the part of the message. */
	u32 sq_index;
	u32 psn;
	u32 offset;
	u32 length;
	/* Timestamp of the latest transmission, us; acknowledgements return it. */
	u32 timestamp;
	u16 retries;
	/* enum nic_tx_flags */
	u8 flags;
	u8 opcode;
	/* NIC clock, ns: next transmission; first transmission. */
	u64 due;
	u64 since;
	/* When the receiver last answered this packet, or `since`; by nic_timeout_clock(). */
	u64 answered;
	/* Expirations of the timer since the receiver last answered. */
	u32 backoff;
	/* The latest transmission was refused with VNET_RETURN_NO_QP. */
	u32 no_qp;
};
static_assert(sizeof(struct nic_tx) == 64, "sender's end of a channel");

enum nic_tx_flags {
	/* The latest transmission was refused for now (NACK). */
	NIC_TX_NACKED = 1 << 0,
	/* A datagram or Ethernet frame: has no order. */
	NIC_TX_UNORDERED = 1 << 1,
	/* The NACK was RNR. */
	NIC_TX_RNR = 1 << 2,
	/* It was accepted, or failed. */
	NIC_TX_ANSWERED = 1 << 3,
	/* It is sent again before its timer expires. */
	NIC_TX_SOONER = 1 << 4,
	/* A copy of a multicast datagram, or of an Ethernet frame. */
	NIC_TX_GROUP = 1 << 5,
	/* A datagram that is not transmitted, because local pages are not present. */
	NIC_TX_DEFERRED = 1 << 6,
	/* The NACK of the latest transmission shows that the peer is alive. */
	NIC_TX_HEARD = 1 << 7,
};

/* Receiving end of a channel. */
struct nic_rx {
	/* Sequence number of the last accepted packet. */
	u32 seq;
	/* The last packet that arrived, and its answer (enum vnet_ack_code). */
	u32 answer_seq;
	u32 timestamp;
	u8 code;
	u8 rsvd[3];
	u64 result;
	/* Owner id of the executor of a packet of this channel; 0: none. */
	u32 busy;
	/*
	 * A datagram or frame with several receivers, packet member_seq, that was refused for now:
	 * the next receiver, and since when it is waited for, us.
	 */
	u32 member;
	u32 member_seq;
	u32 member_since;
};
static_assert(sizeof(struct nic_rx) == 40, "receiver's end of a channel");

/* Upper limit of nic_config.max_row. */
#define NIC_MAX_ROWS (1u << 12)

/* State of one other NIC; written under lock. */
struct nic_row {
	nic_lock_t lock;
	/* enum nic_row_state */
	u32 state;
	u8 gid[16];
	/* Our GID under which the peer knows this NIC. */
	u8 own_gid[16];
	/* The peer's incarnation (0: unknown), and the number of its row for this NIC. */
	u64 incarnation;
	u32 peer_row;
	/* Payload limit of frames to the peer, and its receive window in bytes. */
	u32 payload;
	u32 window;
	/*
	 * Number of this row in frames: its index (nic_row_index_of()), and random bits that are
	 * drawn anew whenever the row restarts.
	 */
	u32 id;
	struct nic_address address;
	/* Secrets that prove frames from and to the peer, if it is local. */
	u8 secret_in[VNET_WIRE_SECRET_SIZE];
	u8 secret_out[VNET_WIRE_SECRET_SIZE];
	/* The former secret_in, before the peer's key changed. */
	u8 secret_was[VNET_WIRE_SECRET_SIZE];
	/* Both ends agreed to use secrets instead of MACs. */
	u32 local;
	/* Number of the key of the MAC in its last HELLO or WELCOME. */
	u32 peer_key;
	/* Next row in the hash chain: index + 1, or 0. */
	u32 hash_next;
	/* The peer refused the present series of calls: enum vnet_refusal, or 0. */
	u32 refused;
	/*
	 * Nonce of the present series of calls; last cookie from the peer; our share, and the
	 * peer's.
	 */
	u8 nonce[VNET_WIRE_NONCE_SIZE];
	u8 cookie[VNET_WIRE_COOKIE_SIZE];
	u8 share[VNET_WIRE_NONCE_SIZE];
	u8 peer_share[VNET_WIRE_NONCE_SIZE];
	/*
	 * Time since which another address or incarnation claims to be this NIC, and no frame has
	 * come from `address`; NIC clock, ns; 0: there is no such claim.
	 */
	u64 claim_since;
	/* Channels with an outstanding packet, as bits; their number; bytes of their packets. */
	u64 busy;
	u32 unacked;
	u32 unacked_bytes;
	/* Receiving channels with an acknowledgement that is owed. */
	u64 owed;
	u32 nowed;
	/* Congestion window: channels that may be in use, in 1/256 (vn/channel.c). */
	u32 credit;
	/* Smoothed round trip time and its deviation, us. */
	u32 rtt;
	u32 rtt_deviation;
	/*
	 * NIC clock, ns: since when the oldest acknowledgement is owed; last frame heard; next
	 * call.
	 */
	u64 owed_since;
	u64 heard;
	u64 call_at;
	/* Time at which the next packet is due; 0: none. */
	u64 due;
	u32 calls;
	/* When credit was last reduced, us; 0: never. */
	u32 cut_at;
	/* QPs that wait for a channel (queue), and since when the first one has its turn. */
	u32 queued;
	/* The newest packet was sent again as a probe, and no frame has arrived since. */
	u32 probed;
	u64 queue_since;
	/* Observed reordering time of packets, us. */
	u32 slack;
	/* After the loss of a long frame: duration of the pause, ms, and its end, NIC clock, ns. */
	u32 long_pause_ms;
	u64 long_pause_end;
	/*
	 * Datagrams that were given up since the last frame from the NIC; at most NIC_MAX_GIVEUPS.
	 */
	u32 giveups;
	u32 rsvd[9];

	struct nic_tx tx[VNET_WIRE_CHANNELS];
	struct nic_rx rx[VNET_WIRE_CHANNELS];
	/* QPs that wait for a channel, oldest first. */
	u32 queue[NIC_ROW_QUEUE];
};
static_assert(sizeof(struct nic_row) == 384 + 64 * 104 + 4 * NIC_ROW_QUEUE,
	      "row of the channel tables");
static_assert(offsetof(struct nic_row, tx) % 64 == 0 && sizeof(struct nic_row) % 64 == 0,
	      "a packet under way is in a line of its own");

/* A receive that a message of several packets is being written to. */
struct nic_open_receive {
	u64 wr_id;
	u16 num_sge;
	/* XRC, tag matching: low bits of nic_srq.use, and (srqn) the SRQ's number. */
	u16 srq_use;
	/* Non-zero: a receive is open; index: its index in the receive queue. */
	u32 open;
	u32 index;
	u32 srqn;
	/*
	 * Tag matching (tags/tm.c): enum nic_tm_kind of the match; nic_tag.added of the tag, whose
	 * index is `index`, or the new value of nic_tm.unexpected; the headers of the message.
	 */
	u32 tm_kind;
	u32 tm_count;
	u8 tm_headers[32];
	struct vnet_sge sge[VNET_MAX_SGE];
};
static_assert(sizeof(struct nic_open_receive) == 64 + VNET_MAX_SGE * 16, "open receive");

/* Why a queue pair waits for an endpoint frame. */
enum nic_want {
	NIC_WANT_NONE = 0,
	NIC_WANT_SEND = 1,
	/* A packet arrived, and was refused. */
	NIC_WANT_PACKET = 2,
};

/*
 * A queue pair's vn state: in an endpoint frame while it is resident, else in its place in host
 * memory. The requester's part is under the QP's sq_lock, the responder's under sq_lock and the
 * receive queue's lock.
 */
struct nic_endpoint {
	/* QP number; 0: the frame is free. */
	u32 qpn;
	/* Next packet number; all packets below `una` are done. */
	u32 next;
	u32 una;
	/*
	 * Next request to cut into packets, and the progress in it: bytes; or for multicast
	 * datagrams and Ethernet frames nic_group_mark() of the next row.
	 */
	u32 sq_next;
	u32 cut;
	/* Packet length of the current message, constant within it: see nic_arrive_early(). */
	u32 piece;
	/* A packet in `resend` waits for local pages: its timeout starts when it is sent. */
	u32 deferred;
	/* Requests are queued that cannot be sent before an answer comes. */
	u32 resting;
	/* Packet una + i is done: bit (una + i) % NIC_WINDOW; atomic. */
	u64 done;
	/* nic_failure() of the first failed packet, 0: none; atomic. */
	u64 failed;
	/* NIC clock, ns: send nothing before this time (RNR). */
	u64 rnr_until;
	/* Packets sent since the endpoint was loaded; it is to leave its frame. */
	u32 sent;
	u32 leaving;
	/* Recently used: second chance in the clock algorithm. */
	u32 used;
	/* Packet number after the last read, atomic operation or flush; for fences. */
	u32 read_end;
	/* Since when no channel is available because the handshake is not complete; 0: no. */
	u64 waits_since;
	/* When the peer last answered. This and waits_since are by nic_timeout_clock(). */
	u64 answered;
	/*
	 * Responder: since when an unreliable message stalls for a receive, NIC clock, ns; 0: no.
	 */
	u64 stalled;
	/* Packets that were taken back and must be sent again, bits as in `done`. */
	u64 resend;
	/* While `una` is this packet, which was refused, the others in `resend` are not sent. */
	u32 gate;
	u32 gated;
	/*
	 * Limit of outstanding packets after a refusal: one, doubling with each packet that is
	 * done.
	 */
	u32 allowed;
	/*
	 * Kept in its frame for this use (enum nic_want), until this time at the latest; NIC clock,
	 * ns.
	 */
	u32 pinned_for;
	u64 pinned_until;
	/* End of its turn in the frame, NIC clock, ns. */
	u64 turn_until;
	u32 index[NIC_WINDOW];
	u32 offset[NIC_WINDOW];
	u32 length[NIC_WINDOW];
	/* Last packet of the outstanding request i, i = index % NIC_WINDOW. */
	u32 last[NIC_WINDOW];
	/* Results of atomic operations, by packet. */
	u64 result[NIC_WINDOW];
	/*
	 * Fate (enum vnet_wc_status) of the datagram that is outstanding request i, as above; under
	 * the row's lock while its packet is outstanding.
	 */
	u8 fate[NIC_WINDOW];

	/* Responder: next expected packet; later ones that are executed already, as bits. */
	u32 expected;
	/* A packet of the present unreliable message was lost. */
	u32 lacks;
	u64 ahead;
	/* Message of several packets: bytes received so far. */
	u32 got;
	/* Value of `got` once packet got_at is expected: see nic_arrive_piece(). */
	u32 got_next;
	u32 got_at;
	/* Requester, unreliable connection: packets given up since the peer last answered. */
	u32 giveups;
	/*
	 * Reliable connection: packets accepted since data was last sent back, whose
	 * acknowledgements the peer may not have (bit psn % NIC_WINDOW); their channels; and the
	 * first packet for which the peer has no acknowledgement, as it last reported.
	 */
	u64 accepted;
	u8 accepted_on[NIC_WINDOW];
	u32 accepted_floor;
	u32 rsvd;
	/* Results of the last atomic operations, for repeated packets. */
	u32 atomic_psn[NIC_RESULTS];
	u64 atomic_result[NIC_RESULTS];
	struct nic_open_receive receive;
};

#define NIC_DEFAULT_BUDGET 64u
#define NIC_MOST_BUDGET 4096u

/* Settings of the vn transport; the agent may change them at any time. */
struct nic_settings {
	/* Payload limit of a frame, and bytes that the link buffers for this NIC. */
	u32 payload;
	u32 window;
	/*
	 * Number of acknowledgements to collect (0: those of the packets that arrived), and the
	 * limit of their delay, us.
	 */
	u32 ack_unit;
	u32 ack_delay;
	/* Limit of channels in use to one NIC, at most VNET_WIRE_CHANNELS. */
	u32 channels;
	/* Limits of the retransmission timer, us. */
	u32 rto_min;
	u32 rto_max;
	/* Unreliable packets are given up after this time without an answer, ms. */
	u32 unreachable;
	/* Packets of one QP before another one may take its endpoint frame. */
	u32 loiter;
	/* 32; or 1: alternating bit, for links that keep the order. */
	u32 sequence_bits;
	/* Flags: adapt the number of channels; send acknowledgements with data. */
	u32 adaptive;
	u32 piggyback;
	/* Additional looks of the NIC processor at a QP that it has emptied. */
	u32 linger;
	/*
	 * Payload of a frame that no network on the path has to fragment (0: any). Longer frames
	 * are sent while they arrive.
	 */
	u32 fit;
	/* Tagged messages without a matching tag take no receive: see nic_drops_unexpected(). */
	u32 drop_unexpected;
	/*
	 * Requests that one QP executes in a turn of the NIC processor; 0 or out of range: default.
	 */
	u32 budget;
	/* Multiplier of `budget` for each service level; 0 counts as 1. */
	u8 weight[16];
};
static_assert(sizeof(struct nic_settings) == 80, "settings");

#endif /* NIC_MEMORY_WIRE_H */
