/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random schedules: nodes, queue pairs of all types, a thousand work requests over
 * all operations and sizes, and faults, all from one seed, with the oracle looking
 * at each step. What is not told is chosen by the seed, too.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include "check.h"
#include "fault.h"
#include "node.h"
#include "rules.h"

enum schedule_fault {
	SCHEDULE_LOSS = 1 << 0,
	SCHEDULE_DUPLICATE = 1 << 1,
	SCHEDULE_REORDER = 1 << 2,
	SCHEDULE_CORRUPT = 1 << 3,
	SCHEDULE_TRUNCATE = 1 << 4,
	SCHEDULE_DELAY = 1 << 5,
	/* A node's link is cut for a while. */
	SCHEDULE_CUT = 1 << 6,
	/* Its NIC is reset: another incarnation, and all is gone. */
	SCHEDULE_RESET = 1 << 7,
	SCHEDULE_SLOW = 1 << 8,
	/* It falls silent for good. */
	SCHEDULE_DEAD = 1 << 9,
	/* Somebody stops inside of the firmware, with a lock held. */
	SCHEDULE_STOP = 1 << 10,
	/* Connections are taken down in the midst of traffic, and made anew. */
	SCHEDULE_TEARDOWN = 1 << 11,
	/* A process is killed, wherever it is; others of its node go on. */
	SCHEDULE_KILL = 1 << 12,
	/* Frames that no NIC sends, with right checksums. */
	SCHEDULE_FORGE = 1 << 13,
	/* Memory is paged on demand, and its pages come and go: only where it is asked for. */
	SCHEDULE_PAGES = 1 << 14,
	SCHEDULE_FAULTS = 15,
	/* How many of them the seed may choose. */
	SCHEDULE_DICED_FAULTS = 14,
	/* How many there were when the first workload was made. */
	SCHEDULE_FIRST_FAULTS = 12,
};

#define SCHEDULE_WORKLOAD 8

struct schedule_config {
	u64 seed;
	/* 0: by the seed. */
	u32 nodes, qps, works, frames, payload;
	/* Of enum schedule_fault. */
	u32 faults;
	bool faults_given;
	/* Which workload: an earlier one, from 1, or the present one. */
	u32 workload;
	/* FABRIC_KINDS: by the seed. */
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
/* false: an invariant does not hold, see violation(). */
bool schedule_run(const struct schedule_config *config, struct schedule_result *result);

#endif /* SIM_SCHEDULE_H */
