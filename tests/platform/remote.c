// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies between processes, by each method. They are exact, faults name the right side, and the
 * end of the other process is noticed.
 *
 * remote vm|refused|descriptor [CASE...]
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "world.h"

static enum method {
	/* process_vm_*() work. */
	METHOD_VM,
	/* A seccomp filter refuses them. */
	METHOD_REFUSED,
	/* The other process has no token. */
	METHOD_DESCRIPTOR,
} method;

static void begin(void)
{
	world_init();
	if (method == METHOD_REFUSED) {
		refuse_process_vm();
		host_fini(&host);
		CHECK_EQUAL(host_init(&host, &nic), 0);
		CHECK(!host.process_vm);
	}
}

static void start(struct target *t, u32 slot, void (*act)(struct target *))
{
	target_start(t, slot, 1, act);
	if (method == METHOD_DESCRIPTOR)
		host.client[slot].token = 0;
}

/* Checks that the intended method was used. */
static void check_method(const struct target *t)
{
	bool by_vm = host.space[t->slot].token != 0;

	CHECK_EQUAL(by_vm, method == METHOD_VM);
}

/* ---------------------------------------------------------------- exact bytes */

#define AREA (1u << 20)

static void one_piece(const struct target *t, u8 *near, u8 *far, size_t length, bool write)
{
	u8 *dst = write ? far : near, *src = write ? near : far;
	u32 dst_space = write ? t->space : nic.space, src_space = write ? nic.space : t->space;

	fill(src, length, (u8)length);
	memset(dst - 16, 0xee, length + 32);
	CHECK_EQUAL(copy(dst_space, dst, src_space, src, length), NIC_COPY_OK);
	CHECK(is_filled(dst, length, (u8)length));
	CHECK(is_all(dst - 16, 16, 0xee));
	CHECK(is_all(dst + length, 16, 0xee));
}

static void lengths(void)
{
	static const size_t length[] = { 0,    1,     2,     3,     4,      5,        6,    7,
					 8,    9,     10,    15,    16,     17,       31,   63,
					 64,   100,   1000,  4088,  4095,   4096,     4097, 8192,
					 8200, 12345, 65536, 65537, 300000, AREA - 64 };
	u8 *far = shared_memory(AREA), *near = shared_memory(AREA);
	struct target t;

	begin();
	start(&t, 2, idle_target);
	for (size_t i = 0; i < ARRAY_SIZE(length); i++) {
		for (u32 at = 16; at < 25; at++) {
			one_piece(&t, near + 16, far + at, length[i], true);
			one_piece(&t, near + at, far + 17, length[i], false);
		}
	}
	check_method(&t);
	CHECK_EQUAL(world_asked, 1);
	target_end(&t);
}

/* --------------------------------------------------------- gather and scatter */

#define SPACES 3
#define MOST_PIECES 60

struct area {
	u32 space;
	u8 *src, *dst;
	u8 *expected;
};

static struct area areas[SPACES + 1];
static u8 stream[MOST_PIECES * 8192];

static u32 random_length(void)
{
	static const u32 below[] = { 3, 9, 20, 300, 5000, 8192 };

	return random_below(below[random_below(ARRAY_SIZE(below))]);
}

/* Pieces that do not overlap, in the first `spaces` areas. Returns their total length. */
static u64 random_pieces(struct nic_piece *piece, u32 n, u32 spaces, bool dst)
{
	u64 total = 0, at = 0;

	for (u32 i = 0; i < n; i++) {
		const struct area *a = &areas[random_below(spaces)];

		at += random_below(20);
		piece[i].length = random_length();
		piece[i].addr = (u64)(dst ? a->dst : a->src) + at;
		piece[i].space = a->space;
		piece[i].mr = 0;
		at += piece[i].length;
		total += piece[i].length;
	}
	return total;
}

static struct area *area_of(const struct nic_piece *piece)
{
	for (size_t i = 0; i < ARRAY_SIZE(areas); i++)
		if (areas[i].space == piece->space)
			return &areas[i];
	CHECK(false);
}

/* The same copy by memcpy(). */
static void model(const struct nic_piece *dst, u32 ndst, const struct nic_piece *src, u32 nsrc,
		  u64 length)
{
	u64 n = 0;

	for (u32 i = 0; i < nsrc; i++) {
		memcpy(stream + n, (const void *)src[i].addr, src[i].length);
		n += src[i].length;
	}
	n = 0;
	for (u32 i = 0; i < ndst && n < length; i++) {
		const struct area *a = area_of(&dst[i]);
		u64 part = length - n < dst[i].length ? length - n : dst[i].length;

		memcpy(a->expected + (dst[i].addr - (u64)a->dst), stream + n, part);
		n += part;
	}
}

static void one_list(u32 spaces)
{
	struct nic_piece dst[MOST_PIECES], src[MOST_PIECES];
	u32 ndst = 1 + random_below(MOST_PIECES), nsrc = 1 + random_below(MOST_PIECES);
	u64 room = random_pieces(dst, ndst, spaces, true);
	u64 have = random_pieces(src, nsrc, spaces, false);
	u64 length = room < have ? room : have;

	for (size_t i = 0; i < ARRAY_SIZE(areas); i++) {
		fill(areas[i].src, AREA, (u8)random_below(256));
		memset(areas[i].dst, 0, AREA);
		memset(areas[i].expected, 0, AREA);
	}
	model(dst, ndst, src, nsrc, length);
	CHECK_EQUAL(plat_copy(&nic, dst, ndst, src, nsrc, length), NIC_COPY_OK);
	for (size_t i = 0; i < ARRAY_SIZE(areas); i++)
		CHECK(memcmp(areas[i].dst, areas[i].expected, AREA) == 0);
}

static void lists(void)
{
	struct target t[SPACES];

	for (u32 i = 0; i <= SPACES; i++) {
		areas[i].src = shared_memory(AREA);
		areas[i].dst = shared_memory(AREA);
		areas[i].expected = shared_memory(AREA);
	}
	begin();
	areas[0].space = nic.space;
	for (u32 i = 0; i < SPACES; i++) {
		start(&t[i], 2 + i, idle_target);
		areas[1 + i].space = t[i].space;
	}
	for (u32 round = 0; round < 150; round++)
		one_list(round % 4 == 0 ? SPACES + 1 : 1 + round % 2);
	for (u32 i = 0; i < SPACES; i++) {
		check_method(&t[i]);
		target_end(&t[i]);
	}
}

/* The agent's thread: every space is another process'. */
static void agent(void)
{
	u8 *far_a = shared_memory(AREA), *far_b = shared_memory(AREA);
	struct target a, b;

	begin();
	nic.space = NIC_SPACE_POINTER;
	start(&a, 2, idle_target);
	start(&b, 3, idle_target);
	for (u32 i = 0; i < 50; i++) {
		size_t length = i < 20 ? i : random_below(AREA - 16);

		fill(far_a, AREA, (u8)i);
		memset(far_b, 0, AREA);
		CHECK_EQUAL(copy(b.space, far_b + i % 9, a.space, far_a, length), NIC_COPY_OK);
		CHECK(is_filled(far_b + i % 9, length, (u8)i));
		CHECK(is_all(far_b + i % 9 + length, AREA - length - i % 9, 0));
	}
	target_kill(&b);
	CHECK_EQUAL(copy(b.space, far_b, a.space, far_a, 100), NIC_COPY_DST_GONE);
	target_kill(&a);
	CHECK_EQUAL(copy(b.space, far_b, a.space, far_a, 100), NIC_COPY_SRC_GONE);
}

/* --------------------------------------------------------------------- faults */

#define GOOD (18 * PAGE)
/* GOOD bytes between two pages that the other process unmaps or protects. */
static u8 *edge;

static void lose_by_unmapping(struct target *self)
{
	CHECK(munmap(edge - PAGE, PAGE) == 0 && munmap(edge + GOOD, PAGE) == 0);
	target_tell(self, 'l');
	idle_target(self);
}

static void lose_by_protecting(struct target *self)
{
	CHECK(mprotect(edge - PAGE, PAGE, PROT_NONE) == 0);
	CHECK(mprotect(edge + GOOD, PAGE, PROT_NONE) == 0);
	target_tell(self, 'l');
	idle_target(self);
}

/* The region of the copies in the fault tests. */
static u32 mr;

static const size_t fault_length[] = { 1, 2, 7, 8, 9, 16, 100, 4096, 5000, 65536 + 100 };

/* Copies that touch a bad page, in this process or in the other one, in both directions. */
static void both_ways(const struct target *t, u8 *bad, bool bad_is_far, size_t length)
{
	static u8 here[GOOD];
	static u8 *there;
	u8 *near = bad_is_far ? here : bad, *far;

	/* Memory that is good on the other side. */
	if (!there)
		there = edge;
	far = bad_is_far ? bad : there;
	CHECK_EQUAL(copy_in(mr, t->space, far, nic.space, near, length),
		    bad_is_far ? NIC_COPY_DST_FAULT : NIC_COPY_SRC_FAULT);
	CHECK_EQUAL(copy_in(mr, nic.space, near, t->space, far, length),
		    bad_is_far ? NIC_COPY_SRC_FAULT : NIC_COPY_DST_FAULT);
}

static void bad_edges(const struct target *t, u8 *good, bool bad_is_far)
{
	for (size_t i = 0; i < ARRAY_SIZE(fault_length); i++) {
		size_t length = fault_length[i];
		size_t touch[] = { 1, 4, 8, 9, 100, PAGE };

		for (size_t k = 0; k < ARRAY_SIZE(touch); k++) {
			if (touch[k] > length)
				break;
			both_ways(t, good + GOOD - length + touch[k], bad_is_far, length);
			both_ways(t, good - touch[k], bad_is_far, length);
		}
	}
}

static void far_faults(void (*lose)(struct target *), u32 region)
{
	struct target t;

	mr = region;

	edge = shared_memory(GOOD + 2 * PAGE) + PAGE;
	begin();
	start(&t, 2, lose);
	CHECK_EQUAL(target_hear(&t), 'l');
	CHECK_EQUAL(copy(t.space, edge, nic.space, edge, GOOD), NIC_COPY_OK);
	bad_edges(&t, edge, true);
	target_end(&t);
}

static void far_unmapped(void)
{
	far_faults(lose_by_unmapping, 0);
}

/* The descriptor ignores page protection, so the region needs the flag to check pages. */
static void far_protected(void)
{
	far_faults(lose_by_protecting, CHECKED_MR);
}

static void near_faults(void)
{
	u8 *bad = fenced_memory(GOOD, true);
	struct target t;

	edge = shared_memory(GOOD);
	begin();
	start(&t, 2, idle_target);
	bad_edges(&t, bad, false);
	target_end(&t);
}

/* Private memory that the other process makes read-only: a copy must not write to it. */
static u8 *private;

static void protect_private(struct target *self)
{
	CHECK(mprotect(private, 4 * PAGE, PROT_READ) == 0);
	target_tell(self, 'p');
	CHECK_EQUAL(target_hear(self), 'e');
	CHECK(is_all(private, 4 * PAGE, 1));
	CHECK(is_filled(private + 4 * PAGE, 100, 5));
}

static void checked_pages(void)
{
	static u8 from[8192];
	struct nic_piece src = { .addr = (u64)from, .length = sizeof(from) };
	struct nic_piece dst = { .length = sizeof(from), .mr = CHECKED_MR };
	static const u64 length[] = { 1, 8, 100, 8192 };
	struct target t;

	private = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(private, 1, 8 * PAGE);
	fill(from, sizeof(from), 5);
	begin();
	src.space = nic.space;
	start(&t, 2, protect_private);
	CHECK_EQUAL(target_hear(&t), 'p');
	dst.space = t.space;
	for (size_t i = 0; i < ARRAY_SIZE(length); i++) {
		enum nic_copy_result result;

		dst.addr = (u64) private;
		CHECK_EQUAL(plat_copy(&nic, &dst, 1, &src, 1, length[i]), NIC_COPY_DST_FAULT);
		/* Without process_vm_*() such a region cannot be reached at all. */
		dst.addr = (u64)(private + 4 * PAGE);
		result = plat_copy(&nic, &dst, 1, &src, 1, length[i]);
		CHECK_EQUAL(result, method == METHOD_VM ? NIC_COPY_OK : NIC_COPY_DST_FAULT);
	}
	dst.mr = 0;
	CHECK_EQUAL(plat_copy(&nic, &dst, 1, &src, 1, 100), NIC_COPY_OK);
	target_end(&t);
}

static void impossible(void)
{
	static const u64 bad[] = { 0,
				   0x7fffffffffff,
				   0x800000000000,
				   0x7ffffffffffffff8,
				   0x8000000000000000,
				   0xffff800000000000,
				   0xfffffffffffff000 };
	static u8 here[PAGE];
	struct target t;

	edge = here;
	begin();
	start(&t, 2, idle_target);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		both_ways(&t, (u8 *)bad[i], true, 8);
		both_ways(&t, (u8 *)bad[i], true, 100);
		both_ways(&t, (u8 *)bad[i], false, 8);
		both_ways(&t, (u8 *)bad[i], false, 100);
	}
	target_end(&t);
}

/* ------------------------------------------------------- the end of a process */

static void gone(void)
{
	static const u64 length[] = { 1, 8, 100, 65536 };
	u8 *far = shared_memory(AREA);
	static u8 near[65536];
	u32 descriptors;
	struct target t;

	begin();
	descriptors = open_descriptors();
	start(&t, 2, idle_target);
	CHECK_EQUAL(copy(t.space, far, nic.space, near, 8), NIC_COPY_OK);
	target_kill_unnoticed(&t);
	memset(far, 0, AREA);
	memset(near, 1, sizeof(near));
	for (size_t i = 0; i < ARRAY_SIZE(length); i++) {
		CHECK_EQUAL(copy(t.space, far, nic.space, near, length[i]), NIC_COPY_DST_GONE);
		CHECK_EQUAL(copy(nic.space, near, t.space, far, length[i]), NIC_COPY_SRC_GONE);
	}
	CHECK(is_all(far, AREA, 0) && is_all(near, sizeof(near), 1));
	/* When the agent knows of the end, the descriptor is closed, and nobody is asked again. */
	target_notice(&t);
	CHECK_EQUAL(copy(t.space, far, nic.space, near, 8), NIC_COPY_DST_GONE);
	CHECK_EQUAL(open_descriptors(), descriptors);
	CHECK_EQUAL(copy(t.space, far, nic.space, near, 100), NIC_COPY_DST_GONE);
	CHECK_EQUAL(world_asked, 1);
}

static void never_there(void)
{
	static u8 near[100];

	begin();
	CHECK_EQUAL(copy(7 << HOST_SPACE_SLOT_BITS | 9, near, nic.space, near, 100),
		    NIC_COPY_DST_GONE);
	CHECK_EQUAL(copy(nic.space, near, 0xffffffff, near, 8), NIC_COPY_SRC_GONE);
	CHECK_EQUAL(world_asked, 0);
}

/* The space of an earlier process is not that of a later one in the same slot. */
static void slot_reused(void)
{
	u8 *far = shared_memory(PAGE);
	static u8 near[100];
	u32 descriptors;
	struct target t;
	u32 before;

	begin();
	descriptors = open_descriptors();
	target_start(&t, 2, 1, idle_target);
	before = t.space;
	CHECK_EQUAL(copy(t.space, far, nic.space, near, 100), NIC_COPY_OK);
	target_kill(&t);
	for (u32 generation = 2; generation < 10; generation++) {
		target_start(&t, 2, generation, idle_target);
		CHECK_EQUAL(copy(before, far, nic.space, near, 100), NIC_COPY_DST_GONE);
		CHECK_EQUAL(copy(t.space, far, nic.space, near, 100), NIC_COPY_OK);
		CHECK_EQUAL(copy(before, far, nic.space, near, 8), NIC_COPY_DST_GONE);
		CHECK_EQUAL(copy(t.space, far, nic.space, near, 8), NIC_COPY_OK);
		/* The agent's descriptor, its socket, and the cached descriptor. */
		CHECK_EQUAL(open_descriptors(), descriptors + 3);
		target_end(&t);
	}
}

/* A program closed our descriptor: one copy fails, and the next one gets a new descriptor. */
static void descriptor_stolen(void)
{
	u8 *far = shared_memory(PAGE);
	static u8 near[8];
	struct target t;

	begin();
	start(&t, 2, idle_target);
	CHECK_EQUAL(copy(t.space, far, nic.space, near, 8), NIC_COPY_OK);
	close(host.space[2].mem.fd);
	CHECK_EQUAL(copy(t.space, far, nic.space, near, 8), NIC_COPY_DST_GONE);
	CHECK_EQUAL(copy(t.space, far, nic.space, near, 8), NIC_COPY_OK);
	target_end(&t);
}

static void in_the_child(struct target *self)
{
	static u8 near[PAGE];
	u32 to;

	CHECK_EQUAL(host.nspaces, WORLD_CLIENTS);
	CHECK_EQUAL(target_hear(self), 'g');
	to = nic_load((u32 *)edge);
	CHECK_EQUAL(copy(to, edge + 64, nic.space, near, 100), NIC_COPY_OK);
	CHECK_EQUAL(world_asked, 1);
	target_tell(self, 'd');
	idle_target(self);
}

/* A forked child starts with its own tables. */
static void forked(void)
{
	struct target a, b;

	edge = shared_memory(PAGE);
	begin();
	start(&a, 2, idle_target);
	CHECK_EQUAL(copy(a.space, edge, nic.space, edge, 8), NIC_COPY_OK);
	world_asked = 0;
	start(&b, 3, in_the_child);
	nic_store((u32 *)edge, a.space);
	target_tell(&b, 'g');
	CHECK_EQUAL(target_hear(&b), 'd');
	target_end(&b);
	target_end(&a);
}

static const struct test_case cases[] = {
	{ "lengths", lengths },
	{ "lists", lists },
	{ "agent", agent },
	{ "far_unmapped", far_unmapped },
	{ "far_protected", far_protected },
	{ "near_faults", near_faults },
	{ "checked_pages", checked_pages },
	{ "impossible", impossible },
	{ "gone", gone },
	{ "never_there", never_there },
	{ "slot_reused", slot_reused },
	{ "descriptor_stolen", descriptor_stolen },
	{ "forked", forked },
};

int main(int argc, char **argv)
{
	static const char *const names[] = { "vm", "refused", "descriptor" };

	CHECK(argc > 1);
	while (strcmp(argv[1], names[method]) != 0) {
		method++;
		CHECK(method < ARRAY_SIZE(names));
	}
	return run_cases(cases, ARRAY_SIZE(cases), argc - 1, argv + 1);
}
