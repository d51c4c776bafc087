// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes a mistake in the use of Split-C that must end the run. The script checks the message.
 *
 *	splitc_test_faults OPERATION [KIND]	processor 0 accesses memory of the last one
 *	splitc_test_faults wait			all print "ready", and wait forever
 *	splitc_test_faults WHAT			other mistakes
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static void forever(void)
{
	for (;;)
		splitc_poll();
}

/* Returns a pointer to memory of the last processor, of the given kind. */
static splitc_gptr bad_pointer(const char *kind)
{
	static splitc_gptr pointer;
	void *memory = mmap(NULL, 1 << 20,
			    !strcmp(kind, "constant") ? PROT_READ : PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	pointer = SPLITC_BITS(splitc_toglobal(MYPROC, (long *)memory));
	if (!strcmp(kind, "none"))
		pointer = splitc_gptr_make(MYPROC, 0x1238);
	splitc_barrier();
	pointer = splitc_read(splitc_toglobal(PROCS - 1, &pointer));
	if (!strcmp(kind, "gone")) {
		/* The memory existed, and was read. */
		splitc_read_long(pointer);
		splitc_barrier();
		munmap(memory, 1 << 20);
		splitc_barrier();
	}
	splitc_barrier();
	return pointer;
}

static long other; /* a processor number */

/* Puts the bad store between good ones, which are sent in one message. */
static void store_among_others(splitc_gptr p)
{
	for (int i = 0; i < 3; i++)
		splitc_store_long(SPLITC_BITS(splitc_toglobal(PROCS - 1, &other)), i);
	splitc_store_long(p, 1);
	splitc_store_long(SPLITC_BITS(splitc_toglobal(PROCS - 1, &other)), 3);
}

static void reach(const char *operation, splitc_gptr p)
{
	static char bytes[100000];
	long value;

	if (!strcmp(operation, "read"))
		splitc_read_long(p);
	else if (!strcmp(operation, "get"))
		splitc_get_long(&value, p);
	else if (!strcmp(operation, "write"))
		splitc_write_long(p, 1);
	else if (!strcmp(operation, "put"))
		splitc_put_long(p, 1);
	else if (!strcmp(operation, "store"))
		splitc_store_long(p, 1);
	else if (!strcmp(operation, "stores"))
		store_among_others(p);
	else if (!strcmp(operation, "bulk-get"))
		splitc_bulk_get(bytes, p, sizeof(bytes));
	else if (!strcmp(operation, "bulk-put"))
		splitc_bulk_put(p, bytes, sizeof(bytes));
	else if (!strcmp(operation, "atomic"))
		splitc_fetch_and_add_long(p, 1);
	else if (!strcmp(operation, "atomic-int"))
		splitc_fetch_and_add_int(p, 1);
	else
		splitc_error("there is no operation %s", operation);
	splitc_sync();
	splitc_all_store_sync();
}

static long communicates(void *local, long a, long b)
{
	return splitc_read_long(splitc_gptr_make((int)*(long *)local, (uintptr_t)local));
}

/* A procedure that stores from a processor whose earlier store is unacknowledged. */
static long stores(void *local, long a, long b)
{
	splitc_store_long(splitc_gptr_make(0, (uintptr_t)local), 1);
	return 0;
}

static void mistake(const char *what)
{
	if (!strcmp(what, "wait")) {
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		forever();
	}
	if (!strcmp(what, "error"))
		splitc_error("wrong by %d", 7);
	if (!strcmp(what, "exit"))
		splitc_exit(9);
	if (!strcmp(what, "no-processor"))
		splitc_read_int(splitc_gptr_make(PROCS, 0x1000));
	if (!strcmp(what, "unaligned"))
		splitc_fetch_and_add_int(SPLITC_BITS(splitc_toglobal(0, (char *)&other + 1)), 1);
	if (!strcmp(what, "not-ours"))
		splitc_atomic((splitc_atomic_fn)(uintptr_t)getpid, splitc_gptr_make(PROCS - 1, 1),
			      0, 0);
	if (!strcmp(what, "communicates"))
		splitc_atomic(communicates, SPLITC_BITS(splitc_toglobal(PROCS - 1, &other)), 0, 0);
	if (!strcmp(what, "stores")) {
		splitc_store_sync(sizeof(other));
		splitc_atomic(stores, SPLITC_BITS(splitc_toglobal(PROCS - 1, &other)), 0, 0);
	}
	if (!strcmp(what, "too-much"))
		splitc_all_spread_malloc((size_t)1 << 60, 1);
	if (!strcmp(what, "free"))
		splitc_all_spread_free(SPLITC_BITS(splitc_toglobal(0, &other)));
	splitc_error("nothing happened");
}

int main(int argc, char **argv)
{
	splitc_gptr p;

	splitc_init();
	CHECK(argc > 1);
	if (argc == 2) {
		bool all = !strcmp(argv[1], "wait") || !strcmp(argv[1], "too-much") ||
			   !strcmp(argv[1], "free");

		if (MYPROC == PROCS - 1 && !strcmp(argv[1], "stores"))
			splitc_store_long(SPLITC_BITS(splitc_toglobal(0, &other)), 0);
		if (MYPROC == 0 || all)
			mistake(argv[1]);
		forever();
	}
	p = bad_pointer(argv[2]);
	if (MYPROC == 0)
		reach(argv[1], p);
	forever();
}
