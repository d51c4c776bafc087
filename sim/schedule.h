/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random schedules: a cluster, queue pairs of all types, work requests and faults, from a seed.
 * The oracle checks each step. What is not configured is chosen by the seed, too.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include "cluster/fault.h"
#include "cluster/node.h"
#include "cluster/rules.h"
#include "oracle/check.h"

enum schedule_fault {
	SCHEDULE_LOSS = 1 << 0,
	SCHEDULE_DUPLICATE = 1 << 1,
	SCHEDULE_REORDER = 1 << 2,
	SCHEDULE_CORRUPT = 1 << 3,
	SCHEDULE_TRUNCATE = 1 << 4,
	SCHEDULE_DELAY = 1 << 5,
	/* The link of a node is cut for a while. */
	SCHEDULE_CUT = 1 << 6,
	/* A NIC is reset: it has another incarnation, and all objects are gone. */
	SCHEDULE_RESET = 1 << 7,
	SCHEDULE_SLOW = 1 << 8,
	/* A node becomes silent for good. */
	SCHEDULE_DEAD = 1 << 9,
	/* A process stops inside the firmware, while it holds a lock. */
	SCHEDULE_STOP = 1 << 10,
	/* Connections are destroyed during traffic, and made again. */
	SCHEDULE_TEARDOWN = 1 << 11,
	/* A process is killed at any place. Other processes of its node continue. */
	SCHEDULE_KILL = 1 << 12,
	/* Frames that no NIC would send, with right checksums. */
	SCHEDULE_FORGE = 1 << 13,
	/* On-demand paging with missing pages. Only if requested. */
	SCHEDULE_PAGES = 1 << 14,
	SCHEDULE_FAULTS = 15,
	/* Number of faults from which the seed chooses. */
	SCHEDULE_DICED_FAULTS = 14,
	/* The same in workload 1. */
	SCHEDULE_FIRST_FAULTS = 12,
};

#define SCHEDULE_WORKLOAD 8

struct schedule_config {
	u64 seed;
	/* 0: chosen by the seed. */
	u32 nodes, qps, works, frames, payload;
	/* Set of enum schedule_fault. */
	u32 faults;
	bool faults_given;
	/* Version of the workload, from 1 to SCHEDULE_WORKLOAD. */
	u32 workload;
	/* FABRIC_KINDS: chosen by the seed. */
	enum fabric_kind fabric;
	u32 sequence_bits;
	struct cost cost;
	enum rule rule;
};

struct schedule_result {
	u64 hash;
	u64 steps;
	u64 virtual_ns;
	u64 frames;
	u64 dropped;
	u32 nodes, qps, works, faults, frames_resident;
	enum fabric_kind fabric;
	struct fault_counts fault;
	struct check_totals totals;
	struct nic_counters counters;
	u64 rule_broken;
	u64 stops, deaths;
	u64 resident;
};

const char *schedule_fault_name(u32 i);
/* Returns false if an invariant was violated: see violation(). */
bool schedule_run(const struct schedule_config *config, struct schedule_result *result);

#endif /* SIM_SCHEDULE_H */
