/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal interface of the vn transport, grouped by implementing file. doc/protocol.md describes
 * the protocol.
 *
 * Lock order: a QP's sq_lock, then frame_lock, then a row's lock; or a QP's sq_lock, then row_lock.
 * layout/lock.h has the order of all locks.
 */
#ifndef NIC_VN_H
#define NIC_VN_H

#include "layout/lookup.h"
#include "layout/message.h"
#include "transport/transport.h"

/*
 * Byte order of frames (little-endian): conversions from and to a frame. nic_le32_word() converts,
 * in either direction, a word that is not always a number, such as immediate data.
 */
#ifdef __KERNEL__
#define nic_le16(x) le16_to_cpu(x)
#define nic_le32(x) le32_to_cpu(x)
#define nic_le64(x) le64_to_cpu(x)
#define nic_to_le16(x) cpu_to_le16(x)
#define nic_to_le32(x) cpu_to_le32(x)
#define nic_to_le64(x) cpu_to_le64(x)
static inline u32 nic_le32_word(u32 word)
{
	le32_to_cpus(&word);
	return word;
}
#else
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define nic_le16(x) (x)
#define nic_le32(x) (x)
#define nic_le64(x) (x)
#else
#define nic_le16(x) __builtin_bswap16(x)
#define nic_le32(x) __builtin_bswap32(x)
#define nic_le64(x) __builtin_bswap64(x)
#endif
#define nic_to_le16(x) nic_le16(x)
#define nic_to_le32(x) nic_le32(x)
#define nic_to_le64(x) nic_le64(x)
#define nic_le32_word(x) nic_le32(x)
#endif

/*
 * Take a lock to process a frame: a row's lock, or row_lock. Returns false after `tries` failed
 * attempts; the caller then drops the frame, which is counted here. Frame processing never waits
 * for a lock: the sender retransmits what is dropped.
 */
static inline bool nic_row_lock(struct nic *nic, nic_lock_t *lock, u32 tries)
{
	do {
		if (likely(nic_lock(nic, lock)))
			return true;
	} while (--tries);
	nic_count(nic, drop_busy);
	return false;
}

/* Attempts where dropping the frame costs the retransmission of a packet. */
#define NIC_ROW_TRIES 8u

/* Limit of halvings of the timeout of a silent peer: nic_giveup_timeout(). */
#define NIC_MAX_GIVEUPS 4u

/* Converts ns to the timestamps of frames, us. */
static inline u32 nic_us(u64 ns)
{
	return (u32)(ns / 1000);
}

/* A frame that arrived, with all its fields checked. */
struct nic_arrived_frame {
	const struct nic_address *from;
	const struct nic_proof *proof;
	const struct vnet_frame *head;
	const struct vnet_frame_ack *ack;
	u32 nacks;
	/* NULL if this kind of frame has none. */
	const struct vnet_frame_op *op;
	const struct vnet_frame_hello *hello;
	const u8 *payload;
	u32 payload_len;
};

/* -- vn/frame.c: encoding and validation of frames */

/* Begin a frame to the row's NIC in plat_frame()'s buffer; NULL: no link. */
struct vnet_frame *nic_frame_begin(struct nic *nic, const struct nic_row *row, u8 kind);
/* Complete it, and give it to the link. */
void nic_frame_send(struct nic *nic, const struct nic_address *to, u32 length);
/* Check all that does not depend on a row. false: the frame is invalid, and was counted. */
bool nic_frame_parse(struct nic *nic, void *frame, u32 length, const struct nic_proof *proof,
		     struct nic_arrived_frame *out);

/* -- vn/row.c: rows, the state of other NICs */

static inline struct nic_row *nic_row_at(struct nic *nic, u32 row)
{
	return row < nic->max_row ? &nic->row[row] : NULL;
}

/* A row's number in frames: its index in the low bits, random bits above. */
#define NIC_ROW_ID_SHIFT 16u

static inline u32 nic_row_index_of(u32 id)
{
	return id & ((1u << NIC_ROW_ID_SHIFT) - 1);
}

static inline u32 nic_row_index(const struct nic *nic, const struct nic_row *row)
{
	return (u32)(row - nic->row);
}

/* Payload limit of frames to this NIC; bounded, because NIC memory may be corrupted. */
static inline u32 nic_row_payload(const struct nic_row *row)
{
	u32 payload = nic_load(&row->payload);

	return payload < NIC_MAX_PAYLOAD ? payload : NIC_MAX_PAYLOAD;
}

static inline u32 nic_row_high(const struct nic *nic)
{
	u32 high = nic_load(&nic->hdr->row_high);

	return high < nic->max_row ? high : nic->max_row;
}

/* Find or create the row for frames from own_gid to gid. NIC_NONE: no address, or no free row. */
u32 nic_row_find(struct nic *nic, const u8 *gid, const u8 *own_gid);
/* Make the NIC processor look at the row's timers. */
void nic_row_activate(struct nic *nic, const struct nic_row *row);
/* A new incarnation of either end: restart the handshake and the channels. */
void nic_row_renew(struct nic *nic, struct nic_row *row);
/* Find the row of a DATA or ACK frame, and check its proof. NULL: invalid, counted. */
struct nic_row *nic_row_of_frame(struct nic *nic, const struct nic_arrived_frame *frame);
/*
 * Does the row still match the frame? The caller holds the row's lock. The row, and with it its
 * sequence numbers, may have restarted since nic_row_of_frame() found it.
 */
bool nic_row_is_alive(struct nic *nic, const struct nic_row *row,
		      const struct nic_arrived_frame *frame);

/* -- vn/path.c: rows of destinations */

/* The row of the NIC that a connected QP's path leads to; NIC_NONE: see nic_row_find(). */
u32 nic_path_row(struct nic *nic, const struct nic_qp_attr *attr);
/* Does the path have a known address? If not, the user is told. */
bool nic_path_is_known(struct nic *nic, const struct nic_qp_attr *attr);
/* The row of the NIC that a datagram goes to; NIC_NONE, and the user is told: no address. */
u32 nic_datagram_row(struct nic *nic, const struct vnet_wqe_ud *ud);

/* -- vn/handshake.c: the handshake */

/* Call (HELLO) a peer that has not completed the handshake, if its next call is due. */
void nic_row_call(struct nic *nic, struct nic_row *row, u64 now);
/* The same for a known peer from which no frame has arrived for NIC_SILENCE_NS. */
#define NIC_SILENCE_NS 30000000ull
void nic_row_probe(struct nic *nic, struct nic_row *row, u64 now);
void nic_handle_hello(struct nic *nic, const struct nic_arrived_frame *frame);
void nic_handle_welcome(struct nic *nic, const struct nic_arrived_frame *frame);
void nic_handle_refuse(struct nic *nic, const struct nic_arrived_frame *frame);

/* -- vn/channel.c: sending ends of channels */

/* A packet, as its channel records it. */
struct nic_packet {
	u32 qpn;
	u32 sq_index;
	u32 psn;
	u32 offset;
	u32 length;
	u8 opcode;
	bool unordered;
	/* A copy of a datagram to a group, or of an Ethernet frame. */
	bool group;
};

/* Take a free channel for the packet; NULL: none now. The caller holds the row's lock. */
struct nic_tx *nic_tx_take(struct nic *nic, struct nic_row *row, const struct nic_packet *packet,
			   u64 now);
/* Free a channel. The caller holds the row's lock. */
void nic_tx_free(struct nic *nic, struct nic_row *row, struct nic_tx *tx);
/*
 * Start the timer of a packet that is being transmitted. longest: upper limit of the timeout, ns,
 * unless round trips take longer; 0: none. The caller holds the row's lock.
 */
void nic_tx_sent(struct nic *nic, struct nic_row *row, struct nic_tx *tx, u64 now, u64 longest);

/*
 * Counter of packets that were given up since the last frame from the peer: for a connection in its
 * endpoint, for datagrams in the row of the destination NIC. It shortens the timeout of the next
 * packets, so that a queue of packets to a dead peer does not wait the full time for each.
 */
static inline u32 *nic_giveups(struct nic_row *row, const struct nic_qp *qp,
			       struct nic_endpoint *ep)
{
	return nic_is_unordered(qp->type) ? &row->giveups : &ep->giveups;
}

static inline void nic_count_giveup(u32 *giveups)
{
	u32 n = nic_load(giveups);

	if (n < NIC_MAX_GIVEUPS)
		nic_store(giveups, n + 1);
}

/* log2 of the divisor of the timeout of copies to a group, which keep other receivers waiting. */
#define NIC_GROUP_TIMEOUT_SHIFT 2u

/*
 * The timeout clock, ns: the NIC clock without the times in which no thread of this NIC had a
 * processor to look at timers. In those times arriving frames are not processed either, and a peer
 * on the same machine is in the same situation.
 */
#define NIC_TIMEOUT_CLOCK_BITS 24u
/* Start value, so that times read shortly before the first one are not negative. */
#define NIC_TIMEOUT_CLOCK_EPOCH (1ull << 40)
NIC_COLD void nic_timeout_clock_update(struct nic *nic, u64 now);

static inline u64 nic_timeout_clock(struct nic *nic, u64 now)
{
	u64 state = nic_load(&nic->hdr->timeout_clock);

	if (unlikely(((u32)(now / 1000000) ^ (u32)state) & ((1u << NIC_TIMEOUT_CLOCK_BITS) - 1))) {
		nic_timeout_clock_update(nic, now);
		state = nic_load(&nic->hdr->timeout_clock);
	}
	return NIC_TIMEOUT_CLOCK_EPOCH + now - (state >> NIC_TIMEOUT_CLOCK_BITS) * 1000000;
}

/* Time for which an unreliable packet waits for any answer, ns. */
static inline u64 nic_giveup_timeout(const struct nic *nic, const u32 *giveups)
{
	return nic->hdr->settings.unreachable * 1000000ull >> (nic_load(giveups) & 7);
}

/* Was there no answer to the packet, or to its connection, for longer than its timeout? */
bool nic_tx_is_silent(struct nic *nic, struct nic_row *row, const struct nic_qp *qp,
		      struct nic_endpoint *ep, const struct nic_tx *tx, u64 now);
/* Give a packet up: its request fails, or (unreliable) is lost. The caller holds the row's lock. */
void nic_tx_give_up(struct nic *nic, struct nic_row *row, struct nic_qp *qp,
		    struct nic_endpoint *ep, struct nic_tx *tx, u32 status);

static inline u32 nic_tx_channel(const struct nic_row *row, const struct nic_tx *tx)
{
	return (u32)(tx - row->tx);
}

/* Does the channel still carry this packet? To check after the lock was released and retaken. */
static inline bool nic_tx_is(const struct nic_row *row, const struct nic_tx *tx, u32 seq, u32 qpn)
{
	return row->busy & 1ull << nic_tx_channel(row, tx) && tx->seq == seq && tx->qpn == qpn;
}

/*
 * QPs to run after the row's lock is released: their packets were answered, or they wait for a
 * channel.
 */
struct nic_answered {
	u32 qpn[VNET_WIRE_ACKS + NIC_ROW_QUEUE];
	u32 n;
};

/*
 * Process the acknowledgements of a frame. data: the payload that belongs to the first of them was
 * placed. The caller holds the row's lock.
 */
void nic_tx_answers(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *frame,
		    bool data, struct nic_answered *out);
/* Can the packets have these answers? false: invalid, counted. The caller holds the row's lock. */
bool nic_tx_acks_ok(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *frame);
/*
 * An answer is dropped because its QP is in use; the peer will repeat it. Record it as a sign of
 * life of the connection's peer.
 */
NIC_COLD void nic_tx_note_alive(struct nic *nic, struct nic_row *row,
				const struct nic_arrived_frame *frame);
/* Free all channels of a QP in this row. The caller holds the row's lock. */
void nic_tx_cancel(struct nic *nic, struct nic_row *row, u32 qpn);
/*
 * Local memory of the packet, which is paged on demand, is not present: transmit the packet later,
 * without counting the time against the peer. The packet is taken back and its channel is freed,
 * except for a datagram. The caller holds sq_lock and the row's lock.
 */
NIC_COLD void nic_tx_defer(struct nic *nic, struct nic_row *row, struct nic_qp *qp,
			   struct nic_endpoint *ep, struct nic_tx *tx, u64 now);
/* The row restarts: give up datagrams, because only their channels show whether they arrived. */
void nic_tx_renew(struct nic *nic, struct nic_row *row);
/* Length of the packets of a message that begins now. */
u32 nic_row_piece(const struct nic *nic, const struct nic_row *row, u64 now);
/* Handle the row's timers: calls, probes, and packets that are due. */
void nic_row_timers(struct nic *nic, struct nic_row *row, u64 now);

/* Bit mask of the packets [from, to), at most a window, by number % NIC_WINDOW. */
static inline u64 nic_window_bits(u32 from, u32 to)
{
	u64 bits = to - from < NIC_WINDOW ? (1ull << (to - from)) - 1 : ~0ull;
	u32 by = from % NIC_WINDOW;

	return by ? bits << by | bits >> (NIC_WINDOW - by) : bits;
}

/* -- vn/ack.c: acknowledgements */

/* Write up to `most` owed acknowledgements to acks[]; returns their number. */
u32 nic_acks_take(struct nic *nic, struct nic_row *row, struct vnet_frame_ack *acks, u32 most);
/* An acknowledgement for this channel is owed. The caller holds the row's lock. */
void nic_acks_owe(struct nic_row *row, u32 channel);
/*
 * Owe again the acknowledgements of packets that ep has accepted, so that they travel with its next
 * data. They may be in a batch of another process that is not sent yet, and the peer must learn
 * that its request arrived before it gets the reply. The caller holds the row's lock.
 */
void nic_acks_repeat(struct nic_row *row, const struct nic_endpoint *ep);
/* A frame is not sent: owe its acknowledgements again. */
NIC_COLD void nic_acks_requeue(struct nic *nic, struct nic_row *row,
			       const struct vnet_frame_ack *acks, u32 n);
/* Send what is owed; with the row's lock held, or without. */
void nic_acks_send_locked(struct nic *nic, struct nic_row *row);
void nic_acks_send(struct nic *nic, struct nic_row *row);
/* Send what this process has delayed. */
void nic_acks_flush(struct nic *nic);
/* Send at once if ack_unit acknowledgements are owed. */
void nic_acks_send_unit(struct nic *nic, struct nic_row *row);
/* This thread received a frame of `row`: remember the row for nic_receive_end(). */
void nic_ack_rows_add(struct nic *nic, u32 row);

/* -- vn/request.c: the requester */

/* Is the oldest packet acknowledged, so that a request can perhaps be retired? */
static inline bool nic_vn_is_answered(const struct nic_endpoint *ep)
{
	return nic_load(&ep->done) & 1ull << (nic_load(&ep->una) % NIC_WINDOW);
}
/* Only retire completed requests; the caller holds sq_lock. false: not possible now, or not all. */
bool nic_vn_retire_only(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep);
/* Retransmit a packet, or give it up; the caller holds no lock. */
void nic_vn_retransmit(struct nic *nic, struct nic_row *row, u32 channel, u32 seq, u64 now);
/*
 * Place the data of an RDMA read that came with an acknowledgement. false: drop the
 * acknowledgement.
 */
bool nic_vn_read_data(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *frame);
/* nic_endpoint.failed: a packet, and the status with which its request fails (not 0). */
static inline u64 nic_failure(u32 psn, u32 status)
{
	return (u64)status << 32 | psn;
}

/*
 * Packet `psn` failed with `status`. No lock is needed: the requester calls it with sq_lock, and
 * the thread that received an answer with the row's lock.
 */
void nic_vn_fail(struct nic_endpoint *ep, u32 psn, u32 status);
/* Packet `psn` is done. fate: of a datagram, the enum vnet_wc_status for its return to sender. */
void nic_vn_done(struct nic_endpoint *ep, u32 psn, u32 fate);
/* All packets of these bits are given up; whether they arrived is unknown. */
void nic_vn_done_all(struct nic_endpoint *ep, u64 bits);

/* -- vn/group.c: multicast datagrams between NICs */

/* Does the request, to a group or of raw packets, also need copies to other NICs? */
bool nic_has_remote_copies(const struct nic *nic, const struct nic_qp *qp,
			   const struct vnet_send_wqe *wqe);
/*
 * First row >= `row` whose NIC gets a copy; NIC_NONE: none. NICs before it that do not answer get
 * none, which is counted (unreachable).
 */
u32 nic_group_next(struct nic *nic, u32 row);
/* Is the packet for a multicast group? Copies the group's GID (16 bytes). */
bool nic_group_of(const struct vnet_frame_op *op, u8 *gid);
/*
 * Deliver a datagram to all members on this NIC, beginning at rx->member if the packet was refused
 * before. false: refuse it (BUSY).
 */
bool nic_group_arrive(struct nic *nic, struct nic_rx *rx, const struct vnet_frame_op *op,
		      struct nic_message *msg);
/*
 * How a receiver without a receive WQE is treated: the packet does not wait for it; waits for it;
 * has waited for it long enough.
 */
enum nic_rnr_wait { NIC_RNR_NO_WAIT, NIC_RNR_WAIT, NIC_RNR_EXPIRED };
/* Delivery to one receiver: done or lost; locked by another; no receive, and the packet waits. */
enum nic_member_result { NIC_MEMBER_DONE, NIC_MEMBER_BUSY, NIC_MEMBER_RNR };
/* Deliver a multicast datagram or an Ethernet frame to one receiver. */
enum nic_member_result nic_member_arrive(struct nic *nic, struct nic_qp *qp,
					 const struct vnet_frame_op *op, struct nic_message *msg,
					 enum nic_rnr_wait wait);
/* First receiver that has not had its turn for this packet. */
u32 nic_member_next(const struct nic_rx *rx, const struct vnet_frame_op *op);
/* May receiver i still be waited for? false: its time is over. */
bool nic_member_may_wait(const struct nic *nic, const struct nic_rx *rx,
			 const struct vnet_frame_op *op, u32 i);
/*
 * Receiver i could not take the packet: record it. Returns true to wait, false if it loses the
 * packet.
 */
bool nic_member_wait(struct nic *nic, struct nic_rx *rx, const struct vnet_frame_op *op, u32 i);

/* -- vn/ether.c: Ethernet frames between NICs */

/* Is the payload an Ethernet frame? */
static inline bool nic_is_ether(const struct vnet_frame_op *op)
{
	return op->qp_type == NIC_QPT_RAW_PACKET;
}
/* Deliver an Ethernet frame to the receivers of its flows. Other than DONE: refuse it for now. */
enum nic_member_result nic_ether_arrive(struct nic *nic, struct nic_rx *rx,
					const struct vnet_frame_op *op, struct nic_message *msg);

/* -- vn/respond.c: the responder */

void nic_vn_respond(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *frame);

/* -- vn/resident.c: endpoint frames */

/* The QP's endpoint, loaded into a frame if possible, else NULL; the caller holds sq_lock. */
struct nic_endpoint *nic_endpoint_get(struct nic *nic, struct nic_qp *qp);
/*
 * The same for an arrived packet: if it must wait for a frame, it is kept there for the next
 * packet.
 */
struct nic_endpoint *nic_endpoint_for_packet(struct nic *nic, struct nic_qp *qp);
/* The frame that the QP's endpoint is in; the caller compares its qpn. */
static inline struct nic_endpoint *nic_endpoint_at(struct nic *nic, const struct nic_qp *qp)
{
	u32 frame = nic_load(&qp->frame);

	return frame < nic->max_frame ? &nic->frame[frame] : NULL;
}

/* The endpoint's place in host memory. */
static inline struct nic_endpoint *nic_backing_of(struct nic *nic, const struct nic_qp *qp)
{
	return &nic->backing[nic_qp_index(nic, qp)];
}

/* Release frame_lock of a dead owner, and repair what it protects. */
void nic_frames_recover(struct nic *nic, u32 owner);

/* -- vn/endpoint.c: endpoints at QP transitions, and recovery */

/* Take the QP's packets off their channels. false: not all of them, call again. */
bool nic_vn_cancel(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep);

#endif /* NIC_VN_H */
