// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every operation between two NICs: data arrives as it was, completions come once
 * and in order, whatever the link does.
 */
#include "nic_vn.h"
#include "world.h"

static struct nic_config config = {
	.max_qp = 128,
	.max_cq = 128,
	.max_srq = 16,
	.max_mr = 16,
	.max_channel = 4,
	.max_client = 4,
	.max_row = 4,
	.max_frame = 64,
	.queue_bytes = 32 << 20,
	.stall_ns = 50000000,
};

/* -------------------------------------------------------------------- streams */

/* Half of each side's memory is what it sends from, half what is written to. */
#define HALF (DATA_BYTES / 2)

static void fill(u8 *at, u32 length, u32 seed)
{
	u32 i;

	for (i = 0; i < length; i++)
		at[i] = (u8)(seed * 37 + i * 11 + (i >> 8));
}

static bool filled(const u8 *at, u32 length, u32 seed)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (at[i] != (u8)(seed * 37 + i * 11 + (i >> 8)))
			return false;
	return true;
}

static struct vnet_send_wqe request(u8 opcode, u64 wr_id)
{
	return (struct vnet_send_wqe){ .wr_id = wr_id,
				       .opcode = opcode,
				       .flags = VNET_WR_SIGNALED };
}

static u32 some_length(void)
{
	static const u32 sizes[] = { 0, 1, 7, 64, 1000, 4096, 16384, 16385, 50000, 100000 };

	return sizes[below(10)];
}

/* Every other one has 64 bits of immediate data. */
static void set_imm(struct vnet_send_wqe *w, u32 i)
{
	w->imm = 0x55000000u + i;
	if (i % 2)
		return;
	w->flags |= VNET_WR_IMM64;
	w->rdma.imm_high = 0xaa000000u + i;
}

static bool has_imm(const struct vnet_cqe *cqe, u32 i)
{
	u32 high;

	if (cqe->imm != 0x55000000u + i || !(cqe->flags & VNET_WC_WITH_IMM))
		return false;
	if (i % 2)
		return !(cqe->flags & VNET_WC_IMM64);
	memcpy(&high, cqe->payload + vnet_cqe_imm_high(cqe->byte_len), sizeof(high));
	return cqe->flags & VNET_WC_IMM64 && high == 0xaa000000u + i;
}

/* Messages from a to b, n of them, at most `window` at once, in order. */
static void stream_sends(struct end *a, struct end *b, u32 n, u32 window, bool late)
{
	u32 length[1024], sent = 0, done = 0, posted = 0, got = 0;
	const u32 room = 100000;

	CHECK(n <= 1024 && window * room <= HALF);
	while (done < n || got < n) {
		struct vnet_cqe cqe;

		while (posted < n && posted - got < window && (!late || below(20) == 0)) {
			end_recv(b, posted, HALF + posted % window * room, room);
			posted++;
		}
		while (sent < n && sent - done < window) {
			struct vnet_send_wqe w = request(VNET_WR_SEND_IMM, sent);

			length[sent] = some_length();
			set_imm(&w, sent);
			fill(a->side->data + sent % window * room, length[sent], sent);
			end_send(a, &w, sent % window * room, length[sent]);
			sent++;
		}
		while (end_poll(a, &cqe)) {
			CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == done);
			done++;
		}
		while (end_poll(b, &cqe)) {
			CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == got);
			CHECK(has_imm(&cqe, got) && cqe.byte_len == length[got]);
			CHECK(filled(b->side->data + HALF + got % window * room, length[got], got));
			got++;
		}
		pass(20000);
	}
}

static void one_writes_and_reads(struct end *a, struct end *b, u32 rounds)
{
	u32 i;

	for (i = 0; i < rounds; i++) {
		u32 length = some_length();
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, i);
		struct vnet_cqe cqe;

		w.rdma.remote_addr = (u64)(unsigned long)(b->side->data + HALF + 5);
		w.rdma.rkey = b->side->key;
		fill(a->side->data, length, i);
		memset(b->side->data + HALF, 0xee, length + 100);
		end_send(a, &w, 0, length);
		w = request(VNET_WR_RDMA_READ, i + 1000);
		w.rdma.remote_addr = (u64)(unsigned long)(b->side->data + HALF + 5);
		w.rdma.rkey = b->side->key;
		memset(a->side->data + HALF, 0, length + 100);
		end_send(a, &w, HALF + 9, length);
		cqe = end_wait(a);
		CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == i);
		cqe = end_wait(a);
		CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == i + 1000);
		CHECK(cqe.byte_len == length);
		CHECK(filled(b->side->data + HALF + 5, length, i));
		CHECK(filled(a->side->data + HALF + 9, length, i));
		CHECK(b->side->data[HALF + 5 + length] == 0xee && b->side->data[HALF + 4] == 0xee);
	}
}

/* With a receive for each, that tells when the data is there. */
static void writes_with_immediate(struct end *a, struct end *b, u32 rounds)
{
	u32 i;

	for (i = 0; i < rounds; i++) {
		u32 length = some_length();
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE_IMM, i);
		struct vnet_cqe cqe;

		w.rdma.remote_addr = (u64)(unsigned long)(b->side->data + HALF + 5);
		w.rdma.rkey = b->side->key;
		set_imm(&w, i);
		fill(a->side->data, length, i);
		end_recv(b, i, 0, 0);
		end_send(a, &w, 0, length);
		cqe = end_wait(b);
		CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == i);
		CHECK(cqe.opcode == VNET_WC_RECV_RDMA_WITH_IMM && cqe.byte_len == length);
		CHECK(has_imm(&cqe, i));
		CHECK(filled(b->side->data + HALF + 5, length, i));
		cqe = end_wait(a);
		CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == i);
	}
}

static void atomics(struct end *a, struct end *b, u32 rounds)
{
	u64 *word = (u64 *)(void *)(b->side->data + HALF);
	u64 *old = (u64 *)(void *)a->side->data;
	u32 i;

	*word = 0;
	for (i = 0; i < rounds; i++) {
		struct vnet_send_wqe w = request(VNET_WR_ATOMIC_FETCH_ADD, i);

		w.rdma.remote_addr = (u64)(unsigned long)word;
		w.rdma.rkey = b->side->key;
		w.rdma.compare_add = 3;
		end_send(a, &w, i % 64 * 8, 8);
		if (i % 64 == 63 || i == rounds - 1) {
			u32 first = i - i % 64, j;

			for (j = first; j <= i; j++) {
				struct vnet_cqe cqe = end_wait(a);

				CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == j);
				CHECK(old[j % 64] == j * 3ull);
			}
		}
	}
	CHECK(*word == rounds * 3ull);
}

static void atomic_writes(struct end *a, struct end *b, u32 rounds)
{
	u64 *word = (u64 *)(void *)(b->side->data + HALF), *value = (u64 *)(void *)a->side->data;
	u32 i;

	for (i = 0; i < rounds; i++) {
		struct vnet_send_wqe w = request(VNET_WR_ATOMIC_WRITE, i);
		struct vnet_cqe cqe;

		w.rdma.remote_addr = (u64)(unsigned long)word;
		w.rdma.rkey = b->side->key;
		*value = 0x123456789ull * (i + 1);
		end_send(a, &w, 0, 8);
		cqe = end_wait(a);
		CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == i);
		CHECK(cqe.opcode == VNET_WC_ATOMIC_WRITE);
		CHECK(*word == *value && *value == 0x123456789ull * (i + 1));
	}
}

static void datagrams(struct end *a, struct end *b, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		u32 length = below(2049);
		struct vnet_send_wqe w = request(VNET_WR_SEND_IMM, i);
		struct vnet_cqe cqe;

		end_recv(b, i, HALF, 2048 + VNET_GRH_SIZE);
		fill(a->side->data, length, i);
		memcpy(w.ud.dgid, b->side->nic.hdr->gid[0], 16);
		w.ud.remote_qpn = b->qpn;
		w.ud.remote_qkey = 0x1234;
		set_imm(&w, i);
		end_send(a, &w, 0, length);
		cqe = end_wait(a);
		CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == i);
		cqe = end_wait(b);
		CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == i && cqe.src_qp == a->qpn);
		CHECK(cqe.byte_len == length + VNET_GRH_SIZE && (cqe.flags & VNET_WC_GRH));
		CHECK(has_imm(&cqe, i));
		CHECK(filled(b->side->data + HALF + VNET_GRH_SIZE, length, i));
	}
}

static struct end *connected[2];

static void connect_two(u8 type, bool srq)
{
	connected[0] = end_make(&side[0], type, false);
	connected[1] = end_make(&side[1], type, srq);
	end_connect(connected[0], connected[1]);
}

/* The near one is where requests come from; the far one has the SRQ, too. */
static void connect_extended(void)
{
	connected[0] = end_make(&side[0], NIC_QPT_XRC_INI, false);
	connected[1] = end_make(&side[1], NIC_QPT_XRC_TGT, false);
	end_connect(connected[0], connected[1]);
}

static void everything(u32 n)
{
	struct end *a, *b;

	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], n, 16, false);
	stream_sends(connected[1], connected[0], n, 16, true);
	connect_two(NIC_QPT_RC, true);
	stream_sends(connected[0], connected[1], n, 16, true);
	one_writes_and_reads(connected[0], connected[1], n);
	writes_with_immediate(connected[0], connected[1], n);
	atomics(connected[0], connected[1], n);
	atomic_writes(connected[0], connected[1], n);
	connect_extended();
	stream_sends(connected[0], connected[1], n, 16, true);
	one_writes_and_reads(connected[0], connected[1], n);
	writes_with_immediate(connected[0], connected[1], n);
	atomics(connected[0], connected[1], n);
	atomic_writes(connected[0], connected[1], n);
	connect_two(NIC_QPT_UC, false);
	stream_sends(connected[0], connected[1], n, 16, false);
	a = end_make(&side[0], NIC_QPT_UD, false);
	b = end_make(&side[1], NIC_QPT_UD, false);
	end_connect(a, b);
	datagrams(a, b, n);
}

static void print_counters(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		const struct nic_counters *c = &side[i].nic.hdr->counters;

		printf("side %u: %llu frames sent, %llu received, %llu again, %llu duplicates, "
		       "%llu NACKs, %llu bad CRC, %llu faults, %llu loads, %llu evictions\n",
		       i, c->frames_sent, c->frames_received, c->retransmitted, c->duplicates,
		       c->nacks_received, c->bad_crc, c->faults, c->loads, c->evictions);
	}
}

/* A receive taken by the first of many pieces counts as any other. */
static void limit_of_shared_receives(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 7);
	struct nic *nic;
	u32 i, limit;

	world_make(1, &config);
	connect_two(NIC_QPT_RC, true);
	nic = &side[1].nic;
	for (i = 0; i < 4; i++)
		end_recv(connected[1], i, i << 17, 100000);
	CHECK(nic_srq_set_limit(nic, connected[1]->srqn, 3) == NIC_OK);
	for (i = 0; i < 2; i++) {
		end_send(connected[0], &w, 0, 100000);
		CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
		CHECK(nic_srq_get_limit(nic, connected[1]->srqn, &limit) == NIC_OK);
		CHECK(limit == (i ? 0 : 3));
	}
	world_free();
}

static void test_clean(void)
{
	world_make(1, &config);
	everything(200);
	print_counters();
	/* Only what waited for a receive is sent again. */
	CHECK(side[0].nic.hdr->counters.retransmitted <= side[0].nic.hdr->counters.nacks_received);
	world_free();
	limit_of_shared_receives();
}

/* What names no SRQ of the target's domain is refused, and ends the connection. */
static void refuse_named(u32 srqn, u8 opcode)
{
	struct vnet_send_wqe w = request(opcode, 5);
	struct vnet_cqe cqe;

	connect_extended();
	connected[0]->named = srqn;
	w.rdma.remote_addr = (u64)(unsigned long)connected[1]->side->data;
	w.rdma.rkey = connected[1]->side->key;
	end_send(connected[0], &w, 0, 64);
	cqe = end_wait(connected[0]);
	CHECK(cqe.status == VNET_WC_REM_INV_REQ_ERR && cqe.wr_id == 5);
}

static void test_named(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 9);
	struct vnet_cqe cqe;
	struct end *basic;

	world_make(1, &config);
	basic = end_make(&side[1], NIC_QPT_RC, true);
	refuse_named(0, VNET_WR_SEND);
	refuse_named(15, VNET_WR_RDMA_WRITE);
	refuse_named(basic->srqn, VNET_WR_RDMA_READ);

	/* It goes in the midst of a message of many packets. */
	connect_extended();
	end_recv(connected[1], 1, 0, 1000000);
	end_send(connected[0], &w, 0, 1000000);
	while (!connected[1]->rq.hdr->cons)
		pass(1000);
	CHECK(!end_poll(connected[0], &cqe));
	CHECK(nic_srq_destroy(&side[1].nic, connected[1]->srqn) == NIC_OK);
	cqe = end_wait(connected[0]);
	CHECK(cqe.status == VNET_WC_REM_INV_REQ_ERR);
	CHECK(!end_poll(connected[1], &cqe));

	/* The target fails instead: what had been received so far is flushed. */
	connect_extended();
	end_recv(connected[1], 2, 0, 1000000);
	end_send(connected[0], &w, 0, 1000000);
	while (!connected[1]->rq.hdr->cons)
		pass(1000);
	end_state(connected[1], NIC_QPS_ERR, NULL);
	cqe = end_wait(connected[1]);
	CHECK(cqe.status == VNET_WC_WR_FLUSH_ERR && cqe.wr_id == 2);
	world_free();
}

static void test_lossy(void)
{
	u32 seed;

	for (seed = 1; seed <= 6; seed++) {
		world_make(seed, &config);
		faults = (struct link_faults){ 30, 30, 100, 10 };
		everything(60);
		print_counters();
		CHECK(side[0].nic.hdr->counters.retransmitted);
		world_free();
	}
}

/* Memory is paged on demand from here on: missing where `pages_gone` says, else there. */
static void begin_paged(u32 seed)
{
	pages_miss = 1000000;
	world_make(seed, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 1, 1, false);
}

static void end_paged(void)
{
	pages_missed = 0;
	pages_miss = 0;
	world_free();
}

/*
 * A packet was lost, and the memory that it is to be made of again is not there for longer
 * than its peer might be silent: nobody is to blame for that.
 */
static void missing_for_long(u8 opcode, u32 length)
{
	struct vnet_send_wqe w = request(opcode, 1);
	struct nic_qp *qp;

	begin_paged(30);
	qp = &side[0].nic.qp[connected[0]->qpn & side[0].nic.qp_index_mask];
	/* 4 ms, twice. */
	qp->attr.timeout = 10;
	qp->attr.retry_cnt = 1;
	w.rdma.remote_addr = (u64)(unsigned long)(connected[1]->side->data + HALF);
	w.rdma.rkey = connected[1]->side->key;
	fill(side[opcode == VNET_WR_RDMA_READ].data + (opcode == VNET_WR_RDMA_READ ? HALF : 0),
	     length, 3);
	faults.lose = 1000;
	end_send(connected[0], &w, 0, length);
	faults.lose = 0;
	pages_gone = 0;
	pass(100000000);
	CHECK(pages_missed && !side[0].nic.hdr->counters.unreachable);
	pages_gone = 2;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	CHECK(filled(side[0].data, length, 3) && filled(side[1].data + HALF, length, 3));
	end_paged();
}

/* The same of a datagram, which nobody answers but for itself. */
static void datagram_missing_for_long(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	struct end *a, *b;

	pages_miss = 1000000;
	world_make(31, &config);
	a = end_make(&side[0], NIC_QPT_UD, false);
	b = end_make(&side[1], NIC_QPT_UD, false);
	end_connect(a, b);
	datagrams(a, b, 1);
	memcpy(w.ud.dgid, side[1].nic.hdr->gid[0], 16);
	w.ud.remote_qpn = b->qpn;
	w.ud.remote_qkey = 0x1234;
	fill(side[0].data, 500, 3);
	end_recv(b, 2, HALF, 2048);
	faults.lose = 1000;
	end_send(a, &w, 0, 500);
	faults.lose = 0;
	pages_gone = 0;
	pass((side[0].nic.hdr->settings.unreachable + 100) * 1000000ull);
	CHECK(pages_missed && !side[0].nic.hdr->counters.unreachable);
	pages_gone = 2;
	CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	CHECK(end_wait(b).status == VNET_WC_SUCCESS);
	CHECK(filled(side[1].data + HALF + VNET_GRH_SIZE, 500, 3));
	end_paged();
}

/* What an atomic operation brought waits for pages: its queue pair is flushed all the same. */
static void flushed_while_missing(void)
{
	struct vnet_send_wqe w = request(VNET_WR_ATOMIC_FETCH_ADD, 1);
	u64 *word;

	begin_paged(32);
	word = (u64 *)(void *)(side[1].data + HALF);
	*word = 7;
	w.rdma.remote_addr = (u64)(unsigned long)word;
	w.rdma.rkey = side[1].key;
	w.rdma.compare_add = 1;
	pages_gone = 0;
	end_send(connected[0], &w, 0, 8);
	pass(10000000);
	CHECK(pages_missed && *word == 8);
	end_state(connected[0], NIC_QPS_ERR, NULL);
	CHECK(end_wait(connected[0]).status == VNET_WC_WR_FLUSH_ERR);
	pages_gone = 2;
	end_paged();
}

/*
 * A request waits for memory, and so does a later one: what could not be had before the
 * later one asked for it is not its failure.
 */
static void each_asks_for_itself(void)
{
	u32 i;

	begin_paged(34);
	for (i = 0; i < 2; i++) {
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, i);

		w.rdma.remote_addr = (u64)(unsigned long)(side[1].data + HALF);
		w.rdma.rkey = side[1].key;
		faults.lose = i ? 0 : 1000;
		end_send(connected[0], &w, i * 8192, 100);
		faults.lose = 0;
		pages_gone = 0;
		pass(20000000);
		pages_lost_from = 8192;
		if (!i)
			pages_lost_at = now_ns++;
	}
	pages_missed = 0;
	pass(20000000);
	CHECK(pages_missed);
	pages_gone = 2;
	for (i = 0; i < 2; i++)
		CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	pages_lost_at = 0;
	end_paged();
}

/* For the packets of a long message it is not looked again and again; nor for nothing. */
static void asked_by_the_block(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 1);

		pages_miss = i ? 1000000 : 0;
		world_make(33, &config);
		connect_two(NIC_QPT_RC, false);
		w.rdma.remote_addr = (u64)(unsigned long)(side[1].data + HALF);
		w.rdma.rkey = side[1].key;
		pages_asked = 0;
		end_send(connected[0], &w, 0, HALF);
		CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
		CHECK(pages_asked >= 2 * i && pages_asked <= 20 * i);
		world_free();
	}
	pages_missed = 0;
	pages_miss = 0;
}

/* A read is under way, for which there was memory. */
static void read_begin(u32 length)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_READ, 1);

	w.rdma.remote_addr = (u64)(unsigned long)(side[1].data + HALF);
	w.rdma.rkey = side[1].key;
	fill(side[1].data + HALF, length, 3);
	end_send(connected[0], &w, 0, length);
}

static void read_ends(u32 length)
{
	pages_gone = 2;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	CHECK(filled(side[0].data, length, 3));
	end_paged();
}

/*
 * Where a read goes is not there for ever: others have its channels, and its frame. What
 * it would bring is not asked for meanwhile.
 */
static void missing_holds_nothing(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 2);
	struct nic_config one = config;
	struct end *a, *b;
	u64 sent;
	u32 i;

	one.max_frame = 1;
	pages_miss = 1000000;
	world_make(35, &one);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 1, 1, false);
	a = end_make(&side[0], NIC_QPT_RC, false);
	b = end_make(&side[1], NIC_QPT_RC, false);
	end_connect(a, b);
	read_begin(100000);
	pages_gone = 0;
	pass(1000000);
	CHECK(pages_missed && !side[0].nic.row[0].busy);
	sent = side[0].nic.hdr->counters.frames_sent;
	pass(20000000);
	CHECK(side[0].nic.hdr->counters.frames_sent == sent);
	w.rdma.remote_addr = (u64)(unsigned long)side[1].data;
	w.rdma.rkey = side[1].key;
	for (i = 0; i < 10; i++) {
		end_send(a, &w, 0, 0);
		CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	}
	CHECK(side[0].nic.hdr->counters.evictions);
	read_ends(100000);
}

/* Pages come when they are looked for, and are gone when they are needed: it is not hurried. */
static void missing_again_and_again(u32 sequence_bits)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 1);

	pages_miss = 1000000;
	world_make(36, &config);
	/* With one, whether a packet was taken has to be known; not of what was never sent. */
	side[0].nic.hdr->settings.sequence_bits = sequence_bits;
	side[1].nic.hdr->settings.sequence_bits = sequence_bits;
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 1, 1, false);
	w.rdma.remote_addr = (u64)(unsigned long)(side[1].data + HALF);
	w.rdma.rkey = side[1].key;
	pages_gone = 0;
	pages_flee = true;
	pages_missed = 0;
	end_send(connected[0], &w, 0, 5000);
	/* The NIC processor looks every 5 us. */
	pass(10000000);
	CHECK(pages_missed > 2000 && pages_missed < 3 * 2000);
	CHECK(!side[0].nic.row[0].busy);
	pages_flee = false;
	pages_gone = 2;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	end_paged();
}

static void be_impatient(u8 timeout)
{
	struct nic_qp *qp = &side[0].nic.qp[connected[0]->qpn & side[0].nic.qp_index_mask];

	qp->attr.timeout = timeout;
	qp->attr.retry_cnt = 0;
}

/* No retries, and the shortest timeout: who waits for own pages uses up neither. */
static void impatient_for_own_pages(void)
{
	begin_paged(37);
	be_impatient(1);
	read_begin(5000);
	pages_gone = 0;
	pass(100000000);
	CHECK(pages_missed && !side[0].nic.hdr->counters.unreachable);
	read_ends(5000);

	/* And has all of its time, 8 ms, when they have come. */
	begin_paged(38);
	be_impatient(11);
	read_begin(5000);
	pages_gone = 0;
	pass(100000000);
	faults.lose = 1000;
	pages_gone = 2;
	pass(20000);
	faults.lose = 0;
	read_ends(5000);
}

/* What a read brings, and nobody can place yet, is a word from the other all the same. */
static void heard_while_missing(void)
{
	static u64 frame[VNET_WIRE_MAX_FRAME / 8 + 1];
	u32 i, length;

	begin_paged(44);
	/* 4.2 ms. */
	be_impatient(10);
	read_begin(5000);
	read_begin(5000);
	faults.lose = 1000;
	pass(10000);
	length = last_frame(0, frame);
	pages_gone = 0;
	pass(3000000);
	inject(0, frame, length);
	CHECK(pages_missed);
	pass(2000000);
	faults.lose = 0;
	pass(3000000);
	pages_gone = 2;
	for (i = 0; i < 2; i++)
		CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	CHECK(filled(side[0].data, 5000, 3));
	end_paged();
}

/* The same where it had been refused, as another was lost before it, and came back so. */
static void impatient_after_a_refusal(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 1);
	u32 i;

	begin_paged(43);
	be_impatient(11);
	w.rdma.remote_addr = (u64)(unsigned long)(side[1].data + HALF);
	w.rdma.rkey = side[1].key;
	for (i = 0; i < 2; i++) {
		faults.lose = i ? 0 : 1000;
		end_send(connected[0], &w, 0, 5000);
	}
	faults.lose = 0;
	while (!side[0].nic.hdr->counters.retransmitted)
		pass(5000);
	pages_gone = 0;
	pass(100000000);
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	CHECK(pages_missed && side[0].nic.hdr->counters.nacks_received);
	faults.lose = 1000;
	pages_gone = 2;
	pass(20000);
	faults.lose = 0;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	end_paged();
}

/* The same of the other's pages, though the NIC processor is late. */
static void impatient_for_the_peers_pages(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 1);
	u32 i;

	begin_paged(39);
	be_impatient(1);
	w.rdma.remote_addr = (u64)(unsigned long)(side[1].data + HALF);
	w.rdma.rkey = side[1].key;
	pages_gone = 1;
	end_send(connected[0], &w, 0, 5000);
	for (i = 0; i < 20; i++) {
		pass(100000);
		now_ns += 2000000;
	}
	CHECK(pages_missed && !side[0].nic.hdr->counters.unreachable);
	pages_gone = 2;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	end_paged();
}

/* A read that comes again does not take a packet's wait for its own, whose turn it is. */
static void turn_keeps_its_wait(u32 length)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 2);
	static u64 frame[VNET_WIRE_MAX_FRAME / 8 + 1];
	u32 i, frame_length;

	begin_paged(40);
	read_begin(length);
	frame_length = last_frame(1, frame);
	pass(5000);
	pages_gone = 1;
	w.rdma.remote_addr = (u64)(unsigned long)side[1].data;
	w.rdma.rkey = side[1].key;
	end_send(connected[0], &w, HALF, 5000);
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	pass(2000000);
	pages_lost_from = 0;
	pages_lost_at = now_ns++;
	for (i = 0; i < 50; i++) {
		inject(1, frame, frame_length);
		pass(50000);
	}
	CHECK(end_wait(connected[0]).status == VNET_WC_REM_OP_ERR);
	pages_lost_at = 0;
	pages_gone = 2;
	end_paged();
}

/* Where nobody else waits, it does: what cannot be had is told. */
static void read_again_of_what_is_lost(void)
{
	begin_paged(41);
	read_begin(5000);
	faults.lose = 1000;
	pass(5000);
	faults.lose = 0;
	pages_gone = 1;
	pass(20000000);
	CHECK(pages_missed);
	pages_lost_from = 0;
	pages_lost_at = now_ns++;
	CHECK(end_wait(connected[0]).status == VNET_WC_REM_OP_ERR);
	pages_lost_at = 0;
	pages_gone = 2;
	end_paged();
}

/* A death may leave behind that a packet is to be sent again, which is done. */
static void sent_again_after_it_was_done(void)
{
	struct nic_endpoint *ep;

	world_make(42, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 5, 1, false);
	ep = nic_endpoint_at(&side[0].nic,
			     &side[0].nic.qp[connected[0]->qpn & side[0].nic.qp_index_mask]);
	CHECK(ep && ep->una == ep->next);
	ep->again = 1ull << ((ep->next + 7) % NIC_WINDOW) | 1ull << ((ep->next - 1) % NIC_WINDOW);
	ep->gated = 1;
	ep->gate = ep->next - 1;
	ep->allowed = 1;
	stream_sends(connected[0], connected[1], 100, 16, false);
	CHECK(!ep->again);
	world_free();
}

/*
 * All memory is paged on demand, and comes and goes: everything arrives as ever, and what
 * waits for pages counts for nothing against anybody's patience.
 */
static void test_pages(void)
{
	static const u32 often[] = { 2, 5, 50 };
	u32 i, k;

	for (i = 0; i < 6; i++) {
		pages_miss = often[i % 3];
		world_make(20 + i, &config);
		if (i >= 3)
			faults = (struct link_faults){ 30, 30, 100, 10 };
		everything(60);
		print_counters();
		CHECK(pages_missed > 100);
		for (k = 0; i < 3 && k < 2; k++)
			CHECK(!side[k].nic.hdr->counters.unreachable);
		pages_missed = 0;
		world_free();
	}
	missing_for_long(VNET_WR_RDMA_WRITE, 5000);
	missing_for_long(VNET_WR_RDMA_READ, 5000);
	datagram_missing_for_long();
	flushed_while_missing();
	asked_by_the_block();
	each_asks_for_itself();
	missing_holds_nothing();
	missing_again_and_again(32);
	missing_again_and_again(1);
	impatient_for_own_pages();
	heard_while_missing();
	impatient_after_a_refusal();
	impatient_for_the_peers_pages();
	turn_keeps_its_wait(0);
	turn_keeps_its_wait(64);
	read_again_of_what_is_lost();
	sent_again_after_it_was_done();
}

/* More busy queue pairs than endpoint frames. */
static void test_frames(void)
{
	struct nic_config few = config;
	struct end *a[24], *b[24];
	u32 i, round;

	few.max_frame = 7;
	world_make(3, &few);
	for (i = 0; i < 24; i++) {
		a[i] = end_make(&side[0], NIC_QPT_RC, false);
		b[i] = end_make(&side[1], NIC_QPT_RC, false);
		end_connect(a[i], b[i]);
	}
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 24; i++) {
			struct vnet_send_wqe w = request(VNET_WR_SEND, round);

			end_recv(b[i], round, HALF + i * 1000, 1000);
			fill(a[i]->side->data + i * 1000, 1000, i + round);
			end_send(a[i], &w, i * 1000, 1000);
		}
		for (i = 0; i < 24; i++) {
			struct vnet_cqe cqe = end_wait(a[i]);

			CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == round);
			cqe = end_wait(b[i]);
			CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == round);
			CHECK(filled(b[i]->side->data + HALF + i * 1000, 1000, i + round));
		}
	}
	print_counters();
	CHECK(side[0].nic.hdr->counters.evictions && side[1].nic.hdr->counters.evictions);
	world_free();
}

/* ------------------------------------------------------------------- strangers */

static u64 dropped(const struct nic_counters *c)
{
	return c->bad_length + c->bad_version + c->bad_crc + c->bad_field + c->bad_incarnation +
	       c->bad_row + c->bad_gid;
}

static void reseal(u8 *bytes, u32 length)
{
	struct vnet_frame *frame = (struct vnet_frame *)bytes;

	frame->crc = 0;
	frame->crc = plat_crc32c(0, bytes, length);
}

/* A packet of a send without immediate data, of which it has 64 bits. */
static void wide_plain_send(u8 *bytes)
{
	struct vnet_frame *frame = (struct vnet_frame *)bytes;
	struct vnet_frame_op *op = (struct vnet_frame_op *)(frame + 1);

	frame->version = VNET_WIRE_VERSION;
	frame->kind = VNET_FRAME_DATA;
	frame->nacks = 0;
	frame->payload_len = 0;
	*op = (struct vnet_frame_op){ .opcode = VNET_WR_SEND,
				      .flags = VNET_OP_FIRST | VNET_OP_LAST | VNET_OP_IMM64,
				      .qp_type = NIC_QPT_RC,
				      .src_qpn = 1,
				      .dst_qpn = connected[1]->qpn };
	reseal(bytes, sizeof(*frame) + sizeof(*op));
}

static void test_strangers(void)
{
	static u8 frame[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	static u8 copy[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct nic_counters *c;
	u64 before;
	u32 length, i;

	world_make(9, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 20, 4, false);
	c = &side[1].nic.hdr->counters;
	length = last_frame(1, frame);
	/* Cut anywhere, and with any bit turned. */
	for (i = 0; i < length; i++) {
		before = dropped(c);
		inject(1, frame, i);
		CHECK(dropped(c) == before + 1);
	}
	for (i = 0; i < 8 * length; i++) {
		memcpy(copy, frame, length);
		copy[i / 8] ^= (u8)(1u << i % 8);
		before = dropped(c);
		inject(1, copy, length);
		CHECK(dropped(c) == before + 1);
	}
	/* An older NIC's, and what says that it has what it cannot have. */
	memcpy(copy, frame, length);
	((struct vnet_frame *)copy)->version = VNET_WIRE_VERSION - 1;
	reseal(copy, length);
	before = c->bad_version;
	inject(1, copy, length);
	CHECK(c->bad_version == before + 1);
	wide_plain_send(copy);
	before = c->bad_field;
	inject(1, copy, sizeof(struct vnet_frame) + sizeof(struct vnet_frame_op));
	CHECK(c->bad_field == before + 1);
	CHECK(side[1].nic.hdr->row_high == 1);
	stream_sends(connected[0], connected[1], 20, 4, false);
	world_free();
}

/* ----------------------------------------------------------------------- lives */

/*
 * Side `waiting` looks at a frame while the other one begins a new life, of which it
 * hears between its first look at the frame's sender and when it has the row's lock.
 */
static u32 waiting;

static void begin_new_life(void)
{
	struct nic *other = &side[!waiting].nic;

	side[waiting].nic.row[0].lock = 0;
	nic_link_renew(other, nic_load(&other->hdr->incarnation) + 1000);
	/* It calls; its peer knows its new life then. */
	nic_row_activate(other, &other->row[0]);
	while (side[waiting].nic.row[0].incarnation != other->hdr->incarnation)
		pass(1000000);
}

/* What comes last from an earlier life. */
static void inject_late(u32 to, u8 *bytes, u32 length)
{
	struct nic_counters *c = &side[to].nic.hdr->counters;
	u64 before = c->bad_incarnation;

	reseal(bytes, length);
	waiting = to;
	side[to].nic.row[0].lock = side[to].nic.self + 1;
	on_relax = begin_new_life;
	inject(to, bytes, length);
	CHECK(!on_relax && c->bad_incarnation > before);
}

/* An answer of an earlier life is none to what is sent in a new one. */
static void late_answer(void)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct vnet_frame *frame = (struct vnet_frame *)bytes;
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	struct vnet_cqe cqe;
	u32 length;

	world_make(11, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 1, 1, false);
	length = last_frame(0, bytes);
	CHECK(frame->kind == VNET_FRAME_ACK && frame->nacks == 1);
	((struct vnet_frame_ack *)(frame + 1))->seq = nic_le32(1);
	faults.lose = 1000;
	end_send(connected[0], &w, 0, 100);
	CHECK(side[0].nic.row[0].busy == 1);
	faults.lose = 0;
	inject_late(0, bytes, length);
	CHECK(side[0].nic.row[0].busy == 1 && !end_poll(connected[0], &cqe));
	world_free();
}

/* Packets of an earlier life move no sequence of a new one; those of datagrams would at once. */
static void late_packet(void)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct vnet_frame *frame = (struct vnet_frame *)bytes;
	struct vnet_frame_op *op = (struct vnet_frame_op *)(frame + 1);
	u32 length;

	world_make(12, &config);
	connect_two(NIC_QPT_UD, false);
	datagrams(connected[0], connected[1], 1);
	length = last_frame(1, bytes);
	CHECK(frame->kind == VNET_FRAME_DATA && !frame->nacks);
	op->seq = nic_le32(nic_le32(op->seq) + 1000);
	inject_late(1, bytes, length);
	CHECK(!side[1].nic.row[0].rx[op->channel].seq);
	datagrams(connected[0], connected[1], 1);
	world_free();
}

static void test_lives(void)
{
	late_answer();
	late_packet();
}

/* ---------------------------------------------------------------------- groups */

/* At side 1; the link may have more. */
static void arrive_from(u8 address, u8 *bytes, u32 length)
{
	struct nic_address from = { { address } };

	reseal(bytes, length);
	nic_receive(&side[1].nic, &from, bytes, length, false);
}

/* Side 0's, of a life after this one. */
static void call_from(u8 address, u8 kind)
{
	static u64 space[16];
	struct vnet_frame *frame = (struct vnet_frame *)space;
	struct vnet_frame_hello *hello = (struct vnet_frame_hello *)(frame + 1);

	memset(space, 0, sizeof(space));
	frame->magic = VNET_WIRE_MAGIC;
	frame->version = VNET_WIRE_VERSION;
	frame->kind = kind;
	frame->src_incarnation = side[0].nic.hdr->incarnation + 1;
	frame->dst_incarnation = side[1].nic.hdr->incarnation;
	memcpy(hello->src_gid, side[0].nic.hdr->gid[0], 16);
	memcpy(hello->dst_gid, side[1].nic.hdr->gid[0], 16);
	hello->payload = nic_le32(1024);
	hello->window = nic_le32(65536);
	arrive_from(address, (u8 *)space, sizeof(*frame) + sizeof(*hello));
}

/* A member of another group says that it is side 0, and sends what side 0 has sent. */
static void test_groups(void)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	const struct nic_counters *c;
	struct nic_row *row;
	u64 incarnation;
	u32 length;

	world_make(14, &config);
	groups = true;
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 20, 4, false);
	c = &side[1].nic.hdr->counters;
	row = &side[1].nic.row[0];
	incarnation = row->incarnation;
	CHECK(!c->bad_gid && !side[0].nic.hdr->counters.bad_gid);
	call_from(2, VNET_FRAME_HELLO);
	call_from(2, VNET_FRAME_WELCOME);
	length = last_frame(1, bytes);
	arrive_from(2, bytes, length);
	CHECK(c->bad_gid == 3 && !c->duplicates);
	CHECK(row->incarnation == incarnation && !row->address.bytes[0]);
	/* A mate, by an address of its own. */
	arrive_from(1, bytes, length);
	CHECK(c->bad_gid == 3 && c->duplicates == 1);
	stream_sends(connected[0], connected[1], 20, 4, false);
	call_from(0, VNET_FRAME_HELLO);
	CHECK(c->bad_gid == 3 && row->incarnation == incarnation + 1);
	/* What was believed when there were no groups does not outlast that. */
	groups = false;
	side[0].nic.hdr->incarnation += 10;
	call_from(2, VNET_FRAME_HELLO);
	CHECK(row->address.bytes[0] == 2 && row->incarnation == incarnation + 11);
	groups = true;
	nic_link_check(&side[1].nic);
	CHECK(!row->incarnation && row->state != NIC_ROW_UP && !row->address.bytes[0]);
	call_from(0, VNET_FRAME_HELLO);
	CHECK(row->state == NIC_ROW_UP);
	nic_link_check(&side[1].nic);
	CHECK(row->state == NIC_ROW_UP);
	groups = false;
	world_free();
}

/* ----------------------------------------------------------------------- again */

static void arrive(u8 *bytes, u32 length)
{
	arrive_from(0, bytes, length);
}

/*
 * A packet comes, and its repetition before it is answered: the answer tells of the first,
 * so its sender learns that nothing was lost. Later ones are answered as themselves.
 */
static void test_again(void)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct vnet_frame_op *op = (struct vnet_frame_op *)(bytes + sizeof(struct vnet_frame));
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	struct nic_rx *rx;
	u32 length, sent;

	world_make(13, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 1, 1, false);
	end_recv(connected[1], 2, HALF, 100);
	faults.lose = 1000;
	end_send(connected[0], &w, 0, 100);
	length = last_frame(1, bytes);
	rx = &side[1].nic.row[0].rx[op->channel];
	sent = nic_le32(op->timestamp);
	arrive(bytes, length);
	CHECK(side[1].nic.row[0].owed && rx->timestamp == sent);
	op->timestamp = nic_le32(sent + 1000);
	arrive(bytes, length);
	CHECK(side[1].nic.hdr->counters.duplicates == 1 && rx->timestamp == sent);
	nic_receive_end(&side[1].nic);
	CHECK(!side[1].nic.row[0].owed);
	arrive(bytes, length);
	CHECK(side[1].nic.row[0].owed && rx->timestamp == sent + 1000);
	nic_receive_end(&side[1].nic);
	faults.lose = 0;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	world_free();
}

/* ------------------------------------------------------------------ collected */

/* Side 0 sends so many packets, which come at side 1 one by one, and two before a pause. */
static void arrive_some(u32 n)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	u32 i, length;

	for (i = 0; i < n; i++) {
		end_recv(connected[1], 2, HALF, 100);
		faults.lose = 1000;
		end_send(connected[0], &w, 0, 100);
		faults.lose = 0;
		length = last_frame(1, bytes);
		arrive(bytes, length);
		if (i % 2)
			nic_receive_end(&side[1].nic);
	}
}

/* The frames into which the answers to so many packets go, but for those that are kept. */
static u32 answered(u32 unit, u32 n, u32 kept)
{
	const struct nic_row *row = &side[1].nic.row[0];
	u64 frames = side[1].nic.hdr->counters.frames_sent;
	u32 i;

	side[1].nic.hdr->settings.ack_unit = unit;
	arrive_some(n);
	frames = side[1].nic.hdr->counters.frames_sent - frames;
	CHECK(row->nowed == kept);
	/* No longer than they may be. */
	pass(65000);
	CHECK(!row->owed);
	for (i = 0; i < n; i++) {
		CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
		CHECK(end_wait(connected[1]).status == VNET_WC_SUCCESS);
	}
	return (u32)frames;
}

/* One frame of answers for so many packets, whoever takes them, and however they come. */
static void test_collected(void)
{
	struct nic *nic = &side[1].nic;
	u64 next;

	world_make(15, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 100, 16, false);
	for (nic->space = NIC_SPACE_POINTER; nic->space < 2; nic->space++) {
		CHECK(answered(1, 12, 0) == 12);
		CHECK(answered(3, 12, 0) == 4);
		CHECK(answered(5, 12, 2) == 2);
		/* What has come; a process may have data for all that is in its hands. */
		CHECK(answered(0, 12, nic->space ? 12 : 0) == (nic->space ? 0 : 6));
	}
	/* An agent is told until when it may keep some. */
	nic->space = NIC_SPACE_POINTER;
	nic->hdr->settings.ack_unit = 5;
	arrive_some(1);
	CHECK(nic_receive_end(nic) && nic->row[0].nowed == 1);
	CHECK(nic_run(nic, 64, &next) && next > now_ns && next <= now_ns + 51000);
	world_free();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = { { "clean", test_clean },         { "lossy", test_lossy },
		      { "frames", test_frames },       { "named", test_named },
		      { "strangers", test_strangers }, { "lives", test_lives },
		      { "again", test_again },         { "pages", test_pages },
		      { "groups", test_groups },       { "collected", test_collected } };
	u32 i;

	for (i = 0; argc > 1 && i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (strcmp(argv[1], tests[i].name) == 0) {
			tests[i].run();
			return 0;
		}
	}
	fprintf(stderr,
		"usage: %s clean|lossy|frames|named|strangers|lives|again|pages|groups|collected\n",
		argv[0]);
	return 2;
}
