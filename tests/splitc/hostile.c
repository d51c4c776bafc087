// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Processor 0 sends a malformed message of stores. The script checks the error message.
 *
 *	splitc_test_hostile WHAT
 */
#include "check.h"
#include "splitc_core.h"

static long cell;

static void send(const void *data, uint32_t nbytes, uint32_t length)
{
	splitc_gptr there = SPLITC_BITS(splitc_toglobal(PROCS - 1, &cell));

	sc_request(&(struct sc_request){ .proc = PROCS - 1,
					 .op = SC_STORE,
					 .length = length,
					 .address = splitc_gptr_address(there),
					 .data = data,
					 .nbytes = nbytes });
}

static void send_wrong(const char *what)
{
	splitc_gptr there = SPLITC_BITS(splitc_toglobal(PROCS - 1, &cell));
	uint64_t words[4] = { 1, 0, 2, 3 };

	words[1] = splitc_gptr_address(there) | 8ull << SC_PLACE_BITS;
	if (!strcmp(what, "good"))
		send(words, 24, 8);
	else if (!strcmp(what, "short"))
		send(words, 8, 9);
	else if (!strcmp(what, "half-a-place"))
		send(words, 12, 8);
	else if (!strcmp(what, "no-data"))
		send(words, 16, 8);
	else if (!strcmp(what, "half-data"))
		send(words, 20, 8);
	else if (!strcmp(what, "padding"))
		send(words, 8, 3);
	else if (!strcmp(what, "huge"))
		send(words, 8, UINT32_MAX);
	else if (!strcmp(what, "more"))
		send(words, 28, 8);
	else
		splitc_error("there is no such message");
}

int main(int argc, char **argv)
{
	splitc_init();
	CHECK(argc == 2);
	splitc_on_one send_wrong(argv[1]);
	if (MYPROC == PROCS - 1) {
		splitc_store_sync(2 * sizeof(cell));
		IS(cell, 2);
	}
	splitc_exit(0);
}
