// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "streams.h"

const struct nic_config config = {
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

struct end *connected[2];

static u32 some_length(void)
{
	static const u32 sizes[] = { 0, 1, 7, 64, 1000, 4096, 16384, 16385, 50000, 100000 };

	return sizes[below(10)];
}

/* Sets immediate data: 64 bits for even i, 32 bits for odd i. */
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

void stream_sends(struct end *a, struct end *b, u32 n, u32 window, bool late)
{
	u32 length[1024] = { 0 }, sent = 0, done = 0, posted = 0, got = 0;
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
	for (u32 i = 0; i < rounds; i++) {
		u32 length = some_length();
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, i);
		struct vnet_cqe cqe;

		aim(&w, b->side, HALF + 5);
		fill(a->side->data, length, i);
		memset(b->side->data + HALF, 0xee, length + 100);
		end_send(a, &w, 0, length);
		w = request(VNET_WR_RDMA_READ, i + 1000);
		aim(&w, b->side, HALF + 5);
		memset(a->side->data + HALF, 0, length + 100);
		end_send(a, &w, HALF + 9, length);
		(void)end_expect(a, i, VNET_WC_SUCCESS);
		cqe = end_expect(a, i + 1000, VNET_WC_SUCCESS);
		CHECK(cqe.byte_len == length);
		CHECK(filled(b->side->data + HALF + 5, length, i));
		CHECK(filled(a->side->data + HALF + 9, length, i));
		CHECK(b->side->data[HALF + 5 + length] == 0xee && b->side->data[HALF + 4] == 0xee);
	}
}

/* A receive for each write shows when the data is there. */
static void writes_with_immediate(struct end *a, struct end *b, u32 rounds)
{
	for (u32 i = 0; i < rounds; i++) {
		u32 length = some_length();
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE_IMM, i);
		struct vnet_cqe cqe;

		aim(&w, b->side, HALF + 5);
		set_imm(&w, i);
		fill(a->side->data, length, i);
		end_recv(b, i, 0, 0);
		end_send(a, &w, 0, length);
		cqe = end_expect(b, i, VNET_WC_SUCCESS);
		CHECK(cqe.opcode == VNET_WC_RECV_RDMA_WITH_IMM && cqe.byte_len == length);
		CHECK(has_imm(&cqe, i));
		CHECK(filled(b->side->data + HALF + 5, length, i));
		(void)end_expect(a, i, VNET_WC_SUCCESS);
	}
}

static void atomics(struct end *a, struct end *b, u32 rounds)
{
	u64 *word = (u64 *)(void *)(b->side->data + HALF);
	u64 *old = (u64 *)(void *)a->side->data;

	*word = 0;
	for (u32 i = 0; i < rounds; i++) {
		struct vnet_send_wqe w = request(VNET_WR_ATOMIC_FETCH_ADD, i);

		aim(&w, b->side, HALF);
		w.rdma.compare_add = 3;
		end_send(a, &w, i % 64 * 8, 8);
		if (i % 64 == 63 || i == rounds - 1) {
			u32 first = i - i % 64;

			for (u32 j = first; j <= i; j++) {
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

	for (u32 i = 0; i < rounds; i++) {
		struct vnet_send_wqe w = request(VNET_WR_ATOMIC_WRITE, i);
		struct vnet_cqe cqe;

		aim(&w, b->side, HALF);
		*value = 0x123456789ull * (i + 1);
		end_send(a, &w, 0, 8);
		cqe = end_expect(a, i, VNET_WC_SUCCESS);
		CHECK(cqe.opcode == VNET_WC_ATOMIC_WRITE);
		CHECK(*word == *value && *value == 0x123456789ull * (i + 1));
	}
}

/* When the flush completes, the data of all earlier writes is in place. */
static void flushes(struct end *a, struct end *b, u32 rounds)
{
	for (u32 i = 0; i < rounds; i++) {
		u32 length = some_length();
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, i);
		struct vnet_cqe cqe;

		w.flags = 0;
		w.rdma.rkey = b->side->key;
		fill(a->side->data, length, i);
		for (u32 j = 0; j < 3; j++) {
			w.rdma.remote_addr =
				(u64)(unsigned long)b->side->data + HALF + (u64)j * length;
			end_send(a, &w, 0, length);
		}
		w = request(VNET_WR_FLUSH, i);
		aim(&w, b->side, HALF);
		w.rdma.compare_add = 3ull * length;
		w.rdma.swap = vnet_flush_operand(VNET_FLUSH_GLOBAL,
						 i % 2 ? VNET_FLUSH_MR : VNET_FLUSH_RANGE);
		end_send(a, &w, 0, 0);
		cqe = end_expect(a, i, VNET_WC_SUCCESS);
		CHECK(cqe.opcode == VNET_WC_FLUSH && !cqe.byte_len);
		for (u32 j = 0; j < 3; j++)
			CHECK(filled(b->side->data + HALF + (u64)j * length, length, i));
	}
}

void datagrams(struct end *a, struct end *b, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		u32 length = below(2049);
		struct vnet_send_wqe w = request(VNET_WR_SEND_IMM, i);
		struct vnet_cqe cqe;

		end_recv(b, i, HALF, 2048 + VNET_GRH_SIZE);
		fill(a->side->data, length, i);
		aim_datagram(&w, b);
		set_imm(&w, i);
		end_send(a, &w, 0, length);
		(void)end_expect(a, i, VNET_WC_SUCCESS);
		cqe = end_expect(b, i, VNET_WC_SUCCESS);
		CHECK(cqe.src_qp == a->qpn);
		CHECK(cqe.byte_len == length + VNET_GRH_SIZE && (cqe.flags & VNET_WC_GRH));
		CHECK(has_imm(&cqe, i));
		CHECK(filled(b->side->data + HALF + VNET_GRH_SIZE, length, i));
	}
}

void connect_two(u8 type, bool srq)
{
	connected[0] = end_make(&side[0], type, false);
	connected[1] = end_make(&side[1], type, srq);
	end_connect(connected[0], connected[1]);
}

void connect_extended(void)
{
	connected[0] = end_make(&side[0], NIC_QPT_XRC_INI, false);
	connected[1] = end_make(&side[1], NIC_QPT_XRC_TGT, false);
	end_connect(connected[0], connected[1]);
}

void everything(u32 n)
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
	flushes(connected[0], connected[1], n);
	connect_extended();
	stream_sends(connected[0], connected[1], n, 16, true);
	one_writes_and_reads(connected[0], connected[1], n);
	writes_with_immediate(connected[0], connected[1], n);
	atomics(connected[0], connected[1], n);
	atomic_writes(connected[0], connected[1], n);
	flushes(connected[0], connected[1], n);
	connect_two(NIC_QPT_UC, false);
	stream_sends(connected[0], connected[1], n, 16, false);
	pair_make(&a, &b, NIC_QPT_UD);
	datagrams(a, b, n);
}

void print_counters(void)
{
	for (u32 i = 0; i < 2; i++) {
		const struct nic_counters *c = &side[i].nic.hdr->counters;

		printf("side %u: %llu frames sent, %llu received, %llu again, %llu duplicates, "
		       "%llu NACKs, %llu bad CRC, %llu faults, %llu loads, %llu evictions\n",
		       i, c->frames_sent, c->frames_received, c->retransmitted, c->duplicates,
		       c->nacks_received, c->bad_crc, c->faults, c->loads, c->evictions);
	}
}

void begin_connected(u32 seed, u8 type)
{
	world_make(seed, &config);
	connect_two(type, false);
	if (type == NIC_QPT_UD)
		datagrams(connected[0], connected[1], 4);
	else
		stream_sends(connected[0], connected[1], 20, 4, false);
	pass(50 * MS);
}

int run_named(int argc, char **argv, const struct vn_test *tests, u32 n)
{
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (u32 i = 0; i < n; i++)
			puts(tests[i].name);
		return 0;
	}
	for (u32 i = 0; argc == 2 && i < n; i++) {
		if (strcmp(argv[1], tests[i].name) == 0) {
			if (tests[i].type)
				begin_connected(41, tests[i].type);
			tests[i].run();
			if (tests[i].type)
				world_free();
			return 0;
		}
	}
	fprintf(stderr, "usage: %s TEST, one of", argv[0]);
	for (u32 i = 0; i < n; i++)
		fprintf(stderr, " %s", tests[i].name);
	fprintf(stderr, "\n");
	return 2;
}
