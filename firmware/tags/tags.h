/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tag matching of shared receive queues: the list of tagged buffers, the operations of its process,
 * and the match of a message. The caller holds the SRQ's lock.
 *
 * Calls completion, protection and pending.
 */
#ifndef NIC_TAGS_H
#define NIC_TAGS_H

#include "layout/message.h"
#include "completion/completion.h"

enum nic_tm_limits {
	NIC_TM_MAX_TAGS = 1024,
	NIC_TM_MAX_OPS = 1 << 16,
	/* struct ibv_tmh and struct ibv_rvh, as in a message. */
	NIC_TMH_SIZE = 16,
	NIC_RVH_SIZE = 16,
	NIC_TM_HEADERS = NIC_TMH_SIZE + NIC_RVH_SIZE,
};

enum nic_tag_state {
	NIC_TAG_FREE = 0,
	/* In the list, but not matched until the process has seen all unexpected messages. */
	NIC_TAG_PARKED,
	NIC_TAG_ACTIVE,
};

/* A tagged buffer. Written under the SRQ's lock. */
struct nic_tag {
	u64 tag;
	u64 mask;
	u64 wr_id;
	u32 handle;
	/* Index of the next tag in the list, or NIC_NONE. */
	u32 next;
	/* Order of the list: the value of nic_tm.taken after the tag was added. */
	u64 seq;
	/* enum nic_tag_state; authoritative, the list is derived from it. */
	u8 state;
	u8 num_sge;
	u16 rsvd;
	/* Value of nic_tm.added after the tag was added. */
	u32 added;
	/* The first SGE is in the same cache line. */
	struct vnet_sge sge[VNET_TM_MAX_SGE];
	u64 rsvd2[2];
};
static_assert(sizeof(struct nic_tag) == 128, "tag");

/* Offset nic_srq.tm, in queue memory, followed by its tags. Under the SRQ's lock. */
struct nic_tm {
	/* Ring of struct vnet_tm_op. */
	u64 ops;
	u32 ops_mask;
	/* Number of tags in the list. */
	u32 used;
	/* Operations taken from the ring, and how many of them added a tag. */
	u64 taken;
	u32 added;
	/* Indices, or NIC_NONE. */
	u32 head;
	u32 tail;
	/* Where the search for a free tag begins. */
	u32 next;
	/* Messages without a match, and how many of them the process has seen. */
	u32 unexpected;
	u32 handled;
	/* A completion event for the CQ must still be made. */
	u32 notify;
	u32 rsvd[3];
	struct nic_tag tag[];
};
static_assert(sizeof(struct nic_tm) == 64, "tag matching");

/* Validated copy of struct nic_tm's locations; NIC memory may change later, this does not. */
struct nic_tm_list {
	struct nic_tm *tm;
	struct vnet_ring *ring;
	u32 tags;
	u32 mask;
};

/* Destination of a message. */
enum nic_tm_kind {
	/* No tag: an ordinary receive. */
	NIC_TM_PLAIN,
	/* No match: an ordinary receive, counted as unexpected. */
	NIC_TM_UNEXPECTED,
	NIC_TM_EAGER,
	NIC_TM_RENDEZVOUS,
	/* A rendezvous whose buffer is too small. */
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
	/* The first packet has matched; the tag is out of the list already. */
	bool opened;
	/* The list that was searched; not set for NIC_TM_PLAIN. */
	struct nic_tm_list list;
	/* Index of the matched tag, or NIC_NONE; a copy of its buffer. */
	u32 index;
	struct nic_tm_buffer buffer;
	/* From the headers. */
	u64 tag;
	u32 priv;
	/* From the headers of a rendezvous. */
	u64 va;
	u32 rkey;
	u32 length;
	u8 headers[NIC_TM_HEADERS];
};

/* A message for a queue that matches tags. */
struct nic_tm_message {
	struct nic_message msg;
	struct nic_tm_match match;
};

/* Identifies the matched buffer while it is in the list: see nic_copy_piece(). */
static inline u64 nic_tm_buffer_id(const struct nic_tm_match *match)
{
	return 1ull << 63 | (u64)match->index << 32 | match->list.tm->tag[match->index].added;
}

static inline bool nic_rq_is_tm(const struct nic_rq *rq)
{
	return rq->shift & NIC_RQ_TM;
}

/* -- tags/list.c: the list of tags, and operations on it */

/* Validate the SRQ's tag matching memory, and set *l. false: it is corrupted. */
bool nic_tm_open(struct nic *nic, const struct nic_srq *srq, struct nic_tm_list *l);
/* Initialise it in zeroed queue memory; called by a command. */
bool nic_tm_make(struct nic *nic, const struct nic_srq_params *p);
/*
 * NIC processor: execute the operations whose doorbells found a lock held, up to
 * NIC_STRETCH_REQUESTS of each SRQ.
 */
void nic_tm_run_due(struct nic *nic);
/* A message for the SRQ will be delivered: prefetch the lines that its process wrote last. */
void nic_tm_prefetch(struct nic *nic, const struct nic_srq *srq);
/* Find the first tag that matches match->tag, and copy it; with the SRQ's lock. */
bool nic_tm_find(const struct nic_tm_list *l, struct nic_tm_match *match);
/* Remove a tag from the list. Idempotent. */
void nic_tm_take(const struct nic_tm_list *l, u32 index);
/*
 * Recovery: free the tag that a dead owner was taking for a message in pieces; `added` identifies
 * it.
 */
void nic_tm_retake(struct nic *nic, const struct nic_srq *srq, u32 index, u32 added);
/* Activate the parked tags, if the process has seen all unexpected messages. */
void nic_tm_activate(const struct nic_tm_list *l);
/* The holder of the SRQ's lock died: rebuild the list from the tags. */
void nic_tm_rebuild(struct nic *nic, struct nic_srq *srq);

/* -- tags/tm.c: messages */

/*
 * Parse the headers of a message, and search for a matching tag; with the SRQ's lock. Returns
 * VNET_WC_SUCCESS, the error if the sender's memory cannot be read, or NIC_EXEC_PAGES.
 */
u32 nic_tm_lookup(struct nic *nic, struct nic_qp *executor, const struct nic_srq *srq,
		  const struct nic_message *msg, struct nic_tm_match *match);
/*
 * Record what must happen with the next CQE, so that recovery can finish it: the tag is taken, an
 * unexpected message counted, and the requests of a rendezvous posted to the send queue of `peer`.
 * false: that queue is full.
 */
bool nic_tm_record(struct nic *nic, struct nic_qp *executor, struct nic_qp *peer,
		   const struct nic_srq *srq, const struct nic_tm_match *match);
/* Do what nic_tm_record() recorded. Idempotent. */
void nic_tm_apply(struct nic *nic, struct nic_qp *executor);
/* Size of a buffer. */
u64 nic_tm_buffer_size(const struct nic_tm_buffer *buffer);
/* Bytes of a rendezvous' headers that a buffer gets that is too small for the data. */
u64 nic_tm_header_bytes(const struct nic_tm_buffer *buffer);

/*
 * Messages in pieces. The first packet matches. nic_tm_save() writes the match to *open; the caller
 * marks it open, and then takes the tag or counts the message by nic_tm_take_saved().
 */
void nic_tm_save(const struct nic_tm_match *match, struct nic_open_receive *open);
void nic_tm_take_saved(const struct nic_tm_match *match, const struct nic_open_receive *open);
/* Restore the match from *open. */
void nic_tm_reopen(const struct nic_open_receive *open, struct nic_tm_match *match);
/*
 * Clip a packet at *offset of the message to the part that its buffer gets; *offset is then in the
 * buffer.
 */
void nic_tm_clip(const struct nic_open_receive *open, u64 *offset, struct nic_piece *piece);
/*
 * The rest of the message will not arrive: record that its unexpected count is taken back with the
 * next commitment (nic_tm_apply()). With the SRQ's lock.
 */
void nic_tm_record_loss(struct nic *nic, struct nic_qp *executor, const struct nic_srq *srq,
			const struct nic_open_receive *open);
/* The same at once, as the QP is destroyed or reset; the caller holds all its locks. */
void nic_tm_abandon(struct nic *nic, struct nic_qp *qp, struct nic_open_receive *open);

/* Write tag and user data of a match to the CQE, where the provider looks for them. */
void nic_tm_fill_info(const struct nic_tm_match *match, u32 byte_len, struct vnet_cqe *slot);
/* Set wc->ended, which tells the process how many tags have left the list. */
void nic_tm_fill_ended(const struct nic_tm_match *match, struct nic_completion *wc);

#endif /* NIC_TAGS_H */
