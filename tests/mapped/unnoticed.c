// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that pages which the program unmaps and maps again without the library's notice, as libc
 * does within malloc() and free(), are not taken for pages of the memory file: by a registration,
 * madvise(), mremap() and fork(), for more ranges than one reading of the mappings can forget, and
 * while no descriptor is free to read them.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "servant.h"

#define PAGE 4096u
#define LENGTH (4 * PAGE)
/* With a gap after each, so that their ranges remain separate. */
#define STRIDE (LENGTH + PAGE)
enum { REGIONS = 150 };

static struct servant servant;
static uint8_t *area;

static uint8_t *place(unsigned int i)
{
	return area + (size_t)i * STRIDE;
}

static void map_unnoticed(uint8_t *at, size_t length, int flags)
{
	CHECK_EQ(syscall(SYS_mmap, at, length, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | flags, -1L, 0L),
		 (long)at);
}

static void replace_unnoticed(uint8_t *at, size_t length, uint32_t mark)
{
	CHECK_EQ(syscall(SYS_munmap, at, length), 0);
	map_unnoticed(at, length, MAP_FIXED_NOREPLACE);
	fill(at, length, mark);
}

static struct ibv_mr *new_region(uint8_t *at)
{
	return MADE(ibv_reg_mr(servant.side.pd, at, LENGTH, SIDE_ACCESS));
}

static void move(uint8_t *at)
{
	CHECK_EQ(ibv_dereg_mr(new_region(at)), 0);
	CHECK(is_mapped(at));
}

/* The region's memory is what the program sees. Deregisters it. */
static void expect_right(struct ibv_mr *mr, uint32_t mark)
{
	uint8_t *at = mr->addr;

	CHECK(is_filled(at, LENGTH, mark));
	CHECK_EQ(servant_read(&servant, at, mr, LENGTH, mark), IBV_WC_SUCCESS);
	CHECK_EQ(servant_write(&servant, at, mr, LENGTH, mark + 1), IBV_WC_SUCCESS);
	CHECK(is_filled(at, LENGTH, mark + 1));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

static void many(void)
{
	for (unsigned int i = 0; i < REGIONS; i++)
		move(place(i));
	replace_unnoticed(area, (size_t)REGIONS * STRIDE, 1);
	for (unsigned int i = REGIONS; i-- > 0;) {
		fill(place(i), LENGTH, 2 + i);
		expect_right(new_region(place(i)), 2 + i);
	}
}

/* Returns the limit as it was. */
static struct rlimit allow_no_descriptor(void)
{
	struct rlimit was, none;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	return was;
}

static void register_blind(void)
{
	struct ibv_mr *mr;
	struct rlimit was;

	move(area);
	replace_unnoticed(area, LENGTH, 20);
	was = allow_no_descriptor();
	mr = new_region(area);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
	expect_right(mr, 20);
}

static void advise_blind(void)
{
	struct rlimit was;
	int ret;

	move(area);
	replace_unnoticed(area, LENGTH, 21);
	was = allow_no_descriptor();
	ret = madvise(area, LENGTH, MADV_DONTNEED);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
	CHECK_EQ(ret, 0);
	for (unsigned int i = 0; i < LENGTH; i++)
		CHECK(!area[i]);
}

/* It may be refused, but nothing is lost. */
static void move_blind(void)
{
	struct rlimit was;
	uint8_t *moved;

	move(area);
	replace_unnoticed(area, LENGTH, 22);
	was = allow_no_descriptor();
	moved = mremap(area, LENGTH, 2 * LENGTH, MREMAP_MAYMOVE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
	if (moved == MAP_FAILED) {
		CHECK(is_filled(area, LENGTH, 22));
		return;
	}
	CHECK(is_filled(moved, LENGTH, 22));
	CHECK_EQ(munmap(moved, 2 * LENGTH), 0);
	map_unnoticed(area, LENGTH, MAP_FIXED);
}

static void fork_blind(void)
{
	struct rlimit was;
	int status;
	pid_t pid;

	move(place(1));
	fill(place(1), LENGTH, 23);
	move(area);
	/* The first pages are replaced, and the last are not. */
	replace_unnoticed(area, LENGTH / 2, 24);
	fill(area + LENGTH / 2, LENGTH / 2, 25);
	was = allow_no_descriptor();
	pid = fork();
	if (!pid)
		_exit(!is_filled(area, LENGTH / 2, 24) ||
		      !is_filled(area + LENGTH / 2, LENGTH / 2, 25) ||
		      !is_filled(place(1), LENGTH, 23));
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

int main(void)
{
	servant_start(&servant);
	area = mmap(NULL, (size_t)REGIONS * STRIDE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	many();
	register_blind();
	advise_blind();
	move_blind();
	fork_blind();
	servant_end(&servant);
	return 0;
}
