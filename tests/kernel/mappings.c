// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests memory of the device that a process keeps mapped after the object was destroyed.
 *
 *   limit   the memory counts until the last mapping of it ends, in whichever process
 *   keep    a mapping outlives its context: prints "kept", and checks it after a line of input
 *   make N  creates a CQ of N entries: prints "made" or "none", and waits for input
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../faults/side.h"
#include "vnet-abi.h"
#include "vnet_hw.h"

/* CQ entries: 128 MiB, and 32 KiB. */
#define MANY (1u << 20)
#define FEW 256u
/* Rings may use a quarter of the machine's memory. */
#define RINGS_PART 4
#define MAX_HELD 64
/* Bytes of each mapping that have its mark. */
#define MARKED 64u

struct held {
	uint8_t *at;
	size_t size;
	uint32_t mark;
};

struct keeper {
	struct ibv_context *context;
	struct held held[MAX_HELD];
	unsigned int n;
	uint32_t marks;
};

static size_t page_aligned(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

static size_t ring_size(uint32_t entries)
{
	return page_aligned(VNET_RING_HDR_SIZE + (size_t)entries * VNET_CQE_SIZE);
}

static bool is_held(const struct keeper *k, const void *at)
{
	for (unsigned int i = 0; i < k->n; i++) {
		if (k->held[i].at == at)
			return true;
	}
	return false;
}

/* Offset in the device file of the ring that the provider has just mapped. */
static off_t find_offset(const struct keeper *k, size_t size)
{
	FILE *file = MADE(fopen("/proc/self/maps", "re"));
	unsigned long from, to, offset = 0;
	char line[512], access[8];

	while (!offset && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx %7s %lx", &from, &to, access, &offset) != 4 ||
		    access[3] != 's' || to - from != size || is_held(k, (void *)from))
			offset = 0;
	}
	fclose(file);
	CHECK(offset);
	return (off_t)offset;
}

/* Maps the ring again, and writes a mark. */
static void hold(struct keeper *k, size_t size)
{
	struct held *h = &k->held[k->n];

	CHECK(k->n < MAX_HELD);
	h->size = size;
	h->at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, k->context->cmd_fd,
		     find_offset(k, size));
	CHECK(h->at != MAP_FAILED);
	h->mark = k->marks++;
	fill(h->at, MARKED, h->mark);
	k->n++;
}

static bool is_marked(const struct held *h)
{
	return is_filled(h->at, MARKED, h->mark);
}

static void release(struct keeper *k)
{
	for (unsigned int i = 0; i < k->n; i++)
		CHECK_EQ(munmap(k->held[i].at, k->held[i].size), 0);
	k->n = 0;
}

/* Creates a CQ, maps its ring again, and destroys it. Returns false if there is no memory. */
static bool hold_ring(struct keeper *k, uint32_t entries)
{
	struct ibv_cq *cq = ibv_create_cq(k->context, (int)entries, NULL, NULL, 0);

	if (!cq) {
		CHECK_EQ(errno, ENOMEM);
		return false;
	}
	hold(k, ring_size(entries));
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	return true;
}

static size_t ring_limit(void)
{
	struct sysinfo info;

	CHECK_EQ(sysinfo(&info), 0);
	return info.totalram * info.mem_unit / RINGS_PART;
}

/* Holds rings of destroyed CQs up to the limit, which counts as if the CQs existed. */
static void hold_all(struct keeper *k)
{
	size_t limit = ring_limit(), size = ring_size(MANY);

	while (hold_ring(k, MANY)) {
		if (k->n * size > limit)
			FAIL("%u rings are held, of which %zu may be", k->n, limit / size);
	}
	/* Other rings exist, which are small. */
	CHECK((k->n + 2) * size > limit);
	for (unsigned int i = 0; i < k->n; i++)
		CHECK(is_marked(&k->held[i]));
}

static bool may_have_another(struct keeper *k)
{
	struct keeper other = { .context = k->context };
	bool may = hold_ring(&other, MANY);

	release(&other);
	return may;
}

/* A remaining part of a mapping keeps all of the ring, also after mremap(). */
static void check_parts(struct keeper *k)
{
	struct held *h = &k->held[0];
	size_t half = page_aligned(h->size / 2);
	uint8_t *rest = h->at + half;
	void *place;

	h->size -= half;
	place = mmap(NULL, h->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(place != MAP_FAILED);
	CHECK_EQ(munmap(h->at, half), 0);
	CHECK(!may_have_another(k));
	CHECK(mremap(rest, h->size, h->size, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
	CHECK(!may_have_another(k));
	CHECK_EQ(munmap(place, h->size), 0);
	*h = k->held[--k->n];
	CHECK(may_have_another(k));
}

/* A child's mapping keeps the ring, too. */
static void check_fork(struct keeper *k)
{
	unsigned int n = k->n;
	int status, end[2];
	pid_t pid;
	char c;

	CHECK_EQ(pipe(end), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(end[1]);
		_exit(read(end[0], &c, 1) || !is_marked(&k->held[n - 1]));
	}
	close(end[0]);
	release(k);
	CHECK(!may_have_another(k));
	close(end[1]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK(may_have_another(k));
}

/* A mapping of freed device memory counts until it ends. */
static void check_device_memory(struct keeper *k)
{
	struct ibv_alloc_dm_attr attr = { .log_align_req = 0 };
	struct ibv_device_attr_ex device;
	struct ibv_dm *dm;

	CHECK_EQ(ibv_query_device_ex(k->context, NULL, &device), 0);
	attr.length = device.max_dm_size;
	dm = MADE(ibv_alloc_dm(k->context, &attr));
	hold(k, attr.length);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK(!ibv_alloc_dm(k->context, &attr));
	release(k);
	dm = MADE(ibv_alloc_dm(k->context, &attr));
	CHECK_EQ(ibv_free_dm(dm), 0);
}

static void limit(void)
{
	struct keeper k = { .context = open_device() };

	hold_all(&k);
	note("%u rings of %u entries are held", k.n, MANY);
	check_parts(&k);
	hold_all(&k);
	check_fork(&k);
	check_device_memory(&k);
	CHECK_EQ(ibv_close_device(k.context), 0);
}

/* ------------------------------------------------------------- for a script */

static void say_and_wait(const char *what)
{
	char c;

	printf("%s\n", what);
	CHECK_EQ(fflush(stdout), 0);
	CHECK_EQ(read(STDIN_FILENO, &c, 1), 1);
}

static void keep(void)
{
	struct keeper k = { .context = open_device() };

	CHECK(hold_ring(&k, FEW));
	CHECK_EQ(ibv_close_device(k.context), 0);
	say_and_wait("kept");
	CHECK(is_marked(&k.held[0]));
	release(&k);
}

static void make(int entries)
{
	struct ibv_context *context = open_device();
	struct ibv_cq *cq = ibv_create_cq(context, entries, NULL, NULL, 0);

	if (!cq)
		CHECK_EQ(errno, ENOMEM);
	say_and_wait(cq ? "made" : "none");
	if (cq)
		CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "limit"))
		limit();
	else if (argc == 2 && !strcmp(argv[1], "keep"))
		keep();
	else if (argc == 3 && !strcmp(argv[1], "make"))
		make(atoi(argv[2]));
	else
		FAIL("usage: mappings limit | keep | make ENTRIES");
	return 0;
}
