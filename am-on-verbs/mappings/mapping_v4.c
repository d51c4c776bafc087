// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Mapping v4: one queue pair per connection, and the features of today's verbs for the
 * lowest cost.
 *
 *   one completion queue      one poll finds all completions
 *   shared receive queue      buffers belong to the bundle, not to connections, and are
 *                             reposted several at a time
 *   inline data               a short message is part of the work request
 *   selective signaling       one send of several asks for a completion; the answer to a
 *                             request frees its send buffer
 *   64-bit immediates         if the device has them (vnetdv), the immediate is the first
 *                             8 bytes of the header, so the payload is 8 bytes shorter. For
 *                             a bulk transfer without words, the immediate is the whole
 *                             message, so the transfer is a single work request
 *   receiver not ready        with the setting "rnr", the bundle has a fixed number of
 *                             buffers for all its connections, and RNR NAKs delay the
 *                             senders (paper 003, section 8.2 b)
 */
#include <errno.h>
#include <infiniband/vnetdv.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "am_one_qp.h"
#include "am_two_cqs.h"

#define SRQ_MAX 16384u
#define CHUNK 64u /* minimum number of buffers to add */
#define GIVE_BACK 8u /* number of receives posted together */
#define INLINE 128u

/*
 * Receives are posted with this offset. If the first 8 bytes of the header are the
 * immediate, the rest of the message arrives where it belongs, behind them. A message with
 * a complete header begins at this offset.
 */
#define HEAD 8u

static_assert(offsetof(struct am_message, tag) == HEAD, "the immediate is all before the tag");
static_assert(HEAD + AM_MESSAGE_MAX <= sizeof(((struct am_buffer *)0)->bytes),
	      "a message with its header has room");

/* Format of an immediate that replaces the message of a bulk transfer. */
#define BULK_FLAG 0x80u /* in the lowest byte, with enum am_what; then handler and slot */
#define BULK_OFFSET_SHIFT 24 /* offset into the segment */
#define BULK_OFFSET_MAX ((1ull << 40) - 1)

/* A chunk of receive buffers. Freed with the bundle. */
struct chunk {
	struct chunk *next;
	struct ibv_mr *mr;
	void *memory;
	size_t size;
};

struct v4 {
	struct vnetdv_ops dv;
	bool imm64; /* the device has 64-bit immediates, and the setting allows them */
	unsigned int capacity; /* of the shared receive queue */
	unsigned int buffers; /* allocated buffers */
	unsigned int wanted; /* buffers that the connections need */
	struct chunk *chunks;
	unsigned int nback; /* buffers waiting to be reposted */
	/* Prepared work requests; only the fields that vary are set for each use. */
	struct ibv_recv_wr wr[GIVE_BACK]; /* a linked list */
	struct ibv_sge sge[GIVE_BACK];
	struct ibv_send_wr send;
	struct ibv_sge send_sge;
	/* Cache of the last lookup: the next message often comes by the same queue pair. */
	uint32_t last_qpn;
	struct am_conn *last_conn;
};

static void give_back(struct am_eb *eb)
{
	struct v4 *v4 = eb->private;
	struct ibv_recv_wr *last, *bad;

	if (!v4->nback)
		return;
	last = &v4->wr[v4->nback - 1];
	last->next = NULL;
	am_cost_begin(AM_COST_POST_RECV);
	/* Cannot overflow: these buffers were in the queue before. */
	ibv_post_srq_recv(eb->srq, v4->wr, &bad);
	am_cost_end(AM_COST_POST_RECV);
	last->next = last + 1;
	v4->nback = 0;
}

static void recycle(struct am_eb *eb, struct am_buffer *buffer)
{
	struct v4 *v4 = eb->private;
	unsigned int i = v4->nback++;

	v4->sge[i].addr = (uintptr_t)buffer->bytes + HEAD;
	v4->sge[i].lkey = buffer->index;
	v4->wr[i].wr_id = (uintptr_t)buffer;
	if (v4->nback == GIVE_BACK)
		give_back(eb);
}

static int add_chunk(struct am_eb *eb, unsigned int n)
{
	struct v4 *v4 = eb->private;
	struct chunk *chunk = calloc(1, sizeof(*chunk));
	struct am_buffer *buffer;

	if (!chunk)
		return ENOMEM;
	chunk->size = n * sizeof(*buffer);
	chunk->memory =
		mmap(NULL, chunk->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk->memory == MAP_FAILED)
		goto free;
	chunk->mr = ibv_reg_mr(eb->device->pd, chunk->memory, chunk->size, IBV_ACCESS_LOCAL_WRITE);
	if (!chunk->mr || am_cq_room(eb, 0, n))
		goto unmap;
	buffer = chunk->memory;
	for (unsigned int i = 0; i < n; i++) {
		buffer[i].index = chunk->mr->lkey;
		recycle(eb, &buffer[i]);
	}
	give_back(eb);
	v4->buffers += n;
	chunk->next = v4->chunks;
	v4->chunks = chunk;
	return 0;
unmap:
	if (chunk->mr)
		ibv_dereg_mr(chunk->mr);
	munmap(chunk->memory, chunk->size);
free:
	free(chunk);
	return ENOMEM;
}

/*
 * Adds as many buffers as all connections can fill at once, up to the capacity of the
 * queue. Beyond that, RNR NAKs keep messages from being lost.
 */
static int room_for(struct am_eb *eb, unsigned int more)
{
	struct v4 *v4 = eb->private;
	unsigned int n;

	v4->wanted += more;
	if (v4->wanted <= v4->buffers || v4->buffers == v4->capacity)
		return 0;
	n = v4->wanted - v4->buffers;
	if (n < CHUNK)
		n = CHUNK;
	if (n > v4->capacity - v4->buffers)
		n = v4->capacity - v4->buffers;
	return add_chunk(eb, n);
}

static int make_srq(struct am_eb *eb)
{
	struct v4 *v4 = eb->private;
	struct ibv_srq_init_attr attr = { .attr = { .max_sge = 1 } };
	unsigned int max = (unsigned int)eb->device->attr.max_srq_wr;

	v4->capacity = am_settings.rnr ? (unsigned int)am_settings.receives : SRQ_MAX;
	if (v4->capacity > max)
		v4->capacity = max;
	attr.attr.max_wr = v4->capacity;
	eb->srq = ibv_create_srq(eb->device->pd, &attr);
	return eb->srq ? 0 : errno;
}

static void v4_close_bundle(struct am_eb *eb)
{
	struct v4 *v4 = eb->private;
	struct chunk *chunk;

	ibv_destroy_srq(eb->srq);
	while ((chunk = v4->chunks)) {
		v4->chunks = chunk->next;
		ibv_dereg_mr(chunk->mr);
		munmap(chunk->memory, chunk->size);
		free(chunk);
	}
	ibv_destroy_cq(eb->rcq);
	free(v4);
}

static void prepare(struct v4 *v4)
{
	for (unsigned int i = 0; i < GIVE_BACK; i++) {
		v4->sge[i].length = sizeof(((struct am_buffer *)0)->bytes) - HEAD;
		v4->wr[i] = (struct ibv_recv_wr){ .next = &v4->wr[i + 1],
						  .sg_list = &v4->sge[i],
						  .num_sge = 1 };
	}
	v4->send = (struct ibv_send_wr){ .sg_list = &v4->send_sge, .num_sge = 1 };
}

static int v4_open_bundle(struct am_eb *eb)
{
	struct v4 *v4 = calloc(1, sizeof(*v4));
	int err = ENOMEM;

	if (!v4)
		return err;
	eb->private = v4;
	prepare(v4);
	v4->imm64 = am_settings.imm64 && !vnetdv_open(eb->device->context, &v4->dv);
	eb->rcq = ibv_create_cq(eb->device->context, 1024, NULL, eb->channel, 0);
	if (!eb->rcq)
		goto free;
	eb->scq = eb->rcq;
	err = make_srq(eb);
	if (err)
		goto destroy_cq;
	err = room_for(eb, am_settings.rnr ? v4->capacity : CHUNK);
	if (!err)
		return 0;
	ibv_destroy_srq(eb->srq);
destroy_cq:
	ibv_destroy_cq(eb->rcq);
free:
	free(v4);
	return err;
}

static size_t v4_memory(const struct am_conn *conn)
{
	(void)conn;
	return 0;
}

static struct am_qp_needs needs_of(const struct am_conn *conn)
{
	unsigned int sends = 4 * conn->mine.credits + AM_ONE_QP_WRITES;

	if (sends < 2 * (unsigned int)am_settings.signal)
		sends = 2 * (unsigned int)am_settings.signal;
	return (struct am_qp_needs){ .send_cq = conn->eb->scq,
				     .recv_cq = conn->eb->rcq,
				     .srq = conn->eb->srq,
				     .max_send_wr = sends,
				     .max_inline = INLINE };
}

static int v4_open(struct am_conn *conn, void *memory)
{
	struct am_qp_needs needs = needs_of(conn);
	int err = am_settings.rnr ? 0 : room_for(conn->eb, 2 * conn->mine.credits + 1u);

	(void)memory;
	if (err)
		return err;
	err = am_one_qp_open(conn, &needs);
	if (err)
		return err;
	err = am_qpn_insert(conn->eb, conn, conn->qp[0]->qp_num);
	if (err) {
		am_qp_free(conn, conn->qp[0], &needs);
		return err;
	}
	conn->mine.imm64 = ((struct v4 *)conn->eb->private)->imm64;
	return 0;
}

static int v4_connect(struct am_conn *conn)
{
	conn->imm64 = conn->mine.imm64 && conn->theirs.imm64;
	return am_one_qp_connect(conn);
}

static struct am_conn *conn_of(struct am_eb *eb, uint32_t qpn)
{
	struct v4 *v4 = eb->private;

	if (v4->last_qpn != qpn || !v4->last_conn) {
		v4->last_conn = am_conn_by_qpn(eb, qpn);
		v4->last_qpn = qpn;
	}
	return v4->last_conn;
}

/* The upper half of a send's wr_id is the number of work requests that are complete with it. */
static void sent(struct am_eb *eb, const struct ibv_wc *wc)
{
	struct am_conn *conn;

	am_cost_begin(AM_COST_RECYCLE_SEND);
	conn = am_conn_by_qpn(eb, wc->qp_num);
	if (conn)
		conn->sq[0].done = (uint32_t)(wc->wr_id >> 32);
	if (conn && wc->status != IBV_WC_SUCCESS)
		am_conn_broken(conn, EUNREACHABLE);
	am_cost_end(AM_COST_RECYCLE_SEND);
}

/* Builds the message that an immediate stands for. Returns its length. */
static uint32_t bulk_message(struct am_conn *conn, struct am_message *m, uint32_t nbytes,
			     uint64_t imm)
{
	uint64_t offset = imm >> BULK_OFFSET_SHIFT;

	*m = (struct am_message){ .what = (uint8_t)(imm & (BULK_FLAG - 1)),
				  .class = AM_BULK,
				  .handler = (uint8_t)(imm >> 8),
				  .nbytes = nbytes & 0xffffff,
				  .slot = imm >> 16 & 0xff,
				  .tag = conn->ep->tag };
	memcpy(am_message_tail(m), &offset, sizeof(offset));
	return (uint32_t)am_message_size(m);
}

static void arrived(struct am_conn *conn, struct am_buffer *buffer, const struct ibv_wc *wc,
		    uint64_t imm)
{
	struct am_message *m = (struct am_message *)(void *)(buffer->bytes + HEAD);
	uint32_t length = wc->byte_len;

	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		m = &buffer->message;
		if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
			length = bulk_message(conn, m, length, imm);
		} else {
			memcpy(m, &imm, HEAD);
			length += HEAD;
		}
	}
	am_arrival_at(conn, buffer, m, length);
}

static void received(struct am_eb *eb, const struct ibv_wc *wc, uint64_t imm)
{
	struct am_buffer *buffer = (struct am_buffer *)(uintptr_t)wc->wr_id;
	struct am_conn *conn = conn_of(eb, wc->qp_num);

	if (__builtin_expect(wc->status == IBV_WC_SUCCESS && conn && conn->state != AM_BROKEN, 1)) {
		arrived(conn, buffer, wc, imm);
		return;
	}
	recycle(eb, buffer);
	if (conn && wc->status != IBV_WC_SUCCESS)
		am_conn_broken(conn, EUNREACHABLE);
}

static inline void completed(struct am_eb *eb, const struct ibv_wc *wc, uint64_t imm)
{
	if (wc->wr_id & AM_WR_SEND)
		sent(eb, wc);
	else
		received(eb, wc, imm);
}

static inline void completed_verbs(struct am_eb *eb, const struct ibv_wc *wc)
{
	completed(eb, wc, 0);
}

static int poll_imm64(struct am_eb *eb, struct v4 *v4)
{
	struct vnetdv_wc wc[AM_CQ_BATCH];
	int n;

	am_cost_begin(AM_COST_POLL_RECV);
	n = v4->dv.poll_cq(eb->rcq, AM_CQ_BATCH, wc);
	am_cost_end_poll(AM_COST_POLL_RECV, n);
	for (int i = 0; i < n; i++) {
		if (wc[i].wc.wr_id & AM_WR_WIRE)
			eb->wiring->completion(eb, &wc[i].wc);
		else
			completed(eb, &wc[i].wc, wc[i].imm64);
	}
	return n;
}

static int v4_poll(struct am_eb *eb)
{
	struct v4 *v4 = eb->private;

	if (v4->imm64)
		return poll_imm64(eb, v4);
	return am_poll_cq(eb, eb->rcq, AM_COST_POLL_RECV, completed_verbs);
}

/*
 * Returns IBV_SEND_SIGNALED for every am_settings.signal-th work request. Its completion
 * also covers the unsignaled ones before it.
 */
static unsigned int signal_now(struct am_conn *conn, unsigned int n)
{
	conn->unsignaled += n;
	if (conn->unsignaled < (unsigned int)am_settings.signal)
		return 0;
	conn->unsignaled = 0;
	return IBV_SEND_SIGNALED;
}

static uint64_t send_id(const struct am_conn *conn, unsigned int n)
{
	return (uint64_t)(conn->sq[0].sent + n) << 32 | AM_WR_SEND;
}

/* Posts one work request whose immediate replaces the first 8 bytes of the header. */
static int post_imm(struct am_conn *conn, struct ibv_send_wr *wr, uint64_t imm)
{
	const struct v4 *v4 = conn->eb->private;
	struct ibv_send_wr *bad;
	int err;

	am_cost_begin(AM_COST_POST_SEND);
	err = v4->dv.post_send_imm64(conn->qp[0], wr, imm, &bad);
	am_cost_end(AM_COST_POST_SEND);
	if (!err)
		conn->sq[0].sent++;
	return err;
}

/*
 * Whether an immediate can replace the message of a bulk transfer. An immediate carries no
 * tag, so the sender compares the tag with that on the board. If it differs, the message is
 * sent, and the peer refuses it.
 */
static bool fits_immediate(const struct am_conn *conn, const struct am_message *m)
{
	struct am_segment s;

	if (!conn->imm64 || m->nargs || am_message_offset(m) > BULK_OFFSET_MAX)
		return false;
	if (m->what == AM_REPLY)
		return true;
	s = am_segment_of(conn);
	return s.tag && (s.tag == m->tag || s.tag == AM_ALL);
}

static uint64_t bulk_immediate(const struct am_message *m)
{
	return BULK_FLAG | m->what | (uint64_t)m->handler << 8 | (uint64_t)m->slot << 16 |
	       am_message_offset(m) << BULK_OFFSET_SHIFT;
}

/* Prepares the send of @m without its first @skip bytes, as the last of @n work requests. */
static struct ibv_send_wr *make_send(struct am_conn *conn, const struct am_message *m, size_t size,
				     unsigned int skip, unsigned int n)
{
	struct v4 *v4 = conn->eb->private;
	struct ibv_send_wr *send = &v4->send;

	v4->send_sge.addr = (uintptr_t)m + skip;
	v4->send_sge.length = (uint32_t)size - skip;
	v4->send_sge.lkey = conn->mr->lkey;
	send->wr_id = send_id(conn, n);
	send->opcode = skip ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	send->send_flags = IBV_SEND_SOLICITED | signal_now(conn, n);
	if (size <= conn->max_inline)
		send->send_flags |= IBV_SEND_INLINE;
	return send;
}

/* Posts the RDMA write, followed by the message unless an immediate replaces it. */
static int post_bulk(struct am_conn *conn, struct am_message *m, size_t size,
		     struct ibv_send_wr *write)
{
	if (fits_immediate(conn, m)) {
		write->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		write->send_flags |= IBV_SEND_SOLICITED | signal_now(conn, 1);
		return post_imm(conn, write, bulk_immediate(m));
	}
	write->next = make_send(conn, m, size, 0, 2);
	return am_one_qp_post(conn, write, 2);
}

static int send_bulk(struct am_conn *conn, struct am_message *m, size_t size,
		     const struct am_bulk *bulk)
{
	struct am_bulk_write write;
	uint32_t target;
	int err;

	err = am_one_qp_room(conn, 2);
	if (!err)
		err = am_bulk_begin(conn, m, bulk, &write);
	if (err)
		return err;
	write.wr.wr_id = send_id(conn, 1);
	if (write.waits)
		write.wr.send_flags = IBV_SEND_SIGNALED;
	target = conn->sq[0].sent + 1;
	err = post_bulk(conn, m, size, &write.wr);
	am_bulk_finish(conn, bulk, &write, err ? conn->sq[0].done : target);
	return err;
}

static int send_message(struct am_conn *conn, const struct am_message *m, size_t size)
{
	uint64_t header;
	int err = am_one_qp_room(conn, 1);

	if (err)
		return err;
	if (!conn->imm64)
		return am_one_qp_post(conn, make_send(conn, m, size, 0, 1), 1);
	memcpy(&header, m, sizeof(header));
	return post_imm(conn, make_send(conn, m, size, HEAD, 1), header);
}

static int v4_send(struct am_conn *conn, unsigned int slot, bool reply, size_t size,
		   const struct am_bulk *bulk)
{
	struct am_message *m = reply ? am_reply_buffer(conn, slot) : am_request_buffer(conn, slot);

	if (bulk && bulk->nbytes)
		return send_bulk(conn, m, size, bulk);
	return send_message(conn, m, size);
}

static int v4_write(struct am_conn *conn, const void *source, size_t size, uint64_t address,
		    uint32_t rkey)
{
	int err = am_one_qp_room(conn, 1);

	if (err)
		return err;
	conn->unsignaled = 0;
	return am_one_qp_post_write(conn, send_id(conn, 1), source, size, address, rkey);
}

static void v4_release(struct am_conn *conn, struct am_buffer *buffer)
{
	am_cost_begin(AM_COST_RECYCLE_RECV);
	recycle(conn->eb, buffer);
	am_cost_end(AM_COST_RECYCLE_RECV);
}

/* A work request posted in the error state is flushed after all those before it. */
static void post_last(struct am_conn *conn)
{
	struct ibv_send_wr last = { .wr_id = send_id(conn, 1),
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED };

	/* If posting fails, unsignaled work requests are not waited for. */
	if (am_one_qp_post(conn, &last, 1))
		conn->sq[0].done = conn->sq[0].sent;
}

/*
 * Polls all completions before the queue pair is freed: completions are matched by queue
 * pair number, which the device may reuse.
 */
static void v4_close(struct am_conn *conn)
{
	struct am_qp_needs needs = needs_of(conn);
	struct v4 *v4 = conn->eb->private;
	uint64_t end = am_now() + AM_FLUSH_NS;

	post_last(conn);
	while ((v4_poll(conn->eb) || conn->sq[0].done != conn->sq[0].sent) && am_now() < end)
		;
	am_qpn_remove(conn->eb, conn->qp[0]->qp_num);
	v4->last_conn = NULL;
	am_qp_free(conn, conn->qp[0], &needs);
	if (!am_settings.rnr)
		v4->wanted -= 2 * conn->mine.credits + 1u;
}

const struct am_mapping am_mapping_v4 = {
	.name = "v4",
	.about = "shared receive queue, inline, one completion queue, selective signaling",
	.max_credits = AM_MAX_CREDITS,
	.open_bundle = v4_open_bundle,
	.close_bundle = v4_close_bundle,
	.memory = v4_memory,
	.open = v4_open,
	.connect = v4_connect,
	.close = v4_close,
	.send = v4_send,
	.write = v4_write,
	.poll = v4_poll,
	.release = v4_release,
};
