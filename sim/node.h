/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A node: a host with its NIC, which is the firmware over memory of its own, and a
 * processor that does one thing after the other. The memory is sparse, so that a
 * node costs what it touches, not what its tables could hold.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include "cost.h"
#include "fabric.h"
#include "nic.h"
#include "random.h"

#define SIM_MAX_SPACES 64
#define SIM_MAX_CHANNELS 64
#define SIM_MAX_OBJECTS 512
#define SIM_OWNER_AGENT 1
/* Process of space i has this owner id. */
#define SIM_OWNER(space) ((space) + 1)
/* Number of the first key; all nodes have it, and those that are given to them later. */
#define SIM_KEY 1u
/* Of a key that nobody has. */
#define SIM_STRANGE_KEY 0xdead0000u

/* What the simulator itself wrote down of a memory region. */
struct region {
	u64 addr;
	u64 length;
	u32 access;
	u32 space;
	bool live;
	/* Its memory is not there any more. */
	bool torn;
};

/* A process' memory: `size` bytes that it calls [start, start + size). */
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
	/* The agent's view; others are the processes'. */
	struct nic nic;
	void *memory;
	u64 memory_size;
	/* Which life this is, from 1. */
	u64 life;
	/* The key that it seals with. */
	u32 key;
	/* Which of the names that wander it has; and which node has that of this number. */
	u32 wanderer, wanderer_at;
	struct space space[SIM_MAX_SPACES];
	struct region *region;
	struct process *process[SIM_MAX_SPACES];
	/* Completion queues, for whoever looks at each step. */
	struct queue *cq[SIM_MAX_OBJECTS];
	u32 ncq;
	bool readable[SIM_MAX_CHANNELS];
	/* Next free queue memory and numbers. */
	u64 queue_at;
	u32 next_mr, next_cqn, next_srqn, next_qpn;
	/* The last number drawn for each QP index. */
	u32 *last_qpn;

	/* --- the NIC's processor: busy until, and when it runs by itself. */
	u64 busy_until;
	u64 place_until, gather_until;
	u64 run_at;
	/* Next look, if one is due; older ones are void. */
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
	/* Its NIC finds no receives, or did, until then. */
	u64 starved_until;
	/* Its NIC's processor takes so many times as long. */
	double slow;

	/* The frame that the agent's firmware is making. */
	u8 *tx;
	u64 frames_sent, frames_received;
};

struct sim_config {
	u32 nodes;
	u64 seed;
	struct fabric_config fabric;
	struct cost cost;
	struct nic_config nic;
	/* The host's copies reach everything: see nic.direct. */
	bool direct;
	/* Doorbells are executed by the process itself, as in user mode. */
	bool cut_through;
	/* A process that polls runs its node's link, and may keep answers back. */
	bool polled;
	/* In a thread of its own, which can stop in the midst of that. */
	bool threads;
	/* Ports are InfiniBand's: frames go by LID. */
	bool lids;
	/* Of so many looks at memory that is paged on demand, one misses a page; 0: none. */
	u32 pages;
	/* So many more GIDs each NIC has, by which datagrams find it, too. */
	u32 names;
	/*
	 * One more GID of each goes from NIC to NIC, with or without the consent of who has it;
	 * keys are changed; and lives do not count upwards.
	 */
	bool restless;
};

struct sim {
	struct sim_config config;
	struct node *node;
	/* Called after each step that ran firmware of this node. */
	void (*after_step)(struct node *node);
	/* Called for a copy before it is made; false: it is refused. */
	u64 copies, copied;
	/* Stretches of work that ended. */
	u64 turns;
	/* Processes that stopped inside of the firmware, and that were killed. */
	u64 stops, deaths;
	/* For pages that come and go. */
	struct random pages;
	/* What plat_random() answers. */
	struct random secrets;
};

extern struct sim sim;

/* Make the nodes; what was before is gone. */
void sim_setup(const struct sim_config *config);
void sim_teardown(void);
/* One event and what must hold after it; false: there is none left. */
bool sim_step(void);
/* Step until then, or until nothing is left, or an invariant is broken. */
void sim_run_until(u64 time);
u64 sim_now(void);
/* A frame came by the fabric: to the firmware, with what a link would have found about it. */
void node_receive(struct nic *nic, const struct nic_address *from, void *bytes, u32 length);
/* By the NICs' clock; to who only looks, as that is no step of a process. */
u64 node_clock(void);
/* Bytes of memory that all nodes' NICs have touched. */
u64 sim_resident(void);

/* A frame came in over the link. */
void node_arrive(struct frame *frame);
/* A doorbell reached the NIC. */
void node_bell(struct node *node, u8 kind, u32 num, u64 at);
/* Have its processor look at `at`. */
void node_wake(struct node *node, u64 at);
/* Firmware ran: see what it left to do, and what it did. */
void node_ran(struct node *node);
/* A new life: NIC memory empty, nothing of the old one known. */
void node_restart(struct node *node);
/* GID by which a node is reached: RoCE's form of 10.x.y.z. */
void node_gid(u32 node, u8 gid[16]);
/* Another of its names, from 1; sim_config.names + 1: the one that wanders. */
void node_name(u32 node, u32 which, u8 gid[16]);
/* It says that it has this name, and calls another node by a name of that. */
void node_claim(struct node *node, u32 wanderer, u32 other);
/* It seals with another key, which all accept. */
void node_rekey(struct node *node);
/* The same as node_gid(), link-local. */
static inline u16 node_lid(u32 node)
{
	return (u16)(node + 1);
}

void node_gid_ipv6(u32 node, u8 gid[16]);
/* Take over the firmware's call as made; for the platform. */
void node_transmit(struct node *node, u32 to, const u8 *data, u32 length);

#endif /* SIM_NODE_H */
