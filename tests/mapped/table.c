// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Compares the shim's table of moved pages with a simple model, after random additions and
 * removals.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mapped/inside.h"

#define PAGE 4096ull
#define PAGES 48
#define BASE (1ull << 30)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The session of each page; NULL: the page is not in the table. */
static struct session *page[PAGES];
static char sessions[2];

static u64 at(u32 i)
{
	return BASE + i * PAGE;
}

static struct session *session(u32 i)
{
	return (struct session *)&sessions[i];
}

static bool any(u32 first, u32 end)
{
	while (first < end && !page[first])
		first++;
	return first < end;
}

static bool all_of(const struct session *s, u32 first, u32 end)
{
	while (first < end && page[first] == s)
		first++;
	return first == end;
}

static void set(u32 first, u32 end, struct session *s)
{
	while (first < end)
		page[first++] = s;
}

static void compare(void)
{
	for (u32 i = 0; i < PAGES; i++)
		for (u32 j = i + 1; j <= PAGES; j++) {
			CHECK(mapped_touches(at(i), at(j)) == any(i, j));
			CHECK(mapped_surely_untouched(at(i), at(j)) == !any(i, j));
			for (u32 k = 0; k < 2; k++)
				CHECK(mapped_covers(session(k), at(i), at(j)) ==
				      all_of(session(k), i, j));
		}
	/* Sorted, and ranges that continue each other are one. */
	for (u32 i = 1; i < mapped_count; i++)
		CHECK(mapped_range[i - 1].end < mapped_range[i].start ||
		      (mapped_range[i - 1].end == mapped_range[i].start &&
		       mapped_range[i - 1].session != mapped_range[i].session));
}

/* A full table refuses a range, and forgets the rest of one that is cut in two. */
static void full(void)
{
	mapped_forget(0, ~0ull);
	CHECK(mapped_count == 0);
	for (u32 i = 0; i < MAPPED_RANGES; i++)
		CHECK(mapped_enter(session(0), at(4 * i), at(4 * i + 3)));
	CHECK(!mapped_enter(session(0), at(4 * MAPPED_RANGES), at(4 * MAPPED_RANGES + 1)));
	CHECK(mapped_enter(session(0), at(3), at(4)));
	CHECK(mapped_count == MAPPED_RANGES - 1);
	CHECK(mapped_enter(session(0), at(4 * MAPPED_RANGES), at(4 * MAPPED_RANGES + 1)));
	mapped_forget(at(9), at(10));
	CHECK(mapped_covers(session(0), at(8), at(9)) && !mapped_touches(at(9), at(11)));
	CHECK(mapped_covers(session(0), at(12), at(15)));
}

int main(void)
{
	srandom(11);
	for (u32 round = 0; round < 2000; round++) {
		u32 first = (u32)random() % PAGES, n = 1 + (u32)random() % 8;
		u32 end = first + n < PAGES ? first + n : PAGES;
		struct session *s = session((u32)random() % 2);

		if (random() % 2) {
			mapped_forget(at(first), at(end));
			set(first, end, NULL);
		} else if (!any(first, end)) {
			CHECK(mapped_enter(s, at(first), at(end)));
			set(first, end, s);
		}
		compare();
	}
	full();
	return 0;
}
