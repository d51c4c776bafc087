// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Clusters for experiments, and flows of requests between clients and servers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "bench.h"
#include "cluster/rules.h"

#ifndef SIM_DIRECTORY
#define SIM_DIRECTORY "."
#endif

#define CQ_ENTRIES 4096
#define BUFFER_BYTES (1u << 20)
#define MAX_SERVER_FLOWS 256
/* 4.096 us x 2^20 for each of eight tries: 34 s, more than any experiment lasts. */
#define LONG_TIMEOUT 20

/* A server process and its flows. */
struct flow_server {
	struct process *process;
	struct queue *cq;
	u32 key;
	u64 until;
	bool sleeps;
	struct flow *flow[MAX_SERVER_FLOWS];
	u32 n;
};

/* ------------------------------------------------------------------ the cluster */

static void read_costs(struct cost *cost, const char *name)
{
	char path[512];
	u32 line;

	cost_default(cost);
	if (!name)
		return;
	snprintf(path, sizeof(path), "%s/%s", SIM_DIRECTORY, name);
	if (cost_read(cost, path, &line))
		return;
	fprintf(stderr, "vnet-sim-bench: %s, line %u is wrong\n", path, line);
	exit(2);
}

static u32 power_above(u32 n)
{
	u32 power = 16;

	while (power < n)
		power *= 2;
	return power;
}

void cluster_make(const struct cluster *c)
{
	struct sim_config config = {
		.nodes = c->nodes,
		.seed = 1,
		.direct = true,
		.polled = c->polled,
		.fabric = { .kind = c->fabric, .cell_loss = c->cell_loss },
		.nic = {
			.max_qp = 512,
			.max_cq = 512,
			.max_srq = 16,
			.max_mr = 512,
			.max_channel = SIM_MAX_CHANNELS,
			.max_client = 16,
			.max_frame = c->frames ? c->frames : 512,
			.queue_bytes = 1u << 30,
			.settings = c->settings,
		},
	};
	struct fault_config faults = { .loss = c->loss };

	read_costs(&config.cost, c->costs);
	if (c->tune)
		c->tune(&config.cost);
	config.nic.max_row = power_above(2 * c->nodes);
	sim_setup(&config);
	fault_setup(&faults, 1);
	rule_break(RULE_NONE, 0);
}

/* ---------------------------------------------------------------------- servers */

static void stock(struct qp *qp, u32 key, u32 size)
{
	struct sge sg = { address_at(qp->process, 0), size, key };

	while (recv_room(qp) && post_recv(qp, 0, &sg, 1))
		;
}

static void answer(struct flow_server *s, struct flow *f)
{
	struct vnet_send_wqe wr = make_wr(VNET_WR_SEND, 1);
	struct sge sg = { address_at(s->process, 0), f->reply, s->key };

	stock(f->server_qp, s->key, f->size);
	if (!f->reply)
		return;
	while (!post_send(f->server_qp, &wr, &sg, 1))
		sleep_for(s->process, US);
	ring_qp(f->server_qp);
}

static struct flow *flow_of(struct flow_server *s, u32 qpn)
{
	u32 i;

	for (i = 0; i < s->n; i++) {
		if (s->flow[i]->server_qp->qpn == qpn)
			return s->flow[i];
	}
	return NULL;
}

/* Program of a server: polls or sleeps, and replies to requests. */
static void serve(struct process *p, void *arg)
{
	struct flow_server *s = arg;
	struct flow *f;
	struct wc wc;

	while (event_now() < s->until) {
		if (!poll_cq(s->cq, &wc)) {
			if (s->sleeps) {
				arm_cq(s->cq, false);
				if (!queue_has(s->cq, s->cq->cons))
					wait_event(p, s->until);
			} else {
				wait_queue(s->process, s->cq, s->until);
			}
			continue;
		}
		if (!(wc.opcode & VNET_WC_RECV) || wc.status)
			continue;
		f = flow_of(s, wc.qp_num);
		if (f)
			answer(s, f);
	}
}

/* ---------------------------------------------------------------------- clients */

static void note(struct flow *f, u64 began)
{
	u64 now = event_now();

	if (now < f->from || now >= f->until)
		return;
	f->done++;
	f->latency_sum += (double)(now - began) / 1e3;
	if (f->nlatency == f->latency_room) {
		f->latency_room = f->latency_room ? f->latency_room * 2 : 1024;
		f->latency = realloc(f->latency, f->latency_room * sizeof(*f->latency));
		if (!f->latency)
			abort();
	}
	f->latency[f->nlatency++] = (u32)(now - began);
	if (f->slice && f->slice_ns && (now - f->from) / f->slice_ns < f->nslices)
		f->slice[(now - f->from) / f->slice_ns]++;
}

/*
 * Program of a client. Requests complete, or are replied to, in order. So each completion or reply
 * belongs to the oldest outstanding request.
 */
static void ask(struct process *p, void *arg)
{
	struct flow *f = arg;
	u64 posted = 0, over = 0, window = f->window ? f->window : 1;
	struct wc wc;

	while (event_now() < f->until) {
		struct sge sg = { address_at(p, 0), f->size, f->key };
		bool any = false;

		while (posted - over < window && send_room(f->qp)) {
			struct vnet_send_wqe wr = make_wr(VNET_WR_SEND, 2);

			f->sent[posted++ % window] = event_now();
			post_send(f->qp, &wr, &sg, 1);
			any = true;
		}
		if (any)
			ring_qp(f->qp);
		if (!wait_queue(p, f->cq, f->until))
			break;
		while (poll_cq(f->cq, &wc)) {
			bool reply = wc.opcode & VNET_WC_RECV;

			if (wc.status) {
				violated("a request of an experiment failed with status %u",
					 wc.status);
				return;
			}
			if (reply)
				stock(f->qp, f->key, f->reply);
			if (reply == (f->reply != 0))
				note(f, f->sent[over++ % window]);
			process_pay(p);
		}
	}
}

/* ------------------------------------------------------------------------ set-up */

static struct flow_server *server_of(struct flow_server **servers, u32 *n, const struct flow *f)
{
	struct flow_server *s;

	if (f->server < *n && servers[f->server])
		return servers[f->server];
	s = sim_alloc(sizeof(*s));
	s->process = process_new(&sim.node[f->server_node], BUFFER_BYTES);
	s->key = reg_mr(s->process, 0, BUFFER_BYTES, ALL_ACCESS);
	s->cq = make_cq(s->process, CQ_ENTRIES, f->sleeps ? 0 : NIC_NONE);
	s->sleeps = f->sleeps;
	servers[f->server] = s;
	if (*n <= f->server)
		*n = f->server + 1;
	return s;
}

static u32 queue_of(u32 window)
{
	return power_above(2 * window);
}

static void flow_make(struct flow *f, struct flow_server *s)
{
	/* With a long timeout, a client that is starved during the whole flow stays connected. */
	struct qp_options options = { .sq_entries = queue_of(f->window),
				      .rq_entries = queue_of(f->window),
				      .timeout = LONG_TIMEOUT };

	f->at = s;
	f->client = process_new(&sim.node[f->client_node], BUFFER_BYTES);
	f->key = reg_mr(f->client, 0, BUFFER_BYTES, ALL_ACCESS);
	f->cq = make_cq(f->client, CQ_ENTRIES, NIC_NONE);
	f->qp = make_qp(f->client, NIC_QPT_RC, f->cq, f->cq, &options);
	f->server_qp = make_qp(s->process, NIC_QPT_RC, s->cq, s->cq, &options);
	connect_qp(f->qp, f->server_node, f->server_qp->qpn, &options);
	connect_qp(f->server_qp, f->client_node, f->qp->qpn, &options);
	f->sent = calloc(f->window, sizeof(*f->sent));
	if (!f->sent)
		abort();
	s->flow[s->n++] = f;
	if (s->until < f->until)
		s->until = f->until;
	stock(f->server_qp, s->key, f->size);
	if (f->reply)
		stock(f->qp, f->key, f->reply);
	f->client->debt = 0;
	s->process->debt = 0;
}

void flows_run(struct flow *flows, u32 n)
{
	struct flow_server *servers[MAX_FLOWS] = { NULL };
	u32 i, nservers = 0;
	u64 end = 0;

	for (i = 0; i < n; i++)
		flow_make(&flows[i], server_of(servers, &nservers, &flows[i]));
	for (i = 0; i < nservers; i++)
		process_start(servers[i]->process, serve, servers[i], 0);
	for (i = 0; i < n; i++) {
		process_start(flows[i].client, ask, &flows[i], 1000 + i * 137);
		if (flows[i].until > end)
			end = flows[i].until;
	}
	sim_run_until(end);
	if (is_violated()) {
		fprintf(stderr, "vnet-sim-bench: %s\n", violation());
		exit(1);
	}
}

void flows_free(struct flow *flows, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		free(flows[i].latency);
		free(flows[i].sent);
		free(flows[i].slice);
	}
	sim_teardown();
}

/* ----------------------------------------------------------------------- results */

static double seconds(const struct flow *f)
{
	return (double)(f->until - f->from) / 1e9;
}

double flow_rate(const struct flow *f)
{
	return (double)f->done / seconds(f);
}

double flow_bandwidth(const struct flow *f)
{
	return flow_rate(f) * f->size / 1e6;
}

double flow_latency(const struct flow *f)
{
	return f->done ? f->latency_sum / (double)f->done : 0;
}

static int smaller(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

double flow_percentile(struct flow *f, double which)
{
	if (!f->nlatency)
		return 0;
	qsort(f->latency, f->nlatency, sizeof(*f->latency), smaller);
	return f->latency[(u32)(which * (f->nlatency - 1))] / 1e3;
}

struct crowd crowd_run(struct cluster cluster, u32 n, const struct flow *like)
{
	static struct flow flows[MAX_FLOWS];
	double least = 1e18, most = 0;
	struct crowd crowd = { 0 };
	u32 i;

	for (i = 0; i < n; i++) {
		flows[i] = *like;
		flows[i].client_node = i + 1;
	}
	cluster.nodes = n + 1;
	cluster_make(&cluster);
	flows_run(flows, n);
	for (i = 0; i < n; i++) {
		double rate = flow_rate(&flows[i]);

		crowd.rate += rate;
		crowd.bandwidth += flow_bandwidth(&flows[i]);
		crowd.latency += flow_latency(&flows[i]) / n;
		least = rate < least ? rate : least;
		most = rate > most ? rate : most;
	}
	crowd.share = most > 0 ? least / most : 0;
	flows_free(flows, n);
	return crowd;
}
