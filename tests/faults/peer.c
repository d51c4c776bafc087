// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "peer.h"

#include <sys/socket.h>

enum order_kind { OPEN, CONNECT, ANEW, RECEIVE, WAIT, SILENCE, SET, LOOK, CLOSE, STOP };

struct order {
	enum order_kind kind;
	struct wish wish;
	struct address address;
	uint64_t wr_id;
	struct piece piece[PEER_PIECES];
	unsigned int count;
	uint8_t value;
};

struct answer {
	struct address address;
	struct ibv_wc wc;
	uint8_t bytes[PEER_BYTES];
};

static struct helper helper;
static bool elsewhere;
/* The peer's side, in this process or in the helper. */
static struct side there;

/* --------------------------------------------------------- executing orders */

static void do_receive(const struct order *o)
{
	struct ibv_sge sges[PEER_PIECES];
	struct ibv_recv_wr wr = { .wr_id = o->wr_id, .sg_list = sges, .num_sge = (int)o->count };
	struct ibv_recv_wr *bad;

	for (unsigned int i = 0; i < o->count; i++) {
		sges[i] = side_sge(&there, o->piece[i].offset, o->piece[i].length);
		sges[i].lkey += o->piece[i].key_offset;
	}
	CHECK_EQ(ibv_post_recv(there.qp, &wr, &bad), 0);
}

static void carry_out(const struct order *o, struct answer *a)
{
	switch (o->kind) {
	case OPEN:
		side_open(&there, &o->wish);
		a->address = side_address(&there);
		break;
	case CONNECT:
		side_connect(&there, &o->address);
		break;
	case ANEW:
		CHECK(side_try_anew(&there, &o->address));
		break;
	case RECEIVE:
		do_receive(o);
		break;
	case WAIT:
		a->wc = side_wait(&there);
		break;
	case SILENCE:
		side_expect_silence(&there, 200000);
		break;
	case SET:
		memset(there.buffer + o->piece[0].offset, o->value, o->piece[0].length);
		break;
	case LOOK:
		memcpy(a->bytes, there.buffer + o->piece[0].offset, o->piece[0].length);
		break;
	case CLOSE:
		side_close(&there);
		break;
	case STOP:
		break;
	}
}

static void serve(int sock, void *arg)
{
	struct order order;
	struct answer answer;

	do {
		/* No time limit: the call returns if the test process ends. */
		if (recv(sock, &order, sizeof(order), 0) != sizeof(order))
			return;
		memset(&answer, 0, sizeof(answer));
		carry_out(&order, &answer);
		tell(sock, &answer, sizeof(answer));
	} while (order.kind != STOP);
}

/* ------------------------------------------------------------- sending orders */

static const struct answer *ask(const struct order *order)
{
	static struct answer answer;

	if (!elsewhere) {
		carry_out(order, &answer);
		return &answer;
	}
	tell(helper.sock, order, sizeof(*order));
	hear(helper.sock, &answer, sizeof(answer));
	return &answer;
}

void peer_start(bool in_another_process)
{
	elsewhere = in_another_process;
	if (elsewhere)
		helper_start(&helper, "peer", serve, NULL);
}

void peer_stop(void)
{
	if (!elsewhere)
		return;
	(void)ask(&(struct order){ .kind = STOP });
	helper_join(&helper);
}

static struct address address_there;

void peer_open(struct side *here, const struct wish *wish)
{
	struct order open = { .kind = OPEN };

	if (wish)
		open.wish = *wish;
	side_open(here, &open.wish);
	address_there = ask(&open)->address;
	(void)ask(&(struct order){ .kind = CONNECT, .address = side_address(here) });
	side_connect(here, &address_there);
}

void peer_close(struct side *here)
{
	(void)ask(&(struct order){ .kind = CLOSE });
	side_close(here);
}

void peer_anew(struct side *here)
{
	(void)ask(&(struct order){ .kind = ANEW, .address = side_address(here) });
	CHECK(side_try_anew(here, &address_there));
}

struct address peer_address(void)
{
	return address_there;
}

void peer_receive(uint64_t wr_id, const struct piece *pieces, unsigned int count)
{
	struct order order = { .kind = RECEIVE, .wr_id = wr_id, .count = count };

	CHECK(count <= PEER_PIECES);
	memcpy(order.piece, pieces, count * sizeof(*pieces));
	(void)ask(&order);
}

struct ibv_wc peer_wait(void)
{
	return ask(&(struct order){ .kind = WAIT })->wc;
}

struct ibv_wc peer_expect(uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = peer_wait();

	if (wc.wr_id != wr_id || wc.status != status)
		FAIL("the peer's request %llu has status %d (%s); not %llu with %d",
		     (unsigned long long)wc.wr_id, (int)wc.status, ibv_wc_status_str(wc.status),
		     (unsigned long long)wr_id, (int)status);
	return wc;
}

void peer_expect_silence(void)
{
	(void)ask(&(struct order){ .kind = SILENCE });
}

void peer_set(uint32_t offset, uint32_t length, uint8_t value)
{
	(void)ask(&(struct order){
		.kind = SET, .piece = { { .offset = offset, .length = length } }, .value = value });
}

const uint8_t *peer_look(uint32_t offset, uint32_t length)
{
	CHECK(length <= PEER_BYTES);
	return ask(&(struct order){ .kind = LOOK,
				    .piece = { { .offset = offset, .length = length } } })
		->bytes;
}
