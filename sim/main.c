// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* vnet-sim: runs random schedules on a simulated cluster. The command "vnet sim" starts it. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/trace.h"
#include "cluster/states.h"
#include "schedule.h"
#include "workload/workload.h"

#define MAX_JOBS 64
#define LAST_EVENTS 60

enum option_code {
	OPT_SEED = 256,
	OPT_SCHEDULES,
	OPT_NODES,
	OPT_QPS,
	OPT_WORKS,
	OPT_FABRIC,
	OPT_FAULTS,
	OPT_FRAMES,
	OPT_PAYLOAD,
	OPT_BITS,
	OPT_COSTS,
	OPT_WORKLOAD,
	OPT_BREAK,
	OPT_JOBS,
	OPT_TRACE,
	OPT_JSON,
	OPT_HASH,
	OPT_LIST,
	OPT_STATES,
	OPT_ALL_STATES,
	OPT_HELP,
};

static const struct option options[] = {
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "schedules", required_argument, NULL, OPT_SCHEDULES },
	{ "nodes", required_argument, NULL, OPT_NODES },
	{ "qps", required_argument, NULL, OPT_QPS },
	{ "works", required_argument, NULL, OPT_WORKS },
	{ "fabric", required_argument, NULL, OPT_FABRIC },
	{ "faults", required_argument, NULL, OPT_FAULTS },
	{ "frames", required_argument, NULL, OPT_FRAMES },
	{ "payload", required_argument, NULL, OPT_PAYLOAD },
	{ "sequence-bits", required_argument, NULL, OPT_BITS },
	{ "costs", required_argument, NULL, OPT_COSTS },
	{ "workload", required_argument, NULL, OPT_WORKLOAD },
	{ "break", required_argument, NULL, OPT_BREAK },
	{ "jobs", required_argument, NULL, OPT_JOBS },
	{ "trace", no_argument, NULL, OPT_TRACE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "hash", no_argument, NULL, OPT_HASH },
	{ "list-rules", no_argument, NULL, OPT_LIST },
	{ "states", no_argument, NULL, OPT_STATES },
	{ "all-states", no_argument, NULL, OPT_ALL_STATES },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"vnet sim [--seed S] [--schedules K] [options]\n"
	"\n"
	"Runs K random schedules (default 1) on a simulated cluster. After each step the\n"
	"oracle checks that messages arrive exactly once, in order and with the right data,\n"
	"that no completion is lost or repeated, that no unregistered memory is written,\n"
	"and that all requests complete. Options that are not given follow from the seed.\n"
	"\n"
	"  --seed S           seed of the first schedule (default 1); the next has S + 1\n"
	"  --schedules K      number of schedules\n"
	"  --jobs J           number of schedules at the same time (default 1)\n"
	"  --nodes N          number of NICs\n"
	"  --qps N            number of queue pairs\n"
	"  --works N          number of work requests (default 1000)\n"
	"  --frames N         number of endpoint frames of each NIC\n"
	"  --payload BYTES    payload of a frame\n"
	"  --sequence-bits B  32, or 1: the alternating bit, for links that keep the order\n"
	"  --fabric F         ideal, ethernet, myrinet or atm\n"
	"  --faults LIST      none, or some of loss,dup,reorder,corrupt,truncate,delay,\n"
	"                     cut,reset,slow,dead,stop,teardown,kill,forge,pages\n"
	"  --workload V       version of the workload, 1 to 8 (default 8); see vnet-sim(1)\n"
	"  --costs FILE       durations of operations (default: sim/costs.default)\n"
	"  --break RULE       break a rule of the protocol, to test the oracle\n"
	"  --list-rules       list these rules\n"
	"  --hash             print the hash of each schedule's trace\n"
	"  --trace            print all events\n"
	"  --states           print the states that the firmware's state machines reached\n"
	"  --all-states       the same; a state that was not reached is a failure\n"
	"  --json             print the summary as JSON\n"
	"\n"
	"Exit status: 0 no invariant was violated, 1 one was violated, 2 wrong usage,\n"
	"3 a state was not reached.\n";

struct summary {
	u64 schedules, failed, first_bad;
	u64 stops, deaths;
	u64 steps, frames, dropped, virtual_ns, broken, qps, nics, resident;
	u64 faults[SCHEDULE_FAULTS], fabrics[FABRIC_KINDS];
	u64 hash;
	struct fault_counts fault;
	struct check_totals totals;
	struct nic_counters counters;
	struct states states;
};

static_assert(sizeof(struct summary) <= PIPE_BUF, "a job's goes through its pipe in one piece");

struct request {
	struct schedule_config config;
	u64 schedules;
	u32 jobs;
	bool json, hash, trace, all_states;
};

/* ------------------------------------------------------------------- arguments */

static void usage(const char *what, const char *value)
{
	fprintf(stderr, "vnet-sim: %s '%s'; see: vnet sim --help\n", what, value);
	exit(2);
}

static u64 number(const char *what, const char *text, u64 least, u64 most)
{
	char *end;
	u64 value = strtoull(text, &end, 0);

	if (!*text || *text == '-' || *end || value < least || value > most)
		usage(what, text);
	return value;
}

static u32 fault_list(const char *text)
{
	char copy[256], *name, *rest = copy;
	u32 faults = 0, i;

	if (strlen(text) >= sizeof(copy))
		usage("faults are not", text);
	strcpy(copy, text);
	while ((name = strsep(&rest, ","))) {
		if (!strcmp(name, "none") || !*name)
			continue;
		for (i = 0; i < SCHEDULE_FAULTS; i++) {
			if (!strcmp(name, schedule_fault_name(i)))
				break;
		}
		if (i == SCHEDULE_FAULTS)
			usage("there is no fault", name);
		faults |= 1u << i;
	}
	return faults;
}

static void list_rules(void)
{
	u32 i;

	for (i = 1; i < RULES; i++)
		puts(rule_name((enum rule)i));
}

static void one_option(struct request *r, int option, const char *value)
{
	struct schedule_config *c = &r->config;
	u32 line;

	switch (option) {
	case OPT_SEED:
		c->seed = number("a seed is not", value, 0, ~0ull);
		break;
	case OPT_SCHEDULES:
		r->schedules = number("schedules are not", value, 1, 1ull << 40);
		break;
	case OPT_NODES:
		c->nodes = (u32)number("nodes are 4 to 4096, not", value, 4, 4096);
		break;
	case OPT_QPS:
		c->qps = (u32)number("queue pairs are 8 to 1024, not", value, 8, 1024);
		break;
	case OPT_WORKS:
		c->works = (u32)number("requests are not", value, 1, 1u << 24);
		break;
	case OPT_FABRIC:
		c->fabric = fabric_named(value);
		if (c->fabric == FABRIC_KINDS)
			usage("there is no fabric", value);
		break;
	case OPT_FAULTS:
		c->faults = fault_list(value);
		c->faults_given = true;
		break;
	case OPT_FRAMES:
		c->frames = (u32)number("frames are 1 to 128, not", value, 1, 128);
		break;
	case OPT_PAYLOAD:
		c->payload = (u32)number("a payload is 256 to 65000 bytes, not", value, 256, 65000);
		break;
	case OPT_BITS:
		c->sequence_bits = (u32)number("sequence bits are 1 or 32, not", value, 1, 32);
		if (c->sequence_bits != 1 && c->sequence_bits != 32)
			usage("sequence bits are 1 or 32, not", value);
		break;
	case OPT_COSTS:
		if (!cost_read(&c->cost, value, &line)) {
			fprintf(stderr, "vnet-sim: %s: line %u is wrong\n", value, line);
			exit(2);
		}
		break;
	case OPT_WORKLOAD:
		c->workload = (u32)number("workloads are 1 to 8, not", value, 1, SCHEDULE_WORKLOAD);
		break;
	case OPT_BREAK:
		c->rule = rule_named(value);
		if (c->rule == RULES)
			usage("there is no rule", value);
		break;
	case OPT_JOBS:
		r->jobs = (u32)number("jobs are 1 to 64, not", value, 1, MAX_JOBS);
		break;
	case OPT_TRACE:
		r->trace = true;
		break;
	case OPT_JSON:
		r->json = true;
		break;
	case OPT_HASH:
		r->hash = true;
		break;
	case OPT_STATES:
		states_watch();
		break;
	case OPT_ALL_STATES:
		states_watch();
		r->all_states = true;
		break;
	case OPT_LIST:
		list_rules();
		exit(0);
	case OPT_HELP:
		fputs(help, stdout);
		exit(0);
	default:
		exit(2);
	}
}

/* ------------------------------------------------------------------ one schedule */

static void add_words(void *to, const void *from, size_t size)
{
	u64 *sum = to;
	const u64 *more = from;
	size_t i;

	for (i = 0; i < size / 8; i++)
		sum[i] += more[i];
}

static void add(struct summary *s, const struct schedule_result *r)
{
	u32 i;

	s->steps += r->steps;
	s->frames += r->frames;
	s->stops += r->stops;
	s->deaths += r->deaths;
	s->dropped += r->dropped;
	s->virtual_ns += r->virtual_ns;
	s->broken += r->rule_broken;
	s->qps += r->qps;
	s->nics += r->resident ? r->nodes : 0;
	s->resident += r->resident;
	s->hash ^= random_mix(r->hash);
	for (i = 0; i < SCHEDULE_FAULTS; i++)
		s->faults[i] += r->faults >> i & 1;
	s->fabrics[r->fabric]++;
	add_words(&s->fault, &r->fault, sizeof(s->fault));
	add_words(&s->totals, &r->totals, sizeof(s->totals));
	add_words(&s->counters, &r->counters, sizeof(s->counters));
}

static void print_faults(FILE *to, u32 faults)
{
	const char *comma = "";
	u32 i;

	for (i = 0; i < SCHEDULE_FAULTS; i++) {
		if (!(faults >> i & 1))
			continue;
		fprintf(to, "%s%s", comma, schedule_fault_name(i));
		comma = ",";
	}
	if (!faults)
		fputs("none", to);
}

static void tell_violation(const struct schedule_config *c, const struct schedule_result *r)
{
	fprintf(stderr, "\nINVARIANT BROKEN: %s\n", violation());
	fprintf(stderr, "  seed %llu, step %llu, %.3f ms; %u nodes, fabric %s, faults ",
		(unsigned long long)c->seed, (unsigned long long)r->steps,
		(double)r->virtual_ns / 1e6, r->nodes, fabric_name(r->fabric));
	print_faults(stderr, r->faults);
	fputs("\n  the last events:\n", stderr);
	trace_last(LAST_EVENTS);
}

/* Run every jobs-th schedule, beginning with number `share`. Stops at the first failure. */
static void run_share(const struct request *r, u32 share, struct summary *s)
{
	struct schedule_config config = r->config;
	struct schedule_result result;
	u64 i;

	for (i = share; i < r->schedules; i += r->jobs) {
		config.seed = r->config.seed + i;
		s->schedules++;
		if (!schedule_run(&config, &result)) {
			s->failed++;
			s->first_bad = config.seed;
			add(s, &result);
			if (config.rule == RULE_NONE || r->schedules == 1)
				tell_violation(&config, &result);
			else
				fprintf(stderr, "seed %llu: caught: %s\n",
					(unsigned long long)config.seed, violation());
			return;
		}
		add(s, &result);
		if (r->hash) {
			printf("%llu %016llx\n", (unsigned long long)config.seed,
			       (unsigned long long)result.hash);
			fflush(stdout);
		}
		sim_teardown();
		check_reset();
	}
}

static void run_jobs(const struct request *r, struct summary *sum)
{
	int pipes[MAX_JOBS];
	u32 i;

	for (i = 0; i < r->jobs; i++) {
		int ends[2];
		pid_t child;

		fflush(stdout);
		if (pipe(ends) || (child = fork()) < 0) {
			perror("vnet-sim");
			exit(2);
		}
		if (!child) {
			struct summary own = { 0 };

			run_share(r, i, &own);
			own.states = *states_seen();
			if (write(ends[1], &own, sizeof(own)) != sizeof(own))
				_exit(3);
			exit(0);
		}
		close(ends[1]);
		pipes[i] = ends[0];
	}
	for (i = 0; i < r->jobs; i++) {
		struct summary own;

		if (read(pipes[i], &own, sizeof(own)) != sizeof(own)) {
			/* A crashed job counts as a failure. */
			fprintf(stderr, "vnet-sim: job %u of %u died\n", i, r->jobs);
			sum->failed++;
			continue;
		}
		close(pipes[i]);
		if (own.failed && (!sum->failed || own.first_bad < sum->first_bad))
			sum->first_bad = own.first_bad;
		own.first_bad = 0;
		own.hash ^= sum->hash;
		sum->hash = 0;
		{
			u64 bad = sum->first_bad;

			add_words(sum, &own, sizeof(own));
			sum->first_bad = bad;
		}
	}
	while (wait(NULL) > 0)
		;
}

/* --------------------------------------------------------------------- summary */

struct figure {
	const char *name;
	u64 value;
};

static u32 figures(const struct summary *s, struct figure *f)
{
	const struct nic_counters *c = &s->counters;
	const struct figure all[] = {
		{ "schedules", s->schedules },
		{ "failed", s->failed },
		{ "queue pairs", s->qps },
		{ "steps", s->steps },
		{ "work requests", s->totals.works },
		{ "receives", s->totals.receives },
		{ "completions", s->totals.completions },
		{ "messages delivered", s->totals.delivered },
		{ "tags matched", s->totals.tagged },
		{ "copies to groups", s->totals.copies },
		{ "raw frames delivered", s->totals.frames },
		{ "raw frames delivered elsewhere", s->totals.far_frames },
		{ "requests failed", s->totals.failed },
		{ "requests flushed", s->totals.flushed },
		{ "requests lost with their NIC", s->totals.lost },
		{ "processes stopped in firmware", s->stops },
		{ "processes killed", s->deaths },
		{ "recovered operations", c->recovered },
		{ "frames", s->frames },
		{ "frames lost", s->fault.lost },
		{ "frames duplicated", s->fault.duplicated },
		{ "frames reordered", s->fault.reordered },
		{ "frames corrupted", s->fault.corrupted },
		{ "frames truncated", s->fault.truncated },
		{ "frames delayed", s->fault.delayed },
		{ "frames forged", s->fault.forged },
		{ "frames at cut links", s->fault.cut },
		{ "frames without room", s->dropped },
		{ "retransmissions", c->retransmitted },
		{ "duplicates seen", c->duplicates },
		{ "NACKs", c->nacks_sent },
		{ "returned", c->returned },
		{ "unreachable", c->unreachable },
		{ "bad CRC", c->bad_crc },
		{ "bad length", c->bad_length },
		{ "bad field", c->bad_field },
		{ "bad incarnation", c->bad_incarnation },
		{ "endpoint faults", c->faults },
		{ "endpoint loads", c->loads },
		{ "endpoint evictions", c->evictions },
		{ "rule broken", s->broken },
	};

	memcpy(f, all, sizeof(all));
	return sizeof(all) / sizeof(all[0]);
}

static void print_json(const struct summary *s, double seconds)
{
	struct figure f[64];
	u32 i, n = figures(s, f);

	printf("{\n");
	for (i = 0; i < n; i++) {
		char name[64];
		u32 j;

		snprintf(name, sizeof(name), "%s", f[i].name);
		for (j = 0; name[j]; j++)
			name[j] = name[j] == ' ' ? '_' : name[j];
		printf("  \"%s\": %llu,\n", name, (unsigned long long)f[i].value);
	}
	printf("  \"virtual_seconds\": %.6f,\n  \"seconds\": %.3f,\n  \"hash\": \"%016llx\"",
	       (double)s->virtual_ns / 1e9, seconds, (unsigned long long)s->hash);
	if (s->failed)
		printf(",\n  \"failed_seed\": %llu", (unsigned long long)s->first_bad);
	printf("\n}\n");
}

static void print_memory(const struct summary *s)
{
	if (s->nics)
		printf("%-30s %14.1f KB for each of %llu NICs\n", "NIC memory touched",
		       (double)s->resident / 1024 / (double)s->nics, (unsigned long long)s->nics);
}

static void print_text(const struct summary *s, double seconds)
{
	struct figure f[64];
	u32 i, n = figures(s, f);

	for (i = 0; i < n; i++) {
		if (f[i].value || i < 2)
			printf("%-30s %14llu\n", f[i].name, (unsigned long long)f[i].value);
	}
	print_memory(s);
	printf("%-30s %14.3f s\n", "virtual time", (double)s->virtual_ns / 1e9);
	printf("%-30s %14.3f s\n", "time", seconds);
	printf("%-30s %016llx\n", "trace hash", (unsigned long long)s->hash);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	struct request request = {
		.config = { .seed = 1, .fabric = FABRIC_KINDS, .workload = SCHEDULE_WORKLOAD },
		.schedules = 1,
		.jobs = 1,
	};
	struct summary summary = { 0 };
	double start = now();
	u32 missed;
	int option;

	cost_default(&request.config.cost);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		one_option(&request, option, optarg);
	if (optind < argc)
		usage("what is", argv[optind]);
	trace_loud(request.trace);
	if (request.jobs > 1) {
		run_jobs(&request, &summary);
	} else {
		run_share(&request, 0, &summary);
		summary.states = *states_seen();
	}
	if (request.json)
		print_json(&summary, now() - start);
	else
		print_text(&summary, now() - start);
	missed = states_print(&summary.states);
	if (summary.failed)
		return 1;
	return request.all_states && missed ? 3 : 0;
}
