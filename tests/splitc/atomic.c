// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of atomic operations, locks and remote procedures. */
#include <sys/mman.h>

#include "check.h"

static int count;
static unsigned int bits;
static long longs[4];
static int lock;
static long guarded[2];
static struct list {
	int n, from[4096];
} list;

static void each_operation(int proc)
{
	splitc_global(int) p = splitc_toglobal(proc, &count);
	splitc_global(long) q = splitc_toglobal(proc, &longs[1]);
	splitc_global(unsigned int) b = splitc_toglobal(proc, &bits);

	splitc_write(p, -3);
	IS(splitc_fetch_and_add(p, 5), -3);
	IS(splitc_exchange(p, 7), 2);
	IS(splitc_cmp_and_swap(p, 8, 1), 7);
	IS(splitc_cmp_and_swap(p, 7, 1), 7);
	IS(splitc_read(p), 1);
	splitc_write(b, 0xf0f0f0f0u);
	IS(splitc_fetch_and_or(b, 0x0fu), 0xf0f0f0f0u);
	IS(splitc_fetch_and_and(b, 0xffu), 0xf0f0f0ffu);
	IS(splitc_fetch_and_xor(b, 1u), 0xffu);
	IS(splitc_read(b), 0xfeu);
	splitc_write(q, -1l);
	IS(splitc_fetch_and_add(q, 1l << 40), -1);
	IS(splitc_exchange(q, 5l), (1l << 40) - 1);
	IS(splitc_cmp_and_swap(q, 5l, -9l), 5);
	IS(splitc_fetch_and_or(q, 1l << 50), -9);
	IS(splitc_fetch_and_and(q, 0xffl), -9);
	IS(splitc_fetch_and_xor(q, 0xffl), 0xf7);
	IS(splitc_read(q), 8);
	CHECK(!longs[0] && !longs[2]);
}

/* All processors add to the same words, and take turns at holding one lock. */
static void together(int turns)
{
	splitc_global(int) c = splitc_toglobal(0, &count), l = splitc_toglobal(0, &lock);
	splitc_global(long) sum = splitc_toglobal(0, &longs[2]);
	splitc_global(long) g = splitc_toglobal(PROCS - 1, guarded);

	splitc_on_one count = 0;
	splitc_barrier();
	for (int i = 0; i < turns; i++) {
		splitc_fetch_and_add(c, 1);
		splitc_fetch_and_add(sum, MYPROC + 1l);
		while (splitc_test_and_set(l))
			splitc_poll();
		splitc_write(g, splitc_read(g) + 1);
		splitc_write(splitc_add(g, 1), splitc_read(splitc_add(g, 1)) - 1);
		splitc_write(l, 0);
	}
	splitc_barrier();
	IS(splitc_read(c), turns * PROCS);
	IS(splitc_read(sum), (long)turns * PROCS * (PROCS + 1) / 2);
	IS(splitc_read(g), turns * PROCS);
	IS(splitc_read(splitc_add(g, 1)), -turns * PROCS);
	splitc_barrier();
}

/*
 * The owner unmaps the pages next to a word, one by one, while others exchange that word. So the
 * key with which an exchange began is revoked before it is complete.
 */
static void while_keys_go(int pieces)
{
	static splitc_global(long) word;
	static int gone;
	size_t page = 4096, size = (size_t)(pieces + 1) * page;
	splitc_global(long) w;
	uint8_t *memory = NULL;

	splitc_on_one
	{
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
		CHECK(memory != MAP_FAILED);
		memset(memory, 0, size);
		word = splitc_toglobal(0, (long *)(void *)memory);
	}
	splitc_barrier();
	w = splitc_read(splitc_toglobal(0, &word));
	splitc_on_one
	{
		for (int i = pieces; i > 0; i--) {
			CHECK(!munmap(memory + (size_t)i * page, page));
			for (int looks = 0; looks < 20; looks++)
				splitc_poll();
		}
		gone = 1;
	}
	while (MYPROC && !splitc_read(splitc_toglobal(0, &gone))) {
		for (long i = 0; i < 20; i++)
			CHECK(splitc_exchange(w, PROCS * i + MYPROC) < 20 * PROCS);
	}
	splitc_barrier();
	splitc_on_one munmap(memory, page);
	splitc_barrier();
}

static long append(void *local, long from, long unused)
{
	struct list *l = local;

	CHECK(l == &list && l->n < 4096);
	l->from[l->n] = (int)from;
	return l->n++;
}

static void reverse(int from, const void *args, size_t nargs, void *result, size_t nresult)
{
	const uint8_t *in = args;
	uint8_t *out = result;

	IS(nargs + sizeof(int), nresult);
	for (size_t i = 0; i < nargs; i++)
		out[i] = in[nargs - 1 - i];
	memcpy(out + nargs, &from, sizeof(from));
}

static void procedures(int turns)
{
	splitc_gptr there = SPLITC_BITS(splitc_toglobal(0, &list));
	uint8_t args[SPLITC_RPC_MAX - 4], result[SPLITC_RPC_MAX];
	int from, of_me = 0;

	for (int i = 0; i < turns; i++) {
		if (i % 2)
			splitc_atomic_put(append, there, MYPROC, 0);
		else
			CHECK(splitc_atomic(append, there, MYPROC, 0) >= i);
	}
	splitc_sync();
	splitc_barrier();
	if (MYPROC == 0) {
		IS(list.n, turns * PROCS);
		for (int i = 0; i < list.n; i++)
			of_me += list.from[i] == PROCS - 1;
		IS(of_me, turns);
	}
	for (size_t n = 0; n <= sizeof(args); n = n * 3 + 1) {
		fill(args, n, (uint32_t)n);
		for (int proc = 0; proc < PROCS; proc++) {
			splitc_rpc(proc, reverse, args, n, result, n + sizeof(from));
			memcpy(&from, result + n, sizeof(from));
			IS(from, MYPROC);
			for (size_t i = 0; i < n; i++)
				IS(result[i], args[n - 1 - i]);
		}
	}
	splitc_barrier();
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 60;

	splitc_init();
	/* One processor at a time, because all use the same words. */
	for (int i = 0; i < PROCS; i++) {
		if (i == MYPROC) {
			each_operation(NEXT);
			each_operation(MYPROC);
		}
		splitc_barrier();
	}
	together(turns);
	while_keys_go(2 * turns);
	procedures(turns);
	splitc_exit(0);
}
