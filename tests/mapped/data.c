// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that operations on mapped regions move the right bytes: on whole pages without a system
 * call, and across the borders to the partial pages at both ends, which are not mapped.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "servant.h"

#define PAGE 4096u
#define PAGES 300u
/* The region begins and ends within pages. */
#define FRONT 104u
#define BACK 1000u

static uint8_t *new_pages(size_t pages)
{
	uint8_t *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static struct ibv_mr *new_region(struct side *s, void *start, size_t length)
{
	struct ibv_mr *mr = ibv_reg_mr(s->pd, start, length, SIDE_ACCESS);

	CHECK(mr);
	return mr;
}

static void write_and_read(struct servant *v, uint8_t *at, const struct ibv_mr *mr, size_t length)
{
	uint32_t mark = (uint32_t)random_number();
	uint8_t before = at[-1], after = at[length];

	CHECK_EQ(servant_write(v, at, mr, length, mark), IBV_WC_SUCCESS);
	CHECK(is_filled(at, length, mark));
	CHECK_EQ(at[-1], before);
	CHECK_EQ(at[length], after);
	mark++;
	fill(at, length, mark);
	CHECK_EQ(servant_read(v, at, mr, length, mark), IBV_WC_SUCCESS);
}

static void receive(struct servant *v, uint8_t *at, const struct ibv_mr *mr, size_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)at,
			       .length = (uint32_t)length,
			       .lkey = mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	uint32_t mark = (uint32_t)random_number();

	CHECK_EQ(ibv_post_recv(v->side.qp, &wr, &bad), 0);
	CHECK_EQ(servant_send(v, length, mark), IBV_WC_SUCCESS);
	CHECK_EQ(side_wait(&v->side).status, IBV_WC_SUCCESS);
	CHECK(is_filled(at, length, mark));
}

static void add(struct servant *v, uint8_t *at, const struct ibv_mr *mr)
{
	uint64_t *word = (uint64_t *)(void *)((uintptr_t)at & ~(uintptr_t)7), old = random_number();

	*word = old;
	CHECK(servant_add(v, word, mr, 5) == old);
	CHECK(*word == old + 5);
	CHECK(servant_add(v, word, mr, 1) == old + 5);
}

/* Any place, often at a border between pages. */
static size_t random_place(size_t length)
{
	size_t at = random_below((uint32_t)length);

	if (random_below(2) && at > 2 * PAGE)
		at = at / PAGE * PAGE - random_below(80);
	return at;
}

static void everywhere(struct servant *v, uint8_t *start, size_t length, const struct ibv_mr *mr)
{
	for (unsigned int i = 0; i < rounds(2000, 50000); i++) {
		size_t at = 8 + random_place(length - 64);
		size_t most = length - 8 - at, n;

		n = random_below(3) ? 1 + random_below(64) : 1 + random_below((uint32_t)most);
		n = n < most ? n : most;
		n = n < SERVANT_ROOM ? n : SERVANT_ROOM;
		write_and_read(v, start + at, mr, n);
		if (i % 4 == 0)
			receive(v, start + at, mr, n);
		if (i % 4 == 1)
			add(v, start + at, mr);
	}
}

/*
 * Two processes add to the same word at the same time, through two regions: one maps the page, the
 * other does not. No addition is lost.
 */
static void add_both_ways(struct servant v[2], uint8_t *word, const struct ibv_mr *mr,
			  const struct ibv_mr *small)
{
	unsigned int n = rounds(20000, 1000000);
	uint64_t sum = 0;

	memcpy(word, &sum, sizeof(sum));
	servant_begin_adds(&v[0], word, mr, n);
	servant_begin_adds(&v[1], word, small, n);
	servant_end_adds(&v[0]);
	servant_end_adds(&v[1]);
	memcpy(&sum, word, sizeof(sum));
	CHECK_EQ(sum, 2ull * n);
}

static void expect_region(const struct ibv_mr *mr, const char *want)
{
	char question[128];

	snprintf(question, sizeof(question), ".devices[0].mrs[] | select(.key == %u) | .mapped",
		 mr->rkey);
	await_status(question, want);
}

int main(void)
{
	struct ibv_mr *mr, *small, *same;
	uint8_t *memory, *start;
	struct servant v[2];
	long long calls;

	seed_random();
	servant_start(&v[0]);
	/* The second one has a device of its own here, too, and so a protection domain. */
	servant_start(&v[1]);
	memory = new_pages(PAGES);
	start = memory + FRONT;
	mr = new_region(&v[0].side, start, PAGES * PAGE - FRONT - BACK);
	CHECK(!is_mapped(memory));
	CHECK(is_mapped(memory + PAGE));
	CHECK(is_mapped(memory + (PAGES - 2) * PAGE));
	CHECK(!is_mapped(memory + (PAGES - 1) * PAGE));
	expect_region(mr, "yes");
	everywhere(&v[0], start, mr->length, mr);
	calls = servant_calls(&v[0]);
	CHECK(calls > 0);
	/* Whole pages only. */
	everywhere(&v[0], memory + PAGE, (PAGES - 2) * PAGE, mr);
	CHECK_EQ(servant_calls(&v[0]), calls);
	/* A region within a page, in memory that is mapped already. */
	small = new_region(&v[0].side, memory + 8 * PAGE + 64, 2048);
	expect_region(small, "no: no whole page");
	everywhere(&v[0], memory + 8 * PAGE + 64, 2048, small);
	same = new_region(&v[1].side, memory + 8 * PAGE + 64, 2048);
	add_both_ways(v, memory + 8 * PAGE + 128, mr, same);
	CHECK_EQ(ibv_dereg_mr(same), 0);
	CHECK_EQ(ibv_dereg_mr(small), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	servant_end(&v[1]);
	servant_end(&v[0]);
	return 0;
}
