/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Simulated experiments of the papers: clusters, flows of requests, and reports. */
#ifndef SIM_BENCH_H
#define SIM_BENCH_H

#include "cluster/fault.h"
#include "cluster/process.h"

#define US 1000ull
#define MS 1000000ull
#define MAX_FLOWS 256
#define MAX_COLUMNS 10
#define MAX_ROWS 128

/* Parameters of a cluster. */
struct cluster {
	u32 nodes;
	enum fabric_kind fabric;
	/* File of costs in the simulator's folder; NULL for the default costs. */
	const char *costs;
	u32 frames;
	/* Processes receive frames (sim_config.polled), so acknowledgements are collected. */
	bool polled;
	/* payload 0: the firmware's defaults. */
	struct nic_settings settings;
	/* Probability that a frame, or an ATM cell, is lost. */
	double loss, cell_loss;
	/* Changes the costs that have been read; NULL: no change. */
	void (*tune)(struct cost *cost);
};

void cluster_make(const struct cluster *cluster);

/*
 * A flow: a client that sends requests to a server over a connection of its own, with up to
 * `window` requests outstanding. Results are measured between `from` and `until` (ns).
 */
struct flow {
	u32 client_node, server_node;
	/* Bytes of request and reply. reply 0: there is no reply. */
	u32 size, reply;
	u32 window;
	u64 from, until;
	/* Flows with the same number share a server process and its CQ. */
	u32 server;
	/* The server sleeps until a completion event, instead of polling. */
	bool sleeps;

	/* --- results */
	u64 done;
	double latency_sum;
	u32 *latency;
	u32 nlatency, latency_room;
	/* Number of requests completed in each time slice. */
	u32 *slice;
	u32 nslices;
	u64 slice_ns;

	struct process *client;
	struct flow_server *at;
	struct qp *qp, *server_qp;
	struct queue *cq;
	u32 key;
	u32 left;
	u64 *sent;
};

/* Run all flows until the last one ends. */
void flows_run(struct flow *flows, u32 n);
void flows_free(struct flow *flows, u32 n);
/* Requests per second; MB/s of requests; mean and percentile of latency in us. */
double flow_rate(const struct flow *f);
double flow_bandwidth(const struct flow *f);
double flow_latency(const struct flow *f);
double flow_percentile(struct flow *f, double which);

/* Results of n clients of one server. */
struct crowd {
	/* Sums: requests per second, and MB/s of requests. */
	double rate, bandwidth;
	/*
	 * Rate of the slowest client divided by that of the fastest; 0 if no request was
	 * completed.
	 */
	double share;
	/* Mean latency in us. */
	double latency;
};

/* Run n clients with parameters `like`, on nodes 1 to n, and a server on node 0. */
struct crowd crowd_run(struct cluster cluster, u32 n, const struct flow *like);

/* --- reports */
struct report {
	const char *name;
	const char *title;
	/* Result of the paper. */
	const char *published;
	const char *column[MAX_COLUMNS];
	u32 columns, rows;
	double cell[MAX_ROWS][MAX_COLUMNS];
	/* Row names, if the first column is not a number. */
	const char *label[MAX_ROWS];
	/* Columns to plot over the first one. */
	u32 plot[4], plots;
	char verdict[512];
};

void report_row(struct report *report, const char *label, const double *cells);
void report_verdict(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct experiment {
	const char *name;
	const char *about;
	void (*run)(struct report *report);
};

extern const struct experiment experiment_e2, experiment_e4, experiment_e5, experiment_e6,
	experiment_e7, experiment_e8, experiment_e9, experiment_e10, experiment_e11, experiment_e16,
	experiment_e25, experiment_incast;

#endif /* SIM_BENCH_H */
