// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Guarded copies are exact for every length and alignment. A page that cannot be accessed, at
 * either edge, gives a result that names the side.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "world.h"

/* Covers each path of the assembler code. */
#define LONGEST 300

static void all_lengths(void)
{
	static u8 src[LONGEST + 16], dst[LONGEST + 48];

	fill(src, sizeof(src), 1);
	for (size_t length = 0; length <= LONGEST; length++) {
		for (size_t at = 0; at < 64; at++) {
			u8 *from = src + at / 8, *to = dst + 16 + at % 8;

			memset(dst, 0xee, sizeof(dst));
			CHECK_EQUAL(host_guarded_copy(to, from, length), NIC_COPY_OK);
			CHECK(memcmp(to, from, length) == 0);
			CHECK(is_all(dst, (size_t)(to - dst), 0xee));
			CHECK(is_all(to + length, (size_t)(dst + sizeof(dst) - to) - length, 0xee));
		}
	}
}

static void long_copies(void)
{
	static const size_t lengths[] = { 1023, 1024, 1031, 1032, 4096, 65543, 3 << 20 };
	u8 *src = fenced_memory(4 << 20, true), *dst = fenced_memory(4 << 20, true);

	fill(src, 4 << 20, 9);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (size_t at = 0; at < 9; at += 4) {
			size_t length = lengths[i];
			u8 *end = dst + (4 << 20) - at;

			memset(dst, 0, 4 << 20);
			CHECK_EQUAL(host_guarded_copy(end - length, src + 3, length), NIC_COPY_OK);
			CHECK(memcmp(end - length, src + 3, length) == 0);
			CHECK(is_all(end, at, 0));
			CHECK(is_all(end - length - 64, 64, 0));
		}
	}
}

/*
 * The copy begins `room` bytes before a bad page; and it begins in a bad page, `room` bytes
 * before good memory.
 */
static void edges(u8 *after_good, u8 *before_good, bool is_src, size_t length)
{
	static u8 other[70000];
	const enum nic_copy_result wanted = is_src ? NIC_COPY_SRC_FAULT : NIC_COPY_DST_FAULT;
	size_t most = length < 80 ? length : 80;

	for (size_t room = 0; room <= most; room++) {
		u8 *at = after_good - room;
		enum nic_copy_result result;

		result = is_src ? host_guarded_copy(other, at, length) :
				  host_guarded_copy(at, other, length);
		CHECK_EQUAL(result, room == length ? NIC_COPY_OK : wanted);

		at = before_good - room;
		result = is_src ? host_guarded_copy(other, at, length) :
				  host_guarded_copy(at, other, length);
		CHECK_EQUAL(result, room == 0 ? NIC_COPY_OK : wanted);
	}
}

#define GOOD (17 * PAGE)

/* Good memory with a bad page before and after it. */
static void edges_of(u8 *good, bool src, bool dst)
{
	static const size_t lengths[] = { 1,  2,   3,   4,    7,    8,    9,    12,       15, 16,
					  17, 31,  32,  40,   41,   63,   64,   65,       72, 73,
					  80, 128, 200, 1024, 1500, 4096, 5000, 16 * PAGE };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		if (src)
			edges(good + GOOD, good, true, lengths[i]);
		if (dst)
			edges(good + GOOD, good, false, lengths[i]);
	}
}

static void unmapped(void)
{
	u8 *good = fenced_memory(GOOD, false);

	CHECK(munmap(good - PAGE, PAGE) == 0);
	CHECK(munmap(good + GOOD, PAGE) == 0);
	edges_of(good, true, true);
}

static void protected(void)
{
	edges_of(fenced_memory(GOOD, false), true, true);
}

static void read_only(void)
{
	u8 *good = fenced_memory(GOOD, false);

	CHECK(mprotect(good - PAGE, PAGE, PROT_READ) == 0);
	CHECK(mprotect(good + GOOD, PAGE, PROT_READ) == 0);
	edges_of(good, false, true);
	CHECK(is_all(good + GOOD, PAGE, 0));
}

/* SIGBUS: a file that ends within its mapping. */
static void truncated(void)
{
	static u8 other[2 * PAGE];
	int fd = memfd_create("truncated", MFD_CLOEXEC);
	u8 *p;

	CHECK(ftruncate(fd, 2 * GOOD) == 0);
	p = mmap(NULL, 2 * GOOD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	memset(p, 1, 2 * GOOD);
	CHECK(ftruncate(fd, GOOD) == 0);
	for (size_t room = 0; room < 80; room++) {
		u8 *at = p + GOOD - room;

		CHECK_EQUAL(host_guarded_copy(other, at, PAGE), NIC_COPY_SRC_FAULT);
		CHECK_EQUAL(host_guarded_copy(at, other, PAGE), NIC_COPY_DST_FAULT);
		CHECK_EQUAL(host_guarded_copy(at, other, room), NIC_COPY_OK);
	}
}

/* Addresses that no mapping can have. */
static void impossible(void)
{
	static const u64 bad[] = { 0,
				   8,
				   0x800000000000,
				   0x7fffffffffff,
				   0x8000000000000000,
				   0xffff800000000000,
				   0xfffffffffffffff0,
				   ~0ull };
	static u8 good[64];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		for (size_t length = 1; length < 64; length++) {
			u8 *p = (u8 *)bad[i];

			CHECK_EQUAL(host_guarded_copy(good, p, length), NIC_COPY_SRC_FAULT);
			CHECK_EQUAL(host_guarded_copy(p, good, length), NIC_COPY_DST_FAULT);
		}
	}
}

static void errno_stays(void)
{
	u8 byte = 0;

	errno = 4711;
	CHECK_EQUAL(host_guarded_copy(&byte, NULL, 1), NIC_COPY_SRC_FAULT);
	CHECK_EQUAL(errno, 4711);
}

/* Each byte is stored once: a thread that sees the last byte may overwrite it at once. */
static void *reset_what_is_seen(void *arg)
{
	u8 *polled = arg;

	for (u32 turns = 0; !nic_load(&polled[64]); turns++) {
		wait_a_bit(turns);
		if (nic_load(&polled[0])) {
			turns = 0;
			nic_store(&polled[0], 0);
			nic_barrier();
			nic_store(&polled[-64], 1);
		}
	}
	return NULL;
}

static void tail_stored_once(void)
{
	static u8 area[256] __attribute__((aligned(64)));
	static const u8 ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	u8 *polled = area + 127;
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, reset_what_is_seen, polled) == 0);
	for (int round = 0; round < 30000; round++) {
		size_t length = 1 + (size_t)round % 16;

		nic_store(&polled[-64], 0);
		CHECK_EQUAL(host_guarded_copy(polled + 1 - length, ones, length), NIC_COPY_OK);
		for (u32 turns = 0; !nic_load_acquire(&polled[-64]); turns++)
			wait_a_bit(turns);
		CHECK_EQUAL(nic_load(polled), 0);
	}
	nic_store(&polled[64], 1);
	pthread_join(thread, NULL);
}

static const struct test_case cases[] = {
	{ "all_lengths", all_lengths },
	{ "long_copies", long_copies },
	{ "unmapped", unmapped },
	{ "protected", protected },
	{ "read_only", read_only },
	{ "truncated", truncated },
	{ "impossible", impossible },
	{ "errno_stays", errno_stays },
	{ "tail_stored_once", tail_stored_once },
};

int main(int argc, char **argv)
{
	return run_cases(cases, ARRAY_SIZE(cases), argc, argv);
}
