/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random schedules: a cluster, queue pairs of all types, work requests and faults, from a seed.
 * The oracle checks each step. The seed also determines parameters that are not configured.
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
	/* A node neither sends nor receives frames for a while. */
	SCHEDULE_CUT = 1 << 6,
	/* A NIC is reset: its objects are lost, and it has another incarnation. */
	SCHEDULE_RESET = 1 << 7,
	SCHEDULE_SLOW = 1 << 8,
	/* A node dies: it never sends or receives again. */
	SCHEDULE_DEAD = 1 << 9,
	/* A process stops inside the firmware for a while, or a lock stays locked for a while. */
	SCHEDULE_STOP = 1 << 10,
	/* Connections are destroyed during traffic, and replaced. */
	SCHEDULE_TEARDOWN = 1 << 11,
	/* A process is killed at any step. Other processes of its node continue. */
	SCHEDULE_KILL = 1 << 12,
	/* Frames are changed to invalid ones with a valid CRC. */
	SCHEDULE_FORGE = 1 << 13,
	/* On-demand paging with missing pages. Never chosen by the seed. */
	SCHEDULE_PAGES = 1 << 14,
	SCHEDULE_FAULTS = 15,
	/* Number of kinds of faults from which the seed chooses. */
	SCHEDULE_DICED_FAULTS = 14,
	/* The same in workload 1. */
	SCHEDULE_FIRST_FAULTS = 12,
};

#define SCHEDULE_WORKLOAD 8

struct schedule_config {
	u64 seed;
	/* 0: chosen by the seed; works: 1000. */
	u32 nodes, qps, works, frames, payload;
	/* Set of enum schedule_fault, if faults_given. */
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
