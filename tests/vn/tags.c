// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tag matching between two NICs: messages of all sizes and rendezvous. Messages go to the
 * buffers with their tags, in order, also on faulty links and after the death of an executor.
 */
#include <endian.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/lookup.h"
#include "transport/transport.h"
#include "tags/tags.h"
#include "vn/vn.h"
#include "world.h"

static struct nic_config config = {
	.max_qp = 16,
	.max_cq = 16,
	.max_srq = 16,
	.max_mr = 16,
	.max_channel = 4,
	.max_client = 4,
	.max_row = 4,
	.max_frame = 8,
	.queue_bytes = 4 << 20,
	.stall_ns = 50000000,
};

#define TAGS 64
#define ALL (~0ull)
/* Offsets in the sender's memory: headers and eager data come first, then rendezvous data. */
#define ANNOUNCED (2u << 20)
/* ... and the messages that end a rendezvous (FIN). */
#define FINS (3u << 20)
/* Offset in the receiver's memory: tagged buffers come first, then ordinary receives. */
#define PLAIN (2u << 20)
#define ROOM 120000u

enum { NO_TAG, RNDV, FIN, EAGER };

static struct end *from, *to;

static void make(u32 seed)
{
	world_make(seed, &config);
	ends_tags = 0;
	from = end_make(&side[0], NIC_QPT_RC, false);
	ends_tags = TAGS;
	to = end_make(&side[1], NIC_QPT_RC, true);
	ends_tags = 0;
	end_connect(from, to);
}

static struct nic_srq *srq(void)
{
	return &side[1].nic.srq[to->srqn - 1];
}

static struct nic_tm *list(void)
{
	struct nic_tm_list l;

	CHECK(nic_tm_open(&side[1].nic, srq(), &l));
	return l.tm;
}

/* ------------------------------------------------------------------- messages */

static void post_tag(const struct vnet_tm_op *op)
{
	memcpy(to->ops.slots + ((size_t)(to->ops_prod & to->ops.mask) << to->ops.shift), op,
	       sizeof(*op));
	nic_store_release(&to->ops.hdr->prod, ++to->ops_prod);
}

static struct vnet_tm_op tagged(u64 wr_id, u64 tag, u32 offset, u32 length)
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_ADD,
				 .recv_wr_id = wr_id,
				 .tag = tag,
				 .mask = ALL,
				 .num_sge = 1,
				 .handle = to->ops_prod + 1 };

	op.sge[0] = (struct vnet_sge){ (u64)(unsigned long)(to->side->data + offset), length,
				       to->side->key };
	return op;
}

static void add(u64 wr_id, u64 tag, u32 offset, u32 length)
{
	struct vnet_tm_op op = tagged(wr_id, tag, offset, length);

	post_tag(&op);
}

static void write_headers(u32 offset, u8 opcode, u64 tag)
{
	u8 *header = from->side->data + offset;
	u64 wire_tag = htobe64(tag);
	u32 priv = htobe32(0xabcd);

	memset(header, 0, NIC_TMH_SIZE);
	header[0] = opcode;
	memcpy(header + 4, &priv, 4);
	memcpy(header + 8, &wire_tag, 8);
}

static void post_message(u64 wr_id, u32 offset, u32 length)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, wr_id);

	end_send(from, &w, offset, NIC_TMH_SIZE + length);
}

/* Sends a message with `length` bytes behind its header. */
static void send(u64 wr_id, u8 opcode, u64 tag, u32 offset, u32 length)
{
	write_headers(offset, opcode, tag);
	fill(from->side->data + offset + NIC_TMH_SIZE, length, (u32)tag);
	post_message(wr_id, offset, length);
}

/* Announces rendezvous data; `behind` more bytes follow the header. */
static void announce(u64 wr_id, u64 tag, u32 offset, u32 data, u32 length, u32 behind)
{
	u64 va = htobe64((u64)(unsigned long)(from->side->data + data));
	u32 rkey = htobe32(from->side->key), size = htobe32(length);
	u8 *rvh = from->side->data + offset + NIC_TMH_SIZE;

	write_headers(offset, RNDV, tag);
	memcpy(rvh, &va, 8);
	memcpy(rvh + 8, &rkey, 4);
	memcpy(rvh + 12, &size, 4);
	fill(from->side->data + data, length, (u32)tag);
	post_message(wr_id, offset, NIC_RVH_SIZE + behind);
}

/* ---------------------------------------------------------------- completions */

static void expect_sent(u64 wr_id, u8 status)
{
	struct vnet_cqe cqe = end_wait(from);

	CHECK(cqe.wr_id == wr_id && cqe.status == status);
}

static struct vnet_cqe expect(u64 wr_id, u8 opcode, u8 status)
{
	struct vnet_cqe cqe = end_wait(to);

	CHECK(cqe.wr_id == wr_id && cqe.status == status);
	CHECK(status || cqe.opcode == opcode);
	return cqe;
}

static void expect_match(u64 wr_id, u64 tag, u32 length)
{
	struct vnet_cqe cqe = expect(wr_id, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
	u64 told;

	CHECK(cqe.flags == (VNET_WC_TM_MATCH | VNET_WC_TM_DATA_VALID));
	CHECK(cqe.byte_len == length);
	memcpy(&told, cqe.payload + vnet_cqe_tm_info(length), sizeof(told));
	CHECK(told == tag);
}

static void check_fin(const struct vnet_cqe *cqe, u64 wr_id, u64 tag)
{
	const u8 *at = from->side->data + FINS;
	u64 told;

	CHECK(cqe->wr_id == wr_id && cqe->status == VNET_WC_SUCCESS);
	CHECK(cqe->byte_len == NIC_TM_HEADERS && at[0] == FIN);
	memcpy(&told, at + 8, 8);
	CHECK(be64toh(told) == tag);
}

static void expect_fin(u64 wr_id, u64 tag)
{
	struct vnet_cqe cqe = end_wait(from);

	check_fin(&cqe, wr_id, tag);
}

/* The acknowledgement of the announcement may be lost, and come later than the FIN. */
static void expect_sent_and_fin(u64 wr_id, u64 fin, u64 tag)
{
	struct vnet_cqe one = end_wait(from), other = end_wait(from);
	bool swapped = one.wr_id == fin;
	const struct vnet_cqe *sent = swapped ? &other : &one;

	CHECK(sent->wr_id == wr_id && sent->status == VNET_WC_SUCCESS);
	check_fin(swapped ? &one : &other, fin, tag);
}

static void expect_nothing(void)
{
	struct vnet_cqe cqe;

	pass(30000000);
	CHECK(!end_poll(from, &cqe) && !end_poll(to, &cqe));
}

/* -------------------------------------------------------------- single messages */

static void eager_of_any_size(void)
{
	static const u32 lengths[] = { 0, 8, 1000, 16352, 16368, 16369, 32753, ROOM };

	make(1);
	for (u32 i = 0; i < 8; i++) {
		add(1, 6, ROOM, ROOM);
		add(2, 5, 0, ROOM);
		send(7, EAGER, 5, 0, lengths[i]);
		expect_sent(7, VNET_WC_SUCCESS);
		expect_match(2, 5, lengths[i]);
		CHECK(filled(to->side->data, lengths[i], 5));
		CHECK(list()->used == i + 1);
		CHECK(to->ops.hdr->ended == i + 1);
	}
	expect_nothing();
	world_free();
}

/* The buffer's SGEs end within frames. */
static void eager_to_several_pieces(void)
{
	static const u32 at[VNET_TM_MAX_SGE + 1] = { 0, 1, 17000, 17003, 60000 };
	struct vnet_tm_op op;

	make(1);
	op = tagged(1, 5, 0, 0);
	op.num_sge = VNET_TM_MAX_SGE;
	for (u32 i = 0; i < VNET_TM_MAX_SGE; i++)
		op.sge[i] = (struct vnet_sge){ (u64)(unsigned long)(to->side->data + 2 * at[i]),
					       at[i + 1] - at[i], to->side->key };
	post_tag(&op);
	send(7, EAGER, 5, 0, 50000);
	expect_sent(7, VNET_WC_SUCCESS);
	expect_match(1, 5, 50000);
	for (u32 i = 0; i < 50000; i++) {
		u32 piece = i < 1 ? 0 : i < 17000 ? 1 : i < 17003 ? 2 : 3;

		CHECK(to->side->data[at[piece] + i] == from->side->data[NIC_TMH_SIZE + i]);
	}
	world_free();
}

static void too_long(u32 room, u32 length)
{
	make(1);
	add(1, 5, 0, room);
	add(2, 5, ROOM, ROOM);
	end_recv(to, 3, PLAIN, ROOM);
	send(7, EAGER, 5, 0, length);
	expect_sent(7, VNET_WC_REM_INV_REQ_ERR);
	expect(1, 0, VNET_WC_LOC_LEN_ERR);
	CHECK(list()->used == 1 && list()->unexpected == 0);
	expect_nothing();
	world_free();
}

/* Messages without a matching tag or without any tag go whole to ordinary receives. */
static void to_plain_receives(void)
{
	struct vnet_cqe cqe;

	make(1);
	add(1, 5, 0, ROOM);
	end_recv(to, 2, PLAIN, ROOM);
	end_recv(to, 3, PLAIN + ROOM, ROOM);
	end_recv(to, 4, PLAIN, 1000);
	send(7, EAGER, 6, 0, 50000);
	cqe = expect(2, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
	CHECK(!cqe.flags && cqe.byte_len == 50000 + NIC_TMH_SIZE);
	CHECK(!memcmp(to->side->data + PLAIN, from->side->data, cqe.byte_len));
	CHECK(list()->unexpected == 1);
	expect_sent(7, VNET_WC_SUCCESS);
	send(8, NO_TAG, 5, 0, 40000);
	cqe = expect(3, VNET_WC_TM_NO_TAG, VNET_WC_SUCCESS);
	CHECK(cqe.byte_len == 40000 + NIC_TMH_SIZE);
	CHECK(!memcmp(to->side->data + PLAIN + ROOM, from->side->data, cqe.byte_len));
	expect_sent(8, VNET_WC_SUCCESS);
	CHECK(list()->unexpected == 1 && list()->used == 1);
	send(9, EAGER, 6, 0, 40000);
	expect_sent(9, VNET_WC_REM_INV_REQ_ERR);
	expect(4, 0, VNET_WC_LOC_LEN_ERR);
	world_free();
}

/* ----------------------------------------------------------------- rendezvous */

static void rendezvous(u32 behind)
{
	struct vnet_cqe cqe;

	make(1);
	add(1, 5, 0, ROOM);
	end_recv(from, 50, FINS, 100);
	announce(7, 5, 0, ANNOUNCED, ROOM, behind);
	expect_sent(7, VNET_WC_SUCCESS);
	cqe = expect(1, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
	CHECK(cqe.flags == VNET_WC_TM_MATCH);
	cqe = expect(1, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
	CHECK(cqe.flags == VNET_WC_TM_DATA_VALID && cqe.byte_len == ROOM);
	CHECK(filled(to->side->data, ROOM, 5));
	expect_fin(50, 5);
	expect_nothing();
	world_free();
}

/* When the sender has the FIN, all data has been read, and the sender may reuse its memory. */
static void rendezvous_over_loss(u32 seed)
{
	struct vnet_cqe cqe;

	make(seed);
	faults.lose = 200;
	add(1, 5, 0, ROOM);
	end_recv(from, 50, FINS, 100);
	announce(7, 5, 0, ANNOUNCED, ROOM, 0);
	while (end_wait(from).wr_id != 50)
		;
	memset(from->side->data + ANNOUNCED, 0, ROOM);
	do
		cqe = expect(1, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
	while (cqe.flags != VNET_WC_TM_DATA_VALID);
	CHECK(filled(to->side->data, ROOM, 5));
	faults.lose = 0;
	world_free();
}

static void rendezvous_that_does_not_fit(u32 behind, u32 room)
{
	u32 kept = room < NIC_TM_HEADERS ? room : NIC_TM_HEADERS;
	struct vnet_cqe cqe;

	make(1);
	add(1, 5, 0, room);
	announce(7, 5, 0, ANNOUNCED, ROOM, behind);
	expect_sent(7, VNET_WC_SUCCESS);
	cqe = expect(1, VNET_WC_TM_RECV, VNET_WC_TM_RNDV_INCOMPLETE);
	CHECK(cqe.byte_len == kept);
	CHECK(!memcmp(to->side->data, from->side->data, kept));
	CHECK(!to->side->data[kept] && !list()->used);
	expect_nothing();
	world_free();
}

/* ------------------------------------------------ unexpected messages are dropped */

static void dropped(u32 length)
{
	make(1);
	side[1].nic.hdr->settings.drop_unexpected = 1;
	end_recv(to, 1, PLAIN, ROOM);
	send(7, EAGER, 5, 0, length);
	expect_nothing();
	CHECK(list()->unexpected == 0);
	add(2, 5, 0, ROOM);
	expect_sent(7, VNET_WC_SUCCESS);
	expect_match(2, 5, length);
	CHECK(filled(to->side->data, length, 5));
	send(8, NO_TAG, 5, 0, length);
	expect(1, VNET_WC_TM_NO_TAG, VNET_WC_SUCCESS);
	world_free();
}

/* ---------------------------------------------------------------- partial messages */

static struct nic_open_receive *opened(void)
{
	struct nic_qp *qp = nic_find_qp(&side[1].nic, to->qpn);

	return &nic_endpoint_any(&side[1].nic, qp)->receive;
}

/* Sends a message whose first packet arrives; all later frames are lost. */
static void send_half(u64 tag)
{
	side[0].nic.hdr->settings.channels = 1;
	send(7, EAGER, tag, 0, 100000);
	while (!opened()->open)
		pass(5000);
	faults.lose = 1000;
	pass(1000000);
	CHECK(opened()->open);
}

static void half_unexpected(void)
{
	make(1);
	end_recv(to, 1, PLAIN, ROOM);
	end_recv(to, 2, PLAIN, ROOM);
	send_half(5);
	/*
	 * The message stays unexpected. A tag that is added now waits until the program has
	 * seen it.
	 */
	CHECK(list()->unexpected == 1);
	add(3, 5, 0, ROOM);
	faults.lose = 0;
	expect_sent(7, VNET_WC_SUCCESS);
	expect(1, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
	send(8, EAGER, 5, 0, 10);
	expect(2, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
	CHECK(list()->unexpected == 2 && list()->used == 1);
	world_free();
}

/* If the rest of a message will not come, tags match again. */
static void half_and_reset(u8 state, u64 tag)
{
	struct vnet_cqe cqe;

	make(1);
	add(1, 6, 0, ROOM);
	end_recv(to, 1, PLAIN, ROOM);
	send_half(tag);
	CHECK(list()->unexpected == (tag == 5) && to->ops.hdr->ended == (tag == 6));
	if (tag == 5) {
		/* This tag is parked until the program has seen the unexpected message. */
		add(2, 5, ROOM, ROOM);
		nic_tm_doorbell(&side[1].nic, to->srqn);
		CHECK(list()->tag[list()->tail].state == NIC_TAG_PARKED);
	}
	end_state(to, state, NULL);
	pass(1000000);
	if (state == NIC_QPS_ERR) {
		CHECK(end_poll(to, &cqe));
		CHECK(cqe.wr_id == 1 && cqe.status == VNET_WC_WR_FLUSH_ERR);
	}
	CHECK(!end_poll(to, &cqe) && !opened()->open);
	CHECK(list()->unexpected == 0 && list()->used == (tag == 5 ? 2 : 0));
	/* The message will not come: the tag is active for the next one. */
	CHECK(tag == 6 || list()->tag[list()->tail].state == NIC_TAG_ACTIVE);
	world_free();
}

/* ------------------------------------------------------------------- faulty links */

#define BATCH 4

struct sent {
	u8 opcode;
	bool tagged;
	u32 length;
	u64 tag;
};

static struct sent batch[BATCH];

static void send_batch(u32 round, u32 seen)
{
	static const u32 sizes[] = { 0, 8, 1000, 16368, 16369, 50000, 100000 };
	struct vnet_tm_op sync = { .opcode = VNET_TM_OP_SYNC, .unexpected = seen };

	post_tag(&sync);
	nic_tm_doorbell(&side[1].nic, to->srqn);
	for (u32 i = 0; i < BATCH; i++) {
		batch[i].opcode = below(3) ? EAGER : RNDV;
		batch[i].tagged = batch[i].opcode == RNDV || below(4);
		batch[i].length = sizes[below(7)];
		batch[i].tag = 10ull * round + i;
	}
	/* Adds tags in another order than the messages. */
	for (u32 i = BATCH; i-- > 0;) {
		if (batch[i].tagged)
			add(i, batch[i].tag, i * ROOM, ROOM);
		else
			end_recv(to, 100, PLAIN + i * ROOM, ROOM);
		if (batch[i].opcode == RNDV)
			end_recv(from, 50, FINS, 100);
	}
	for (u32 i = 0; i < BATCH; i++) {
		if (batch[i].opcode == RNDV)
			announce(i, batch[i].tag, i * ROOM, ANNOUNCED + i * ROOM, batch[i].length,
				 0);
		else
			send(i, EAGER, batch[i].tag, i * ROOM, batch[i].length);
	}
}

/* Completions are in the order of the messages, except those of rendezvous data. */
static void take_batch(u32 *seen)
{
	u32 next = 0, fetched = 0, announced = 0;
	struct vnet_cqe cqe;

	for (u32 i = 0; i < BATCH; i++)
		announced += batch[i].opcode == RNDV;
	while (next < BATCH || fetched < announced) {
		cqe = end_wait(to);
		CHECK(cqe.status == VNET_WC_SUCCESS && cqe.opcode == VNET_WC_TM_RECV);
		if (cqe.flags == VNET_WC_TM_DATA_VALID) {
			CHECK(batch[cqe.wr_id].opcode == RNDV && cqe.wr_id < next);
			CHECK(cqe.byte_len == batch[cqe.wr_id].length);
			fetched++;
			continue;
		}
		*seen += !batch[next].tagged;
		CHECK(cqe.wr_id == (batch[next].tagged ? next : 100));
		CHECK(!(cqe.flags & VNET_WC_TM_DATA_VALID) ==
		      (batch[next].opcode == RNDV || !batch[next].tagged));
		next++;
	}
	for (u32 i = 0; i < BATCH; i++)
		CHECK(!batch[i].tagged ||
		      filled(to->side->data + i * ROOM, batch[i].length, (u32)batch[i].tag));
	for (next = 0; next < BATCH + announced; next++)
		CHECK(end_wait(from).status == VNET_WC_SUCCESS);
}

static void stream(u32 seed, struct link_faults how)
{
	u32 seen = 0;

	make(seed);
	faults = how;
	for (u32 round = 1; round <= 20; round++) {
		send_batch(round, seen);
		take_batch(&seen);
		CHECK(list()->unexpected == seen && !list()->used);
	}
	faults = (struct link_faults){ 0 };
	expect_nothing();
	world_free();
}

/* -------------------------------------------------------------------------- death */

static u32 deaths;
/* The side whose executor dies, and the type of the message. */
static u32 dies;
static u8 kind;

/* The message is received once, in the right buffer, and the next message is matched, too. */
static void examine(void)
{
	struct vnet_tm_op sync = { .opcode = VNET_TM_OP_SYNC };
	struct vnet_cqe cqe;

	if (kind == RNDV)
		expect_sent_and_fin(7, 50, 5);
	else
		expect_sent(7, VNET_WC_SUCCESS);
	if (kind == EAGER) {
		expect_match(1, 5, 50000);
		CHECK(filled(to->side->data, 50000, 5));
	} else if (kind == RNDV) {
		CHECK(expect(1, VNET_WC_TM_RECV, VNET_WC_SUCCESS).flags == VNET_WC_TM_MATCH);
		expect(1, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
		CHECK(filled(to->side->data, 50000, 5));
	} else {
		cqe = expect(3, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
		CHECK(!memcmp(to->side->data + PLAIN, from->side->data, cqe.byte_len));
	}
	CHECK(list()->unexpected == (kind == FIN));
	/* Operations that are still in the ring are executed, and matching works again. */
	sync.unexpected = kind == FIN;
	post_tag(&sync);
	nic_tm_doorbell(&side[1].nic, to->srqn);
	CHECK(list()->used == (kind == FIN ? 2 : 1));
	CHECK(to->ops.hdr->ended == (kind != FIN));
	CHECK(srq()->rq.cons == (kind == FIN));
	send(8, EAGER, 5, 0, 40000);
	expect_sent(8, VNET_WC_SUCCESS);
	expect_match(kind == FIN ? 1 : 2, 5, 40000);
	expect_nothing();
}

/* Forks a world in which the executor of this NIC is dead, and continues there. */
static void die(int step)
{
	int status;
	pid_t child;

	/* Ticks are frequent, and the state at a tick is that of the step before it. */
	if (runs != dies || step == NIC_STEP_TICK)
		return;
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		on_step = NULL;
		side[dies].nic.self = 2;
		nic_recover(&side[dies].nic, 1, NIC_SPACE_POINTER);
		examine();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	if (status)
		fprintf(stderr, "side %u died at step %d, message of kind %u\n", dies, step, kind);
	CHECK(!status);
	deaths++;
}

/* FIN stands for a message whose tag matches no buffer. */
static void dies_with(u32 who, u8 what)
{
	make(1);
	dies = who;
	kind = what;
	deaths = 0;
	add(1, 5, 0, ROOM);
	add(2, 5, ROOM, ROOM);
	end_recv(to, 3, PLAIN, ROOM);
	end_recv(from, 50, FINS, 100);
	on_step = die;
	if (kind == RNDV)
		announce(7, 5, 0, ANNOUNCED, 50000, 20000);
	else
		send(7, EAGER, kind == FIN ? 6 : 5, 0, 50000);
	pass(20000000);
	on_step = NULL;
	examine();
	CHECK(deaths > (who ? 20 : 5));
	world_free();
}

int main(void)
{
	eager_of_any_size();
	eager_to_several_pieces();
	too_long(1000, 1001);
	too_long(1000, 50000);
	too_long(49999, 50000);
	to_plain_receives();
	rendezvous(0);
	rendezvous(40000);
	for (u32 seed = 1; seed <= 50; seed++)
		rendezvous_over_loss(seed);
	rendezvous_that_does_not_fit(0, 1000);
	rendezvous_that_does_not_fit(40000, 1000);
	rendezvous_that_does_not_fit(40000, 20);
	dropped(100);
	dropped(50000);
	half_unexpected();
	for (u32 i = 5; i <= 6; i++) {
		half_and_reset(NIC_QPS_ERR, i);
		half_and_reset(NIC_QPS_RESET, i);
	}
	stream(1, (struct link_faults){ 0 });
	for (u32 seed = 2; seed < 6; seed++)
		stream(seed, (struct link_faults){ 30, 30, 100, 10 });
	for (u32 i = 0; i < 2; i++) {
		dies_with(i, EAGER);
		dies_with(i, RNDV);
		dies_with(i, FIN);
	}
	return 0;
}
