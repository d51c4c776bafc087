// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of reductions, scans, broadcasts and gathers, compared with locally computed results. */
#include "check.h"

static long sum_to(int n)
{
	return (long)n * (n + 1) / 2;
}

/* The exclusive or of the numbers 1 to PROCS. */
static unsigned long all_together(void)
{
	unsigned long x = 0;

	for (int i = 1; i <= PROCS; i++)
		x ^= (unsigned long)i;
	return x;
}

static void reductions(void)
{
	int me = MYPROC + 1, last = PROCS;
	unsigned int all_bits = 0;
	long lower = 0;

	for (int i = 0; i < PROCS; i++)
		all_bits |= 1u << (i % 32);
	IS(splitc_all_reduce_to_all_add(me), sum_to(last));
	IS(splitc_all_reduce_to_all_add((long)me << 33), sum_to(last) << 33);
	IS(splitc_all_reduce_to_all_max(me), last);
	IS(splitc_all_reduce_to_all_min(me), 1);
	IS(splitc_all_reduce_to_all_min(-me), -last);
	IS(splitc_all_reduce_to_all_min((unsigned int)-me), (unsigned int)-last);
	IS(splitc_all_reduce_to_all_or(1u << (MYPROC % 32)), all_bits);
	IS(splitc_all_reduce_to_all_and(~(1ul << MYPROC % 64) & 0xff00ul),
	   PROCS >= 16 ? 0 :
	   PROCS > 8   ? 0xff00ul & ~((1ul << PROCS) - 1) :
			 0xff00ul);
	IS(splitc_all_reduce_to_all_xor((unsigned long)me), splitc_all_bcast(all_together()));
	CHECK(splitc_all_reduce_to_all_add((double)me) == (double)sum_to(last));
	CHECK(splitc_all_reduce_to_all_max((float)me) == (float)last);
	CHECK(splitc_all_reduce_to_all_mul(MYPROC < 20 ? 2.0 : 1.0) ==
	      (double)(1l << (PROCS < 20 ? PROCS : 20)));
	/* All processors but 0 get their own value back. */
	IS(splitc_all_reduce_to_one_add(me), MYPROC ? me : sum_to(last));
	IS(splitc_all_scan_add(me), sum_to(me));
	IS(splitc_all_scan_max(MYPROC == 1 ? 100 : MYPROC), MYPROC >= 1 && PROCS > 1 ? 100 : 0);
	for (int i = 0; i <= MYPROC; i++)
		lower |= 1l << i % 60;
	IS(splitc_all_scan_or(1l << MYPROC % 60), lower);
}

/* The result must be bit-identical each time, because the order of combination is fixed. */
static void same_order(void)
{
	union {
		double d;
		long bits;
	} first = { .d = splitc_all_reduce_to_all_add(1.0 / (3 + MYPROC * MYPROC)) }, again;

	for (int i = 0; i < 20; i++) {
		again.d = splitc_all_reduce_to_all_add(1.0 / (3 + MYPROC * MYPROC));
		IS(again.bits, first.bits);
	}
}

static void arrays(size_t n)
{
	long *v = malloc(n * sizeof(*v));

	CHECK(v);
	for (size_t i = 0; i < n; i++)
		v[i] = (long)i * (MYPROC + 1);
	splitc_all_reduce_to_all(SPLITC_LONG, SPLITC_ADD, v, n);
	for (size_t i = 0; i < n; i++)
		IS(v[i], (long)i * sum_to(PROCS));
	for (size_t i = 0; i < n; i++)
		v[i] = (long)i + MYPROC;
	splitc_all_scan(SPLITC_LONG, SPLITC_ADD, v, n);
	for (size_t i = 0; i < n; i++)
		IS(v[i], (long)i * (MYPROC + 1) + sum_to(MYPROC));
	free(v);
}

static void broadcasts(void)
{
	static const size_t sizes[] = { 0, 1, 100, 4096, 4097, 16384, 16385, 200000 };
	struct {
		char text[40];
		double d;
	} s = { "", MYPROC };

	IS(splitc_all_bcast(MYPROC + 5), 5);
	strcpy(s.text, MYPROC ? "of another" : "of processor 0");
	s = splitc_all_bcast(s);
	CHECK(!strcmp(s.text, "of processor 0") && s.d == 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (int root = 0; root < PROCS; root += 1 + PROCS / 3) {
			uint8_t *bytes = malloc(sizes[i] + 1);

			CHECK(bytes);
			fill(bytes, sizes[i], (uint32_t)MYPROC);
			splitc_all_bcast_bulk(root, bytes, sizes[i]);
			CHECK(filled(bytes, sizes[i], (uint32_t)root));
			free(bytes);
		}
	}
}

static void gathers(void)
{
	size_t n = 5000;
	uint8_t *mine = malloc(n), *all = malloc(n * (size_t)PROCS);

	CHECK(mine && all);
	fill(mine, n, (uint32_t)MYPROC);
	splitc_all_gather(mine, all, n);
	for (int i = 0; i < PROCS; i++)
		CHECK(filled(all + (size_t)i * n, n, (uint32_t)i));
	free(mine);
	free(all);
}

/* In turns, one processor is late. */
static void ahead(void)
{
	for (int i = 0; i < 300; i++) {
		if ((i / 50 + MYPROC) % PROCS == 0) {
			double end = splitc_get_seconds() + 1e-4;

			while (splitc_get_seconds() < end)
				;
		}
		IS(splitc_all_bcast(i), i);
		IS(splitc_all_reduce_to_one_max(i + MYPROC), MYPROC ? i + MYPROC : i + PROCS - 1);
		IS(splitc_all_scan_add(1), MYPROC + 1);
	}
}

int main(void)
{
	splitc_init();
	reductions();
	same_order();
	arrays(1);
	arrays(3000);
	broadcasts();
	gathers();
	ahead();
	splitc_exit(0);
}
