/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The vn transport, between its own files and to the rest of the firmware;
 * grouped by the file that implements them. doc/protocol.md tells the whole.
 *
 * Lock order: a QP's sq_lock, then a row's lock, then row_lock. frame_lock comes
 * after a QP's sq_lock, and the rows' after it.
 */
#ifndef NIC_VN_H
#define NIC_VN_H

#include "requester/request.h"

/*
 * Frames are little-endian: what stands in one, and what is to stand there; and, either way,
 * a word that is not always a number, as immediate data is not.
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

#define nic_count(nic, what) nic_fetch_add(&(nic)->hdr->counters.what, 1)

/*
 * A lock that what a frame brought needs: a row's, or row_lock. false: somebody else has it,
 * so many tries long; then the frame is dropped, and counted. Nobody waits for locks where
 * frames come in, and a frame that is dropped is one that comes again.
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

/* Tries where a frame that is dropped is a packet that is sent once more. */
#define NIC_ROW_TRIES 8u

/* Patience with a silent peer is halved so many times at most. */
#define NIC_LONELIEST 4u

/* Of datagrams or of Ethernet frames: each is a packet, in no order, that may be lost. */
static inline bool nic_is_unordered(u8 type)
{
	return type == NIC_QPT_UD || type == NIC_QPT_RAW_PACKET;
}

/* Timestamps of frames. */
static inline u32 nic_us(u64 ns)
{
	return (u32)(ns / 1000);
}

/* A frame that arrived, its fields checked. */
struct nic_arrived_frame {
	const struct nic_address *from;
	const struct nic_proof *proof;
	const struct vnet_frame *head;
	const struct vnet_frame_ack *ack;
	u32 nacks;
	/* NULL where the kind has none. */
	const struct vnet_frame_op *op;
	const struct vnet_frame_hello *hello;
	const u8 *payload;
	u32 payload_len;
};

/* -- vn/frame.c: what is in a frame */

/* Begin a frame to the row's NIC in plat_frame()'s buffer; NULL: no link. */
struct vnet_frame *nic_frame_begin(struct nic *nic, const struct nic_row *row, u8 kind);
/* Complete it, and give it to the link. */
void nic_frame_send(struct nic *nic, const struct nic_address *to, u32 length);
/* Check everything about a frame that does not depend on a row; false: counted. */
bool nic_frame_parse(struct nic *nic, void *frame, u32 length, const struct nic_proof *proof,
		     struct nic_arrived_frame *out);

/* -- vn/row.c: other NICs */

static inline struct nic_row *nic_row_at(struct nic *nic, u32 row)
{
	return row < nic->max_row ? &nic->row[row] : NULL;
}

/* A row's number in frames: its index, and random bits above. */
#define NIC_ROW_ID_SHIFT 16u

static inline u32 nic_row_index_of(u32 id)
{
	return id & ((1u << NIC_ROW_ID_SHIFT) - 1);
}

static inline u32 nic_row_index(const struct nic *nic, const struct nic_row *row)
{
	return (u32)(row - nic->row);
}

/* Payload of a frame to it: within what a frame can hold, whoever wrote it there. */
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

/* Row for frames from own_gid to gid, made if there is none: NIC_NONE: no way there. */
u32 nic_row_find(struct nic *nic, const u8 *gid, const u8 *own_gid);
/* Row's timers are to be looked at. */
void nic_row_activate(struct nic *nic, const struct nic_row *row);
/* One of both begins a new life: nothing that was counted counts any more. */
void nic_row_renew(struct nic *nic, struct nic_row *row);
/* The row that a frame of an established peer belongs to, and proves to be of; NULL: counted. */
struct nic_row *nic_row_of_frame(struct nic *nic, const struct nic_arrived_frame *frame);
/*
 * Whether it still is the row of the frame; its lock is held. It may have begun anew since
 * nic_row_of_frame() found it, and with it sequence numbers.
 */
bool nic_row_is_alive(struct nic *nic, const struct nic_row *row,
		      const struct nic_arrived_frame *frame);

/* -- vn/handshake.c: two NICs make themselves known */

/* A peer that does not know us yet, or has not answered: call it, if it is time. */
void nic_row_call(struct nic *nic, struct nic_row *row, u64 now);
/* The same, for one that was known and has been silent for NIC_SILENCE_NS. */
#define NIC_SILENCE_NS 30000000ull
void nic_row_probe(struct nic *nic, struct nic_row *row, u64 now);
void nic_row_hello(struct nic *nic, const struct nic_arrived_frame *frame);
void nic_row_welcome(struct nic *nic, const struct nic_arrived_frame *frame);
void nic_row_refused(struct nic *nic, const struct nic_arrived_frame *frame);

/* -- vn/channel.c: the sender's ends */

/* What a packet is, for the channel that carries it. */
struct nic_packet {
	u32 qpn;
	u32 sq_index;
	u32 psn;
	u32 offset;
	u32 length;
	u8 opcode;
	bool unordered;
	/* A copy of a datagram to a group. */
	bool group;
};

/* Take a channel for it, with the row's lock held: NULL: none is to be had now. */
struct nic_tx *nic_tx_take(struct nic *nic, struct nic_row *row, const struct nic_packet *packet,
			   u64 now);
/* Free a channel, with the row's lock held. */
void nic_tx_free(struct nic *nic, struct nic_row *row, struct nic_tx *tx);
/*
 * It is being transmitted (again), with the row's lock held: its timer, which is no
 * longer than `longest` ns (0: any) unless round trips are.
 */
void nic_tx_sent(struct nic *nic, struct nic_row *row, struct nic_tx *tx, u64 now, u64 longest);

/*
 * What was given up since anything was heard: of a connection, or of the NIC that
 * datagrams go to. Whose packets were given up before has less patience with the next,
 * so that a queue of them does not wait for each in turn.
 */
static inline u32 *nic_lonely(struct nic_row *row, const struct nic_qp *qp, struct nic_endpoint *ep)
{
	return nic_is_unordered(qp->type) ? &row->lonely : &ep->lonely;
}

static inline void nic_grow_lonely(u32 *lonely)
{
	u32 n = nic_load(lonely);

	if (n < NIC_LONELIEST)
		nic_store(lonely, n + 1);
}

/* What waits for a copy to a group waits for all its receivers: not for long. */
#define NIC_GROUP_HASTE 2u

/*
 * The clock that patience with a peer is counted by, ns: the NIC clock without the times
 * in which nobody of this NIC had a processor to look at its timers. Frames that arrive
 * then are not looked at, either, and on the same machine the peer fares no better.
 */
#define NIC_PATIENCE_BITS 24u
/* When it begins, so that who has read the clock a while ago is not before its beginning. */
#define NIC_PATIENCE_EPOCH (1ull << 40)
NIC_COLD void nic_patience_look(struct nic *nic, u64 now);

static inline u64 nic_patience(struct nic *nic, u64 now)
{
	u64 state = nic_load(&nic->hdr->patience);

	if (unlikely(((u32)(now / 1000000) ^ (u32)state) & ((1u << NIC_PATIENCE_BITS) - 1))) {
		nic_patience_look(nic, now);
		state = nic_load(&nic->hdr->patience);
	}
	return NIC_PATIENCE_EPOCH + now - (state >> NIC_PATIENCE_BITS) * 1000000;
}

/* How long an unreliable packet waits for anybody, ns. */
static inline u64 nic_lonely_patience(const struct nic *nic, const u32 *lonely)
{
	return nic->hdr->settings.unreachable * 1000000ull >> (nic_load(lonely) & 7);
}

/* Nobody has answered the packet, or its connection, for longer than that waits. */
bool nic_tx_is_silent(struct nic *nic, struct nic_row *row, const struct nic_qp *qp,
		      struct nic_endpoint *ep, const struct nic_tx *tx, u64 now);
/* It is given up, with the row's lock held: as failed or (unreliable) lost. */
void nic_tx_give_up(struct nic *nic, struct nic_row *row, struct nic_qp *qp,
		    struct nic_endpoint *ep, struct nic_tx *tx, u32 status);

static inline u32 nic_tx_channel(const struct nic_row *row, const struct nic_tx *tx)
{
	return (u32)(tx - row->tx);
}

/* Is it that packet's still? The lock was not held all the time since it was seen. */
static inline bool nic_tx_is(const struct nic_row *row, const struct nic_tx *tx, u32 seq, u32 qpn)
{
	return row->busy & 1ull << nic_tx_channel(row, tx) && tx->seq == seq && tx->qpn == qpn;
}

/* QPs whose packets were answered, and who waits, to be run without the row's lock. */
struct nic_answered {
	u32 qpn[VNET_WIRE_ACKS + NIC_ROW_QUEUE];
	u32 n;
};

/*
 * Acknowledgements of a frame, the row's lock is held. data: what came with the
 * first of them is where it belongs.
 */
void nic_tx_answers(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *frame,
		    bool data, struct nic_answered *out);
/* Are these answers that their packets may have? The lock is held; false: counted. */
bool nic_tx_check(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *frame);
/*
 * An answer has come for which there is no time now, as its QP is in use: it will come again.
 * Its connection's peer was heard all the same.
 */
NIC_COLD void nic_tx_hear(struct nic *nic, struct nic_row *row,
			  const struct nic_arrived_frame *frame);
/* Free the channels of a QP in this row. */
void nic_tx_cancel(struct nic *nic, struct nic_row *row, u32 qpn);
/*
 * Own memory, which is paged on demand, is not there for what it carries or has brought,
 * with sq_lock and the row's lock held: it is sent again when it is, and nobody is late.
 * Its channel is free then, but for a datagram's.
 */
NIC_COLD void nic_tx_keep(struct nic *nic, struct nic_row *row, struct nic_qp *qp,
			  struct nic_endpoint *ep, struct nic_tx *tx, u64 now);
/* The row begins a new life: packets that nothing but their channels knew are over. */
void nic_tx_renew(struct nic *nic, struct nic_row *row);
/* How long the packets of a message that begins now may be. */
u32 nic_row_piece(const struct nic *nic, const struct nic_row *row, u64 now);
/* Packets of this row whose time has come, and how the row goes on. */
void nic_row_timers(struct nic *nic, struct nic_row *row, u64 now);

/* Packets [from, to), of which a window is the most, in a mask by number. */
static inline u64 nic_window_bits(u32 from, u32 to)
{
	u64 bits = to - from < NIC_WINDOW ? (1ull << (to - from)) - 1 : ~0ull;
	u32 by = from % NIC_WINDOW;

	return by ? bits << by | bits >> (NIC_WINDOW - by) : bits;
}

/* -- vn/ack.c: the receiver's answers */

/* As many answers that are owed as fit behind a frame's header: how many. */
u32 nic_acks_take(struct nic *nic, struct nic_row *row, struct vnet_frame_ack *acks, u32 most);
/* With the row's lock: a packet of this channel is to be answered. */
void nic_acks_owe(struct nic_row *row, u32 channel);
/*
 * With the row's lock: answers to packets that ep took go along with what ep sends next,
 * also if another's frame has them, which may still wait in that one's batch: who has what
 * was said in return is to know that he was heard.
 */
void nic_acks_owe_again(struct nic_row *row, const struct nic_endpoint *ep);
/* The frame does not go: those that it took are owed again. */
NIC_COLD void nic_acks_return(struct nic *nic, struct nic_row *row,
			      const struct vnet_frame_ack *acks, u32 n);
/* Send what is owed; with the row's lock, or without. */
void nic_acks_send_locked(struct nic *nic, struct nic_row *row);
void nic_acks_send(struct nic *nic, struct nic_row *row);
/* Send what this process owes and has kept back. */
void nic_acks_flush(struct nic *nic);
/* Send them if there are as many as were asked for, without a wait for more frames. */
void nic_acks_owed(struct nic *nic, struct nic_row *row);
/* This thread has got a frame from row: remember for nic_receive_end(). */
void nic_acks_touch(struct nic *nic, u32 row);

/* -- vn/request.c: the requester */

/* Is the send queue, with so many requests, to be run by nic_vn_run()? sq_lock is held. */
bool nic_vn_wants(struct nic *nic, struct nic_qp *qp, const struct vnet_ring *ring, u32 waiting);
/*
 * Retire what is done and send what can be; sq_lock is held. true: as far as it
 * goes for now; false: it is pending, or (nic_vn_wants() says no) the head
 * request is for this NIC itself.
 */
bool nic_vn_run(struct nic *nic, struct nic_qp *qp, struct vnet_ring *ring,
		struct nic_stretch *stretch);
/* The oldest packet is done, and its request perhaps to be retired. */
static inline bool nic_vn_is_answered(const struct nic_endpoint *ep)
{
	return nic_load(&ep->done) & 1ull << (nic_load(&ep->una) % NIC_WINDOW);
}
/* Retire what is done, and no more; sq_lock is held. false: not now, not all. */
bool nic_vn_settle(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep);
/* Without the lock: is there something to retire or to send? */
bool nic_vn_has_work(struct nic *nic, struct nic_qp *qp, const struct vnet_ring *ring);
/* Send a packet again, or give it up; none of the locks is held. */
void nic_vn_again(struct nic *nic, struct nic_row *row, u32 channel, u32 seq, u64 now);
/* Data of an RDMA read came with the answer of this channel: false: try again. */
bool nic_vn_read_data(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *frame);
/* The packet `psn` of an endpoint failed; its row's lock is held. */
void nic_vn_fail(struct nic_endpoint *ep, u32 psn, u32 status);
/*
 * Packet `psn`, which is under way, is done: a datagram with this fate (enum
 * vnet_wc_status), for who wants to know it.
 */
void nic_vn_done(struct nic_endpoint *ep, u32 psn, u32 fate);
/* The same of all packets of these bits: given up, nobody knows whether they arrived. */
void nic_vn_done_all(struct nic_endpoint *ep, u64 bits);

/* -- vn/group.c: datagrams to groups, between NICs */

/* The request of datagrams to groups, or of frames, is for other NICs, too. */
bool nic_copies_leave(const struct nic *nic, const struct nic_qp *qp,
		      const struct vnet_send_wqe *wqe);
/* The first row from this one on whose NIC gets a copy; or NIC_NONE. */
u32 nic_group_next(struct nic *nic, u32 row);
/* It is for a group; copies its GID (16 bytes). */
bool nic_group_of(const struct vnet_frame_op *op, u8 *gid);
/*
 * It arrived: to all who are attached here, from member rx->member on if it came before;
 * false: it is to come again.
 */
bool nic_group_arrive(struct nic *nic, struct nic_rx *rx, const struct vnet_frame_op *op,
		      struct nic_message *msg);
/* What a receiver without a receive means: never waited for; waited for; was for long. */
enum nic_patience { NIC_WAITS_NOT, NIC_WAITS, NIC_WAITED };
/* It was served, or lost it; somebody is inside; it has no receive, and is waited for. */
enum nic_member_fate { NIC_MEMBER_DONE, NIC_MEMBER_BUSY, NIC_MEMBER_HUNGRY };
/* Of such a copy, or a frame, to one of its receivers. */
enum nic_member_fate nic_member_arrive(struct nic *nic, struct nic_qp *qp,
				       const struct vnet_frame_op *op, struct nic_message *msg,
				       enum nic_patience patience);
/* Which of them is the first whose turn it is. */
u32 nic_member_turn(const struct nic_rx *rx, const struct vnet_frame_op *op);
/* May receiver i still be waited for, if it does not have it now? */
bool nic_member_may_wait(const struct nic *nic, const struct nic_rx *rx,
			 const struct vnet_frame_op *op, u32 i);
/* It did not: the same, and it is, from then on. false: it loses this one. */
bool nic_member_wait(struct nic *nic, struct nic_rx *rx, const struct vnet_frame_op *op, u32 i);

/* -- vn/ether.c: Ethernet frames, between NICs */

/* It is a frame. */
static inline bool nic_is_ether(const struct vnet_frame_op *op)
{
	return op->qp_type == NIC_QPT_RAW_PACKET;
}
/* It arrived: to all whose flows it belongs to. Not DONE: not now. */
enum nic_member_fate nic_ether_arrive(struct nic *nic, struct nic_rx *rx,
				      const struct vnet_frame_op *op, struct nic_message *msg);

/* -- vn/respond.c: the responder */

void nic_vn_respond(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *frame);
/* The message with op_psn that op_arrival tells of was written. Idempotent. */
void nic_vn_arrived(struct nic *nic, struct nic_qp *qp);

/* -- vn/resident.c: endpoint frames */

/* Its endpoint, if that is resident or can be made so now; sq_lock is held. */
struct nic_endpoint *nic_endpoint_get(struct nic *nic, struct nic_qp *qp);
/* The same, for a packet that arrived; in its turn it is loaded and kept for the next. */
struct nic_endpoint *nic_endpoint_await(struct nic *nic, struct nic_qp *qp);
/* The same, of one that is resident. */
static inline struct nic_endpoint *nic_endpoint_at(struct nic *nic, const struct nic_qp *qp)
{
	u32 frame = nic_load(&qp->frame);

	return frame < nic->max_frame ? &nic->frame[frame] : NULL;
}

/*
 * Can anything of this QP be on the wire? A look: of a connection to this NIC itself nothing
 * is, which is all that its every request has to ask.
 */
static inline bool nic_vn_concerns(const struct nic *nic, const struct nic_qp *qp)
{
	return nic->max_row &&
	       (nic_load(&qp->row) != NIC_NONE || nic_load(&qp->frame) < nic->max_frame ||
		nic_is_unordered(qp->type));
}

/* Its place in host memory. */
static inline struct nic_endpoint *nic_backing_of(struct nic *nic, const struct nic_qp *qp)
{
	return &nic->backing[nic_qp_index(nic, qp)];
}

/* The frames' lock, and what it guards, of a dead owner. */
void nic_frames_recover(struct nic *nic, u32 owner);

/* -- vn/endpoint.c: a QP's coming and going */

/* A QP's state of the wire, in its frame or at home; sq_lock is held. */
struct nic_endpoint *nic_endpoint_any(struct nic *nic, struct nic_qp *qp);

/*
 * A transition's attributes are set: where the peer is, and where counting begins. Nothing
 * has changed where it fails: NIC_BUSY, call again; NIC_ENOMEM: there is no row for the peer.
 */
enum nic_result nic_vn_configure(struct nic *nic, struct nic_qp *qp, bool path, u8 from, u8 to);
/*
 * Nothing of it is under way any more, and its endpoint is as new; all its locks
 * are held. false: a row's lock could not be had; ask again.
 */
bool nic_vn_leave(struct nic *nic, struct nic_qp *qp);
/* Its packets are taken off the channels. false: not all of them; ask again. */
bool nic_vn_cancel(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep);
/* Packets are under way. */
bool nic_vn_is_busy(struct nic *nic, struct nic_qp *qp);
/* Locks and half-done work of a dead owner. */
void nic_vn_recover(struct nic *nic, u32 owner);

/* -- vn/vn.c: timers, for nic_run() and nic_idle() */

/* true: packets are under way or answers owed; *next: nearest time to look again. */
bool nic_vn_tick(struct nic *nic, u64 now, u64 *next);
/* A process polls: what is cheap, and due. */
void nic_vn_idle(struct nic *nic);

#endif /* NIC_VN_H */
