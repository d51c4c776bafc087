// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Switches and links of the simulator: topology, queues, drops, back-pressure and routes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/fabric.h"
#include "base/event.h"
#include "base/random.h"
#include "base/trace.h"
#include "cluster/node.h"

#define CELL 53
#define CELL_PAYLOAD 48
/* Bytes of the AAL5 trailer. */
#define AAL5_TRAILER 8

/*
 * A link in one direction. If switches drop, its queue contains frames that wait for the link.
 * If links have back-pressure, its queue contains frames that have arrived over it.
 */
struct link {
	struct frame *head, *tail;
	u64 bytes;
	u32 to;
	bool busy;
	/* Back-pressure: links whose first frame is to continue over this one. */
	struct link *waiters, *last_waiter;
	struct link *next_waiter;
	/* The link whose first frame is being transmitted over this one. */
	struct link *feeding;
	/* A frame from this queue is being transmitted over another link. */
	bool draining;
};

/* With back-pressure, the transmit queue of each NIC is a link, too, without a wire. */
static struct {
	struct fabric_config config;
	struct random random;
	struct link *link;
	u32 nlinks;
	/* Fat tree of switches with 2 * half ports; 0: a single switch. */
	u32 half;
	/* Number of uplinks in use of each switch. */
	u32 up;
	u64 dropped, alive, number;
	/* List of all frames. */
	struct frame *all;
} fabric;

/* -------------------------------------------------------- names of fabrics */

static const char *const fabric_names[FABRIC_KINDS] = {
	[FABRIC_IDEAL] = "ideal",
	[FABRIC_ETHERNET] = "ethernet",
	[FABRIC_MYRINET] = "myrinet",
	[FABRIC_ATM] = "atm",
};

const char *fabric_name(enum fabric_kind kind)
{
	return kind < FABRIC_KINDS ? fabric_names[kind] : "?";
}

enum fabric_kind fabric_named(const char *name)
{
	u32 i;

	for (i = 0; i < FABRIC_KINDS; i++) {
		if (!strcmp(name, fabric_names[i]))
			break;
	}
	return (enum fabric_kind)i;
}

/* ------------------------------------------------------------------ frames */

struct frame *frame_new(u32 src, u32 dst, const void *data, u32 length)
{
	struct frame *frame = malloc(sizeof(*frame) + ((length + 7) & ~7u));

	if (!frame) {
		fputs("vnet-sim: no memory for frames\n", stderr);
		abort();
	}
	memset(frame, 0, sizeof(*frame));
	frame->number = ++fabric.number;
	frame->src = src;
	frame->dst = dst;
	frame->length = length;
	memcpy(frame->data, data, length);
	frame->after = fabric.all;
	if (fabric.all)
		fabric.all->before = frame;
	fabric.all = frame;
	fabric.alive++;
	return frame;
}

void frame_free(struct frame *frame)
{
	if (frame->before)
		frame->before->after = frame->after;
	else
		fabric.all = frame->after;
	if (frame->after)
		frame->after->before = frame->before;
	fabric.alive--;
	free(frame);
}

u64 frames_alive(void)
{
	return fabric.alive;
}

u64 fabric_dropped(void)
{
	return fabric.dropped;
}

void fabric_drop(struct frame *frame, u32 where)
{
	fabric.dropped++;
	trace(TRACE_FULL, where, frame->src, frame->length, frame->number);
	frame_free(frame);
}

/* ---------------------------------------------------------------- topology
 *
 * Entities are nodes (0 ... nodes - 1) and switches. A tree of switches with
 * 2h ports has 2h pods of h edge and h aggregation switches, and h * h cores.
 * Links: nodes up, nodes down, then edge up, edge down, aggregation up and
 * down, each h for a switch.
 */

static u32 pod_of(u32 node)
{
	return node / (fabric.half * fabric.half);
}

static u32 edges(void)
{
	return 2 * fabric.half * fabric.half;
}

/*
 * The first link of a class: 0 node up, 1 node down, 2 edge up, 3 edge down, 4 aggregation up, 5
 * aggregation down.
 */
static u32 link_class(u32 class)
{
	u32 nodes = fabric.config.nodes;

	return class < 2 ? class * nodes : 2 * nodes + (class - 2) * edges() * fabric.half;
}

/* The link over which a switch sends a frame. frame->path selects the uplinks. */
static struct link *route(u32 entity, const struct frame *frame)
{
	u32 half = fabric.half, sw = entity - fabric.config.nodes;
	u32 dst = frame->dst, a = frame->path % fabric.up, c = frame->path / fabric.up % fabric.up;

	if (!half || (sw < edges() && dst / half == sw))
		return &fabric.link[link_class(1) + dst];
	if (sw < edges())
		return &fabric.link[link_class(2) + sw * half + a];
	sw -= edges();
	if (sw < edges()) {
		if (pod_of(dst) == sw / half)
			return &fabric.link[link_class(3) + sw * half + dst / half % half];
		return &fabric.link[link_class(4) + sw * half + c];
	}
	sw -= edges();
	/* Core a * half + c; class 5 is numbered by the aggregation switch it leads to. */
	return &fabric.link[link_class(5) + (pod_of(dst) * half + sw / half) * half + sw % half];
}

static void wire_tree(void)
{
	u32 half = fabric.half, nodes = fabric.config.nodes, i, j;
	u32 edge = nodes, agg = nodes + edges(), core = agg + edges();

	for (i = 0; i < nodes; i++)
		fabric.link[i].to = edge + i / half;
	for (i = 0; i < edges(); i++) {
		for (j = 0; j < half; j++) {
			fabric.link[link_class(2) + i * half + j].to = agg + i / half * half + j;
			fabric.link[link_class(3) + i * half + j].to = edge + i / half * half + j;
			fabric.link[link_class(4) + i * half + j].to = core + i % half * half + j;
			fabric.link[link_class(5) + i * half + j].to = agg + i;
		}
	}
}

static void choose_topology(void)
{
	u32 nodes = fabric.config.nodes, half = 2, up;

	fabric.half = 0;
	fabric.up = 1;
	fabric.nlinks = 2 * nodes;
	if (nodes <= fabric.config.cost->star_ports || fabric.config.kind == FABRIC_IDEAL)
		return;
	while (2 * half * half * half < nodes)
		half++;
	up = (u32)(half / fabric.config.cost->taper);
	fabric.half = half;
	fabric.up = up ? up : 1;
	fabric.nlinks = link_class(6);
}

void fabric_setup(const struct fabric_config *config)
{
	u32 i;

	fabric_reset();
	fabric.config = *config;
	random_seed(&fabric.random, config->seed, 0xfab);
	choose_topology();
	/* Back-pressure needs one more queue for each NIC. */
	fabric.link = calloc(fabric.nlinks + config->nodes, sizeof(*fabric.link));
	if (!fabric.link) {
		fputs("vnet-sim: no memory for links\n", stderr);
		abort();
	}
	for (i = 0; i < config->nodes; i++) {
		fabric.link[i].to = config->nodes;
		fabric.link[config->nodes + i].to = i;
	}
	if (fabric.half)
		wire_tree();
}

void fabric_reset(void)
{
	struct frame *frame, *next;

	for (frame = fabric.all; frame; frame = next) {
		next = frame->after;
		free(frame);
	}
	fabric.all = NULL;
	fabric.alive = 0;
	free(fabric.link);
	fabric.link = NULL;
	fabric.dropped = 0;
	fabric.number = 0;
}

/* ------------------------------------------------------------------- queues */

static void push(struct link *link, struct frame *frame)
{
	frame->next = NULL;
	if (link->head)
		link->tail->next = frame;
	else
		link->head = frame;
	link->tail = frame;
}

static struct frame *pop(struct link *link)
{
	struct frame *frame = link->head;

	link->head = frame->next;
	frame->next = NULL;
	return frame;
}

static u64 serial(u64 bytes)
{
	return (u64)ceil((double)bytes * 1000 / fabric.config.cost->link_rate);
}

/* Propagation over a link, and through the switch at its end. */
static u64 flight(const struct link *link)
{
	const struct cost *cost = fabric.config.cost;
	u32 index = (u32)(link - fabric.link), nodes = fabric.config.nodes;
	double half = cost->wire / 2;

	if (fabric.config.kind == FABRIC_ETHERNET || fabric.config.kind == FABRIC_IDEAL)
		half += cost->roce / 2;
	return (u64)((index < 2 * nodes ? half : 0) + (link->to >= nodes ? cost->hop : 0));
}

static void forward(void *arg, u64 entity);

/* -------------------------------------------------------- drops: output queues */

static void start_output(struct link *link);

static void output_done(void *arg, u64 bytes)
{
	struct link *link = arg;

	link->bytes -= bytes;
	link->busy = false;
	start_output(link);
}

static void start_output(struct link *link)
{
	struct frame *frame;
	u64 time, first;

	if (link->busy || !link->head)
		return;
	frame = pop(link);
	time = serial(frame->wire);
	/* A cell switch forwards the first cell before the last one has arrived. */
	first = fabric.config.kind == FABRIC_ATM && link->to >= fabric.config.nodes ? serial(CELL) :
										      time;
	link->busy = true;
	event_at(event_now() + time, output_done, link, frame->wire);
	event_at(event_now() + first + flight(link), forward, frame, link->to);
}

static void output(struct link *link, struct frame *frame, u32 entity)
{
	u64 limit = (u64)fabric.config.cost->switch_buffer;

	/* The transmit queue of a host is not limited here. */
	if (entity >= fabric.config.nodes && link->bytes + frame->wire > limit) {
		u64 cells = limit > link->bytes ? (limit - link->bytes) / CELL : 0;

		if (fabric.config.kind != FABRIC_ATM || !cells) {
			fabric_drop(frame, entity);
			return;
		}
		/* The cells that fit use the link, but the frame is lost. */
		frame->ruined = true;
		frame->wire = (u32)(cells * CELL);
	}
	link->bytes += frame->wire;
	push(link, frame);
	start_output(link);
}

/* ------------------------------------------------ back-pressure: input buffers */

static bool has_room(const struct link *link, u32 bytes)
{
	const struct cost *cost = fabric.config.cost;
	double limit = link->to < fabric.config.nodes ? cost->nic_buffer : cost->link_slack;

	return !link->bytes || (double)(link->bytes + bytes) <= limit;
}

static struct link *wanted(const struct link *input)
{
	return input->to < fabric.config.nodes ? &fabric.link[input->to] :
						 route(input->to, input->head);
}

static void start_stalling(struct link *link);

/* Queue this input buffer at the link over which its first frame must continue. */
static void ask(struct link *input)
{
	struct link *link = wanted(input);

	input->next_waiter = NULL;
	if (link->waiters)
		link->last_waiter->next_waiter = input;
	else
		link->waiters = input;
	link->last_waiter = input;
	start_stalling(link);
}

static void stalling_done(void *arg, u64 bytes)
{
	struct link *link = arg, *input = link->feeding;

	link->busy = false;
	input->draining = false;
	/* The frame has left its input buffer: the next frame there may request a link. */
	input->bytes -= bytes;
	if (input->head)
		ask(input);
	if (input >= fabric.link && input < fabric.link + fabric.nlinks)
		start_stalling(input);
	start_stalling(link);
}

static void start_stalling(struct link *link)
{
	struct link *input = link->waiters;
	struct frame *frame;
	u64 time;

	if (link->busy || !input || !has_room(link, input->head->wire))
		return;
	link->waiters = input->next_waiter;
	frame = pop(input);
	time = serial(frame->wire);
	link->busy = true;
	link->feeding = input;
	input->draining = true;
	link->bytes += frame->wire;
	event_at(event_now() + time, stalling_done, link, frame->wire);
	if (link->to < fabric.config.nodes)
		event_at(event_now() + time + flight(link), forward, frame, link->to);
	else
		event_at(event_now() + flight(link), forward, frame,
			 (u64)(link - fabric.link) << 32 | link->to);
}

/* Store a frame in the input buffer at the end of a link, or in a NIC's transmit queue. */
static void input(struct link *link, struct frame *frame)
{
	bool first = !link->head;

	push(link, frame);
	/* While another frame leaves this buffer, stalling_done() will call ask(). */
	if (first && !link->draining)
		ask(link);
}

void fabric_taken(const struct frame *frame)
{
	struct link *link;

	if (fabric.config.kind != FABRIC_MYRINET)
		return;
	link = &fabric.link[fabric.config.nodes + frame->dst];
	link->bytes -= frame->wire;
	start_stalling(link);
}

/* -------------------------------------------------------- arrival and entry */

/* A frame arrives at node or switch (u32)at. With back-pressure, at >> 32 is the link. */
static void forward(void *arg, u64 at)
{
	struct frame *frame = arg;
	u32 entity = (u32)at;

	if (entity < fabric.config.nodes) {
		if (frame->ruined)
			fabric_drop(frame, entity);
		else
			node_arrive(frame);
		return;
	}
	if (fabric.config.kind == FABRIC_MYRINET)
		input(&fabric.link[at >> 32], frame);
	else
		output(route(entity, frame), frame, entity);
}

static void lose_cells(struct frame *frame)
{
	double cells = frame->wire / (double)CELL;

	if (fabric.config.cell_loss > 0 &&
	    random_chance(&fabric.random, 1 - pow(1 - fabric.config.cell_loss, cells)))
		frame->ruined = true;
}

static void enter(void *arg, u64 value)
{
	struct frame *frame = arg;
	struct link *link = &fabric.link[frame->src];

	(void)value;
	switch (fabric.config.kind) {
	case FABRIC_IDEAL:
		/* Here, link->bytes is the time until which the NIC is transmitting. */
		if (link->bytes < event_now())
			link->bytes = event_now();
		link->bytes += serial(frame->wire);
		event_at(link->bytes + 2 * flight(&fabric.link[fabric.config.nodes]), forward,
			 frame, frame->dst);
		break;
	case FABRIC_MYRINET:
		fabric.link[fabric.nlinks + frame->src].to = frame->src;
		fabric.link[fabric.nlinks + frame->src].bytes += frame->wire;
		input(&fabric.link[fabric.nlinks + frame->src], frame);
		break;
	default:
		output(link, frame, frame->src);
		break;
	}
}

void fabric_send(struct frame *frame, u64 at)
{
	u32 length = frame->length;

	frame->wire = length + (u32)fabric.config.cost->overhead;
	/* The path is given by the destination, so permutations do not collide; or it is random. */
	frame->path = fabric.half ? frame->dst % fabric.half % fabric.up +
					    frame->dst / fabric.half % fabric.up * fabric.up :
				    0;
	if (fabric.config.spray)
		frame->path = (u32)random_next(&fabric.random);
	if (fabric.config.kind == FABRIC_ATM) {
		frame->wire = (length + AAL5_TRAILER + CELL_PAYLOAD - 1) / CELL_PAYLOAD * CELL;
		lose_cells(frame);
	}
	if (at > event_now())
		event_at(at, enter, frame, 0);
	else
		enter(frame, 0);
}
