// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that other threads notice nothing when pages of a region are moved.
 *
 *   threads write    threads write to the pages: no write is lost
 *   threads read     system calls of threads fill the pages: none fails, and no byte is lost
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "servant.h"

#define PAGE 4096u
#define PAGES 64u
/* Regions that are registered one after the other in each round. */
#define REGIONS 16u
#define THREADS 3u

/* The pages of this round; NULL: between rounds. */
static uint8_t *_Atomic pages;
static _Atomic unsigned int round_number, arrived;
static _Atomic bool ended;

struct worker {
	pthread_t thread;
	unsigned int index;
	/* Sent by the test, received by the thread. */
	int from, to;
	uint64_t done;
};

/* The thread's word in a page. */
static volatile uint64_t *word_of(uint8_t *memory, unsigned int page, unsigned int index)
{
	return (volatile uint64_t *)(void *)(memory + page * PAGE + 64u * index);
}

/* Writes until the test takes the pages away; each word is this thread's alone. */
static void write_all(struct worker *w, uint8_t *memory)
{
	uint64_t value[PAGES] = { 0 };

	while (atomic_load(&pages) == memory)
		for (unsigned int i = 0; i < PAGES; i++) {
			volatile uint64_t *word = word_of(memory, i, w->index);

			if (*word != value[i])
				FAIL("page %u: a write is lost: %llu instead of %llu", i,
				     (unsigned long long)*word, (unsigned long long)value[i]);
			*word = ++value[i];
			if (++w->done % 4096 == 0)
				sched_yield();
		}
}

/* Receives bytes at changing places, and checks them. */
static void read_all(struct worker *w, uint8_t *memory)
{
	uint8_t out[300];

	while (atomic_load(&pages) == memory) {
		size_t length = 1 + random_below(sizeof(out));
		size_t at = random_below(PAGES * PAGE / THREADS - sizeof(out));
		uint8_t *in = memory + w->index * (PAGES * PAGE / THREADS) + at;
		ssize_t got;

		random_bytes(out, length);
		CHECK_EQ(write(w->to, out, length), (ssize_t)length);
		switch (w->done++ % 3) {
		case 0:
			got = read(w->from, in, length);
			break;
		case 1:
			got = recv(w->from, in, length, 0);
			break;
		default:
			got = recvmsg(
				w->from,
				&(struct msghdr){ .msg_iov = &(struct iovec){ .iov_base = in,
									      .iov_len = length },
						  .msg_iovlen = 1 },
				0);
		}
		CHECK_EQ(got, (ssize_t)length);
		CHECK(!memcmp(in, out, length));
	}
}

static void (*action)(struct worker *w, uint8_t *memory);

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int seen = 0;
	uint8_t *memory;

	while (!atomic_load(&ended)) {
		memory = atomic_load(&pages);
		if (!memory || seen == atomic_load(&round_number)) {
			sched_yield();
			continue;
		}
		seen = atomic_load(&round_number);
		atomic_fetch_add(&arrived, 1);
		action(w, memory);
		atomic_fetch_add(&arrived, 1);
	}
	return NULL;
}

static void await_arrived(unsigned int count)
{
	while (atomic_load(&arrived) < count)
		sched_yield();
}

/* Returns the number of regions whose pages were moved. */
static unsigned int one_round(struct ibv_pd *pd)
{
	size_t length = PAGES * PAGE / REGIONS;
	uint8_t *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr[REGIONS];
	unsigned int moved = 0;

	CHECK(memory != MAP_FAILED);
	atomic_store(&arrived, 0);
	atomic_store(&pages, memory);
	atomic_fetch_add(&round_number, 1);
	await_arrived(THREADS);
	for (unsigned int i = 0; i < REGIONS; i++) {
		mr[i] = ibv_reg_mr(pd, memory + i * length, length, SIDE_ACCESS);
		CHECK(mr[i]);
		moved += is_mapped(memory + i * length);
	}
	atomic_store(&pages, NULL);
	await_arrived(2 * THREADS);
	for (unsigned int i = 0; i < REGIONS; i++)
		CHECK_EQ(ibv_dereg_mr(mr[i]), 0);
	CHECK_EQ(munmap(memory, PAGES * PAGE), 0);
	return moved;
}

int main(int argc, char **argv)
{
	bool reads = argc == 2 && !strcmp(argv[1], "read");
	unsigned int moved = 0, n = reads ? rounds(25, 2000) : rounds(250, 10000);
	struct worker worker[THREADS] = { 0 };
	struct side s;
	int pair[2];

	seed_random();
	action = reads ? read_all : write_all;
	side_open(&s, NULL);
	for (unsigned int i = 0; i < THREADS; i++) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		worker[i] = (struct worker){ .index = i, .from = pair[0], .to = pair[1] };
		CHECK_EQ(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
	}
	for (unsigned int i = 0; i < n; i++)
		moved += one_round(s.pd);
	atomic_store(&ended, true);
	for (unsigned int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(worker[i].thread, NULL), 0);
	n *= REGIONS;
	note("%u regions, %u were moved; %llu actions of the first thread", n, moved,
	     (unsigned long long)worker[0].done);
	/* Threads that are always in a system call may keep the pages where they are. */
	CHECK(reads ? moved : moved > n * 9 / 10);
	side_close(&s);
	return 0;
}
