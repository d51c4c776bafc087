// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Example: EM3D, electric and magnetic fields on a graph, in six versions.
 *
 * The authors of Split-C used these versions to show the use of its primitives:
 *
 *	vnet run -n 4 build/release/bin/splitc_em3d --version bulk
 *
 * There are nodes of two kinds, E and H. A node depends on nodes of the other kind only. A
 * step computes all of E from H, then all of H from E. If a node's neighbours are on other
 * processors, their values must be transferred:
 *
 *	simple	each edge reads its neighbour's value
 *	ghost	each value that is needed is read once, into a ghost of its node
 *	get	like ghost, with all reads in progress at once
 *	put	the owner of the value puts it into its ghosts, and waits for completion
 *	store	like put, but completion is known to the processor with the ghost
 *	bulk	all values for a processor are stored at once
 */
#include <math.h>
#include <splitc.h>
#include <stdlib.h>

#include "example.h"

enum { E, H, KINDS };

struct edge {
	double weight;
	long neighbour; /* number of the node */
	const double *at; /* address of its value, or of its ghost */
};

/* The ghosts that a processor has of another processor's nodes. */
struct ghosts {
	splitc_global(double) value;
	splitc_global(long) place; /* indices of these nodes on the other processor */
	long count;
};

/* This processor's nodes of a kind. */
struct field {
	splitc_spread(double) all; /* the value of each node, distributed cyclically */
	double *mine; /* the values on this processor */
	struct edge *edges; /* edges of these nodes, degree for each */
	/*
	 * Ghosts of other processors' nodes, ordered by processor, and the first one of
	 * each processor.
	 */
	double *ghost;
	long *ghost_place;
	long *first_ghost;
	/* Ghosts that other processors have of this processor's nodes: one entry per processor. */
	splitc_spread(struct ghosts) requests;
	const struct ghosts *request;
	long **place;
	double *buffer;
};

static long nodes = 500, degree = 8, remote = 20, steps = 10, version;
static struct field field[KINDS];

/* ---- the graph ---- */

static uint64_t draw(int kind, long node, long edge, unsigned int which)
{
	uint64_t n = (uint64_t)kind * (uint64_t)(nodes * PROCS) + (uint64_t)node;

	return example_random((n * (uint64_t)degree + (uint64_t)edge) * 3 + which);
}

/* Node n is node n / PROCS of processor n % PROCS. */
static struct edge make_edge(int kind, long node, long edge)
{
	long place = (long)(draw(kind, node, edge, 0) % (uint64_t)nodes);
	uint64_t chance = draw(kind, node, edge, 1);
	long proc = node % PROCS;

	if ((long)(chance % 100) < remote)
		proc = (long)(chance / 100 % (uint64_t)PROCS);
	return (struct edge){ .weight = (double)(draw(kind, node, edge, 2) % 1000) * 1e-5,
			      .neighbour = place * PROCS + proc };
}

static double first_value(int kind, long node)
{
	return (double)(node % 97) + kind;
}

static void make_nodes(int kind)
{
	struct field *f = &field[kind];

	f->all = splitc_spread_malloc(double, (size_t)(nodes * PROCS));
	f->mine = splitc_spread_mine(f->all);
	f->edges = example_malloc((size_t)(nodes * degree), sizeof(*f->edges));
	for (long i = 0; i < nodes; i++) {
		long node = i * PROCS + MYPROC;

		f->mine[i] = first_value(kind, node);
		for (long e = 0; e < degree; e++)
			f->edges[i * degree + e] = make_edge(kind, node, e);
	}
}

/* ---- ghosts ---- */

/* Numbers the ghosts of @f's nodes. number[] is not 0 for nodes that need one. */
static void number_ghosts(struct field *f, long *number)
{
	long n = 0;

	f->first_ghost = example_malloc((size_t)PROCS + 1, sizeof(*f->first_ghost));
	f->ghost_place = example_malloc((size_t)(nodes * PROCS), sizeof(*f->ghost_place));
	for (int proc = 0; proc < PROCS; proc++) {
		f->first_ghost[proc] = n;
		for (long i = 0; i < nodes && proc != MYPROC; i++) {
			if (!number[i * PROCS + proc])
				continue;
			number[i * PROCS + proc] = n;
			f->ghost_place[n++] = i;
		}
	}
	f->first_ghost[PROCS] = n;
	f->ghost = example_malloc((size_t)n, sizeof(*f->ghost));
}

/* Gives each node of @f to which edges of @user lead a ghost, unless it is on this processor. */
static void make_ghosts(struct field *f, struct field *user)
{
	long *number = example_malloc((size_t)(nodes * PROCS), sizeof(*number));

	for (long i = 0; i < nodes * degree; i++)
		number[user->edges[i].neighbour] = 1;
	number_ghosts(f, number);
	for (long i = 0; i < nodes * degree; i++) {
		struct edge *e = &user->edges[i];

		if (e->neighbour % PROCS == MYPROC)
			e->at = &f->mine[e->neighbour / PROCS];
		else
			e->at = &f->ghost[number[e->neighbour]];
	}
	free(number);
}

/* Tells the owners of @f's nodes where this processor's ghosts are, and learns where theirs are. */
static void tell_owners(struct field *f)
{
	f->requests = splitc_spread_malloc(struct ghosts, (size_t)PROCS * (size_t)PROCS);
	f->request = splitc_spread_mine(f->requests);
	f->place = example_malloc((size_t)PROCS, sizeof(*f->place));
	f->buffer = example_malloc((size_t)nodes, sizeof(*f->buffer));
	for (int proc = 0; proc < PROCS; proc++) {
		long first = f->first_ghost[proc];
		struct ghosts mine = {
			.value = splitc_toglobal(MYPROC, f->ghost + first),
			.place = splitc_toglobal(MYPROC, f->ghost_place + first),
			.count = f->first_ghost[proc + 1] - first,
		};

		splitc_write(splitc_spread_global(f->requests, MYPROC * PROCS + proc), mine);
	}
	splitc_barrier();
	for (int proc = 0; proc < PROCS; proc++) {
		long n = f->request[proc].count;

		f->place[proc] = example_malloc((size_t)n, sizeof(**f->place));
		splitc_get_bulk(f->place[proc], f->request[proc].place, (size_t)n);
	}
	splitc_sync();
	splitc_barrier();
}

/* ---- versions: transfer changed values of @f to all processors that use them ---- */

static void share_simple(struct field *f)
{
	(void)f;
	splitc_barrier();
}

static splitc_global(double) ghost_of(const struct field *f, int proc, long i)
{
	return splitc_spread_global(f->all, f->ghost_place[i] * PROCS + proc);
}

static void share_ghost(struct field *f)
{
	splitc_barrier();
	for (int proc = 0; proc < PROCS; proc++) {
		for (long i = f->first_ghost[proc]; i < f->first_ghost[proc + 1]; i++)
			f->ghost[i] = splitc_read(ghost_of(f, proc, i));
	}
}

static void share_get(struct field *f)
{
	splitc_barrier();
	for (int proc = 0; proc < PROCS; proc++) {
		for (long i = f->first_ghost[proc]; i < f->first_ghost[proc + 1]; i++)
			splitc_get(&f->ghost[i], ghost_of(f, proc, i));
	}
	splitc_sync();
}

static void share_put(struct field *f)
{
	for (int proc = 0; proc < PROCS; proc++) {
		for (long i = 0; i < f->request[proc].count; i++)
			splitc_put(splitc_add(f->request[proc].value, i),
				   f->mine[f->place[proc][i]]);
	}
	splitc_sync();
	splitc_barrier();
}

static void share_store(struct field *f)
{
	for (int proc = 0; proc < PROCS; proc++) {
		for (long i = 0; i < f->request[proc].count; i++)
			splitc_store(splitc_add(f->request[proc].value, i),
				     f->mine[f->place[proc][i]]);
	}
	splitc_all_store_sync();
}

static void share_bulk(struct field *f)
{
	for (int proc = 0; proc < PROCS; proc++) {
		size_t n = (size_t)f->request[proc].count;

		for (size_t i = 0; i < n; i++)
			f->buffer[i] = f->mine[f->place[proc][i]];
		splitc_store_bulk(f->request[proc].value, f->buffer, n);
	}
	splitc_all_store_sync();
}

/* ---- computation ---- */

static double change_simple(const struct edge *edge, const struct field *other)
{
	double sum = 0;

	for (long e = 0; e < degree; e++)
		sum += edge[e].weight *
		       splitc_read(splitc_spread_global(other->all, edge[e].neighbour));
	return sum;
}

static double change(const struct edge *edge, const struct field *other)
{
	double sum = 0;

	(void)other;
	for (long e = 0; e < degree; e++)
		sum += edge[e].weight * *edge[e].at;
	return sum;
}

static const struct {
	void (*share)(struct field *f);
	double (*change)(const struct edge *edge, const struct field *other);
} versions[] = {
	{ share_simple, change_simple }, { share_ghost, change }, { share_get, change },
	{ share_put, change },           { share_store, change }, { share_bulk, change },
};
static const char *const version_names[] = {
	"simple", "ghost", "get", "put", "store", "bulk", NULL
};

static void compute(int kind)
{
	struct field *f = &field[kind];

	for (long i = 0; i < nodes; i++)
		f->mine[i] -= versions[version].change(&f->edges[i * degree], &field[!kind]);
	versions[version].share(f);
}

static double run(void)
{
	example_start();
	versions[version].share(&field[H]);
	for (long step = 0; step < steps; step++) {
		compute(E);
		compute(H);
	}
	return example_stop();
}

/* ---- sequential program ---- */

static void step_alone(double *const value[KINDS], struct edge *const edges[KINDS], int kind)
{
	for (long i = 0; i < nodes * PROCS; i++) {
		double sum = 0;

		for (long e = 0; e < degree; e++) {
			const struct edge *edge = &edges[kind][i * degree + e];

			sum += edge->weight * value[!kind][edge->neighbour];
		}
		value[kind][i] -= sum;
	}
}

static bool same(int kind, const double *value)
{
	for (long i = 0; i < nodes * PROCS; i++) {
		double theirs = splitc_read(splitc_spread_global(field[kind].all, i));

		if (!(fabs(theirs - value[i]) <= 1e-9 * (1 + fabs(value[i]))))
			return false;
	}
	return true;
}

static bool check_alone(double *seconds)
{
	size_t all = (size_t)(nodes * PROCS);
	struct edge *edges[KINDS];
	double *value[KINDS];
	bool right;

	for (int kind = E; kind < KINDS; kind++) {
		value[kind] = example_malloc(all, sizeof(double));
		edges[kind] = example_malloc(all * (size_t)degree, sizeof(struct edge));
		for (long i = 0; i < nodes * PROCS; i++) {
			value[kind][i] = first_value(kind, i);
			for (long e = 0; e < degree; e++)
				edges[kind][i * degree + e] = make_edge(kind, i, e);
		}
	}
	*seconds = splitc_get_seconds();
	for (long step = 0; step < steps; step++) {
		step_alone(value, edges, E);
		step_alone(value, edges, H);
	}
	*seconds = splitc_get_seconds() - *seconds;
	right = same(E, value[E]) && same(H, value[H]);
	for (int kind = E; kind < KINDS; kind++) {
		free(value[kind]);
		free(edges[kind]);
	}
	return right;
}

int main(int argc, char **argv)
{
	const struct example_option options[] = {
		{ "version", "how values come over", &version, .words = version_names },
		{ "nodes", "nodes of each kind and processor", &nodes, 1, 1000000, NULL },
		{ "degree", "edges of a node", &degree, 1, 1000, NULL },
		{ "remote", "percent of edges to any processor", &remote, 0, 100, NULL },
		{ "steps", "steps that are computed", &steps, 0, 1000000, NULL },
		{ 0 },
	};
	double seconds, alone = 0;
	bool right = true;

	example_options(argc, argv, "Electric and magnetic fields on a graph.", options);
	splitc_init();
	make_nodes(E);
	make_nodes(H);
	make_ghosts(&field[E], &field[H]);
	make_ghosts(&field[H], &field[E]);
	tell_owners(&field[E]);
	tell_owners(&field[H]);
	seconds = run();
	splitc_on_one right = check_alone(&alone);
	example_verdict(version_names[version], seconds, alone, right);
	splitc_exit(0);
}
