/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tag matching: what stands in NIC memory for a shared receive queue that matches,
 * and what the responder asks of it.
 */
#ifndef NIC_TM_H
#define NIC_TM_H

#include "nic_internal.h"

enum nic_tm_limits {
	NIC_TM_MAX_TAGS = 1024,
	NIC_TM_MAX_OPS = 1 << 16,
	/* struct ibv_tmh and struct ibv_rvh, as they come in a message. */
	NIC_TMH_SIZE = 16,
	NIC_RVH_SIZE = 16,
	NIC_TM_HEADERS = NIC_TMH_SIZE + NIC_RVH_SIZE,
};

enum nic_tag_state {
	NIC_TAG_FREE = 0,
	/* In its place in the list, and matches nothing before the process has caught up. */
	NIC_TAG_PARKED,
	NIC_TAG_ACTIVE,
};

/* A tagged buffer. Written under the SRQ's lock. */
struct nic_tag {
	u64 tag;
	u64 mask;
	u64 wr_id;
	u32 handle;
	/* Index of the next in the list, or NIC_NONE. */
	u32 next;
	/* The list is in this order: nic_tm.taken once the tag was. */
	u64 seq;
	/* enum nic_tag_state: the truth, of which the list is a copy. */
	u8 state;
	u8 num_sge;
	u16 rsvd;
	/* nic_tm.added once it was. */
	u32 added;
	/* The first one is in the same line. */
	struct vnet_sge sge[VNET_TM_MAX_SGE];
	u64 rsvd2[2];
};
static_assert(sizeof(struct nic_tag) == 128, "tag");

/* At nic_srq.tm of NIC memory, in queue memory, with its tags. Under the SRQ's lock. */
struct nic_tm {
	/* Ring of struct vnet_tm_op. */
	u64 ops;
	u32 ops_mask;
	/* Tags in the list. */
	u32 used;
	/* Operations taken from the ring, and those of them that were to add a tag. */
	u64 taken;
	u32 added;
	/* Indices, or NIC_NONE. */
	u32 head;
	u32 tail;
	/* Where to look first for one that is free. */
	u32 next;
	/* Messages that matched nothing, and how many of them the process has seen. */
	u32 unexpected;
	u32 handled;
	/* The completion queue is owed an event. */
	u32 notify;
	u32 rsvd[3];
	struct nic_tag tag[];
};
static_assert(sizeof(struct nic_tm) == 64, "tag matching");

/* The same, as it was found to be sound: it may change meanwhile, but not this. */
struct nic_tm_list {
	struct nic_tm *tm;
	struct vnet_ring *ring;
	u32 tags;
	u32 mask;
};

/* What becomes of a message. */
enum nic_tm_kind {
	/* It has no tag: to an ordinary receive. */
	NIC_TM_PLAIN,
	/* No tag fits: to an ordinary receive, and counted. */
	NIC_TM_UNEXPECTED,
	NIC_TM_EAGER,
	NIC_TM_RENDEZVOUS,
	/* A rendezvous for which its buffer is too small. */
	NIC_TM_INCOMPLETE,
};

/* A tagged buffer, copied. */
struct nic_tm_buffer {
	u64 wr_id;
	u32 num_sge;
	struct vnet_sge sge[VNET_TM_MAX_SGE];
};

struct nic_tm_match {
	/* enum nic_tm_kind */
	u8 kind;
	/* Its first piece matched: what that took is taken, and not in the list. */
	bool opened;
	/* Where it was looked for, unless it is of kind NIC_TM_PLAIN. */
	struct nic_tm_list list;
	/* The tagged buffer: its index, or NIC_NONE. */
	u32 index;
	struct nic_tm_buffer buffer;
	/* From the headers. */
	u64 tag;
	u32 priv;
	/* ... of a rendezvous. */
	u64 va;
	u32 rkey;
	u32 length;
	u8 headers[NIC_TM_HEADERS];
};

/* A message for such a queue: msg's wc_opcode says that it is one. */
struct nic_tm_message {
	struct nic_message msg;
	struct nic_tm_match match;
};

/* The tagged buffer that was matched, as long as it is in the list: see nic_copy_piece(). */
static inline u64 nic_tm_goal(const struct nic_tm_match *match)
{
	return 1ull << 63 | (u64)match->index << 32 | match->list.tm->tag[match->index].added;
}

static inline bool nic_rq_is_tm(const struct nic_rq *rq)
{
	return rq->shift & NIC_RQ_TM;
}

/* -- tags/list.c: the list of tags, and the operations that change it */

/* What stands in NIC memory for it. false: that is not as it must be. */
bool nic_tm_open(struct nic *nic, const struct nic_srq *srq, struct nic_tm_list *l);
/* Make it, of zeroed queue memory, for a command. */
bool nic_tm_make(struct nic *nic, const struct nic_srq_params *p);
/* A message for it is under way: have the lines come that its process wrote last. */
void nic_tm_expect(struct nic *nic, const struct nic_srq *srq);
/* The first tag that fits match->tag, copied; with the SRQ's lock. */
bool nic_tm_find(const struct nic_tm_list *l, struct nic_tm_match *match);
/* It is in the list no more. Again changes nothing. */
void nic_tm_take(const struct nic_tm_list *l, u32 index);
/* Who took the tag that was added so, for a message in pieces, died: so that it is. */
void nic_tm_take_again(struct nic *nic, const struct nic_srq *srq, u32 index, u32 added);
/*
 * Where the process has seen all that was unexpected, what it added meanwhile matches
 * from here on.
 */
void nic_tm_activate(const struct nic_tm_list *l);
/* The lock's holder died: make the list what the tags say. */
void nic_tm_rebuild(struct nic *nic, struct nic_srq *srq);

/* -- tags/tm.c: messages */

/*
 * Look at the headers of a message, and for a tag that fits; with the SRQ's lock.
 * VNET_WC_SUCCESS, or why the message cannot be had from its sender, or NIC_EXEC_PAGES.
 */
u32 nic_tm_judge(struct nic *nic, struct nic_qp *executor, const struct nic_srq *srq,
		 const struct nic_message *msg, struct nic_tm_match *match);
/*
 * Write down what the next entry of the completion queue means, so that it is done
 * with it whoever dies: the tag is taken, the message counted, and what a rendezvous
 * needs is posted to the send queue of `peer`. false: that is full.
 */
bool nic_tm_intend(struct nic *nic, struct nic_qp *executor, struct nic_qp *peer,
		   const struct nic_srq *srq, const struct nic_tm_match *match);
/* Do that. Again changes nothing. */
void nic_tm_apply(struct nic *nic, struct nic_qp *executor);
/* Bytes that a buffer holds. */
u64 nic_tm_room(const struct nic_tm_buffer *buffer);
/* How much of an announcement goes to its buffer, which is too small for the data. */
u64 nic_tm_kept(const struct nic_tm_buffer *buffer);

/*
 * Messages in pieces. The first one matches: what it takes is written to *open, which
 * the caller makes open before it has that taken.
 */
void nic_tm_keep(const struct nic_tm_match *match, struct nic_open_receive *open);
void nic_tm_take_kept(const struct nic_tm_match *match, const struct nic_open_receive *open);
/* The match, as it was kept. */
void nic_tm_reopen(const struct nic_open_receive *open, struct nic_tm_match *match);
/* Of the piece at *offset of the message what its buffer gets, and where in that. */
void nic_tm_clip(const struct nic_open_receive *open, u64 *offset, struct nic_piece *piece);
/*
 * The message will not come; what it counted, if it did, is to be taken back when that
 * is committed: nic_tm_apply(). With the SRQ's lock.
 */
void nic_tm_intend_loss(struct nic *nic, struct nic_qp *executor, const struct nic_srq *srq,
			const struct nic_open_receive *open);
/* The same at once, as the queue pair goes, all of whose locks are held. */
void nic_tm_leave(struct nic *nic, struct nic_qp *qp, struct nic_open_receive *open);

/* What a completion tells of a match, where the provider looks for it. */
void nic_tm_fill_info(const struct nic_tm_match *match, u32 byte_len, struct vnet_cqe *slot);
/* ... and what its process may rely on from then on. */
void nic_tm_fill_ended(const struct nic_tm_match *match, struct nic_completion *wc);

#endif /* NIC_TM_H */
