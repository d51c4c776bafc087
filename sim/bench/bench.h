/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The papers' experiments in the simulator: clusters of a given kind, clients and
 * servers on them, and tables of figures.
 */
#ifndef SIM_BENCH_H
#define SIM_BENCH_H

#include "../fault.h"
#include "../process.h"

#define US 1000ull
#define MS 1000000ull
#define MAX_FLOWS 256
#define MAX_COLUMNS 10
#define MAX_ROWS 128

/* What kind of cluster. */
struct cluster {
	u32 nodes;
	enum fabric_kind fabric;
	/* NULL: the default. */
	const char *costs;
	u32 frames;
	/* A process that polls runs the link: answers are collected. */
	bool polled;
	/* payload 0: as the firmware has it. */
	struct nic_settings settings;
	/* Frames that are lost. */
	double loss, cell_loss;
	/* Changed after it was read; NULL: nothing is. */
	void (*tune)(struct cost *cost);
};

void cluster_make(const struct cluster *cluster);

/*
 * A client that asks and a server that answers, by a connection of their own;
 * `window` requests under way. Measured between `from` and `until`.
 */
struct flow {
	u32 client_node, server_node;
	/* Bytes of the request and of the answer. 0: no answer is made. */
	u32 size, reply;
	u32 window;
	u64 from, until;
	/* Flows with the same one share a server: a process and its CQ. */
	u32 server;
	/* The server sleeps until it is asked, rather than polling. */
	bool sleeps;

	/* --- what came of it */
	u64 done;
	double latency_sum;
	u32 *latency;
	u32 nlatency, latency_room;
	/* Requests done in each of these slices of time. */
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

/* Run them all until the last one's end. */
void flows_run(struct flow *flows, u32 n);
void flows_free(struct flow *flows, u32 n);
/* Requests per second; MB/s of requests; mean and percentile of latency, us. */
double flow_rate(const struct flow *f);
double flow_bandwidth(const struct flow *f);
double flow_latency(const struct flow *f);
double flow_percentile(struct flow *f, double which);

/* What many clients of one server have. */
struct crowd {
	/* Of all: requests per second, MB/s of requests. */
	double rate, bandwidth;
	/* Of the slowest, beside the fastest; 0: nobody was served. */
	double share;
	/* Mean, us. */
	double latency;
};

/* n clients like this one, each on its node, and a server on node 0; nodes need not be told. */
struct crowd crowd_run(struct cluster cluster, u32 n, const struct flow *like);

/* --- reports */
struct report {
	const char *name;
	const char *title;
	/* What the paper has. */
	const char *published;
	const char *column[MAX_COLUMNS];
	u32 columns, rows;
	double cell[MAX_ROWS][MAX_COLUMNS];
	/* Row names, where the first column is not a number. */
	const char *label[MAX_ROWS];
	/* Columns to plot over the first one; a verdict in words. */
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
