// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Faults of the link, frame by frame: reproducibility by seed, selection of frames, and delays. */
#include <string.h>
#include <unistd.h>

#include "../../usermode/platform/link.h"
#include "world.h"

#define FRAMES 400
#define LENGTH 1000u
#define NSEC_PER_MSEC 1000000ull
#define SHARE(percent) ((u32)((percent)*42949672.96))

static struct link_memory memory;
static struct nic_address peer;

/* Decisions about one frame. */
struct decision {
	u32 lost, twice, corrupted, reordered;
	/* A frame of zeros, with its corrupted bytes. */
	u8 frame[LENGTH];
};

/* A new link, as the agent makes it. */
static void begin(const struct link_faults *faults)
{
	memset(&memory, 0, sizeof(memory));
	memory.faults = *faults;
	host.link.memory = &memory;
	nic.host = &host;
	host.nic = &nic;
}

static void forget_held(void)
{
	for (u32 i = 0; i < LINK_HELD; i++)
		memory.held[i].state = 0;
	memory.holds = 0;
}

static const struct link_held *only_held(void)
{
	CHECK_EQUAL(link_held(&memory), 1);
	return &memory.held[0];
}

static enum link_action one_frame(enum link_direction direction)
{
	u8 frame[LENGTH] = { 0 };

	return link_fault(&host, direction, &peer, frame, LENGTH);
}

static void decide(struct decision *d, enum link_direction direction)
{
	const struct link_counters before = memory.counters;

	memset(d, 0, sizeof(*d));
	(void)link_fault(&host, direction, &peer, d->frame, LENGTH);
	d->lost = (u32)(memory.counters.injected[LINK_LOST] - before.injected[LINK_LOST]);
	d->twice =
		(u32)(memory.counters.injected[LINK_DUPLICATED] - before.injected[LINK_DUPLICATED]);
	d->corrupted =
		(u32)(memory.counters.injected[LINK_CORRUPTED] - before.injected[LINK_CORRUPTED]);
	d->reordered =
		(u32)(memory.counters.injected[LINK_REORDERED] - before.injected[LINK_REORDERED]);
	forget_held();
}

static void decide_all(struct decision d[FRAMES], const struct link_faults *faults)
{
	begin(faults);
	for (u32 i = 0; i < FRAMES; i++)
		decide(&d[i], i % 3 ? LINK_OUT : LINK_IN);
}

/* ------------------------------------------------------------------------ seed */

static const struct link_faults mixed = {
	.loss = SHARE(10),
	.duplicate = SHARE(10),
	.reorder = SHARE(10),
	.corrupt = SHARE(10),
	.seed = 7,
	.directions = LINK_OUT | LINK_IN,
};

static struct decision first[FRAMES], again[FRAMES];

/* With the same seed and faults, each frame gets the same decisions, bit by bit. */
static void same_seed(void)
{
	decide_all(first, &mixed);
	CHECK(memory.counters.injected[LINK_LOST] && memory.counters.injected[LINK_DUPLICATED]);
	CHECK(memory.counters.injected[LINK_REORDERED] && memory.counters.injected[LINK_CORRUPTED]);
	decide_all(again, &mixed);
	CHECK(!memcmp(first, again, sizeof(first)));
}

static void other_seed(void)
{
	struct link_faults other = mixed;

	other.seed++;
	decide_all(first, &mixed);
	decide_all(again, &other);
	CHECK(memcmp(first, again, sizeof(first)) != 0);
}

/* Each share decides by itself, and does not depend on others. A lost frame has no other fault. */
static void shares_apart(void)
{
	struct link_faults other = mixed;

	other.loss = SHARE(30);
	other.corrupt = SHARE(60);
	other.jitter = 1000;
	decide_all(first, &mixed);
	decide_all(again, &other);
	for (u32 i = 0; i < FRAMES; i++) {
		CHECK(again[i].lost || !first[i].lost);
		if (again[i].lost)
			continue;
		CHECK(again[i].corrupted || !first[i].corrupted);
		CHECK(!first[i].corrupted || !memcmp(first[i].frame, again[i].frame, LENGTH));
		CHECK_EQUAL(again[i].twice, first[i].twice);
		CHECK_EQUAL(again[i].reordered, first[i].reordered);
	}
}

/* Frames that faults do not apply to are not numbered, so they do not shift decisions. */
static void not_numbered(void)
{
	struct link_faults out = mixed;
	struct decision between;

	out.directions = LINK_OUT;
	begin(&out);
	for (u32 i = 0; i < FRAMES; i++)
		decide(&first[i], LINK_OUT);
	begin(&out);
	for (u32 i = 0; i < FRAMES; i++) {
		decide(&between, LINK_IN);
		memory.faults.down = 1;
		decide(&between, LINK_OUT);
		memory.faults.down = 0;
		decide(&again[i], LINK_OUT);
	}
	CHECK(!memcmp(first, again, sizeof(first)));
}

/* ------------------------------------------------------------------- directions */

static void directions(void)
{
	static const enum link_direction both[] = { LINK_OUT, LINK_IN };
	struct link_faults all = { .loss = ~0u };

	for (all.directions = LINK_OUT; all.directions <= (LINK_OUT | LINK_IN); all.directions++) {
		for (u32 i = 0; i < ARRAY_SIZE(both); i++) {
			bool lost;

			begin(&all);
			lost = one_frame(both[i]) == LINK_CONSUMED;
			CHECK_EQUAL(lost, (all.directions & both[i]) != 0);
			CHECK_EQUAL(memory.counters.injected[LINK_LOST], lost);
		}
	}
}

/* ----------------------------------------------------------------------- delays */

static u32 taken;

static void take(struct nic *n, const struct nic_address *from, u8 *frame, u32 length)
{
	CHECK_EQUAL(length, LENGTH);
	taken++;
}

/* The next frame is held for this time, and not much longer. */
static void kept_back(u64 least)
{
	u64 before = plat_clock(), after;

	CHECK_EQUAL(one_frame(LINK_IN), LINK_CONSUMED);
	after = plat_clock();
	CHECK(only_held()->due >= before + least);
	CHECK(only_held()->due <= after + least);
	forget_held();
}

static void reorder_by(void)
{
	struct link_faults faults = { .reorder = ~0u, .directions = LINK_IN };

	begin(&faults);
	kept_back(200000);
	faults.reorder_by = 3000;
	begin(&faults);
	kept_back(3 * NSEC_PER_MSEC);
	CHECK_EQUAL(memory.counters.injected[LINK_REORDERED], 1);
	faults.delay = 2000;
	begin(&faults);
	kept_back(5 * NSEC_PER_MSEC);
}

/* A held frame is overtaken by the next one. */
static void overtaken(void)
{
	const struct link_faults faults = { .reorder = ~0u,
					    .reorder_by = 10000000,
					    .directions = LINK_IN };

	begin(&faults);
	CHECK_EQUAL(one_frame(LINK_IN), LINK_CONSUMED);
	memory.faults.reorder = 0;
	CHECK_EQUAL(one_frame(LINK_IN), LINK_PASS);
	taken = 0;
	CHECK_EQUAL(link_release(&nic, take), only_held()->due);
	CHECK_EQUAL(taken, 0);
	memory.held[0].due = plat_clock();
	link_release(&nic, take);
	CHECK_EQUAL(taken, 1);
}

/* The next frame gets this place in the queue, and is due at least so long after the one before. */
static void due_after(u32 place, u64 least)
{
	CHECK_EQUAL(one_frame(LINK_IN), LINK_CONSUMED);
	CHECK_EQUAL(link_held(&memory), place + 1);
	CHECK(!place || memory.held[place].due >= memory.held[place - 1].due + least);
}

/* Frames leave one after the other, each after the time that the rate gives: here 2 s. */
static void rate(void)
{
	const struct link_faults faults = { .rate = LENGTH / 2, .directions = LINK_IN };
	const u64 takes = 2000 * NSEC_PER_MSEC;
	u64 begun;

	begin(&faults);
	begun = plat_clock();
	CHECK_EQUAL(one_frame(LINK_IN), LINK_PASS);
	for (u32 i = 0; i < LINK_HELD; i++)
		due_after(i, takes);
	CHECK(memory.held[0].due >= begun + takes);
	CHECK_EQUAL(memory.counters.injected[LINK_DELAYED], LINK_HELD);
	/* Each direction has its own rate limit. */
	forget_held();
	memory.faults.directions = LINK_OUT;
	CHECK_EQUAL(one_frame(LINK_OUT), LINK_PASS);
}

/* Frames beyond the limit are lost, and do not use up time of others. */
static void rate_too_low(void)
{
	const struct link_faults faults = { .rate = LENGTH, .directions = LINK_IN };
	u64 last;

	begin(&faults);
	CHECK_EQUAL(one_frame(LINK_IN), LINK_PASS);
	for (u32 i = 0; i < LINK_HELD; i++)
		CHECK_EQUAL(one_frame(LINK_IN), LINK_CONSUMED);
	CHECK_EQUAL(memory.counters.injected[LINK_LIMITED], 0);
	for (u32 i = 0; i < 100; i++)
		CHECK_EQUAL(one_frame(LINK_IN), LINK_CONSUMED);
	CHECK_EQUAL(memory.counters.injected[LINK_LIMITED], 100);
	CHECK_EQUAL(link_held(&memory), LINK_HELD);
	last = memory.held[LINK_HELD - 1].due;
	forget_held();
	CHECK_EQUAL(one_frame(LINK_IN), LINK_CONSUMED);
	CHECK_EQUAL(only_held()->due, last + 1000 * NSEC_PER_MSEC);
}

/* The backlog of a lower rate does not delay frames at a higher one. */
static void other_rate(void)
{
	const struct link_faults faults = { .rate = 1, .directions = LINK_IN };

	begin(&faults);
	CHECK_EQUAL(one_frame(LINK_IN), LINK_PASS);
	CHECK_EQUAL(one_frame(LINK_IN), LINK_CONSUMED);
	forget_held();
	memory.faults.rate = 100 << 20;
	CHECK_EQUAL(one_frame(LINK_IN), LINK_PASS);
}

/* ------------------------------------------------------------------------ peers */

static void set_peer(u32 i, u8 last, const struct link_faults *faults)
{
	static const u8 nodes[16] = { [10] = 0xff, [11] = 0xff, [12] = 127 };

	memcpy(memory.faulty_peers.one[i].peer, nodes, sizeof(nodes));
	memory.faulty_peers.one[i].peer[15] = last;
	memory.faulty_peers.one[i].faults = *faults;
	memory.faulty_peers.n = i + 1;
}

static enum link_action frame_of(u8 last)
{
	union link_address address = { .in = { .sin_family = AF_INET } };
	u8 frame[LENGTH] = { 0 };

	((u8 *)&address.in.sin_addr)[0] = 127;
	((u8 *)&address.in.sin_addr)[3] = last;
	return link_fault(&host, LINK_OUT, &address.nic, frame, LENGTH);
}

/* A peer with its own faults has only these; other peers have the general ones. */
static void of_peers(void)
{
	const struct link_faults all = { .duplicate = SHARE(100), .directions = LINK_OUT };
	const struct link_faults none = { .directions = LINK_OUT };
	const struct link_faults cut = { .down = 1, .directions = LINK_OUT };

	begin(&all);
	set_peer(0, 2, &none);
	set_peer(1, 3, &cut);
	CHECK_EQUAL(frame_of(1), LINK_SEND_TWICE);
	CHECK_EQUAL(frame_of(2), LINK_PASS);
	CHECK_EQUAL(frame_of(3), LINK_CONSUMED);
	CHECK_EQUAL(memory.counters.injected[LINK_WHILE_DOWN], 1);
	/* Each peer has its own counters, and the link counts all. */
	CHECK_EQUAL(memory.course[0].injected[LINK_WHILE_DOWN], 0);
	CHECK_EQUAL(memory.course[2].injected[LINK_WHILE_DOWN], 1);
	CHECK_EQUAL(memory.counters.injected[LINK_DUPLICATED], 1);
	CHECK_EQUAL(memory.course[0].injected[LINK_DUPLICATED], 1);
	/* Frames are numbered for each peer, except those that a cable that is down drops. */
	CHECK_EQUAL(memory.course[0].considered, 1);
	CHECK_EQUAL(memory.course[1].considered, 1);
	CHECK_EQUAL(memory.course[2].considered, 0);
	/* An invalid count in shared memory leads to no other memory. */
	memory.faulty_peers.n = ~0u;
	CHECK_EQUAL(frame_of(4), LINK_SEND_TWICE);
}

/* A free entry belongs to no peer, and later entries are found. */
static void left_by_a_peer(void)
{
	const struct link_faults all = { .loss = SHARE(100), .directions = LINK_OUT };
	const struct link_faults none = { .directions = LINK_OUT };

	begin(&all);
	set_peer(0, 2, &none);
	set_peer(1, 3, &none);
	memset(&memory.faulty_peers.one[0], 0, sizeof(memory.faulty_peers.one[0]));
	CHECK_EQUAL(frame_of(2), LINK_CONSUMED);
	CHECK_EQUAL(frame_of(3), LINK_PASS);
}

static void ipv6_peer(void)
{
	const struct link_faults none = { .directions = LINK_OUT };
	const struct link_faults cut = { .down = 1, .directions = LINK_OUT };
	union link_address address = { .in6 = { .sin6_family = AF_INET6,
						.sin6_addr = { .s6_addr = { 0xfd, [15] = 2 } } } };
	u8 frame[LENGTH] = { 0 };

	begin(&none);
	set_peer(0, 2, &cut);
	memcpy(memory.faulty_peers.one[0].peer, &address.in6.sin6_addr, 16);
	CHECK_EQUAL(link_fault(&host, LINK_IN, &address.nic, frame, LENGTH), LINK_CONSUMED);
	address.in6.sin6_addr.s6_addr[15]++;
	CHECK_EQUAL(link_fault(&host, LINK_IN, &address.nic, frame, LENGTH), LINK_PASS);
}

/* Decisions for a peer depend on its own seed and numbers, and not on other peers' frames. */
static void seed_of_a_peer(void)
{
	const struct link_faults all = { .loss = SHARE(30), .seed = 5, .directions = LINK_OUT };
	struct link_faults half = { .loss = SHARE(50), .seed = 7, .directions = LINK_OUT };
	enum link_action alone[FRAMES];

	begin(&all);
	set_peer(0, 2, &half);
	for (u32 i = 0; i < FRAMES; i++)
		alone[i] = frame_of(2);
	begin(&all);
	set_peer(0, 3, &half);
	set_peer(1, 2, &half);
	for (u32 i = 0; i < FRAMES; i++) {
		(void)frame_of(1);
		(void)frame_of(3);
		CHECK_EQUAL(frame_of(2), alone[i]);
	}
}

/* A held frame is lost if the cable of its peer is down. */
static void on_the_way_to_a_peer(void)
{
	const struct link_faults none = { .directions = LINK_OUT };
	const struct link_faults cut = { .down = 1, .directions = LINK_OUT };
	union link_address address = { .in = { .sin_family = AF_INET } };
	u8 frame[LENGTH] = { 0 };

	((u8 *)&address.in.sin_addr)[0] = 127;
	begin(&none);
	set_peer(0, 2, &cut);
	taken = 0;
	for (u8 last = 1; last <= 2; last++) {
		((u8 *)&address.in.sin_addr)[3] = last;
		CHECK(link_hold(&host, LINK_IN, &address.nic, frame, LENGTH, plat_clock()));
	}
	link_release(&nic, take);
	CHECK_EQUAL(taken, 1);
	CHECK_EQUAL(memory.course[1].injected[LINK_WHILE_DOWN], 1);
	CHECK_EQUAL(link_held(&memory), 0);
}

/*
 * A process died while it filled an entry, another one while it released one. The entries are free
 * again, the frame that waits is still released, and then no process looks for frames any more.
 */
static void died_with_entries(void)
{
	const struct link_faults faults = { .delay = 1000, .directions = LINK_IN };

	begin(&faults);
	nic.self = 7;
	CHECK_EQUAL(one_frame(LINK_IN), LINK_CONSUMED);
	memory.held[0].due = plat_clock();
	memory.held[1].state = 8 << 8 | 1;
	memory.held[2].state = 8 << 8 | 3;
	memory.held[3].state = 9 << 8 | 1;
	/* Process 8 had cleared the word before it released the entry. */
	memory.holds = 0;
	link_held_recover(&memory, 8);
	CHECK_EQUAL(memory.held[1].state, 0);
	CHECK_EQUAL(memory.held[2].state, 0);
	CHECK_EQUAL(memory.held[3].state, 9 << 8 | 1);
	taken = 0;
	CHECK_EQUAL(link_release(&nic, take), ~0ull);
	CHECK_EQUAL(taken, 1);
	CHECK_EQUAL(memory.holds, 0);
}

static const struct test_case cases[] = {
	{ "same_seed", same_seed },
	{ "other_seed", other_seed },
	{ "shares_apart", shares_apart },
	{ "not_numbered", not_numbered },
	{ "directions", directions },
	{ "reorder_by", reorder_by },
	{ "overtaken", overtaken },
	{ "rate", rate },
	{ "rate_too_low", rate_too_low },
	{ "other_rate", other_rate },
	{ "of_peers", of_peers },
	{ "left_by_a_peer", left_by_a_peer },
	{ "ipv6_peer", ipv6_peer },
	{ "seed_of_a_peer", seed_of_a_peer },
	{ "on_the_way_to_a_peer", on_the_way_to_a_peer },
	{ "died_with_entries", died_with_entries },
};

int main(int argc, char **argv)
{
	return run_cases(cases, ARRAY_SIZE(cases), argc, argv);
}
