// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Nodes of the simulator: NIC memory, and the NIC processor in virtual time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cluster/node.h"
#include "base/event.h"
#include "base/trace.h"
#include "cluster/fault.h"
#include "cluster/process.h"
#include "cluster/rules.h"
#include "cluster/states.h"

#define NEVER (~0ull)
/* Maximum number of frames between two calls of nic_receive_end(). */
#define RX_BATCH 16
/* Minimum time between two rounds of the processor, however much is pending. */
#define LEAST_PAUSE 1000

struct sim sim;

/* ------------------------------------------------------------------- memory */

static void *sparse(u64 size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED) {
		perror("vnet-sim: mmap");
		abort();
	}
	return at;
}

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "vnet-sim: %s\n", what);
	abort();
}

void node_gid(u32 node, u8 gid[16])
{
	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	gid[12] = 10;
	gid[13] = (u8)(node >> 16);
	gid[14] = (u8)(node >> 8);
	gid[15] = (u8)node;
}

void node_gid_ipv6(u32 node, u8 gid[16])
{
	node_gid(node, gid);
	memset(gid, 0, 12);
	gid[0] = 0xfe;
	gid[1] = 0x80;
}

void node_name(u32 node, u32 which, u8 gid[16])
{
	node_gid(node, gid);
	gid[12] = (u8)(gid[12] + which);
}

/* Each life of a node has a different incarnation. With `restless`, it may be smaller. */
static u64 incarnation_of(const struct node *node)
{
	if (sim.config.restless)
		return (sim.config.seed & 0xffff) << 32 | (u64)(node->index + 1) << 12 |
		       (node->life * 0x9d5 & 0xfff);
	return (sim.config.seed & 0xffff) << 32 | (u64)(node->index + 1) << 12 | node->life;
}

static void give_names(const struct node *node, struct nic_header *hdr)
{
	u32 i;

	node_gid_ipv6(node->index, hdr->gid[0]);
	node_gid(node->index, hdr->gid[1]);
	hdr->ngids = 2;
	for (i = 1; i <= sim.config.names; i++)
		node_name(node->index, i, hdr->gid[hdr->ngids++]);
	if (sim.config.restless)
		node_name(node->wanderer, i, hdr->gid[hdr->ngids++]);
}

void node_claim(struct node *node, u32 wanderer, u32 other)
{
	u8 gid[16];

	if (!sim.config.restless || node->dead || other == node->index)
		return;
	node->wanderer = wanderer;
	sim.node[wanderer].wanderer_at = node->index;
	give_names(node, node->nic.hdr);
	node_name(other, sim.config.names, gid);
	nic_peer_call(&node->nic, gid);
	node_ran(node);
}

void node_rekey(struct node *node)
{
	if (node->dead)
		return;
	node->key++;
	nic_link_check(&node->nic);
	node_ran(node);
}

/* Begin a life: format new NIC memory, attach the agent, and set incarnation and GIDs. */
static void node_format(struct node *node)
{
	struct nic_header *hdr;
	struct nic_config config = sim.config.nic;

	config.node_guid = node->index + 1;
	node->memory_size = nic_memory_size(&config);
	need(node->memory_size, "the NICs' configuration is not possible");
	node->memory = sparse(node->memory_size);
	need(nic_format(node->memory, node->memory_size, &config) == NIC_OK, "nic_format failed");
	need(nic_attach(&node->nic, node->memory, node->memory_size) == NIC_OK,
	     "nic_attach failed");
	node->nic.self = SIM_OWNER_AGENT;
	node->nic.space = NIC_SPACE_POINTER;
	node->nic.direct = sim.config.direct;
	node->nic.fetches = &sim.config.pages;
	node->nic.host = node;
	hdr = node->nic.hdr;
	give_names(node, hdr);
	hdr->port_up = 1;
	hdr->lid = sim.config.lids ? node_lid(node->index) : 0;
	node->queue_at = node->nic.off_queue;
	node->next_mr = node->next_cqn = node->next_srqn = node->next_qpn = 1;
	node->life++;
	nic_link_renew(&node->nic, incarnation_of(node));
}

static void node_make(struct node *node, u32 index)
{
	node->index = node->wanderer = node->wanderer_at = index;
	node->key = SIM_KEY;
	node->run_at = NEVER;
	node->work_at = NEVER;
	node->slow = 1;
	node->tx = malloc(VNET_WIRE_MAX_FRAME + 8);
	node->region = calloc(sim.config.nic.max_mr, sizeof(*node->region));
	node->last_qpn = calloc(sim.config.nic.max_qp, sizeof(*node->last_qpn));
	need(node->tx && node->region && node->last_qpn, "no memory for nodes");
	node_format(node);
	node_ran(node);
}

static void drop_frames(struct node *node)
{
	struct frame *frame;

	while (node->rx_head) {
		frame = node->rx_head;
		node->rx_head = frame->next;
		fabric_taken(frame);
		frame_free(frame);
	}
	node->rx_bytes = 0;
	node->rx_batch = 0;
}

void node_restart(struct node *node)
{
	munmap(node->memory, node->memory_size);
	memset(node->region, 0, sim.config.nic.max_mr * sizeof(*node->region));
	memset(node->readable, 0, sizeof(node->readable));
	node->ncq = 0;
	node->nbell = 0;
	node->run_at = NEVER;
	drop_frames(node);
	node_format(node);
	process_restarted(node);
	node_ran(node);
}

void sim_setup(const struct sim_config *config)
{
	u32 i;

	sim_teardown();
	sim.config = *config;
	sim.config.fabric.nodes = config->nodes;
	sim.config.fabric.cost = &sim.config.cost;
	sim.config.fabric.seed = config->seed;
	random_seed(&sim.pages, config->seed, 0x9a6e5);
	random_seed(&sim.secrets, config->seed, 0x5ec4e7);
	event_reset();
	trace_reset();
	fabric_setup(&sim.config.fabric);
	sim.node = calloc(config->nodes, sizeof(*sim.node));
	need(sim.node != NULL, "no memory for nodes");
	for (i = 0; i < config->nodes; i++)
		node_make(&sim.node[i], i);
}

void sim_teardown(void)
{
	u32 i;

	if (!sim.node)
		return;
	process_end_all();
	for (i = 0; i < sim.config.nodes; i++) {
		struct node *node = &sim.node[i];

		drop_frames(node);
		munmap(node->memory, node->memory_size);
		free(node->region);
		free(node->last_qpn);
		free(node->tx);
		free(node->bell);
	}
	free(sim.node);
	memset(&sim, 0, sizeof(sim));
	fabric_reset();
	event_reset();
}

u64 sim_now(void)
{
	return event_now();
}

static u64 resident(void *memory, u64 size)
{
	static u8 map[1 << 16];
	u64 at, pages = 0, i, n;

	for (at = 0; at < size; at += (u64)sizeof(map) << 12) {
		n = (size - at + 4095) >> 12;
		if (n > sizeof(map))
			n = sizeof(map);
		if (mincore((u8 *)memory + at, n << 12, map))
			continue;
		for (i = 0; i < n; i++)
			pages += map[i] & 1;
	}
	return pages << 12;
}

u64 sim_resident(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < sim.config.nodes; i++)
		sum += resident(sim.node[i].memory, sim.node[i].memory_size);
	return sum;
}

/* ------------------------------------------------------------ NIC processor */

static u64 spent(const struct node *node, double ns)
{
	return (u64)(ns * node->slow);
}

/* Keep the NIC processor busy for `ns` more. */
static void spend(struct node *node, double ns)
{
	if (node->busy_until < event_now())
		node->busy_until = event_now();
	node->busy_until += spent(node, ns);
}

static u64 dma_time(u64 bytes)
{
	return (u64)((double)bytes * 1000 / sim.config.cost.dma_rate);
}

static void node_work(void *arg, u64 generation);

void node_wake(struct node *node, u64 at)
{
	if (at < node->busy_until)
		at = node->busy_until;
	if (node->work_at <= at)
		return;
	node->work_at = at;
	event_at(at, node_work, node, ++node->work_generation);
}

/* Schedule node_work() for the next time at which the NIC processor has work. */
static void look_ahead(struct node *node)
{
	u64 at = node->run_at;

	if (node->nbell)
		at = event_now();
	if (node->rx_head && node->rx_head->ready < at)
		at = node->rx_head->ready;
	if (node->rx_head && at < node->place_until && !node->nbell)
		at = node->place_until < node->run_at ? node->place_until : node->run_at;
	if (at != NEVER)
		node_wake(node, at);
}

/* Let the agent sleep: set the flag, then look for work once more, so that no kick is lost. */
static void go_to_sleep(struct node *node)
{
	struct nic_header *hdr = node->nic.hdr;
	struct nic_async async;

	while (nic_async_take(&node->nic, &async)) {
		trace(TRACE_ASYNC, node->index, (u8)async.kind, async.num, async.event);
		process_async(node, &async);
	}
	hdr->processor_sleeps = node->run_at != NEVER ? NIC_DOZES : NIC_SLEEPS;
	if (nic_has_work(&node->nic) && node->run_at == NEVER)
		node->run_at = event_now();
}

void node_ran(struct node *node)
{
	go_to_sleep(node);
	look_ahead(node);
	rule_after(node);
	if (sim.after_step)
		sim.after_step(node);
	states_look(node);
	process_look(node);
}

/* The process that receives the node's frames: the first running one. NULL: the agent. */
static struct process *receiver(struct node *node)
{
	u32 i;

	for (i = 1; sim.config.polled && i < SIM_MAX_SPACES && node->process[i]; i++) {
		struct process *p = node->process[i];

		if (!p->fatal && process_runs(p))
			return p;
		if (!sim.config.threads)
			break;
	}
	return NULL;
}

void node_receive(struct nic *nic, const struct nic_address *from, void *bytes, u32 length)
{
	const struct vnet_frame *head = bytes;
	struct nic_proof proof = { .local = true };

	/*
	 * There are no MACs. A valid CRC counts as a valid MAC: corruption makes the CRC invalid,
	 * and forge() never makes a frame claim a MAC that it did not claim before.
	 */
	if (length >= sizeof(*head) && head->proof == VNET_PROOF_MAC) {
		proof.given = nic_frame_crc_ok(bytes, length);
		memcpy(&proof.key, head->rsvd, sizeof(proof.key));
	}
	if (proof.given && proof.key == SIM_STRANGE_KEY)
		nic_refuse_caller(nic, from, bytes, length);
	else
		nic_receive(nic, from, bytes, length, &proof);
}

static void receive(struct node *node, struct frame *frame)
{
	struct process *p = receiver(node);
	struct nic_address from = { { 0 } };

	memcpy(from.bytes, &frame->src, sizeof(frame->src));
	if (p && sim.config.threads)
		process_receive(p, &from, frame->data, frame->length);
	else
		node_receive(p ? &p->view : &node->nic, &from, frame->data, frame->length);
}

static void receive_end(struct node *node)
{
	struct process *p = receiver(node);

	nic_receive_end(p ? &p->view : &node->nic);
}

static void take_frame(struct node *node)
{
	const struct cost *cost = &sim.config.cost;
	struct frame *frame = node->rx_head;
	const struct vnet_frame *head = (const void *)frame->data;
	bool ack = frame->length >= sizeof(*head) && head->kind == VNET_FRAME_ACK;

	node->rx_head = frame->next;
	node->rx_bytes -= frame->length;
	node->frames_received++;
	spend(node, ack ? cost->ack_rx : cost->frame_rx);
	node->place_until = event_now() + spent(node, (double)dma_time(frame->length));
	trace(TRACE_RECEIVE, node->index, frame->src, frame->length, frame->number);
	fault_arrived(node, frame);
	receive(node, frame);
	fabric_taken(frame);
	frame_free(frame);
	if (!node->rx_head || ++node->rx_batch >= RX_BATCH) {
		node->rx_batch = 0;
		receive_end(node);
		node->run_at = event_now();
	}
}

static void ring(struct node *node)
{
	struct doorbell bell = node->bell[0];

	memmove(node->bell, node->bell + 1, --node->nbell * sizeof(*node->bell));
	trace(TRACE_DOORBELL, node->index, bell.num, 0, 0);
	if (bell.kind == 's')
		nic_send_doorbell(&node->nic, bell.num);
	else
		nic_recv_doorbell(&node->nic, bell.num, bell.kind == 'q');
}

static void run(struct node *node)
{
	u64 next = 0;

	spend(node, sim.config.cost.nic_run);
	node->run_at = NEVER;
	if (!nic_run(&node->nic, nic_budget(&node->nic), &next))
		return;
	/* Convert from plat_clock() to virtual time. */
	next -= plat_clock() - event_now();
	node->run_at = next > event_now() + LEAST_PAUSE ? next : event_now() + LEAST_PAUSE;
}

static void node_work(void *arg, u64 generation)
{
	struct node *node = arg;
	u64 now = event_now();
	bool frame;

	if (generation != node->work_generation)
		return;
	node->work_at = NEVER;
	if (node->dead)
		return;
	if (node->busy_until > now) {
		node_wake(node, node->busy_until);
		return;
	}
	node->nic.hdr->processor_sleeps = NIC_AWAKE;
	frame = node->rx_head && node->rx_head->ready <= now && node->place_until <= now;
	/* Frames and doorbells alternate. */
	if (frame && (!node->nbell || (generation & 1)))
		take_frame(node);
	else if (node->nbell)
		ring(node);
	else if (frame)
		take_frame(node);
	if (node->run_at <= now)
		run(node);
	node_ran(node);
}

void node_arrive(struct frame *frame)
{
	struct node *node = &sim.node[frame->dst];

	if (node->dead || node->cut_until > event_now()) {
		trace(TRACE_CUT, node->index, frame->src, frame->length, frame->number);
		fabric_taken(frame);
		frame_free(frame);
		return;
	}
	if (sim.config.fabric.kind != FABRIC_MYRINET &&
	    node->rx_bytes + frame->length > (u64)sim.config.cost.nic_buffer) {
		fabric_drop(frame, node->index);
		return;
	}
	frame->ready = event_now() + (u64)sim.config.cost.dma;
	frame->next = NULL;
	if (node->rx_head)
		node->rx_tail->next = frame;
	else
		node->rx_head = frame;
	node->rx_tail = frame;
	node->rx_bytes += frame->length;
	look_ahead(node);
}

/* Record the contents of a frame in the trace. */
static void trace_contents(const struct node *node, const u8 *data, u32 length)
{
	const struct vnet_frame *head = (const void *)data;
	const struct vnet_frame_ack *ack = (const void *)(head + 1);
	const struct vnet_frame_op *op;
	u32 i;

	if (head->kind < VNET_FRAME_DATA)
		return;
	for (i = 0; i < head->nacks; i++) {
		states_answer(ack[i].code);
		trace(TRACE_ANSWER, node->index, ack[i].code,
		      (u64)ack[i].channel * 1000000 + ack[i].seq, ack[i].result);
	}
	op = (const void *)(ack + head->nacks);
	if (head->kind == VNET_FRAME_DATA && (const u8 *)(op + 1) <= data + length)
		trace(TRACE_PACKET, node->index, op->dst_qpn, (u64)op->channel * 1000000 + op->seq,
		      (u64)op->opcode << 32 | op->psn);
}

void node_transmit(struct node *node, u32 to, const u8 *data, u32 length)
{
	const struct cost *cost = &sim.config.cost;
	const struct vnet_frame *head = (const void *)data;
	struct frame *frame;
	u64 leaves;

	if (node->dead)
		return;
	spend(node,
	      head->kind == VNET_FRAME_ACK && !head->payload_len ? cost->ack_tx : cost->frame_tx);
	/* DMA reads host memory while the NIC processor continues. */
	if (node->gather_until < node->busy_until)
		node->gather_until = node->busy_until;
	node->gather_until += dma_time(length);
	leaves = node->gather_until + (u64)cost->dma;
	frame = frame_new(node->index, to, data, length);
	node->frames_sent++;
	trace(TRACE_SEND, node->index, to, length, frame->number);
	trace_contents(node, data, length);
	fault_send(frame, leaves);
}

struct bell_event {
	struct node *node;
	u64 life;
	struct doorbell bell;
};

static void bell_arrives(void *arg, u64 value)
{
	struct bell_event *e = arg;
	struct node *node = e->node;

	(void)value;
	if (node->life == e->life && !node->dead) {
		if (node->nbell == node->bell_room) {
			node->bell_room = node->bell_room ? node->bell_room * 2 : 16;
			node->bell = realloc(node->bell, node->bell_room * sizeof(*node->bell));
			need(node->bell != NULL, "no memory for doorbells");
		}
		node->bell[node->nbell++] = e->bell;
		look_ahead(node);
	}
	free(e);
}

void node_bell(struct node *node, u8 kind, u32 num, u64 at)
{
	struct bell_event *e = malloc(sizeof(*e));

	need(e != NULL, "no memory for doorbells");
	*e = (struct bell_event){ node, node->life, { num, kind } };
	event_at(at, bell_arrives, e, 0);
}

/* ------------------------------------------------------------------- stepping */

bool sim_step(void)
{
	return event_step();
}

void sim_run_until(u64 time)
{
	while (!is_violated() && event_next() <= time && event_step())
		;
}
