// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chore: multicast to a group with members on several NICs. Each member receives each message at
 * most once, with the right bytes; other queue pairs receive none. Members on the sender's node
 * receive all messages, unless faults excuse a loss (all_here_have()).
 */
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "layout/lock.h"
#include "workload/chore.h"

#define MEMBERS 6u
#define MESSAGES 6u
#define LONGEST 1000u
#define RECEIVE_BYTES 1088u
#define RECEIVES (SLOT_BYTES / RECEIVE_BYTES)

struct member {
	struct actor *actor;
	u64 life;
	struct queue *cq;
	struct qp *qp;
	struct slot *slot;
	/* deaf: must receive nothing: it is in another group (elsewhere), or has another Q_Key. */
	bool deaf, elsewhere;
	bool attached;
	/* Bitmaps of the messages received, and of those sent after it had left the group. */
	u32 got, late;
	/* Number of receives consumed by unicast messages. */
	u32 strays;
};

struct group {
	struct bench *b;
	struct member member[MEMBERS];
	u32 n, sent, nobody;
	u64 since;
	u8 gid[16], other_gid[16];
	u32 length[MESSAGES];
	u64 content[MESSAGES];
};

/* A group address that no other chore uses. */
static void name(struct bench *b, u8 *gid)
{
	u64 random = random_next(&b->actor->random);

	memset(gid, 0, 16);
	if (bench_below(b, 2)) {
		gid[0] = 0xff;
		gid[1] = 0x12;
		memcpy(&gid[8], &random, 8);
		return;
	}
	gid[10] = gid[11] = 0xff;
	memcpy(&gid[12], &random, 4);
	gid[12] = 0xe0 | (gid[12] & 0xf);
}

static bool attach(struct group *g, struct member *m)
{
	struct process *p = m->actor->process;
	const u8 *gid = m->elsewhere ? g->other_gid : g->gid;
	u8 no_group[16];

	m->attached = nic_mcast_attach(&p->node->nic, m->qp->qpn, gid) == NIC_OK;
	node_gid(p->node->index, no_group);
	if (nic_mcast_attach(&p->node->nic, m->qp->qpn, no_group) != NIC_EINVAL)
		wrong(g->b, "a member of an invalid group", m->qp->qpn);
	if (m->attached && nic_mcast_attach(&p->node->nic, m->qp->qpn, gid) != NIC_EINUSE)
		wrong(g->b, "a member twice", m->qp->qpn);
	return m->attached;
}

static void leave(struct group *g, struct member *m)
{
	struct process *p = m->actor->process;
	const u8 *gid = m->elsewhere ? g->other_gid : g->gid;

	if (!m->attached || !lives(p, m->life))
		return;
	m->attached = false;
	m->late = ~0u << g->sent;
	if (nic_mcast_detach(&p->node->nic, m->qp->qpn, gid) != NIC_OK)
		wrong(g->b, "the removal of a queue pair that is no member", m->qp->qpn);
	if (nic_mcast_detach(&p->node->nic, m->qp->qpn, gid) != NIC_EINVAL)
		wrong(g->b, "a member leaves twice", m->qp->qpn);
}

static void make_member(struct group *g, struct actor *a)
{
	struct member *m = &g->member[g->n];
	struct qp_options options = { 0 };
	struct process *p = a->process;
	bool deaf;
	u32 i;

	if (!lives(p, p->node->life) || !bench_has_room(p->node))
		return;
	*m = (struct member){ .actor = a, .life = p->node->life };
	deaf = g->n > 1 && !bench_below(g->b, 3);
	m->elsewhere = deaf && bench_below(g->b, 2);
	if (deaf && !m->elsewhere)
		options.qkey = SIM_QKEY + 1;
	m->slot = bench_memory(g->b, a);
	if (!m->slot)
		return;
	m->cq = bench_has_cq(g->b, make_cq_aside(p, 64, NIC_NONE, 0));
	m->qp = bench_has_qp(g->b, make_qp(p, NIC_QPT_UD, m->cq, m->cq, &options));
	connect_qp(m->qp, p->node->index, m->qp->qpn, &options);
	if (!lives(p, m->life))
		return;
	m->deaf = deaf;
	for (i = 0; i < RECEIVES; i++) {
		struct sge sg = { address_at(p, m->slot->offset + i * (u64)RECEIVE_BYTES),
				  RECEIVE_BYTES, m->slot->key };

		post_recv(m->qp, i, &sg, 1);
	}
	if (lives(p, m->life) && attach(g, m))
		g->n++;
}

/* Create members in the processes of the bench, and in random ones. */
static bool gather(struct group *g)
{
	struct bench *b = g->b;
	u32 i, want_members = 2 + bench_below(b, BENCH_SLOTS - 1);
	struct actor *a;

	process_undying++;
	for (i = 0; i < want_members && holds(b); i++) {
		a = i == 0 ? b->other :
		    i == 1 ? b->actor :
			     workload.actor[bench_below(b, workload.nactors)];
		make_member(g, a);
		if (holds(b) && lives(a->process, a->process->node->life)) {
			u8 gid[16];

			node_gid(a->process->node->index, gid);
			nic_peer_call(&b->p->node->nic, gid);
			node_ran(b->p->node);
		}
	}
	process_undying--;
	return holds(b) && g->n;
}

/* ----------------------------------------------------------- receiving copies */

/* Whether the GRH of a datagram names this group. */
static bool names(const u8 *header, const struct wc *wc, const u8 *gid)
{
	if (!(wc->flags & VNET_WC_GRH))
		return false;
	if (wc->flags & VNET_WC_GRH_IPV4)
		return memcmp(header + 36, gid + 12, 4) == 0;
	return memcmp(header + 24, gid, 16) == 0;
}

static void came(struct group *g, struct member *m, const struct wc *wc)
{
	const u8 *at_memory;
	u32 i, length = wc->byte_len - VNET_GRH_SIZE;

	if (wc->status || wc->wr_id >= RECEIVES) {
		if (wc->status != VNET_WC_WR_FLUSH_ERR)
			wrong(g->b, "a member's receive fails", wc->status);
		return;
	}
	at_memory = mem(m->actor->process, m->slot->offset + wc->wr_id * RECEIVE_BYTES);
	for (i = 0; i < g->sent; i++) {
		if (g->length[i] == length &&
		    bytes_are(at_memory + VNET_GRH_SIZE, length, g->content[i], 0))
			break;
	}
	/* A late message to a queue pair with this number in an earlier life of the NIC. */
	if (i == g->sent && !names(at_memory, wc, g->gid) && !names(at_memory, wc, g->other_gid)) {
		m->strays++;
		return;
	}
	if (i == g->sent) {
		wrong(g->b, "a member gets a message that was not sent to its group", length);
		return;
	}
	if (!names(at_memory, wc, g->gid))
		wrong(g->b, "a copy does not name its group", i);
	if (m->deaf)
		wrong(g->b, "a copy arrives at a queue pair that is no member", i);
	if (m->got & 1u << i)
		wrong(g->b, "a copy arrives twice", i);
	if (g->nobody & 1u << i)
		wrong(g->b, "a copy arrives that has no addressee", i);
	if (m->late & 1u << i)
		wrong(g->b, "a copy arrives at a former member", i);
	if (wc->src_qp != g->b->x->qpn)
		wrong(g->b, "a copy is another queue pair's", wc->src_qp);
	m->got |= 1u << i;
	check_totals.copies++;
}

static void listen(struct group *g)
{
	struct member *m;
	struct wc wc;
	u32 i;

	for (i = 0; i < g->n && holds(g->b); i++) {
		m = &g->member[i];
		while (lives(m->actor->process, m->life) && poll_cq(m->cq, &wc))
			came(g, m, &wc);
	}
}

/*
 * Members on the sender's node must have received all messages, as each has enough receives. UD
 * messages may be lost only if processes stop, pages are missing, or nic_starve() was called.
 */
static void all_here_have(const struct group *g)
{
	const struct member *m;
	u32 i, all = (1u << g->sent) - 1;

	if (!check_strict || sim.config.pages || g->b->p->node->starved_until >= g->since)
		return;
	for (i = 0; i < g->n; i++) {
		m = &g->member[i];
		if (!m->deaf && !m->strays && m->actor->process->node == g->b->p->node &&
		    lives(m->actor->process, m->life) &&
		    (m->got | m->late | g->nobody) != (all | m->late | g->nobody))
			wrong(g->b, "a member on the sender's node did not get all copies", m->got);
	}
}

static bool send(struct group *g)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 0);
	struct bench *b = g->b;
	u32 i = g->sent, status;

	g->length[i] = bench_below(b, 4) ? 16 + bench_below(b, LONGEST - 16) : 16;
	g->content[i] = random_next(&b->actor->random);
	bytes_fill(mem(b->p, b->here), g->length[i], g->content[i], 0);
	to_group(&wqe, b->p->node->index, g->gid);
	g->sent++;
	/* A QPN other than the multicast QPN reaches no member. */
	if (!bench_below(b, 12)) {
		wqe.ud.remote_qpn = b->x->qpn;
		g->nobody |= 1u << i;
	}
	status = run(b, &wqe, g->length[i], b->key);
	if (status && status != NO_STATUS)
		wrong(b, "a datagram to a group", status);
	return !status && holds(b);
}

static bool group_make(struct group *g, struct bench *b)
{
	struct qp_options options = { 0 };

	*g = (struct group){ .b = b, .since = event_now() };
	name(b, g->gid);
	name(b, g->other_gid);
	process_undying++;
	b->x = bench_has_qp(b, make_qp(b->p, NIC_QPT_UD, b->cq, b->cq, &options));
	connect_qp(b->x, b->p->node->index, b->x->qpn, &options);
	process_undying--;
	return holds(b) && gather(g);
}

void groups(struct bench *b)
{
	struct group g;
	u32 i, n = 2 + bench_below(b, MESSAGES - 1);

	if (!group_make(&g, b))
		return;
	for (i = 0; i < n; i++) {
		if (!send(&g))
			break;
		if (!bench_below(b, 4))
			leave(&g, &g.member[bench_below(b, g.n)]);
		listen(&g);
	}
	if (!holds(b))
		return;
	if (i == n)
		all_here_have(&g);
	nic_mcast_is_pending(&b->p->node->nic, b->x->qpn);
	sleep_for(b->p, bench_below(b, 2000000));
	listen(&g);
	for (i = 0; i < g.n; i++) {
		if (bench_below(b, 2))
			leave(&g, &g.member[i]);
	}
}
