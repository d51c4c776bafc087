// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The last bytes of a copy are written last. When another thread sees the last byte of a buffer
 * change, the rest is in place. VNET_SOAK=1: a million rounds of 64 KiB.
 *
 * tail [CASE...]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "world.h"

#define LARGEST 65536
/* The buffer also ends in the middle of a word and of a cache line. */
#define SPARE 192

struct test {
	/* Written by the observer: number of rounds that it has seen. */
	u32 seen;
	u32 rsvd0[15];
	/* Written by the writer before the first round of a size; 0: the end. */
	u32 length;
	u32 end;
	u32 rsvd1[14];
	u8 buffer[LARGEST + SPARE];
};

static struct test *shared;

static u8 value_of(u32 round)
{
	return (u8)(1 + round % 255);
}

/* The end of memory is checked first, because it arrived last. */
static void check_value(const u8 *start, u32 length, u8 value)
{
	static u8 wanted[PAGE];

	if (wanted[0] != value)
		memset(wanted, value, sizeof(wanted));
	while (length) {
		u32 part = length < PAGE ? length : PAGE;

		length -= part;
		CHECK(memcmp(start + length, wanted, part) == 0);
	}
}

/* Observes all rounds of a length; every byte of a round has the same value. */
static void observe(u32 rounds)
{
	u32 length = nic_load(&shared->length);
	u8 *start = shared->buffer + nic_load(&shared->end) - length;

	for (u32 round = 0; round < rounds; round++) {
		u8 value = value_of(round);

		for (u32 turns = 0; nic_load_acquire(&start[length - 1]) != value; turns++)
			wait_a_bit(turns);
		check_value(start, length, value);
		nic_store_release(&shared->seen, round + 1);
	}
}

static void write_rounds(u32 space, u32 length, u32 end, u32 rounds)
{
	static u8 from[LARGEST];
	u8 *start = shared->buffer + end - length;

	for (u32 round = 0; round < rounds; round++) {
		memset(from, value_of(round), length);
		CHECK_EQUAL(copy(space, start, nic.space, from, length), NIC_COPY_OK);
		for (u32 turns = 0; nic_load_acquire(&shared->seen) != round + 1; turns++)
			wait_a_bit(turns);
	}
}

static const u32 lengths[] = { 9, 12, 16, 64, 65, 80, 1000, 4096, 4099, 65536 };
static const u32 ends[] = { LARGEST, LARGEST + 4, LARGEST + 61, LARGEST + 191 };

static u32 rounds_of(u32 length, u32 end)
{
	const char *soak = getenv("VNET_SOAK");

	if (!soak || strcmp(soak, "1") != 0)
		return 1000;
	return length == LARGEST && end == LARGEST ? 1000000 : 50000;
}

static void prepare(u32 length, u32 end)
{
	memset(shared->buffer, 0, sizeof(shared->buffer));
	shared->length = length;
	shared->end = end;
	nic_store_release(&shared->seen, 0);
}

static void observing_target(struct target *self)
{
	while (target_hear(self) == 'g')
		observe(rounds_of(nic_load(&shared->length), nic_load(&shared->end)));
}

static void write_far(void)
{
	struct target t;

	target_start(&t, 2, 1, observing_target);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(ends); k++) {
			prepare(lengths[i], ends[k]);
			target_tell(&t, 'g');
			write_rounds(t.space, lengths[i], ends[k], rounds_of(lengths[i], ends[k]));
		}
	}
	target_end(&t);
}

static void vm(void)
{
	world_init();
	if (!host.process_vm)
		skip("the system refuses process_vm_writev()");
	write_far();
}

static void refused(void)
{
	world_init();
	refuse_process_vm();
	host_fini(&host);
	CHECK_EQUAL(host_init(&host, &nic), 0);
	write_far();
}

static void *observing_thread(void *arg)
{
	observe(rounds_of(nic_load(&shared->length), nic_load(&shared->end)));
	return arg;
}

static void here(void)
{
	world_init();
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(ends); k++) {
			pthread_t thread;

			prepare(lengths[i], ends[k]);
			CHECK(pthread_create(&thread, NULL, observing_thread, NULL) == 0);
			write_rounds(nic.space, lengths[i], ends[k],
				     rounds_of(lengths[i], ends[k]));
			pthread_join(thread, NULL);
		}
	}
}

static const struct test_case cases[] = {
	{ "vm", vm },
	{ "refused", refused },
	{ "here", here },
};

int main(int argc, char **argv)
{
	shared = (struct test *)shared_memory(sizeof(*shared));
	return run_cases(cases, ARRAY_SIZE(cases), argc, argv);
}
