// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging between two NICs. A request that waits for pages delays no other requests,
 * and its wait counts for no timeout.
 */
#include "vn/vn.h"
#include "streams.h"

/* Memory is paged on demand from now on. Only pages of side `pages_gone` are missing. */
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
 * A packet is lost, and the memory for its retransmission is missing for longer than the
 * connection's timeout: the request does not fail.
 */
static void missing_for_long(u8 opcode, u32 length)
{
	struct vnet_send_wqe w = request(opcode, 1);
	struct nic_qp *qp;

	begin_paged(30);
	qp = end_qp(connected[0]);
	/* 4 ms, twice. */
	qp->attr.timeout = 10;
	qp->attr.retry_cnt = 1;
	aim(&w, &side[1], HALF);
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

/* The same for a datagram. */
static void datagram_missing_for_long(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	struct end *a, *b;

	pages_miss = 1000000;
	world_make(31, &config);
	pair_make(&a, &b, NIC_QPT_UD);
	datagrams(a, b, 1);
	aim_datagram(&w, b);
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

/* The result of an atomic operation waits for pages: the queue pair can be flushed. */
static void flushed_while_missing(void)
{
	struct vnet_send_wqe w = request(VNET_WR_ATOMIC_FETCH_ADD, 1);
	u64 *word;

	begin_paged(32);
	word = (u64 *)(void *)(side[1].data + HALF);
	*word = 7;
	aim(&w, &side[1], HALF);
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

/* A failed fetch does not fail a later request, which asked for pages after it. */
static void each_asks_for_itself(void)
{
	begin_paged(34);
	for (u32 i = 0; i < 2; i++) {
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, i);

		aim(&w, &side[1], HALF);
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
	for (u32 i = 0; i < 2; i++)
		CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	pages_lost_at = 0;
	end_paged();
}

/* A long message causes few fetches, and memory that is not paged causes none. */
static void asked_by_the_block(void)
{
	for (u32 i = 0; i < 2; i++) {
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 1);

		pages_miss = i ? 1000000 : 0;
		world_make(33, &config);
		connect_two(NIC_QPT_RC, false);
		aim(&w, &side[1], HALF);
		pages_asked = 0;
		end_send(connected[0], &w, 0, HALF);
		CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
		CHECK(pages_asked >= 2 * i && pages_asked <= 20 * i);
		world_free();
	}
	pages_missed = 0;
	pages_miss = 0;
}

/* Posts a read whose memory is present. */
static void read_begin(u32 length)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_READ, 1);

	aim(&w, &side[1], HALF);
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

/* A read whose destination is missing keeps no channel or endpoint frame, and is not resent. */
static void missing_holds_nothing(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 2);
	struct nic_config one = config;
	struct end *a, *b;
	u64 sent;

	one.max_frame = 1;
	pages_miss = 1000000;
	world_make(35, &one);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 1, 1, false);
	pair_make(&a, &b, NIC_QPT_RC);
	read_begin(100000);
	pages_gone = 0;
	pass(1000000);
	CHECK(pages_missed && !side[0].nic.row[0].busy);
	sent = side[0].nic.hdr->counters.frames_sent;
	pass(20000000);
	CHECK(side[0].nic.hdr->counters.frames_sent == sent);
	aim(&w, &side[1], 0);
	for (u32 i = 0; i < 10; i++) {
		end_send(a, &w, 0, 0);
		CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	}
	CHECK(side[0].nic.hdr->counters.evictions);
	read_ends(100000);
}

/* Pages that go as soon as they are fetched are not fetched in a busy loop. */
static void missing_again_and_again(u32 sequence_bits)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 1);

	pages_miss = 1000000;
	world_make(36, &config);
	/* With one bit, the requester must know whether a sent packet was accepted. */
	side[0].nic.hdr->settings.sequence_bits = sequence_bits;
	side[1].nic.hdr->settings.sequence_bits = sequence_bits;
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 1, 1, false);
	aim(&w, &side[1], HALF);
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
	struct nic_qp *qp = end_qp(connected[0]);

	qp->attr.timeout = timeout;
	qp->attr.retry_cnt = 0;
}

/* With no retries and the shortest timeout, a wait for local pages uses up neither. */
static void impatient_for_own_pages(void)
{
	begin_paged(37);
	be_impatient(1);
	read_begin(5000);
	pages_gone = 0;
	pass(100000000);
	CHECK(pages_missed && !side[0].nic.hdr->counters.unreachable);
	read_ends(5000);

	/* After the pages have come, the whole timeout of 8 ms is available. */
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

/* Read data that cannot be placed yet shows that the peer is alive. */
static void heard_while_missing(void)
{
	static u64 frame[VNET_WIRE_MAX_FRAME / 8 + 1];
	u32 length;

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
	for (u32 i = 0; i < 2; i++)
		CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	CHECK(filled(side[0].data, 5000, 3));
	end_paged();
}

/* The same for a packet that was refused because an earlier packet was lost. */
static void impatient_after_a_refusal(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 1);

	begin_paged(43);
	be_impatient(11);
	aim(&w, &side[1], HALF);
	for (u32 i = 0; i < 2; i++) {
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

/* The same for pages of the peer, even if the NIC processor runs late. */
static void impatient_for_the_peers_pages(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 1);

	begin_paged(39);
	be_impatient(1);
	aim(&w, &side[1], HALF);
	pages_gone = 1;
	end_send(connected[0], &w, 0, 5000);
	for (u32 i = 0; i < 20; i++) {
		pass(100000);
		now_ns += 2000000;
	}
	CHECK(pages_missed && !side[0].nic.hdr->counters.unreachable);
	pages_gone = 2;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	end_paged();
}

/* A repeated read does not take over the fetch time of the packet that is expected. */
static void turn_keeps_its_wait(u32 length)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 2);
	static u64 frame[VNET_WIRE_MAX_FRAME / 8 + 1];
	u32 frame_length;

	begin_paged(40);
	read_begin(length);
	frame_length = last_frame(1, frame);
	pass(5000);
	pages_gone = 1;
	aim(&w, &side[1], 0);
	end_send(connected[0], &w, HALF, 5000);
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	pass(2000000);
	pages_lost_from = 0;
	pages_lost_at = now_ns++;
	for (u32 i = 0; i < 50; i++) {
		inject(1, frame, frame_length);
		pass(50000);
	}
	CHECK(end_wait(connected[0]).status == VNET_WC_REM_OP_ERR);
	pages_lost_at = 0;
	pages_gone = 2;
	end_paged();
}

/* If no other packet waits, a repeated read does: lost memory is reported. */
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

/* A retransmission mark that a dead process left on a completed packet has no effect. */
static void sent_again_after_it_was_done(void)
{
	struct nic_endpoint *ep;

	world_make(42, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 5, 1, false);
	ep = nic_endpoint_at(&side[0].nic, end_qp(connected[0]));
	CHECK(ep && ep->una == ep->next);
	ep->resend = 1ull << ((ep->next + 7) % NIC_WINDOW) | 1ull << ((ep->next - 1) % NIC_WINDOW);
	ep->gated = 1;
	ep->gate = ep->next - 1;
	ep->allowed = 1;
	stream_sends(connected[0], connected[1], 100, 16, false);
	CHECK(!ep->resend);
	world_free();
}

/* With memory that comes and goes, everything arrives, and page waits count for no timeout. */
int main(void)
{
	static const u32 often[] = { 2, 5, 50 };

	for (u32 i = 0; i < 6; i++) {
		pages_miss = often[i % 3];
		world_make(20 + i, &config);
		if (i >= 3)
			faults = (struct link_faults){ 30, 30, 100, 10 };
		everything(60);
		print_counters();
		CHECK(pages_missed > 100);
		for (u32 k = 0; i < 3 && k < 2; k++)
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
	return 0;
}
