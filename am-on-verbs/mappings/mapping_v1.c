// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Mapping v1 (paper 003, section 4): three queue pairs per connection, one per class of
 * messages.
 *
 * Each queue pair has its own receives. A message, request or reply, uses the queue pair of
 * its class. There is no RDMA for messages: bulk data are sent in messages.
 *
 * A bulk transfer is cut into fragments of up to 4 KiB. The last fragment is sent behind
 * the message itself, which has the slot's credit, and is the only one that the core sees.
 * The fragments before it are internal to the mapping. At most k of them may be
 * unacknowledged in each direction of a connection. The receiver acknowledges each k/2 of
 * them, after it has copied them into the segment and reposted their receives. An
 * acknowledgement needs no credit. With these numbers of receives, a send always finds one:
 *
 *   short, medium   k requests, k answers, and one more, because a request's receive is
 *                   reposted after its handler, whose reply may have caused another
 *   bulk            the same, k fragments, and two acknowledgements, because k
 *                   fragments are not more than two halves
 *
 * A transfer of more than one fragment, unlike those of the other mappings, needs polls on
 * both sides until its last fragment is sent. A sender that waits for that polls, even in a
 * handler, so two processes that wait for each other make progress. But a thread that sends
 * from one of its bundles to another must send asynchronously, and poll both. Messages of
 * different classes may overtake each other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "am_two_cqs.h"

#define WRITES 4u /* work requests for the core's RDMA writes */
#define FRAGMENT_MAX 4096u
#define ACKS 2u /* maximum in flight */
/* Flags in a wr_id: */
#define WR_BOARD 4u /* a write to the peer's board */
#define WR_ACK 8u /* an acknowledgement of fragments */
#define QUEUES AM_NUM_CLASSES
#define SEQUENCE_ACKS (AM_BULK + 1) /* separate, because they may be sent before queued fragments */

static_assert((int)SEQUENCE_ACKS == (int)QUEUES && SEQUENCE_ACKS < AM_MAX_SEQUENCES,
	      "each queue's, and that of the acknowledgements");

/* First byte of the mapping's own messages on the bulk queue pair. */
enum own_what { OWN_FRAGMENT = 0x80, OWN_ACK };

static_assert((int)OWN_FRAGMENT > (int)AM_NUM_WHATS, "it is told from a message");

struct fragment {
	uint8_t what; /* enum own_what */
	uint8_t slot;
	uint8_t reply; /* 1: part of the reply in that slot, not of the request */
	uint8_t unused;
	uint32_t nbytes;
	uint64_t offset; /* into the segment */
	uint8_t data[];
};

/* Send buffers of fragments begin on cache lines. */
#define FRAGMENT_STRIDE ((sizeof(struct fragment) + FRAGMENT_MAX + 63) / 64 * 64)
/* Size of a receive buffer for short messages. The longest is an acknowledgement of many slots. */
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
	/* aligned, so that the low bits of its address can be flags in a wr_id */
	_Alignas(16) struct am_conn *conn;
	uint32_t sent, done; /* counts of work requests */
	uint32_t depth;
	/* of its messages; for the bulk queue, the next one counts acknowledgements */
	struct am_sequence *sequence;
};

/* A bulk transfer that is being sent. */
struct transfer {
	struct transfer *next;
	const uint8_t *source;
	size_t left;
	uint64_t offset; /* into the segment */
	uint8_t slot;
	bool reply;
	bool queued;
};

/* A bulk transfer that is being received. */
struct incoming {
	uint64_t offset; /* offset of the first fragment in the segment */
	uint32_t nbytes; /* bytes received so far */
	bool outside; /* some data were not within the segment */
};

struct v1 {
	struct queue queue[QUEUES];
	unsigned int boards; /* uncompleted writes to the peer's board */

	struct transfer transfer[2][AM_MAX_CREDITS]; /* of requests, of replies */
	struct transfer *first, **last; /* queue of transfers to be sent */
	unsigned int half; /* fragments per acknowledgement */
	unsigned int unacknowledged; /* fragments sent and not acknowledged */
	unsigned int next_fragment; /* index of the next send buffer */
	uint8_t *fragments; /* send buffers of fragments */

	struct incoming incoming[2][AM_MAX_CREDITS];
	unsigned int taken; /* fragments received since the last acknowledgement */
	unsigned int acks; /* acknowledgements to be sent */
	struct fragment *ack; /* the only one: all acknowledgements have the same contents */
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

/* Posts the receives of a class, with buffers from @memory on. Returns the end of the buffers. */
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

/* Frees the first @n queue pairs. */
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

/* Sends one fragment. Its buffer is free: the fragment k before it has been acknowledged. */
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

/* Sends the next message on the bulk queue pair. 0, errno, or EAGAIN if nothing can be sent now. */
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
	/* A transfer must not overtake a write to the board, which uses another queue pair. */
	if (!t || v1->boards)
		return EAGAIN;
	if (t->left <= FRAGMENT_MAX)
		return send_last(conn, t);
	return v1->unacknowledged < conn->credits ? send_fragment(conn, t) : EAGAIN;
}

/* Sends all that can be sent without waiting. */
static void pump(struct am_conn *conn)
{
	int err;

	do
		err = send_next(conn);
	while (!err);
	if (err != EAGAIN)
		am_conn_broken(conn, EUNREACHABLE);
}

/* Whether the protocol allows data for that slot now. */
static bool expected(const struct am_conn *conn, unsigned int slot, bool reply)
{
	if (slot >= conn->credits)
		return false;
	return reply ? am_slot_waits(conn, slot) : !conn->replying[slot];
}

/* Copies data into the segment, if they are within it. */
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

/* Handles the message that ends a transfer, with the rest of the data, in @buffer. */
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
	/*
	 * The core checks the offset and will refuse this one. The segment may have changed
	 * meanwhile.
	 */
	if (in->outside)
		memcpy(am_message_tail(m), &nowhere, sizeof(nowhere));
	*in = (struct incoming){ 0 };
	return true;
}

/* Whether @m answers a request that has not been sent completely. */
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

/* Handles a receive of the bulk queue pair. False: the peer violates the protocol. */
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

/* One instance for both callers, so that the compiler inlines sent() into it. */
static int poll_sends(struct am_eb *eb)
{
	return am_poll_cq(eb, eb->scq, AM_COST_POLL_SEND, sent);
}

static int v1_poll(struct am_eb *eb)
{
	int n = am_poll_cq(eb, eb->rcq, AM_COST_POLL_RECV, received);

	return n + poll_sends(eb);
}

/*
 * Waits until the send queue has room. False: the connection is broken, and its outstanding
 * requests have been returned.
 */
static bool wait_for_room(struct am_conn *conn, unsigned int class)
{
	struct v1 *v1 = conn->private;

	/* A message must not overtake a write to the board, which uses another queue pair. */
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

/* Writes to a silent peer. If the peer's process has died, the write fails. */
static void probe(struct am_conn *conn)
{
	uint64_t silence = (uint64_t)am_settings.keepalive * 1000000u;
	uint64_t now = conn->eb->clock;

	if (now - conn->heard < silence || now - conn->probed < silence)
		return;
	conn->probed = now;
	v1_write(conn, conn->memory, 0, conn->theirs.board, conn->theirs.board_rkey);
}

/* Waits until all data of the transfer have been copied and posted, or the connection breaks. */
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
	/* Counted in advance, so that a drain also waits for fragments that are not yet posted. */
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

/* Waits until all posted work requests have completed, because completions point to @conn. */
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
