/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A node: a host, and a NIC that runs the firmware on its own NIC memory.
 *
 * The NIC processor does one thing at a time. NIC memory is sparse: untouched pages take no memory.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include "base/cost.h"
#include "base/random.h"
#include "cluster/fabric.h"
#include "nic.h"

#define SIM_MAX_SPACES 64
#define SIM_MAX_CHANNELS 64
#define SIM_MAX_OBJECTS 512
#define SIM_OWNER_AGENT 1
/* Lock owner ID of the process with this space. */
#define SIM_OWNER(space) ((space) + 1)
/* Number of the first link key. All nodes have this key and all later ones. */
#define SIM_KEY 1u
/* Number of a link key that no node has. */
#define SIM_STRANGE_KEY 0xdead0000u

/* The simulator's own record of a memory region, against which copies are checked. */
struct region {
	u64 addr;
	u64 length;
	u32 access;
	u32 space;
	bool live;
	/* Its memory has been unmapped. */
	bool torn;
};

/* The memory of a process: `size` bytes at its addresses [start, start + size). */
struct space {
	u8 *memory;
	u64 start;
	u64 size;
	bool gone;
};

struct doorbell {
	u32 num;
	/* 's' send, 'r' receive, 'q' shared receive */
	u8 kind;
};

struct process;
struct queue;

struct node {
	u32 index;
	/* The agent's view of the NIC. Processes have views of their own. */
	struct nic nic;
	void *memory;
	u64 memory_size;
	/* Number of the NIC's life, from 1. */
	u64 life;
	/* Number of the link key with which it sends frames. */
	u32 key;
	/*
	 * wanderer: number of the wandering GID that this node claimed last. wanderer_at: the
	 * node that claimed the wandering GID with the number of this node last.
	 */
	u32 wanderer, wanderer_at;
	struct space space[SIM_MAX_SPACES];
	struct region *region;
	struct process *process[SIM_MAX_SPACES];
	/* Completion queues that the oracle checks after each step. */
	struct queue *cq[SIM_MAX_OBJECTS];
	u32 ncq;
	bool readable[SIM_MAX_CHANNELS];
	/* Next free queue memory and object numbers. */
	u64 queue_at;
	u32 next_mr, next_cqn, next_srqn, next_qpn;
	/* The last number drawn for each QP index. */
	u32 *last_qpn;

	/*
	 * --- NIC processor: the time until which it is busy; the ends of the DMA of received
	 * and of sent data; the time of the next nic_run().
	 */
	u64 busy_until;
	u64 place_until, gather_until;
	u64 run_at;
	/* Time of the next node_work(). Events of older generations are ignored. */
	u64 work_at;
	u64 work_generation;
	struct frame *rx_head, *rx_tail;
	u64 rx_bytes;
	u32 rx_batch;
	struct doorbell *bell;
	u32 nbell, bell_room;

	/* --- faults */
	bool dead;
	u64 cut_until;
	/* nic_starve() is in effect until this time. */
	u64 starved_until;
	/* Factor by which the NIC processor is slower than normal. */
	double slow;

	/* Buffer of the frame that the agent's firmware builds. */
	u8 *tx;
	u64 frames_sent, frames_received;
};

struct sim_config {
	u32 nodes;
	u64 seed;
	struct fabric_config fabric;
	struct cost cost;
	struct nic_config nic;
	/* Value of nic.direct (nic.h). */
	bool direct;
	/* Processes execute their doorbells themselves, as in user mode. */
	bool cut_through;
	/* A process of the node receives its frames, and may delay acknowledgements. */
	bool polled;
	/* Frames are received in a thread of that process, which may stop at any step. */
	bool threads;
	/* Ports are InfiniBand ports, and frames are addressed by LID. */
	bool lids;
	/* On average, one of so many pieces of a copy misses a page; 0: no page is missing. */
	u32 pages;
	/* Number of additional GIDs of each NIC, to which datagrams may be sent. */
	u32 names;
	/*
	 * One further GID of each NIC wanders between NICs, and its previous owner may keep it;
	 * link keys change; a new incarnation may be smaller than the last one.
	 */
	bool restless;
};

struct sim {
	struct sim_config config;
	struct node *node;
	/* Called after each step that ran the firmware of a node. */
	void (*after_step)(struct node *node);
	/* Number of copies, and of bytes copied. */
	u64 copies, copied;
	/* Number of calls of plat_yield(). */
	u64 turns;
	/* Processes that were stopped inside the firmware, and that were killed. */
	u64 stops, deaths;
	/* Decides which pages are missing. */
	struct random pages;
	/* Source of plat_random(). */
	struct random secrets;
};

extern struct sim sim;

/* Create the nodes, after discarding a previous simulation. */
void sim_setup(const struct sim_config *config);
void sim_teardown(void);
/* Execute one event. Returns false if there is none. */
bool sim_step(void);
/* Run until `time`, the last event, or a violation. */
void sim_run_until(u64 time);
u64 sim_now(void);
/* Pass a frame to the firmware, with the proof that the link would have found in it. */
void node_receive(struct nic *nic, const struct nic_address *from, void *bytes, u32 length);
/* The value of plat_clock(), for callers outside the firmware. It is no step of a process. */
u64 node_clock(void);
/* Bytes of NIC memory that have been touched, of all nodes. */
u64 sim_resident(void);

/* A frame has arrived at its destination. */
void node_arrive(struct frame *frame);
/* A doorbell arrives at the NIC at time `at`. */
void node_bell(struct node *node, u8 kind, u32 num, u64 at);
/* Let the NIC processor look for work at time `at`, or earlier if that is scheduled. */
void node_wake(struct node *node, u64 at);
/* Called after the firmware has run: schedules further work, and checks invariants. */
void node_ran(struct node *node);
/* Begin a new life with empty NIC memory. */
void node_restart(struct node *node);
/* The GID of a node: IPv4-mapped, 10.x.y.z. */
void node_gid(u32 node, u8 gid[16]);
/* Further GIDs of a node: `which` is 1 to sim_config.names; the next one is the wandering GID. */
void node_name(u32 node, u32 which, u8 gid[16]);
/* The node claims wandering GID number `wanderer`, and sends a HELLO to node `other`. */
void node_claim(struct node *node, u32 wanderer, u32 other);
/* The node sends with a new link key from now on, which all nodes accept. */
void node_rekey(struct node *node);
/* The LID of a node's port. */
static inline u16 node_lid(u32 node)
{
	return (u16)(node + 1);
}

/* The link-local GID of a node. */
void node_gid_ipv6(u32 node, u8 gid[16]);
/* Transmit a frame of plat_send(). */
void node_transmit(struct node *node, u32 to, const u8 *data, u32 length);

#endif /* SIM_NODE_H */
