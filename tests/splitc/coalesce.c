// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of stores that are coalesced into fewer messages. They must be sent at the processor's next
 * operation other than a store, even if it never calls the library again. Contents, counts and
 * order must be those of single stores. There must be fewer messages, unless a setting forbids
 * that.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"

#define FEW 20 /* the last ones wait for the acknowledgement of the first ones */
#define MANY 400
#define LONGEST 100 /* largest store in bytes */
#define LARGE 4096
#define TIME_LIMIT 30 /* s, limit for the arrival of a store */

static long cells[MANY], other;
static uint8_t bytes[MANY][LONGEST];
static long process;

static splitc_global(long) cell(int i)
{
	return splitc_add(splitc_toglobal(NEXT, cells), i);
}

static splitc_gptr place(int proc, int i)
{
	return SPLITC_BITS(splitc_toglobal(proc, &bytes[i][0]));
}

static long nothing(void *local, long a, long b)
{
	return 0;
}

/* ---- the operation after the stores ---- */

static long got;

static void no_call(void)
{
}

static void get_there(void)
{
	splitc_get(&got, cell(0));
}

static void get_elsewhere(void)
{
	splitc_get(&got, splitc_toglobal(BEFORE, &other));
}

static void put_elsewhere(void)
{
	splitc_put(splitc_toglobal(BEFORE, &other), 1l);
}

static void read_here(void)
{
	got = splitc_read(splitc_toglobal(MYPROC, &other));
}

static void is_sync(void)
{
	splitc_is_sync();
}

static void store_sync(void)
{
	splitc_store_sync(0);
}

static void call_there(void)
{
	splitc_atomic_put(nothing, SPLITC_BITS(cell(0)), 0, 0);
}

static void call_elsewhere(void)
{
	splitc_atomic_put(nothing, SPLITC_BITS(splitc_toglobal(BEFORE, &other)), 0, 0);
}

static void add_here(void)
{
	splitc_fetch_and_add(splitc_toglobal(MYPROC, &other), 1l);
}

/* A store too large to be coalesced, which is a message of its own. */
static void store_large(void)
{
	splitc_bulk_store(place(NEXT, 0), bytes, LARGE);
}

/* Needs more credits than there are, so the call waits. */
static void store_much(void)
{
	for (int i = 0; i < 8; i++)
		splitc_bulk_store(place(BEFORE, 0), bytes, sizeof(bytes));
}

static const struct next_call {
	const char *name;
	int stores; /* number of stores before it */
	void (*call)(void);
	bool to_deaf; /* the last processor does not poll meanwhile */
} next_calls[] = {
	{ "nothing", 1, no_call, false },
	{ "poll", FEW, splitc_poll, false },
	{ "get", FEW, get_there, false },
	{ "get from another", FEW, get_elsewhere, false },
	{ "put to another", FEW, put_elsewhere, false },
	{ "read of its own", FEW, read_here, false },
	{ "sync", FEW, splitc_sync, false },
	{ "is_sync", FEW, is_sync, false },
	{ "store_sync", FEW, store_sync, false },
	{ "procedure", FEW, call_there, false },
	{ "procedure for another", FEW, call_elsewhere, false },
	{ "atomic operation on its own", FEW, add_here, false },
	{ "large store", FEW, store_large, false },
	{ "store to one that does not answer", FEW, store_much, true },
};

static void await_signal(const char *call)
{
	struct timespec time_limit = { .tv_sec = TIME_LIMIT };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (sigtimedwait(&set, NULL, &time_limit) != SIGUSR1)
		splitc_error("stores before a call of %s do not arrive", call);
}

/*
 * Processor 0 must not poll before processor 1 has its stores; or the last processor does not poll,
 * and 0 waits for it.
 */
static void leave_with(const struct next_call *next)
{
	int silent = next->to_deaf ? PROCS - 1 : 0;
	pid_t pid = (pid_t)splitc_read(splitc_toglobal(silent, &process));

	splitc_all_store_sync();
	if (MYPROC == 0) {
		for (int i = 0; i < next->stores; i++)
			splitc_store(cell(i), 100l + i);
		next->call();
	}
	if (MYPROC == silent)
		await_signal(next->name);
	if (MYPROC == 1) {
		splitc_store_sync((size_t)next->stores * sizeof(long));
		for (int i = 0; i < next->stores; i++) {
			IS(cells[i], 100 + i);
			cells[i] = 0;
		}
		CHECK(!kill(pid, SIGUSR1));
	}
	splitc_sync();
}

static void leave(void)
{
	process = getpid();
	splitc_barrier();
	for (size_t i = 0; i < sizeof(next_calls) / sizeof(next_calls[0]); i++) {
		if (PROCS > 2 || !next_calls[i].to_deaf)
			leave_with(&next_calls[i]);
	}
	splitc_all_store_sync();
}

/* ---- contents ---- */

/* Mostly small sizes that are coalesced, and larger ones that are not. */
static size_t size_of(int turn, int i)
{
	size_t x = byte_at((uint32_t)turn, (size_t)i);

	return x < 200 ? 1 + x % 16 : 1 + x % LONGEST;
}

static size_t store_mixed(int turn)
{
	uint8_t source[LONGEST];
	size_t sum = 0;

	for (int i = 0; i < MANY; i++) {
		size_t n = size_of(turn, i);

		fill(source, n, (uint32_t)(turn * MANY + i + MYPROC));
		splitc_bulk_store(place(NEXT, i), source, n);
		sum += n;
	}
	return sum;
}

/* Synchronizes by byte count or globally, in turns. */
static void mixed(void)
{
	for (int turn = 0; turn < 12; turn++) {
		size_t sum = store_mixed(turn);

		if (turn % 3)
			splitc_all_store_sync();
		else
			splitc_store_sync(sum);
		for (int i = 0; i < MANY; i++)
			CHECK(filled(bytes[i], size_of(turn, i),
				     (uint32_t)(turn * MANY + i + BEFORE)));
		splitc_barrier();
	}
	splitc_all_store_sync();
}

/* An operation after a store to the same processor takes effect after it. */
static void order(void)
{
	for (long i = 0; i < MANY; i++) {
		splitc_store(cell(0), i);
		splitc_store(cell(1), -i);
		IS(splitc_read(cell(1)), -i);
		splitc_store(cell(2), i);
		splitc_store(cell(3), i);
		splitc_put(cell(3), i + 1);
		splitc_sync();
		IS(splitc_read(cell(3)), i + 1);
	}
	splitc_all_store_sync();
	IS(cells[0], MANY - 1);
	IS(cells[2], MANY - 1);
	splitc_barrier();
}

/* Each processor stores to all others in turn, so stores to many are held back at the same time. */
static void everywhere(void)
{
	int n = 100 * (PROCS - 1);

	for (int turn = 0; turn < 20; turn++) {
		for (int i = 0; i < n; i++) {
			int proc = (MYPROC + 1 + i % (PROCS - 1)) % PROCS;

			splitc_store(splitc_add(splitc_toglobal(proc, cells), MYPROC), i + 1l);
		}
		splitc_store_sync(sizeof(long) * (size_t)n);
		for (int i = 0; i < PROCS; i++)
			CHECK(i == MYPROC || cells[i] > n - PROCS);
		splitc_barrier();
	}
	splitc_all_store_sync();
}

/* ---- number of messages ---- */

static bool set_to(const char *setting)
{
	const char *settings = getenv("SPLITC_SETTINGS");

	return settings && strstr(settings, setting);
}

/* With one credit, each store waits for the previous acknowledgement, so none are coalesced. */
static void count(void)
{
	unsigned long before, messages;

	splitc_barrier();
	splitc_on_one
	{
		splitc_read(cell(0));
		before = messages_sent();
		for (int i = 0; i < MANY; i++)
			splitc_store(cell(i), (long)i);
		splitc_read(cell(0));
		messages = messages_sent() - before;
		if (before && (set_to("coalesce=0") || set_to("credits=1")))
			CHECK(messages >= MANY);
		else if (before && set_to("mapping=messages"))
			CHECK(messages < MANY / 2);
	}
	splitc_all_store_sync();
}

int main(void)
{
	sigset_t set;

	/* Before splitc_init(), so that threads of the library inherit the mask. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	splitc_init();
	CHECK(PROCS > 1);
	leave();
	mixed();
	order();
	everywhere();
	count();
	splitc_exit(0);
}
