// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chore: tag matching. Sends tagged messages, one at a time, to an SRQ with tag matching. A model
 * of the tag list predicts the tag that each message must match.
 */
#include <endian.h>
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "tags/tags.h"
#include "workload/chore.h"

/* Few tags and buffers, so that the list wraps around. */
#define TAGS 6u
#define BUFFERS 4u
#define BUFFER_BYTES 2048u
#define ROUNDS 5u
#define MESSAGES 4u
#define PRIVATE 0xabcdu
/* Base of the wr_id of tagged buffers, ordinary receives, and operations. */
#define WR_TAG 1000u
#define WR_PLAIN 2000u
#define WR_OP 3000u

enum { NO_TAG, RENDEZVOUS, FIN, EAGER };

/* A tag in the model of the tag list. */
struct tag {
	u64 tag, mask;
	u32 number, handle;
	/* It matches no message until the process has synchronized (VNET_TM_OP_SYNC). */
	bool parked;
};

struct table {
	struct bench *b;
	struct srq *srq;
	struct queue *own_cq;
	struct slot *to, *plain, *from;
	/* The model of the tag list, in order, and a bitmap of free buffers. */
	struct tag tag[TAGS];
	u32 ntags, free;
	u32 handle, unexpected, handled;
	/* Ordinary receives: number of the first posted one, and of the next one to be posted. */
	u32 plain_first, plain_end;
	u64 content;
};

static u8 *from_memory(const struct table *t, u32 offset)
{
	return mem(t->b->p, t->from->offset + offset);
}

static u8 *buffer_of(const struct table *t, const struct slot *slot, u32 i)
{
	return mem(t->b->far, slot->offset + i % BUFFERS * (u64)BUFFER_BYTES);
}

static bool table_make(struct table *t, struct bench *b)
{
	struct srq_options match = { .cq = b->far_cq, .tags = TAGS };
	struct qp_options with_srq = { 0 }, plain = { 0 };

	*t = (struct table){ .b = b, .free = (1u << BUFFERS) - 1 };
	t->to = bench_memory(b, b->other);
	t->plain = bench_memory(b, b->other);
	t->from = bench_memory(b, b->actor);
	if (!t->to || !t->plain || !t->from || !holds(b))
		return false;
	process_undying++;
	t->own_cq = bench_has_cq(b, make_cq_aside(b->p, 64, NIC_NONE, 0));
	t->srq = bench_has_srq(b, make_srq_with(b->far, 16, &match));
	with_srq.srq = t->srq;
	b->x = bench_has_qp(b, make_qp(b->p, NIC_QPT_RC, b->cq, t->own_cq, &plain));
	b->y = bench_has_qp(b, make_qp(b->far, NIC_QPT_RC, b->far_cq, b->far_cq, &with_srq));
	connect_qp(b->x, b->far->node->index, b->y->qpn, &plain);
	connect_qp(b->y, b->p->node->index, b->x->qpn, &plain);
	process_undying--;
	return holds(b);
}

/* ------------------------------------------------------------------ operations */

/*
 * Wait for the completion of the last operation. Returns false if a fault prevents it, or after
 * a violation.
 */
static bool is_done(struct table *t, u32 status, const char *what)
{
	u64 until = event_now() + EVENT_TIMEOUT_NS;
	struct bench *b = t->b;
	struct wc wc;

	/* Ring again if an executor held the lock of the SRQ. */
	while (holds(b) && event_now() < until) {
		ring_tags(t->srq);
		if (holds(b) && poll_cq(b->far_cq, &wc)) {
			if (wc.wr_id != WR_OP)
				wrong(b, "a tag operation completes as another one", (u32)wc.wr_id);
			if (wc.status != status)
				wrong(b, what, wc.status);
			return holds(b);
		}
		sleep_for(b->p, 2 * US);
	}
	return false;
}

/* Post a signaled operation, and wait for its completion. */
static bool operate(struct table *t, struct vnet_tm_op op, u32 status, const char *what)
{
	op.wr_id = WR_OP;
	op.flags |= VNET_TM_OP_SIGNALED;
	post_tag(t->srq, &op);
	return is_done(t, status, what);
}

static bool catch_up(struct table *t, bool by_addition)
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_SYNC, .unexpected = t->unexpected };
	u32 i;

	t->handled = t->unexpected;
	for (i = 0; i < t->ntags; i++)
		t->tag[i].parked = false;
	return by_addition || operate(t, op, VNET_WC_SUCCESS, "synchronising tags");
}

/*
 * Add a tag. told: the operation is signaled, and its process executes it. Otherwise the executor
 * of the next message takes it from the ring. syncs: the operation also synchronizes.
 */
static bool add_tag(struct table *t, bool told, bool syncs)
{
	static const u64 masks[] = { ~0ull, ~0ull, 0xff, 0xf0, 0 };
	struct tag *tag = &t->tag[t->ntags];
	u64 mask = masks[bench_below(t->b, 5)], value = 0x10 + bench_below(t->b, 4);
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_ADD, .mask = mask };
	u64 addr;

	if (t->ntags == TAGS || !t->free)
		return true;
	tag->number = (u32)__builtin_ctz(t->free);
	tag->mask = mask;
	tag->tag = value & mask;
	tag->handle = ++t->handle;
	tag->parked = t->handled != t->unexpected;
	t->free &= t->free - 1;
	t->ntags++;
	op.handle = tag->handle;
	op.tag = tag->tag;
	op.recv_wr_id = WR_TAG + tag->number;
	addr = address_at(t->b->far, t->to->offset + tag->number * (u64)BUFFER_BYTES);
	/* Sometimes, the buffer has two SGEs. */
	op.num_sge = bench_below(t->b, 3) ? 1 : 2;
	op.sge[0] = (struct vnet_sge){ addr, BUFFER_BYTES, t->to->key };
	if (op.num_sge == 2) {
		op.sge[0].length = 100;
		op.sge[1] = (struct vnet_sge){ addr + 100, BUFFER_BYTES - 100, t->to->key };
	}
	if (syncs) {
		op.flags = VNET_TM_OP_SYNCS;
		op.unexpected = t->unexpected;
	}
	memset(buffer_of(t, t->to, tag->number), 0x33, BUFFER_BYTES);
	if (told)
		return operate(t, op, VNET_WC_SUCCESS, "adding a tag");
	post_tag(t->srq, &op);
	return true;
}

static void forget_tag(struct table *t, u32 i)
{
	t->free |= 1u << t->tag[i].number;
	t->ntags--;
	memmove(&t->tag[i], &t->tag[i + 1], (t->ntags - i) * sizeof(t->tag[0]));
}

static bool delete_tag(struct table *t)
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_DEL };
	u32 i;

	if (!t->ntags || !bench_below(t->b, 3)) {
		op.handle = t->handle + 100;
		return operate(t, op, VNET_WC_TM_ERR, "deleting a tag that is not there");
	}
	i = bench_below(t->b, t->ntags);
	op.handle = t->tag[i].handle;
	if (!operate(t, op, VNET_WC_SUCCESS, "deleting a tag"))
		return false;
	forget_tag(t, i);
	return true;
}

static bool wrong_operation(struct table *t)
{
	struct vnet_tm_op op = { .opcode = 3 };

	if (bench_below(t->b, 2))
		return operate(t, op, VNET_WC_TM_ERR, "an operation on tags that is none");
	op.opcode = VNET_TM_OP_ADD;
	op.num_sge = VNET_TM_MAX_SGE + 1;
	return operate(t, op, VNET_WC_TM_ERR, "a tag with too many pieces");
}

/* -------------------------------------------------------------------- messages */

/* Index of the first tag that matches, or ntags. */
static u32 fitting(const struct table *t, u64 value)
{
	u32 i;

	for (i = 0; i < t->ntags; i++) {
		if (!t->tag[i].parked && (value & t->tag[i].mask) == t->tag[i].tag)
			break;
	}
	return i;
}

static void write_header(struct table *t, u8 opcode, u64 value)
{
	u8 *header = from_memory(t, 0);
	u64 tag = htobe64(value);
	u32 priv = htobe32(PRIVATE);

	memset(header, 0, NIC_TMH_SIZE);
	header[0] = opcode;
	memcpy(header + 4, &priv, 4);
	memcpy(header + 8, &tag, 8);
}

static void write_announcement(struct table *t, u64 value, u32 length)
{
	u64 va = htobe64(address_at(t->b->p, t->from->offset + 4096));
	u32 rkey = htobe32(t->from->key), size = htobe32(length);

	write_header(t, RENDEZVOUS, value);
	memcpy(from_memory(t, 16), &va, 8);
	memcpy(from_memory(t, 24), &rkey, 4);
	memcpy(from_memory(t, 28), &size, 4);
	bytes_fill(from_memory(t, 4096), length, t->content, 0);
}

static bool send(struct table *t, u32 length)
{
	struct sge sg = { address_at(t->b->p, t->from->offset), length, t->from->key };
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 1);

	if (!holds(t->b))
		return false;
	post_send(t->b->x, &wqe, &sg, 1);
	ring_qp(t->b->x);
	return ends(t->b, next_status(t->b, NULL), VNET_WC_SUCCESS, "a message with a tag");
}

/*
 * Wait for the next completion of the receiver, and check its wr_id, opcode and flags. Returns
 * false after a fault or a violation.
 */
static bool comes(struct table *t, u32 wr_id, u8 opcode, u32 flags, struct wc *wc)
{
	u32 status = next_status_of(t->b, t->b->far_cq, wc);

	if (status == NO_STATUS || !holds(t->b))
		return false;
	if (wc->wr_id != wr_id)
		wrong(t->b, "a tagged message arrives in another queue", (u32)wc->wr_id);
	else if (!status && wc->opcode != opcode)
		wrong(t->b, "a tagged message completes as another operation", wc->opcode);
	else if (!status && (wc->flags & (VNET_WC_TM_MATCH | VNET_WC_TM_DATA_VALID)) != flags)
		wrong(t->b, "a tagged message has other flags", wc->flags);
	return holds(t->b);
}

/* Check the tag information of the last completion. */
static void tells(struct table *t, u64 value, u32 byte_len)
{
	const struct vnet_cqe *cqe = queue_entry(t->b->far_cq, t->b->far_cq->cons - 1);
	const u8 *info = cqe->payload + vnet_cqe_tm_info(byte_len);
	u64 tag;
	u32 priv;

	memcpy(&tag, info, sizeof(tag));
	memcpy(&priv, info + sizeof(tag), sizeof(priv));
	want(t->b, tag == value && priv == PRIVATE,
	     "the tag that arrived is not the one that was sent");
}

static void holds_data(struct table *t, const struct slot *slot, u32 number, u32 skip, u32 length)
{
	const u8 *to = buffer_of(t, slot, number);

	if (holds(t->b))
		want(t->b, bytes_are(to + skip, length, t->content, 0),
		     "a message with a tag has other bytes");
}

/* Post an ordinary receive, for messages that match no tag. */
static bool post_plain(struct table *t)
{
	struct sge sg = { address_at(t->b->far, t->plain->offset) +
				  t->plain_end % BUFFERS * (u64)BUFFER_BYTES,
			  BUFFER_BYTES, t->plain->key };

	if (!holds(t->b))
		return false;
	memset(buffer_of(t, t->plain, t->plain_end), 0x44, BUFFER_BYTES);
	return post_srq(t->srq, WR_PLAIN + t->plain_end++, &sg, 1);
}

static bool comes_unexpected(struct table *t, u8 opcode, u32 length)
{
	u32 n = t->plain_first++;
	struct wc wc;

	if (opcode == VNET_WC_TM_RECV)
		t->unexpected++;
	if (!comes(t, WR_PLAIN + n, opcode, 0, &wc) ||
	    !ends(t->b, wc.status, VNET_WC_SUCCESS, "an unexpected message"))
		return false;
	want(t->b, wc.byte_len == length, "the length of an unexpected message");
	want(t->b, !memcmp(buffer_of(t, t->plain, n), from_memory(t, 0), length),
	     "an unexpected message has other bytes");
	return holds(t->b);
}

static bool eager(struct table *t, u64 value)
{
	u32 i = fitting(t, value), number = t->tag[i % TAGS].number;
	u32 length = bench_below(t->b, 3) ? bench_below(t->b, BUFFER_BYTES - NIC_TMH_SIZE) :
					    bench_below(t->b, 80);
	struct wc wc;

	write_header(t, EAGER, value);
	bytes_fill(from_memory(t, NIC_TMH_SIZE), length, t->content, 0);
	if (i == t->ntags && t->plain_first == t->plain_end && !post_plain(t))
		return false;
	if (!send(t, NIC_TMH_SIZE + length))
		return false;
	if (i == t->ntags)
		return comes_unexpected(t, VNET_WC_TM_RECV, NIC_TMH_SIZE + length);
	forget_tag(t, i);
	if (!comes(t, WR_TAG + number, VNET_WC_TM_RECV, VNET_WC_TM_MATCH | VNET_WC_TM_DATA_VALID,
		   &wc) ||
	    !ends(t->b, wc.status, VNET_WC_SUCCESS, "a matched message"))
		return false;
	want(t->b, wc.byte_len == length, "the length of a matched message");
	tells(t, value, length);
	holds_data(t, t->to, number, 0, length);
	check_totals.tagged++;
	return holds(t->b);
}

/* Wait for the completions of a rendezvous: match, data, and FIN message at the sender. */
static bool is_fetched(struct table *t, u32 number, u32 length)
{
	struct wc wc;
	u32 status;

	if (!comes(t, WR_TAG + number, VNET_WC_TM_RECV, VNET_WC_TM_MATCH, &wc) ||
	    !ends(t->b, wc.status, VNET_WC_SUCCESS, "a matched announcement") ||
	    !comes(t, WR_TAG + number, VNET_WC_TM_RECV, VNET_WC_TM_DATA_VALID, &wc) ||
	    !ends(t->b, wc.status, VNET_WC_SUCCESS, "a rendezvous' data"))
		return false;
	want(t->b, wc.byte_len == length, "the length of a rendezvous");
	holds_data(t, t->to, number, 0, length);
	status = next_status_of(t->b, t->own_cq, &wc);
	if (!ends(t->b, status, VNET_WC_SUCCESS, "the end of a rendezvous"))
		return false;
	want(t->b, wc.byte_len == NIC_TM_HEADERS && mem(t->b->p, t->b->here)[0] == FIN,
	     "a rendezvous ends otherwise");
	check_totals.tagged++;
	return holds(t->b);
}

static bool rendezvous(struct table *t, u64 value)
{
	u32 i = fitting(t, value), number = t->tag[i % TAGS].number;
	bool fits = bench_below(t->b, 4);
	u32 length = 1 + bench_below(t->b, BUFFER_BYTES) + (fits ? 0 : BUFFER_BYTES);
	/* Bytes behind the headers of an announcement must not be written to a tagged buffer. */
	u32 more = bench_below(t->b, 2) ? 0 : bench_below(t->b, 1500);
	struct sge fin = { address_at(t->b->p, t->b->here), BYTES, t->b->key };
	struct wc wc;

	write_announcement(t, value, length);
	if (i == t->ntags && t->plain_first == t->plain_end && !post_plain(t))
		return false;
	if (i < t->ntags && fits)
		post_recv(t->b->x, 1, &fin, 1);
	if (!send(t, NIC_TM_HEADERS + more))
		return false;
	if (i == t->ntags)
		return comes_unexpected(t, VNET_WC_TM_RECV, NIC_TM_HEADERS + more);
	forget_tag(t, i);
	if (fits)
		return is_fetched(t, number, length);
	if (!comes(t, WR_TAG + number, VNET_WC_TM_RECV, VNET_WC_TM_MATCH, &wc) ||
	    !ends(t->b, wc.status, VNET_WC_TM_RNDV_INCOMPLETE, "a rendezvous that is too long"))
		return false;
	want(t->b, !memcmp(buffer_of(t, t->to, number), from_memory(t, 0), NIC_TM_HEADERS),
	     "the announcement of a rendezvous that is too long");
	return holds(t->b);
}

/* A message without a complete header, or with opcode NO_TAG, uses an ordinary receive. */
static bool untagged(struct table *t)
{
	u32 length = bench_below(t->b, 2) ? bench_below(t->b, NIC_TMH_SIZE) : 1000;

	write_header(t, NO_TAG, 1);
	bytes_fill(from_memory(t, NIC_TMH_SIZE), 1000, t->content, 0);
	if (t->plain_first == t->plain_end && !post_plain(t))
		return false;
	return send(t, length) && comes_unexpected(t, VNET_WC_TM_NO_TAG, length);
}

/* A message longer than the tagged buffer fails the connection. */
static void too_long(struct table *t)
{
	struct bench *b = t->b;
	u32 i = fitting(t, 0x10);
	u32 length = BUFFER_BYTES + 1000;
	struct sge sg = { address_at(b->p, t->from->offset), NIC_TMH_SIZE + length, t->from->key };
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 1);

	if (i == t->ntags || !holds(b))
		return;
	write_header(t, EAGER, 0x10);
	post_send(b->x, &wqe, &sg, 1);
	ring_qp(b->x);
	ends(b, next_status(b, NULL), VNET_WC_REM_INV_REQ_ERR, "a message longer than its buffer");
}

/*
 * Interrupt a message of several frames: the receiver's or the sender's queue pair fails or is
 * reset.
 */
static void cut_short(struct table *t)
{
	struct bench *b = t->b;
	struct sge sg = { address_at(b->p, t->from->offset), NIC_TMH_SIZE + 2000, t->from->key };
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 1);
	bool away = bench_below(b, 2);

	if (!holds(b) || (t->plain_first == t->plain_end && !post_plain(t)))
		return;
	write_header(t, EAGER, 0x10 + bench_below(b, 8));
	post_send(b->x, &wqe, &sg, 1);
	ring_qp(b->x);
	sleep_for(b->p, bench_below(b, 20000));
	if (holds(b))
		set_state(away ? b->y : b->x, bench_below(b, 2) ? NIC_QPS_ERR : NIC_QPS_RESET);
	sleep_for(b->p, bench_below(b, 100000));
}

/*
 * Post a SYNC operation, and ring the doorbell only after a message. The message must be matched
 * against the list without the operation, as only the process executes signaled operations.
 */
static bool behind(struct table *t, bool (*message)(struct table *t))
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_SYNC, .flags = VNET_TM_OP_SIGNALED };
	u32 i, seen = t->unexpected;

	op.wr_id = WR_OP;
	op.unexpected = seen;
	post_tag(t->srq, &op);
	if (!message(t) || !is_done(t, VNET_WC_SUCCESS, "an operation on tags, afterwards"))
		return false;
	t->handled = seen;
	for (i = 0; i < t->ntags && seen == t->unexpected; i++)
		t->tag[i].parked = false;
	return true;
}

static bool one_message(struct table *t)
{
	u64 value = 0x10 + bench_below(t->b, 5);

	t->content = random_next(&t->b->actor->random);
	switch (bench_below(t->b, 5)) {
	case 0:
		return untagged(t);
	case 1:
	case 2:
		return rendezvous(t, value);
	default:
		return eager(t, value);
	}
}

static bool one_round(struct table *t)
{
	bool syncs = t->handled != t->unexpected && bench_below(t->b, 4);
	bool by_addition = syncs && t->free && t->ntags < TAGS && bench_below(t->b, 2);
	u32 i, n = 1 + bench_below(t->b, 3);

	if (syncs && !catch_up(t, by_addition))
		return false;
	for (i = 0; i < n; i++) {
		if (!add_tag(t, !bench_below(t->b, 4), by_addition && !i))
			return false;
	}
	if (!bench_below(t->b, 4) && !delete_tag(t))
		return false;
	if (!bench_below(t->b, 6) && !wrong_operation(t))
		return false;
	n = 1 + bench_below(t->b, MESSAGES);
	for (i = 0; i < n; i++) {
		if (bench_below(t->b, 5) ? !one_message(t) : !behind(t, one_message))
			return false;
	}
	return true;
}

void tagged_messages(struct bench *b)
{
	struct table t;
	u32 i;

	if (!table_make(&t, b))
		return;
	for (i = 0; i < ROUNDS; i++) {
		if (!one_round(&t))
			return;
	}
	if (bench_below(b, 2))
		too_long(&t);
	else
		cut_short(&t);
}
