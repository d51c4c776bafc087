// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Spread memory: an allocator of memory at the same addresses on all processors.
 *
 * So the address of each element of an array can be computed. All processors keep the same
 * list of free memory, because all make the same calls.
 */
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "splitc_core.h"
#include "job/job.h"

#define ALIGNMENT 64u
#define GROWTH ((uintptr_t)1 << 20)

/* A range of spread memory. The list is ordered by address, and covers all of it. */
struct piece {
	struct piece *next;
	uintptr_t begin, size;
	bool used;
};

static struct piece *pieces;
static uintptr_t usable; /* addresses below are readable and writable */

static int note_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	sc.image = info->dlpi_addr;
	sc.image_begin = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		if (begin < sc.image_begin)
			sc.image_begin = begin;
		if (begin + segment->p_memsz > sc.image_end)
			sc.image_end = begin + segment->p_memsz;
	}
	return 1; /* stop: the first object is the program */
}

static bool reserve(uintptr_t at, size_t size)
{
	void *memory = mmap((void *)at, size, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			    0);

	if (memory == MAP_FAILED)
		return false;
	if (memory == (void *)at)
		return true;
	munmap(memory, size);
	return false;
}

/* Whether @here is true on all processors. */
static bool everywhere(bool here)
{
	uint8_t mine = here, *all = calloc((size_t)splitc_procs, 1);

	if (!all || job_exchange(sc.job, &mine, 1, all))
		sc_fail("the launcher does not exchange addresses");
	for (int i = 0; i < splitc_procs; i++)
		here = here && all[i];
	free(all);
	return here;
}

void sc_heap_open(void)
{
	/*
	 * Addresses that are free on most systems, even with sanitizers; the first one most
	 * often.
	 */
	static const uintptr_t places[] = { 0x7e9000000000, 0x7ea800000000, 0x600000000000,
					    0x500000000000, 0x200000000000, 0x4000000000 };
	size_t size = (size_t)sc_settings.heap << 20;

	dl_iterate_phdr(note_program, NULL);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		bool here = reserve(places[i], size);

		if (everywhere(here)) {
			sc.heap_begin = usable = places[i];
			sc.heap_end = places[i] + size;
			break;
		}
		if (here)
			munmap((void *)places[i], size);
	}
	if (!sc.heap_begin)
		sc_fail("there are no %ld MiB of addresses that all processors have free: setting heap",
			sc_settings.heap);
	pieces = calloc(1, sizeof(*pieces));
	if (!pieces)
		sc_fail("no memory");
	pieces->begin = sc.heap_begin;
	pieces->size = size;
}

splitc_gptr splitc_global_of(int proc, const void *local)
{
	uintptr_t address = (uintptr_t)local;

	if (!local)
		return 0;
	if (__builtin_expect(proc < 0 || proc >= splitc_procs || address >> SPLITC_ADDRESS_BITS, 0))
		sc_fail("there is no global pointer to %p of processor %d", local, proc);
	if (address >= sc.image_begin && address < sc.image_end && sc.peers)
		address = address - sc.image + sc.peers[proc].image;
	return splitc_gptr_make(proc, address);
}

static void out_of_memory(size_t size) __attribute__((noreturn));

static void out_of_memory(size_t size)
{
	sc_fail("no %zu bytes of spread memory left for each processor", size);
}

/* Makes the addresses below @end readable and writable. */
static void grow(uintptr_t end)
{
	end = (end + GROWTH - 1) / GROWTH * GROWTH;
	if (end > sc.heap_end)
		end = sc.heap_end;
	if (end <= usable)
		return;
	if (mprotect((void *)usable, end - usable, PROT_READ | PROT_WRITE))
		out_of_memory(end - sc.heap_begin);
	usable = end;
}

/* Splits @piece after @size bytes. */
static void split(struct piece *piece, uintptr_t size)
{
	struct piece *rest;

	if (piece->size == size)
		return;
	rest = calloc(1, sizeof(*rest));
	if (!rest)
		out_of_memory(size);
	rest->begin = piece->begin + size;
	rest->size = piece->size - size;
	rest->next = piece->next;
	piece->next = rest;
	piece->size = size;
}

splitc_gptr splitc_all_spread_malloc(size_t count, size_t size)
{
	size_t rows = count / (size_t)splitc_procs + (count % (size_t)splitc_procs != 0), bytes;
	struct piece *piece;
	uintptr_t fresh;

	if (!sc.ready)
		sc_fail("splitc_init() has not been called");
	if (__builtin_mul_overflow(rows ? rows : 1, size ? size : 1, &bytes) ||
	    bytes > sc.heap_end - sc.heap_begin)
		out_of_memory(bytes);
	bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	for (piece = pieces; piece; piece = piece->next) {
		if (!piece->used && piece->size >= bytes)
			break;
	}
	if (!piece)
		out_of_memory(bytes);
	split(piece, bytes);
	piece->used = true;
	/* Memory that was used before must be cleared. */
	fresh = usable;
	grow(piece->begin + bytes);
	if (piece->begin < fresh)
		memset((void *)piece->begin, 0,
		       (piece->begin + bytes < fresh ? piece->begin + bytes : fresh) -
			       piece->begin);
	/* No processor may access the memory before all have allocated it. */
	splitc_barrier();
	return splitc_gptr_make(0, piece->begin);
}

/* Merges @piece with the free ones that follow it. */
static void join(struct piece *piece)
{
	struct piece *next;

	while ((next = piece->next) && !next->used) {
		piece->size += next->size;
		piece->next = next->next;
		free(next);
	}
}

void splitc_all_spread_free(splitc_gptr spread)
{
	struct piece *piece, *before = NULL;

	if (!spread)
		return;
	/* Other processors may still access the memory. */
	splitc_barrier();
	for (piece = pieces; piece; before = piece, piece = piece->next) {
		if (piece->begin == splitc_gptr_address(spread) && piece->used)
			break;
	}
	if (!piece || splitc_gptr_proc(spread))
		sc_fail("there is no spread memory at 0x%llx to free",
			(unsigned long long)splitc_gptr_address(spread));
	piece->used = false;
	join(piece);
	if (before && !before->used)
		join(before);
}
