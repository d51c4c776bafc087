// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of values of all types with all primitives, and of their completion. Values are in static,
 * heap, stack and spread memory, on another processor and on this one.
 */
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#define MANY 500
#define POLLS 1000 /* fewer than a processor with a CPU of its own makes before it yields */

struct node {
	int value;
	char pad[3];
	splitc_global(struct node) next;
	double weights[5];
};

static struct everything {
	char c;
	signed char sc;
	unsigned char uc;
	short s;
	unsigned short us;
	int i;
	unsigned int ui;
	long l;
	unsigned long ul;
	long long ll;
	float f;
	double d;
	_Bool b;
	int *p;
} everything;

static struct node statics;
static int initialised[3] = { 7, 8, 9 };
static long many[MANY];

/* Each processor writes to the next one, and checks its own value when all have written. */
#define TYPE(member, value)                                                                        \
	do {                                                                                       \
		__typeof__(everything.member) wanted = (__typeof__(wanted))(value), got;           \
		splitc_global(__typeof__(everything.member))                                       \
			p = splitc_toglobal(proc, &everything.member);                             \
                                                                                                   \
		splitc_write(p, wanted);                                                           \
		CHECK(splitc_read(p) == wanted);                                                   \
		splitc_put(p, (__typeof__(wanted))0);                                              \
		splitc_sync();                                                                     \
		CHECK(splitc_read(p) == (__typeof__(wanted))0);                                    \
		splitc_put(p, wanted);                                                             \
		splitc_sync();                                                                     \
		got = (__typeof__(wanted))0;                                                       \
		splitc_get(&got, p);                                                               \
		splitc_sync();                                                                     \
		CHECK(got == wanted);                                                              \
		splitc_write(p, (__typeof__(wanted))0);                                            \
		splitc_barrier();                                                                  \
		splitc_store(p, wanted);                                                           \
		splitc_store_sync(sizeof(wanted));                                                 \
		CHECK(everything.member == wanted);                                                \
		splitc_barrier();                                                                  \
	} while (0)

static void types(int proc)
{
	TYPE(c, 'x');
	TYPE(sc, -5);
	TYPE(uc, 200);
	TYPE(s, -30000);
	TYPE(us, 60000);
	TYPE(i, -2000000000);
	TYPE(ui, 4000000000u);
	TYPE(l, -1234567890123456789);
	TYPE(ul, 12345678901234567890u);
	TYPE(ll, -77);
	TYPE(f, 1.5f);
	TYPE(d, -2.25e300);
	TYPE(b, true);
	TYPE(p, (uintptr_t)0x123456789abc);
}

static void structs(void)
{
	splitc_global(struct node) p = splitc_toglobal(NEXT, &statics);
	struct node n = { .value = MYPROC, .next = splitc_toglobal(MYPROC, &statics) }, back;

	n.weights[4] = MYPROC + 0.5;
	splitc_write(p, n);
	back = splitc_read(p);
	CHECK(back.value == MYPROC && back.next == n.next && back.weights[4] == n.weights[4]);
	splitc_barrier();
	/*
	 * The next processor's `next` points to this one, whose value is the previous processor's
	 * number.
	 */
	IS(splitc_read(splitc_read(splitc_member(p, next))).value, BEFORE);
	CHECK(splitc_read(splitc_index(splitc_member(p, weights), 4)) == MYPROC + 0.5);
	splitc_barrier();
	splitc_put(splitc_member(p, value), 1000 + MYPROC);
	splitc_put(splitc_index(splitc_member(p, weights), 2), MYPROC);
	splitc_sync();
	splitc_barrier();
	IS(statics.value, 1000 + BEFORE);
	IS(statics.weights[2], BEFORE);
	splitc_barrier();
}

/* Memory of other kinds is found by global pointers in static memory. */
static void kinds(void)
{
	int on_stack = 10 + MYPROC, *on_heap = malloc(sizeof(int));
	static splitc_global(int) stack, heap, constant;
	static const int never_written = 42;

	*on_heap = 20 + MYPROC;
	stack = splitc_toglobal(MYPROC, &on_stack);
	heap = splitc_toglobal(MYPROC, on_heap);
	constant = splitc_cast(int, splitc_toglobal(MYPROC, &never_written));
	splitc_barrier();
	IS(splitc_read(splitc_read(splitc_toglobal(NEXT, &stack))), 10 + NEXT);
	IS(splitc_read(splitc_read(splitc_toglobal(NEXT, &heap))), 20 + NEXT);
	IS(splitc_read(splitc_read(splitc_toglobal(NEXT, &constant))), 42);
	IS(splitc_read(splitc_toglobal(NEXT, &initialised[2])), 9);
	splitc_barrier();
	splitc_write(splitc_read(splitc_toglobal(NEXT, &stack)), 30 + MYPROC);
	splitc_write(splitc_read(splitc_toglobal(NEXT, &heap)), 40 + MYPROC);
	splitc_barrier();
	IS(on_stack, 30 + BEFORE);
	IS(*on_heap, 40 + BEFORE);
	free(on_heap);
}

/* Many outstanding operations, whose results are used only after completion. */
static void outstanding(void)
{
	splitc_global(long) p = splitc_toglobal(NEXT, many);
	long got[MANY];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			splitc_put(splitc_add(p, i), 1000l * round + i + MYPROC);
		splitc_sync();
		CHECK(splitc_is_sync());
		splitc_barrier();
		for (int i = 0; i < MANY; i++) {
			IS(many[i], 1000l * round + i + BEFORE);
			splitc_get(&got[i], splitc_add(p, i));
		}
		while (!splitc_is_sync())
			;
		for (int i = 0; i < MANY; i++)
			IS(got[i], 1000l * round + i + MYPROC);
		splitc_barrier();
	}
}

/* With the direct mapping, an operation that is waited for takes one work request. */
static void alone(void)
{
	splitc_global(long) p = splitc_toglobal(NEXT, many);
	const char *settings = getenv("SPLITC_SETTINGS");
	unsigned long before;
	long got = 0;

	if (PROCS == 1 || !settings || !strstr(settings, "mapping=direct"))
		return;
	splitc_barrier();
	splitc_on_one
	{
		splitc_read(p);
		before = messages_sent();
		for (int i = 0; i < MANY; i++) {
			splitc_get(&got, p);
			splitc_sync();
			splitc_put(p, got);
			splitc_sync();
		}
		CHECK(!before || messages_sent() - before < 2 * MANY + MANY / 10);
	}
	splitc_barrier();
}

/*
 * Counts of stored bytes: waited for in parts, kept across epochs, and reset by
 * splitc_all_store_sync().
 */
static void stores(void)
{
	splitc_global(long) p = splitc_toglobal(NEXT, many);

	memset(many, 0, sizeof(many));
	splitc_barrier();
	for (int i = 0; i < MANY; i++)
		splitc_store(splitc_add(p, i), i + 1l);
	for (int i = 0; i < MANY; i += 100)
		splitc_store_sync(100 * sizeof(long));
	for (int i = 0; i < MANY; i++)
		IS(many[i], i + 1);
	splitc_store_sync(0);
	splitc_all_store_sync();
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < MANY / 10; i++)
			splitc_store(splitc_add(p, i), round * 100l + i);
		splitc_all_store_sync();
		for (int i = 0; i < MANY / 10; i++)
			IS(many[i], round * 100 + i);
		splitc_barrier();
	}
	/* splitc_all_store_sync() has reset the count of earlier stores. */
	splitc_store(p, -5l);
	splitc_store_sync(sizeof(long));
	IS(many[0], -5);
	splitc_barrier();
}

static void pointers(void)
{
	splitc_global(int) null = 0, p = splitc_toglobal(NEXT, initialised);
	int *nothing = NULL;

	CHECK(!null && null == 0 && p && p != null);
	CHECK(!splitc_toglobal(NEXT, nothing));
	IS(splitc_toproc(p), NEXT);
	CHECK(splitc_tolocal(splitc_toglobal(MYPROC, initialised)) == initialised);
	CHECK(splitc_add(p, 2) == splitc_toglobal(NEXT, &initialised[2]));
	CHECK(splitc_add(splitc_add(p, 2), -2) == p);
	IS(splitc_diff(splitc_add(p, 2), p), 2);
	IS(splitc_diff(p, splitc_add(p, 2)), -2);
	CHECK(splitc_compare(p, splitc_add(p, 1)) < 0 && splitc_compare(p, p) == 0);
	IS(sizeof(p), 8);
}

static unsigned int yields;

/* Replaces the C library's function. */
int sched_yield(void)
{
	yields++;
	return (int)syscall(SYS_sched_yield);
}

/*
 * Calls splitc_init() while this process may use only one CPU. Then the processors share CPUs,
 * however many the machine has, so a processor that waits must yield soon.
 */
static void init_on_one_cpu(void)
{
	cpu_set_t all, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		CPU_ZERO(&all);
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	IS(sched_setaffinity(0, sizeof(one), &one), 0);
	splitc_init();
	IS(sched_setaffinity(0, sizeof(all), &all), 0);
	for (int i = 0; i < POLLS; i++)
		splitc_poll();
	CHECK(yields || PROCS == 1);
}

int main(void)
{
	init_on_one_cpu();
	pointers();
	types(NEXT);
	types(MYPROC);
	structs();
	kinds();
	outstanding();
	alone();
	stores();
	splitc_exit(0);
}
