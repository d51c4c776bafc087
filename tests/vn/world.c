// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The platform functions of two NICs in one process, and the work of agents and providers. */
#include "tags/tags.h"
#include "world.h"

#include <sys/mman.h>

#define FLIGHT 4096

struct side side[2];
struct link_faults faults;
u64 now_ns = 1000000000;
void (*on_relax)(void);
u32 world_data_bytes = DATA_BYTES;
u32 pages_miss, pages_missed, pages_asked, pages_gone = 2;
u64 pages_lost_at, pages_lost_from;
bool pages_flee;
bool ends_return;
bool groups;
bool macs;
u32 world_key = 1, refused;
u32 ends_tags;
bool memory_gone;
void (*on_frame)(u32 i, const void *frame, u32 length);
void (*on_step)(int step);
u32 runs;
void (*on_copy)(void);

struct flying {
	u64 at;
	u32 to, length;
	u8 *bytes;
};

static struct flying flight[FLIGHT];
static u32 nflight;
static u32 state;
static struct end ends[128];
static u32 nends;
static u64 frame_buffer[VNET_WIRE_MAX_FRAME / 8 + 1];
static u8 last[4][VNET_WIRE_MAX_FRAME];
static u32 last_length[4];

u32 below(u32 n)
{
	state = state * 1664525u + 1013904223u;
	return (u32)(((u64)(state >> 8) * n) >> 24);
}

/* --------------------------------------------------------------- the platform */

/* Returns the side whose registered memory contains the piece; 2: neither. */
static u32 owner_of(const struct nic_piece *piece)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		u64 start = (u64)(unsigned long)side[i].data;

		if (piece->addr >= start && piece->addr - start < world_data_bytes)
			break;
	}
	return i;
}

static bool misses(const struct nic_piece *pieces, u32 n)
{
	for (u32 i = 0; pages_miss && i < n; i++) {
		u32 owner = owner_of(&pieces[i]);

		if (owner < 2 && (owner == pages_gone || !below(pages_miss))) {
			pages_missed++;
			return true;
		}
	}
	return false;
}

/* True if the test has declared this memory lost, for a fetch that began before that. */
static bool is_lost(const struct nic_piece *pieces, u32 n, u64 since)
{
	for (u32 i = 0; i < n; i++) {
		if (pages_gone < 2 && owner_of(&pieces[i]) == pages_gone &&
		    pieces[i].addr - (u64)(unsigned long)side[pages_gone].data >= pages_lost_from &&
		    since <= pages_lost_at)
			return true;
	}
	return false;
}

enum nic_copy_result plat_fetch(struct nic *nic, const struct nic_piece *dst, u32 ndst,
				const struct nic_piece *src, u32 nsrc, u64 length, u64 since)
{
	CHECK(since && since <= now_ns);
	pages_asked++;
	if (is_lost(src, nsrc, since))
		return NIC_COPY_SRC_FAULT;
	if (is_lost(dst, ndst, since))
		return NIC_COPY_DST_FAULT;
	if (pages_flee)
		return NIC_COPY_OK;
	if (misses(src, nsrc))
		return NIC_COPY_SRC_LATER;
	return misses(dst, ndst) ? NIC_COPY_DST_LATER : NIC_COPY_OK;
}

/* False for a frame's own buffer, which is not memory of a process. */
static bool is_gone(const struct nic_piece *pieces, u32 n)
{
	return memory_gone && n && owner_of(pieces) == 1;
}

enum nic_copy_result plat_copy(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			       const struct nic_piece *src, u32 nsrc, u64 length)
{
	bool no_src = misses(src, nsrc), no_dst = !no_src && misses(dst, ndst);
	u64 d = 0, s = 0;

	if (on_copy)
		on_copy();
	if (is_gone(src, nsrc))
		return NIC_COPY_SRC_GONE;
	if (is_gone(dst, ndst))
		return NIC_COPY_DST_GONE;
	/* A prefix of a long copy may be moved although a page is missing. */
	if (no_src || no_dst)
		length = length > 4096 ? length / (1 + below(3)) : 0;
	while (length) {
		u64 n;

		CHECK(ndst && nsrc);
		n = dst->length - d < src->length - s ? dst->length - d : src->length - s;
		if (n > length)
			n = length;
		/* Source and destination overlap if a queue pair sends to itself. */
		memmove((u8 *)(unsigned long)(dst->addr + d),
			(const u8 *)(unsigned long)(src->addr + s), n);
		length -= n;
		d += n;
		s += n;
		if (d == dst->length) {
			dst++;
			ndst--;
			d = 0;
		}
		if (s == src->length) {
			src++;
			nsrc--;
			s = 0;
		}
	}
	if (no_src)
		return NIC_COPY_SRC_LATER;
	return no_dst ? NIC_COPY_DST_LATER : NIC_COPY_OK;
}

void *plat_queue(struct nic *nic, u64 offset, u64 length)
{
	if (offset < nic->off_queue || offset % 8 || length > nic->queue_bytes ||
	    offset - nic->off_queue > nic->queue_bytes - length)
		return NULL;
	return (u8 *)nic->hdr + offset;
}

/* Not random, so that tests can be repeated; but no two results are equal. */
bool plat_random(struct nic *nic, void *bytes, u32 length)
{
	static u64 drawn;
	u8 *at = bytes;

	for (u32 i = 0; i < length; i++) {
		if (i % sizeof(drawn) == 0)
			drawn += 0x9e3779b97f4a7c15ull;
		at[i] = (u8)(drawn >> i % sizeof(drawn) * 8);
	}
	return true;
}

u64 plat_clock(void)
{
	return now_ns;
}

void plat_kick(struct nic *nic)
{
}

void plat_channel_ready(struct nic *nic, u32 channel, bool first)
{
}

void plat_relax(void)
{
	void (*f)(void) = on_relax;

	on_relax = NULL;
	if (f)
		f();
}

bool plat_yield(struct nic *nic)
{
	return true;
}

void plat_step(int step)
{
	if (on_step)
		on_step(step);
}

void *plat_frame(struct nic *nic)
{
	return frame_buffer;
}

static void fly(u32 to, u32 length, u64 delay)
{
	struct flying *f = &flight[nflight++];

	CHECK(nflight < FLIGHT);
	f->at = now_ns + delay;
	f->to = to;
	f->length = length;
	f->bytes = malloc(length);
	memcpy(f->bytes, frame_buffer, length);
	if (below(1000) < faults.spoil)
		f->bytes[below(length)] ^= (u8)(1u << below(8));
}

void plat_send(struct nic *nic, const struct nic_address *to, u32 length)
{
	u32 i = to->bytes[0];
	u64 delay = 5000;

	CHECK(length <= VNET_WIRE_MAX_FRAME && i < 4);
	nic_frame_set_crc(frame_buffer, length);
	memcpy(last[i], frame_buffer, length);
	last_length[i] = length;
	/* No NIC has these addresses; a test may act as their NIC. */
	if (i >= 2)
		return;
	if (on_frame)
		on_frame(i, frame_buffer, length);
	if (below(1000) < faults.lose)
		return;
	if (below(1000) < faults.reorder)
		delay += below(200000);
	fly(i, length, delay);
	if (below(1000) < faults.twice)
		fly(i, length, delay + below(3000000));
}

void plat_flush(struct nic *nic)
{
}

bool plat_resolve(struct nic *nic, const u8 *gid, struct nic_address *to)
{
	memset(to, 0, sizeof(*to));
	to->bytes[0] = (u8)(gid[15] - 1);
	return gid[0] == 0xfe && gid[15] >= 1 && gid[15] <= 2;
}

/* Each side has its own key for cookies. Addresses are local unless `macs` is set. */
bool plat_secret(struct nic *nic, const struct nic_address *peer, u32 key, const void *text,
		 u32 length, u8 secret[VNET_WIRE_SECRET_SIZE])
{
	u64 word, half[2] = { peer ? world_key : 2 + (nic->hdr != side[0].nic.hdr), key };

	if (peer && (macs || (key && key != world_key)))
		return false;
	half[1] = 0;
	for (u32 i = 0; i + sizeof(word) <= length; i += sizeof(word)) {
		memcpy(&word, (const u8 *)text + i, sizeof(word));
		half[0] = (half[0] ^ word) * 0xff51afd7ed558ccdull;
		half[0] ^= half[0] >> 29;
		half[1] = (half[1] + half[0]) * 0x9e3779b97f4a7c15ull;
		half[1] ^= half[1] >> 31;
	}
	memcpy(secret, half, VNET_WIRE_SECRET_SIZE);
	return true;
}

void plat_report_refused(struct nic *nic, const u8 *gid, u32 why)
{
	refused++;
}

void plat_report_unknown(struct nic *nic, const u8 *gid)
{
}

bool plat_same_key_group(struct nic *nic, const struct nic_address *a, const struct nic_address *b)
{
	return !groups || (b && a->bytes[0] / 2 == b->bytes[0] / 2);
}

/* Computed by a table, because fuzzers spend much time here under instrumentation. */
u32 plat_crc32c(u32 crc, const void *data, u64 length)
{
	static u32 table[256];
	const u8 *p = data;
	u32 bit;

	for (u32 i = 0; i < 256 && !table[255]; i++) {
		for (table[i] = i, bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82f63b78u : 0);
	}
	crc = ~crc;
	while (length--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}

/* ----------------------------------------------------------------------- world */

void sign_for(u32 to, struct vnet_frame *head)
{
	const struct nic_row *row = &side[!to].nic.row[0];

	head->magic = VNET_WIRE_MAGIC;
	head->version = VNET_WIRE_VERSION;
	head->src_incarnation = side[!to].nic.hdr->incarnation;
	head->dst_incarnation = row->incarnation;
	head->src_row = row->id;
	head->dst_row = row->peer_row;
	head->proof = row->local ? VNET_PROOF_SECRET : VNET_PROOF_MAC;
	memcpy(head->secret, row->secret_out, sizeof(head->secret));
}

/* The CRC stands for the MAC: the maker of a valid frame had the key. */
struct nic_proof prove(void *frame, u32 length)
{
	const struct vnet_frame *head = frame;
	bool mac = length >= sizeof(*head) && head->proof == VNET_PROOF_MAC;

	return (struct nic_proof){ .key = world_key,
				   .given = mac && nic_frame_crc_ok(frame, length),
				   .local = !macs };
}

void deliver_from(u32 to, u8 address, void *bytes, u32 length)
{
	struct nic_address from = { { address } };
	struct nic_proof proof = prove(bytes, length);

	runs = to;
	nic_receive(&side[to].nic, &from, bytes, length, &proof);
}

static void deliver(u32 to, void *bytes, u32 length)
{
	deliver_from(to, (u8)!to, bytes, length);
	nic_receive_end(&side[to].nic);
}

void inject(u32 i, const void *frame, u32 length)
{
	void *copy = malloc(length ? length : 1);

	memcpy(copy, frame, length);
	deliver(i, copy, length);
	free(copy);
}

u32 last_frame(u32 i, void *frame)
{
	memcpy(frame, last[i], last_length[i]);
	return last_length[i];
}

static void land(void)
{
	u32 i = 0;

	while (i < nflight) {
		struct flying f = flight[i];

		if (f.at > now_ns) {
			i++;
			continue;
		}
		memmove(&flight[i], &flight[i + 1], (nflight - i - 1) * sizeof(f));
		nflight--;
		deliver(f.to, f.bytes, f.length);
		free(f.bytes);
		i = 0;
	}
}

void pass(u64 ns)
{
	u64 end = now_ns + ns, next;

	while (now_ns < end) {
		now_ns += 5000;
		land();
		for (runs = 0; runs < 2; runs++)
			nic_run(&side[runs].nic, 64, &next);
	}
}

static void side_make(u32 i, const struct nic_config *config)
{
	struct side *s = &side[i];
	u64 size = nic_memory_size(config);

	memset(s, 0, sizeof(*s));
	CHECK(size);
	s->config = *config;
	s->memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(s->memory != MAP_FAILED);
	CHECK(nic_format(s->memory, size, config) == NIC_OK);
	CHECK(nic_attach(&s->nic, s->memory, size) == NIC_OK);
	s->nic.self = 1;
	s->nic.fetches = &pages_miss;
	s->nic.hdr->ngids = 1;
	s->nic.hdr->port_up = 1;
	s->nic.hdr->gid[0][0] = 0xfe;
	s->nic.hdr->gid[0][15] = (u8)(i + 1);
	nic_link_renew(&s->nic, 1000 + i);
	s->queue_at = s->nic.off_queue;
	s->next_qp = s->next_cq = s->next_srq = s->next_mr = 1;
	s->data = calloc(1, world_data_bytes);
	CHECK(s->data);
	s->key = 7u << NIC_KEY_TAG_BITS;
	CHECK(nic_mr_create(&s->nic, &(struct nic_mr_params){
					     .key = s->key,
					     .kind = NIC_MR_REGION,
					     .access = 0x11f,
					     .pdn = 1,
					     .iova = (u64)(unsigned long)s->data,
					     .addr = (u64)(unsigned long)s->data,
					     .length = world_data_bytes,
				     }) == NIC_OK);
}

const struct nic_config world_small = {
	.max_qp = 16,
	.max_cq = 16,
	.max_srq = 4,
	.max_mr = 16,
	.max_channel = 4,
	.max_client = 4,
	.max_row = 4,
	.max_frame = 8,
	.queue_bytes = 8 << 20,
	.stall_ns = 1000000,
};

const struct nic_config world_usual = {
	.max_qp = 64,
	.max_cq = 64,
	.max_srq = 4,
	.max_mr = 16,
	.max_channel = 4,
	.max_client = 4,
	.max_row = 8,
	.max_frame = 64,
	.queue_bytes = 16 << 20,
	.stall_ns = 50 * MS,
};

struct nic_counters *counters(u32 i)
{
	return &side[i].nic.hdr->counters;
}

void world_make(u32 seed, const struct nic_config *config)
{
	state = seed;
	memset(&faults, 0, sizeof(faults));
	side_make(0, config);
	side_make(1, config);
}

void world_free(void)
{
	for (u32 i = 0; i < nflight; i++)
		free(flight[i].bytes);
	nflight = 0;
	nends = 0;
	for (u32 i = 0; i < 2; i++) {
		munmap(side[i].memory, nic_memory_size(&side[i].config));
		free(side[i].data);
	}
}

/* ---------------------------------------------------------------- queue pairs */

static struct queue queue_make(struct side *s, u32 entries, u32 shift)
{
	struct queue q = { .offset = s->queue_at, .mask = entries - 1, .shift = shift };

	q.hdr = plat_queue(&s->nic, q.offset, VNET_RING_HDR_SIZE + ((u64)entries << shift));
	CHECK(q.hdr);
	q.slots = (u8 *)(q.hdr + 1);
	s->queue_at += VNET_RING_HDR_SIZE + ((u64)entries << shift);
	return q;
}

/* With tag matching if ends_tags is set. */
static void srq_make(struct end *e, bool named)
{
	struct side *s = e->side;
	struct nic_srq_params p = { .ring = e->rq.offset,
				    .entries = 256,
				    .stride_shift = 6,
				    .max_sge = 2,
				    .pdn = 1,
				    .xrcdn = named ? 3 : 0,
				    .cqn = named || ends_tags ? e->cqn : 0,
				    .tm_tags = ends_tags,
				    .tm_ops_entries = ends_tags };

	e->srqn = s->next_srq++;
	if (ends_tags) {
		e->ops = queue_make(s, ends_tags, VNET_TM_OP_SHIFT);
		p.tm_ops = e->ops.offset;
		p.tm = s->queue_at;
		s->queue_at += sizeof(struct nic_tm) + ends_tags * sizeof(struct nic_tag);
	}
	CHECK(nic_srq_create(&s->nic, e->srqn, &p) == NIC_OK);
}

struct end *end_make(struct side *s, u8 type, bool srq)
{
	struct end *e = &ends[nends++];
	struct nic_qp_params p = { .type = type,
				   .sq_stride_shift = 7,
				   .rq_stride_shift = 6,
				   .max_send_sge = 2,
				   .max_recv_sge = 2,
				   .pdn = 1 };
	bool ini = type == NIC_QPT_XRC_INI, tgt = type == NIC_QPT_XRC_TGT;

	CHECK(nends < 128);
	memset(e, 0, sizeof(*e));
	e->side = s;
	e->type = type;
	e->cq = queue_make(s, 1024, 7);
	e->cqn = s->next_cq++;
	CHECK(nic_cq_create(&s->nic, e->cqn,
			    &(struct nic_cq_params){ .ring = e->cq.offset,
						     .entries = 1024,
						     .flags = VNET_CREATE_CQ_IMM64,
						     .channel = NIC_NONE }) == NIC_OK);
	e->sq = queue_make(s, 256, 7);
	e->rq = queue_make(s, 256, 6);
	if (srq || tgt)
		srq_make(e, tgt);
	p.qpn = e->qpn = s->next_qp++ | 0x1000;
	p.sq_ring = e->sq.offset;
	p.sq_entries = 256;
	p.srqn = tgt ? 0 : e->srqn;
	p.rq_ring = srq || ini || tgt ? 0 : e->rq.offset;
	p.rq_entries = srq || ini || tgt ? 0 : 256;
	p.send_cqn = tgt ? 0 : e->cqn;
	p.recv_cqn = ini || tgt ? 0 : e->cqn;
	p.xrcdn = tgt ? 3 : 0;
	p.returns = ends_return;
	/* The message that ends a rendezvous is sent inline. */
	p.max_inline = e->ops.hdr ? NIC_TM_HEADERS : 0;
	CHECK(nic_qp_create(&s->nic, &p) == NIC_OK);
	return e;
}

void end_state(struct end *e, u8 to, const struct end *peer)
{
	struct nic_qp_attr a = { .port = 1,
				 .access = 0x30f,
				 .qkey = 0x1234,
				 .path_mtu = 5,
				 .is_global = 1,
				 .dest_qpn = peer ? peer->qpn : 0,
				 .max_rd_atomic = 8,
				 .max_dest_rd_atomic = 8,
				 .min_rnr_timer = 1,
				 .timeout = 14,
				 .retry_cnt = 7,
				 .rnr_retry = 7,
				 .rq_psn = 17,
				 .sq_psn = 17 };
	static const u32 mask[2][4] = {
		{ 0, 1 | 8 | 16 | 32, 1 | 128 | 256 | (1 << 20) | (1 << 12) | (1 << 17) | (1 << 15),
		  1 | 512 | 1024 | 2048 | (1 << 16) | (1 << 13) },
		{ 0, 1 | 16 | 32 | 64, 1, 1 | (1 << 16) },
	};
	u32 m = mask[e->type == NIC_QPT_UD][to < 4 ? to : 0];

	if (to > 3 || !to)
		m = 1;
	if (e->type == NIC_QPT_RAW_PACKET || e->type == NIC_QPT_WQ)
		m = to == NIC_QPS_INIT ? 1 | 32 : 1;
	if (e->type == NIC_QPT_UC && to == NIC_QPS_RTR)
		m = 1 | 128 | 256 | (1 << 20) | (1 << 12);
	if (e->type == NIC_QPT_UC && to == NIC_QPS_RTS)
		m = 1 | (1 << 16);
	if (peer) {
		memcpy(a.dgid, peer->side->nic.hdr->gid[0], 16);
		a.dlid = (u16)peer->side->nic.hdr->lid;
		a.is_global = !a.dlid;
		e->named = peer->srqn;
	}
	CHECK(nic_qp_modify(&e->side->nic, e->qpn, &a, m, 0, to) == NIC_OK);
}

void end_connect(struct end *a, struct end *b)
{
	struct end *both[2] = { a, b };

	for (u32 to = NIC_QPS_INIT; to <= NIC_QPS_RTS; to++)
		for (u32 i = 0; i < 2; i++)
			end_state(both[i], (u8)to, both[!i]);
}

void pair_make(struct end **a, struct end **b, u8 type)
{
	*a = end_make(&side[0], type, false);
	*b = end_make(&side[1], type, false);
	end_connect(*a, *b);
}

void end_to_rts(struct end *e)
{
	for (u32 to = NIC_QPS_INIT; to <= NIC_QPS_RTS; to++)
		end_state(e, (u8)to, NULL);
}

struct nic_qp *end_qp(const struct end *e)
{
	return nic_find_qp(&e->side->nic, e->qpn);
}

void end_reset(struct end *e)
{
	end_state(e, NIC_QPS_RESET, NULL);
}

void fill(u8 *at, u32 length, u32 seed)
{
	for (u32 i = 0; i < length; i++)
		at[i] = (u8)(seed * 37 + i * 11 + (i >> 8));
}

bool filled(const u8 *at, u32 length, u32 seed)
{
	for (u32 i = 0; i < length; i++)
		if (at[i] != (u8)(seed * 37 + i * 11 + (i >> 8)))
			return false;
	return true;
}

struct vnet_send_wqe request(u8 opcode, u64 wr_id)
{
	return (struct vnet_send_wqe){ .wr_id = wr_id,
				       .opcode = opcode,
				       .flags = VNET_WR_SIGNALED };
}

void aim(struct vnet_send_wqe *w, const struct side *s, u64 offset)
{
	w->rdma.remote_addr = (u64)(unsigned long)s->data + offset;
	w->rdma.rkey = s->key;
}

void aim_datagram(struct vnet_send_wqe *w, const struct end *to)
{
	memcpy(w->ud.dgid, to->side->nic.hdr->gid[0], 16);
	w->ud.remote_qpn = to->qpn;
	w->ud.remote_qkey = 0x1234;
}

void end_send(struct end *e, const struct vnet_send_wqe *wqe, u32 offset, u32 length)
{
	u8 *slot = e->sq.slots + ((u64)(e->sq_prod & e->sq.mask) << e->sq.shift);
	struct vnet_send_wqe w = *wqe;
	struct vnet_sge sge = { .addr = (u64)(unsigned long)(e->side->data + offset),
				.length = length,
				.lkey = e->side->key };

	w.num_sge = length != 0;
	w.srqn = e->named;
	memcpy(slot, &w, sizeof(w));
	memcpy(slot + sizeof(w), &sge, sizeof(sge));
	e->sq.hdr->prod = ++e->sq_prod;
	runs = e->side == &side[1];
	nic_send_doorbell(&e->side->nic, e->qpn);
}

void end_recv(struct end *e, u64 wr_id, u32 offset, u32 length)
{
	u8 *slot = e->rq.slots + ((u64)(e->rq_prod & e->rq.mask) << e->rq.shift);
	struct vnet_recv_wqe w = { .wr_id = wr_id, .num_sge = 1 };
	struct vnet_sge sge = { .addr = (u64)(unsigned long)(e->side->data + offset),
				.length = length,
				.lkey = e->side->key };

	memcpy(slot, &w, sizeof(w));
	memcpy(slot + sizeof(w), &sge, sizeof(sge));
	e->rq.hdr->prod = ++e->rq_prod;
	if (e->rq.hdr->need_doorbell)
		nic_recv_doorbell(&e->side->nic, e->srqn ? e->srqn : e->qpn, e->srqn != 0);
}

bool end_poll(struct end *e, struct vnet_cqe *cqe)
{
	struct vnet_cqe *at = (struct vnet_cqe *)e->cq.slots + (e->cq_cons & e->cq.mask);

	if (at->seq != e->cq_cons + 1)
		return false;
	*cqe = *at;
	if (cqe->payload_len)
		memcpy((u8 *)(unsigned long)cqe->scatter_addr, cqe->payload, cqe->payload_len);
	e->cq.hdr->cons = ++e->cq_cons;
	return true;
}

struct vnet_cqe end_wait(struct end *e)
{
	struct vnet_cqe cqe = { .seq = 0 };

	for (u32 turns = 0; turns < 200000; turns++) {
		if (end_poll(e, &cqe))
			return cqe;
		pass(50000);
	}
	fprintf(stderr, "no completion for QP %x\n", e->qpn);
	abort();
}

struct vnet_cqe end_expect(struct end *e, u64 wr_id, u32 status)
{
	struct vnet_cqe cqe = end_wait(e);

	CHECK(cqe.wr_id == wr_id && cqe.status == status);
	return cqe;
}

void end_has_nothing(struct end *e)
{
	struct vnet_cqe cqe;

	pass(10 * MS);
	CHECK(!end_poll(e, &cqe));
}
