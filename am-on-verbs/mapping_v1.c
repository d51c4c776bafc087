// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * v1, the paper's first (003, section 4): three queue pairs per connection, one for
 * each class of messages, each with its own receives; a message, request or reply,
 * goes over that of its class. No RDMA for messages: bulk data travel in messages.
 *
 * A bulk transfer is cut into fragments of up to 4 KiB. The last travels behind the
 * message itself, which is the only one that the core sees, and has the slot's
 * credit. Those before it are the mapping's own: k of them may be under way in a
 * direction of a connection, and each half of those is acknowledged by the receiving
 * mapping, when it has copied them into the segment and posted their receives again.
 * An acknowledgement needs no credit. So the receives of a queue pair are
 *
 *   short, medium   k requests, k answers, and one more, because a request's is posted
 *                   again only after its handler, whose reply may have brought another
 *   bulk            the same, k fragments, and two acknowledgements, as there are not
 *                   more halves of k under way
 *
 * and whatever is sent finds one.
 *
 * Unlike those of the other mappings, a transfer of more than one fragment needs the
 * polls of both sides until its last is sent. Whoever waits for that polls, in a
 * handler as well: two that wait for each other go on. But a thread that sends from
 * one of its bundles to another has to do that asynchronously, and to poll both. And
 * messages of different classes may overtake each other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "am_two_cqs.h"

#define WRITES 4u /* work requests of the core's */
#define FRAGMENT_MAX 4096u
#define ACKS 2u /* under way */
/* In a wr_id: */
#define WR_BOARD 4u /* a write to the other side's board */
#define WR_ACK 8u /* an acknowledgement of fragments */
#define QUEUES AM_NUM_CLASSES
#define SEQUENCE_ACKS (AM_BULK + 1) /* they overtake the fragments that wait for others */

static_assert((int)SEQUENCE_ACKS == (int)QUEUES && SEQUENCE_ACKS < AM_MAX_SEQUENCES,
	      "each queue's, and that of the acknowledgements");

/* What is sent over the bulk queue pair beside messages begins with one of these. */
enum own_what { OWN_FRAGMENT = 0x80, OWN_ACK };

static_assert((int)OWN_FRAGMENT > (int)AM_NUM_WHATS, "it is told from a message");

struct fragment {
	uint8_t what; /* enum own_what */
	uint8_t slot;
	uint8_t reply; /* 1: of the reply in that slot */
	uint8_t unused;
	uint32_t nbytes;
	uint64_t offset; /* in the segment */
	uint8_t data[];
};

/* Its buffers begin on cache lines. */
#define FRAGMENT_STRIDE ((sizeof(struct fragment) + FRAGMENT_MAX + 63) / 64 * 64)
/* A receive buffer for short messages ends here: the longest acknowledges many slots. */
#define SHORT_BYTES 320u
#define SHORT_STRIDE (offsetof(struct am_buffer, bytes) + SHORT_BYTES)

static_assert(sizeof(struct am_message) + 4 * AM_MAX_CREDITS <= SHORT_BYTES &&
		      sizeof(struct am_message) + 4 * AM_MAX_WORDS <= SHORT_BYTES,
	      "short messages find room");
static_assert(sizeof(struct am_message) + 4 * AM_MAX_WORDS + 8 + FRAGMENT_MAX <=
		      sizeof(((struct am_buffer *)0)->bytes),
	      "a bulk message and the last fragment find room behind each other");
static_assert(FRAGMENT_STRIDE <= sizeof(((struct am_buffer *)0)->bytes), "a fragment does");

struct queue {
	_Alignas(16) struct am_conn *conn; /* its address has room for the flags of a wr_id */
	uint32_t sent, done; /* work requests */
	uint32_t depth;
	struct am_sequence *sequence; /* of its messages; the next one is of acknowledgements */
};

/* What is left of a bulk transfer, to be sent. */
struct transfer {
	struct transfer *next;
	const uint8_t *source;
	size_t left;
	uint64_t offset; /* in the segment */
	uint8_t slot;
	bool reply;
	bool queued;
};

/* What has come of one. */
struct incoming {
	uint64_t offset; /* in the segment, of the first fragment */
	uint32_t nbytes; /* 0: nothing */
	bool outside; /* some of it was not within the segment */
};

struct v1 {
	struct queue queue[QUEUES];
	unsigned int boards; /* writes of the board that have not completed */

	struct transfer transfer[2][AM_MAX_CREDITS]; /* requests', replies' */
	struct transfer *first, **last; /* of those that are queued */
	unsigned int half; /* fragments that are acknowledged together */
	unsigned int unacknowledged; /* that were sent */
	unsigned int next_fragment; /* whose buffer is the next */
	uint8_t *fragments; /* buffers to send them from */

	struct incoming incoming[2][AM_MAX_CREDITS];
	unsigned int taken; /* fragments, since the last acknowledgement */
	unsigned int acks; /* that are due */
	struct fragment *ack; /* they are all the same */
};

static unsigned int receives(const struct am_conn *conn, unsigned int class)
{
	unsigned int credits = conn->mine.credits;

	return 2 * credits + 1 + (class == AM_BULK ? credits + ACKS : 0);
}

static size_t stride(unsigned int class)
{
	return class == AM_SHORT ? SHORT_STRIDE : sizeof(struct am_buffer);
}

static size_t v1_memory(const struct am_conn *conn)
{
	size_t size = conn->mine.credits * FRAGMENT_STRIDE + sizeof(struct fragment);

	for (unsigned int i = 0; i < QUEUES; i++)
		size += receives(conn, i) * stride(i);
	return size;
}

static struct am_qp_needs needs_of(const struct am_conn *conn, unsigned int class)
{
	unsigned int credits = conn->mine.credits, sends = 2 * credits;

	if (class == AM_SHORT)
		sends += WRITES;
	if (class == AM_BULK)
		sends += credits + ACKS;
	return (struct am_qp_needs){ .send_cq = conn->eb->scq,
				     .recv_cq = conn->eb->rcq,
				     .max_send_wr = sends,
				     .max_recv_wr = receives(conn, class),
				     .sq_sig_all = true };
}

static void post_receive(struct am_conn *conn, struct am_buffer *buffer)
{
	unsigned int class = buffer->index;
	struct ibv_sge sge = { .addr = (uintptr_t)buffer->bytes,
			       .length = (uint32_t)(stride(class) -
						    offsetof(struct am_buffer, bytes)),
			       .lkey = conn->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)buffer, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (conn->state == AM_BROKEN)
		return;
	am_cost_begin(AM_COST_POST_RECV);
	if (!ibv_post_recv(conn->qp[class], &wr, &bad))
		conn->rq_posted++;
	am_cost_end(AM_COST_POST_RECV);
}

/* Posts the receives of a class to buffers at @memory; what is behind them. */
static uint8_t *post_receives(struct am_conn *conn, unsigned int class, uint8_t *memory)
{
	for (unsigned int i = 0; i < receives(conn, class); i++) {
		struct am_buffer *buffer = (struct am_buffer *)(void *)memory;

		buffer->conn = conn;
		buffer->index = class;
		post_receive(conn, buffer);
		memory += stride(class);
	}
	return memory;
}

/* The first @n of them. */
static void free_queues(struct am_conn *conn, unsigned int n)
{
	while (n--) {
		struct am_qp_needs needs = needs_of(conn, n);

		am_qp_free(conn, conn->qp[n], &needs);
	}
}

static int make_queues(struct am_conn *conn, struct v1 *v1)
{
	int err;

	for (unsigned int i = 0; i < QUEUES; i++) {
		struct am_qp_needs needs = needs_of(conn, i);

		conn->qp[i] = am_qp_make(conn, &needs, NULL);
		if (!conn->qp[i]) {
			err = errno;
			free_queues(conn, i);
			return err;
		}
		v1->queue[i].conn = conn;
		v1->queue[i].sequence = &conn->sq[i];
		v1->queue[i].depth = needs.max_send_wr;
		conn->mine.qpn[i] = conn->qp[i]->qp_num;
	}
	return 0;
}

static int v1_open(struct am_conn *conn, void *memory)
{
	struct v1 *v1 = calloc(1, sizeof(*v1));
	uint8_t *at = memory;
	int err;

	if (!v1)
		return ENOMEM;
	err = make_queues(conn, v1);
	if (err) {
		free(v1);
		return err;
	}
	conn->private = v1;
	v1->last = &v1->first;
	for (unsigned int i = 0; i < QUEUES; i++)
		at = post_receives(conn, i, at);
	v1->fragments = at;
	v1->ack = (struct fragment *)(void *)(at + conn->mine.credits * FRAGMENT_STRIDE);
	v1->ack->what = OWN_ACK;
	return 0;
}

static int v1_connect(struct am_conn *conn)
{
	struct v1 *v1 = conn->private;
	int err = 0;

	v1->half = (conn->credits + 1) / 2;
	for (unsigned int i = 0; i < QUEUES && !err; i++)
		err = am_qp_connect(conn, conn->qp[i], conn->theirs.qpn[i]);
	return err;
}

static bool has_room(const struct queue *queue)
{
	return queue->sent - queue->done < queue->depth;
}

static int post(struct am_conn *conn, unsigned int class, struct ibv_send_wr *wr)
{
	struct v1 *v1 = conn->private;
	int err;

	wr->wr_id |= (uintptr_t)&v1->queue[class] | AM_WR_SEND;
	err = am_post(conn->qp[class], wr);
	if (!err)
		v1->queue[class].sent++;
	return err;
}

static int post_message(struct am_conn *conn, unsigned int class, uint64_t flags,
			const void *message, size_t size)
{
	struct ibv_sge sge = { .addr = (uintptr_t)message,
			       .length = (uint32_t)size,
			       .lkey = conn->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = flags,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SOLICITED };

	return post(conn, class, &wr);
}

static void copy(void *to, const void *from, size_t nbytes)
{
	am_cost_begin(AM_COST_COPY_DATA);
	if (nbytes)
		memcpy(to, from, nbytes);
	am_cost_end(AM_COST_COPY_DATA);
}

/* Its buffer was that of the fragment k before, which has been acknowledged. */
static int send_fragment(struct am_conn *conn, struct transfer *t)
{
	struct v1 *v1 = conn->private;
	uint8_t *buffer = v1->fragments + v1->next_fragment * FRAGMENT_STRIDE;
	struct fragment *f = (struct fragment *)(void *)buffer;
	int err;

	*f = (struct fragment){ .what = OWN_FRAGMENT,
				.slot = t->slot,
				.reply = t->reply,
				.nbytes = FRAGMENT_MAX,
				.offset = t->offset };
	copy(f->data, t->source, FRAGMENT_MAX);
	err = post_message(conn, AM_BULK, 0, f, sizeof(*f) + FRAGMENT_MAX);
	if (err)
		return err;
	t->source += FRAGMENT_MAX;
	t->offset += FRAGMENT_MAX;
	t->left -= FRAGMENT_MAX;
	v1->next_fragment = (v1->next_fragment + 1) % conn->credits;
	v1->unacknowledged++;
	return 0;
}

static int send_last(struct am_conn *conn, struct transfer *t)
{
	struct am_message *m = t->reply ? am_reply_buffer(conn, t->slot) :
					  am_request_buffer(conn, t->slot);
	size_t size = am_message_size(m);
	struct v1 *v1 = conn->private;

	copy((char *)m + size, t->source, t->left);
	t->queued = false;
	v1->first = t->next;
	if (!v1->first)
		v1->last = &v1->first;
	return post_message(conn, AM_BULK, 0, m, size + t->left);
}

/* The next of what is to be sent over the bulk queue pair. 0, errno, or EAGAIN: not now. */
static int send_next(struct am_conn *conn)
{
	struct v1 *v1 = conn->private;
	struct transfer *t = v1->first;

	if (conn->state == AM_BROKEN || !has_room(&v1->queue[AM_BULK]))
		return EAGAIN;
	if (v1->acks) {
		v1->acks--;
		return post_message(conn, AM_BULK, WR_ACK, v1->ack, sizeof(*v1->ack));
	}
	/* What was written on the board over another queue pair is there before it. */
	if (!t || v1->boards)
		return EAGAIN;
	if (t->left <= FRAGMENT_MAX)
		return send_last(conn, t);
	return v1->unacknowledged < conn->credits ? send_fragment(conn, t) : EAGAIN;
}

/* Sends what can be sent; waits for nothing. */
static void pump(struct am_conn *conn)
{
	int err;

	do
		err = send_next(conn);
	while (!err);
	if (err != EAGAIN)
		am_conn_broken(conn, EUNREACHABLE);
}

/* Whether such a transfer may come now. */
static bool expected(const struct am_conn *conn, unsigned int slot, bool reply)
{
	if (slot >= conn->credits)
		return false;
	return reply ? am_slot_waits(conn, slot) : !conn->replying[slot];
}

/* Into the segment, as far as that is where the other side believes. */
static void place(struct am_conn *conn, struct incoming *in, uint64_t offset, const void *data,
		  size_t nbytes)
{
	const struct am_ep *ep = conn->ep;

	if (offset > ep->segment_length || nbytes > ep->segment_length - offset)
		in->outside = true;
	else
		copy((char *)ep->segment + offset, data, nbytes);
}

static bool take_fragment(struct am_conn *conn, const struct fragment *f, uint32_t length)
{
	struct v1 *v1 = conn->private;
	struct incoming *in;

	if (length != sizeof(*f) + FRAGMENT_MAX || f->nbytes != FRAGMENT_MAX || f->reply > 1 ||
	    !expected(conn, f->slot, f->reply))
		return false;
	in = &v1->incoming[f->reply][f->slot];
	if (!in->nbytes)
		in->offset = f->offset;
	if (f->offset != in->offset + in->nbytes || in->nbytes >= AM_MAX_LONG)
		return false;
	place(conn, in, f->offset, f->data, FRAGMENT_MAX);
	in->nbytes += FRAGMENT_MAX;
	return true;
}

static void acknowledge_fragment(struct am_conn *conn)
{
	struct v1 *v1 = conn->private;

	if (++v1->taken < v1->half)
		return;
	v1->taken = 0;
	v1->acks++;
	conn->sq[SEQUENCE_ACKS].sent++;
	pump(conn);
}

static bool got_acknowledgement(struct am_conn *conn)
{
	struct v1 *v1 = conn->private;

	if (v1->unacknowledged < v1->half)
		return false;
	v1->unacknowledged -= v1->half;
	pump(conn);
	return true;
}

/* The message that ends a transfer, and the rest of the data, in @buffer. */
static bool take_last(struct am_conn *conn, struct am_buffer *buffer, uint32_t length)
{
	static const uint64_t nowhere = UINT64_MAX;
	struct am_message *m = &buffer->message;
	size_t size = am_message_size(m), rest = length - size;
	bool reply = m->what == AM_REPLY;
	struct v1 *v1 = conn->private;
	struct incoming *in;

	if (size > length || !am_message_ok(m, size) || (!reply && m->what != AM_REQUEST) ||
	    !expected(conn, m->slot, reply))
		return false;
	in = &v1->incoming[reply][m->slot];
	if (rest > FRAGMENT_MAX || in->nbytes + rest != m->nbytes ||
	    (in->nbytes && in->offset != am_message_offset(m)))
		return false;
	place(conn, in, am_message_offset(m) + in->nbytes, buffer->bytes + size, rest);
	/* The core finds that it is nowhere in the segment, which may be another by now. */
	if (in->outside)
		memcpy(am_message_tail(m), &nowhere, sizeof(nowhere));
	*in = (struct incoming){ 0 };
	return true;
}

/* Whether @m answers a request that has not been sent to its end. */
static bool premature(const struct am_conn *conn, const struct am_message *m, uint32_t length)
{
	const struct v1 *v1 = conn->private;

	if (!v1->first || !am_message_ok(m, length))
		return false;
	if (m->what == AM_REPLY || m->what == AM_REFUSAL)
		return m->slot < conn->credits && v1->transfer[false][m->slot].queued;
	for (unsigned int i = 0; m->what == AM_ACK && i < m->nargs; i++) {
		unsigned int slot = (unsigned int)m->args[i];

		if (slot < conn->credits && v1->transfer[false][slot].queued)
			return true;
	}
	return false;
}

/* What came over the bulk queue pair. False: that cannot be. */
static bool take_bulk(struct am_conn *conn, struct am_buffer *buffer, uint32_t length)
{
	const struct fragment *f = (const struct fragment *)(const void *)buffer->bytes;
	struct am_message *m = &buffer->message;

	if (f->what == OWN_FRAGMENT) {
		conn->heard = conn->eb->clock;
		if (!take_fragment(conn, f, length))
			return false;
		post_receive(conn, buffer);
		acknowledge_fragment(conn);
		return true;
	}
	if (f->what == OWN_ACK) {
		conn->heard = conn->eb->clock;
		post_receive(conn, buffer);
		return length == sizeof(*f) && got_acknowledgement(conn);
	}
	if (m->class != AM_BULK || !take_last(conn, buffer, length))
		return false;
	length = (uint32_t)am_message_size(m);
	if (premature(conn, m, length))
		return false;
	am_arrival(conn, buffer, length);
	return true;
}

static bool take(struct am_conn *conn, struct am_buffer *buffer, uint32_t length)
{
	const struct am_message *m = &buffer->message;

	if (length < sizeof(*m))
		return false;
	if (buffer->index == AM_BULK)
		return take_bulk(conn, buffer, length);
	if (m->class != buffer->index || premature(conn, m, length))
		return false;
	am_arrival(conn, buffer, length);
	return true;
}

static void received(struct am_eb *eb, const struct ibv_wc *wc)
{
	struct am_buffer *buffer = (struct am_buffer *)(uintptr_t)wc->wr_id;
	struct am_conn *conn = buffer->conn;

	(void)eb;
	conn->rq_posted--;
	if (conn->state == AM_BROKEN)
		return;
	if (wc->status != IBV_WC_SUCCESS || !take(conn, buffer, wc->byte_len))
		am_conn_broken(conn, EUNREACHABLE);
}

static void sent(struct am_eb *eb, const struct ibv_wc *wc)
{
	uint64_t flags = AM_WR_SEND | WR_BOARD | WR_ACK;
	struct queue *queue = (struct queue *)(uintptr_t)(wc->wr_id & ~flags);
	struct am_conn *conn = queue->conn;
	struct v1 *v1 = conn->private;

	(void)eb;
	am_cost_begin(AM_COST_RECYCLE_SEND);
	queue->done++;
	queue->sequence[(wc->wr_id & WR_ACK) != 0].done++;
	if (wc->wr_id & WR_BOARD)
		v1->boards--;
	if (wc->status != IBV_WC_SUCCESS)
		am_conn_broken(conn, EUNREACHABLE);
	am_cost_end(AM_COST_RECYCLE_SEND);
	if (v1->first || v1->acks)
		pump(conn);
}

/* Called where there is no room as well: a copy of its own for each would not be inlined. */
static int poll_sends(struct am_eb *eb)
{
	return am_poll_cq(eb, eb->scq, AM_COST_POLL_SEND, sent);
}

static int v1_poll(struct am_eb *eb)
{
	int n = am_poll_cq(eb, eb->rcq, AM_COST_POLL_RECV, received);

	return n + poll_sends(eb);
}

/* False: it is broken, and what was outstanding has been returned. */
static bool wait_for_room(struct am_conn *conn, unsigned int class)
{
	struct v1 *v1 = conn->private;

	/* What was written on the board over another queue pair is there before it. */
	while (conn->state != AM_BROKEN &&
	       (!has_room(&v1->queue[class]) || (class != AM_SHORT && v1->boards)))
		poll_sends(conn->eb);
	return conn->state != AM_BROKEN;
}

static int v1_write(struct am_conn *conn, const void *source, size_t size, uint64_t address,
		    uint32_t rkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)source,
			       .length = (uint32_t)size,
			       .lkey = conn->mr->lkey };
	struct ibv_send_wr write = { .wr_id = size ? WR_BOARD : 0,
				     .sg_list = &sge,
				     .num_sge = size ? 1 : 0,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .wr.rdma = { .remote_addr = address, .rkey = rkey } };
	struct v1 *v1 = conn->private;
	int err;

	if (!wait_for_room(conn, AM_SHORT))
		return EIO;
	err = post(conn, AM_SHORT, &write);
	if (err)
		return err;
	conn->sq[AM_SHORT].sent++;
	v1->boards += size ? 1 : 0;
	return 0;
}

/* If it has died, it will acknowledge nothing; a write to it fails. */
static void probe(struct am_conn *conn)
{
	uint64_t silence = (uint64_t)am_settings.keepalive * 1000000u;
	uint64_t now = conn->eb->clock;

	if (now - conn->heard < silence || now - conn->probed < silence)
		return;
	conn->probed = now;
	v1_write(conn, conn->memory, 0, conn->theirs.board, conn->theirs.board_rkey);
}

/* Until all of it has been copied, and posted. */
static void wait_for_transfer(struct am_conn *conn, const struct transfer *t)
{
	while (t->queued && conn->state != AM_BROKEN) {
		if (am_drain(conn->eb))
			continue;
		probe(conn);
		am_let_others(conn->eb);
	}
}

static int send_bulk(struct am_conn *conn, unsigned int slot, bool reply,
		     const struct am_message *m, const struct am_bulk *bulk)
{
	struct v1 *v1 = conn->private;
	struct transfer *t = &v1->transfer[reply][slot];

	*t = (struct transfer){ .source = bulk->source,
				.left = bulk->nbytes,
				.offset = am_message_offset(m),
				.slot = (uint8_t)slot,
				.reply = reply,
				.queued = true };
	*v1->last = t;
	v1->last = &t->next;
	/* Counted now, so that who waits for what was sent waits for what will be. */
	conn->sq[AM_BULK].sent += bulk->nbytes ? (uint32_t)((bulk->nbytes - 1) / FRAGMENT_MAX + 1) :
						 1;
	pump(conn);
	if (!bulk->async)
		wait_for_transfer(conn, t);
	return 0;
}

static int v1_send(struct am_conn *conn, unsigned int slot, bool reply, size_t size,
		   const struct am_bulk *bulk)
{
	struct am_message *m = reply ? am_reply_buffer(conn, slot) : am_request_buffer(conn, slot);
	unsigned int class = m->class;
	int err;

	if (bulk)
		return send_bulk(conn, slot, reply, m, bulk);
	if (!wait_for_room(conn, class))
		return 0;
	err = post_message(conn, class, 0, m, size);
	if (!err)
		conn->sq[class].sent++;
	return err;
}

static void v1_release(struct am_conn *conn, struct am_buffer *buffer)
{
	am_cost_begin(AM_COST_RECYCLE_RECV);
	post_receive(conn, buffer);
	am_cost_end(AM_COST_RECYCLE_RECV);
}

static bool flushed(const struct am_conn *conn)
{
	const struct v1 *v1 = conn->private;
	bool all = !conn->rq_posted;

	for (unsigned int i = 0; i < QUEUES; i++)
		all = all && v1->queue[i].sent == v1->queue[i].done;
	return all;
}

/* Not before all that was posted has completed: completions name the connection. */
static void v1_close(struct am_conn *conn)
{
	uint64_t end = am_now() + AM_FLUSH_NS;

	while (!flushed(conn) && am_now() < end)
		v1_poll(conn->eb);
	free_queues(conn, QUEUES);
	free(conn->private);
}

const struct am_mapping am_mapping_v1 = {
	.name = "v1",
	.about = "three queue pairs per connection, one for each class; no RDMA for messages",
	.max_credits = AM_MAX_CREDITS,
	.open_bundle = am_two_cqs_open,
	.close_bundle = am_two_cqs_close,
	.memory = v1_memory,
	.open = v1_open,
	.connect = v1_connect,
	.close = v1_close,
	.send = v1_send,
	.write = v1_write,
	.poll = v1_poll,
	.release = v1_release,
};
