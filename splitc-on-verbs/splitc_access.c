// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Accesses this processor's memory on behalf of others.
 *
 * Addresses are not checked before they are used. If there is no such memory, the signal
 * handler prints the message that ends the run.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "splitc_core.h"

/* The access that is in progress, for the signal handler. */
static struct access {
	volatile sig_atomic_t active;
	const char *what;
	uint64_t address, length;
	int by;
	bool writes;
} current;

static struct sigaction before[2];

void sc_bad_access(const char *what, uint64_t length, uint64_t address, int proc, int by,
		   bool there)
{
	sc_fail("%s of %llu byte%s at 0x%llx of processor %d, by processor %d: %s", what,
		(unsigned long long)length, length == 1 ? "" : "s", (unsigned long long)address,
		proc, by, there ? "that may not be written" : "there is no such memory");
}

/*
 * Handler of SIGSEGV and SIGBUS. During an access, the fault comes from the copy, which
 * holds no lock, so printing the message is safe. Otherwise, the handler restores the
 * previous one and returns; the instruction faults again and reaches that handler.
 */
static void fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (!current.active) {
		sigaction(number, &before[number == SIGBUS], NULL);
		return;
	}
	current.active = 0;
	sc_bad_access(current.what, current.length, current.address, splitc_my_proc, current.by,
		      current.writes && number == SIGSEGV && info->si_code == SEGV_ACCERR);
}

void sc_access_open(void)
{
	struct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGSEGV, &action, &before[0]);
	sigaction(SIGBUS, &action, &before[1]);
}

static inline void begin(const char *what, uint64_t address, uint64_t n, int by, bool writes)
{
	current.what = what;
	current.address = address;
	current.length = n;
	current.by = by;
	current.writes = writes;
	current.active = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void end(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	current.active = 0;
}

/* Copies with a constant size for values, so that aligned ones are accessed as a whole. */
static inline void copy(void *to, const void *from, size_t n)
{
	switch (n) {
	case 1:
		memcpy(to, from, 1);
		break;
	case 2:
		memcpy(to, from, 2);
		break;
	case 4:
		memcpy(to, from, 4);
		break;
	case 8:
		memcpy(to, from, 8);
		break;
	default:
		memcpy(to, from, n);
	}
}

void sc_copy_out(void *to, uint64_t address, size_t n, int by)
{
	begin("read", address, n, by, false);
	copy(to, (const void *)(uintptr_t)address, n);
	end();
}

void sc_copy_in(uint64_t address, const void *from, size_t n, int by, const char *what)
{
	begin(what, address, n, by, true);
	copy((void *)(uintptr_t)address, from, n);
	end();
}

#define MODIFY(type)                                                                               \
	static type modify_##type(type *at, unsigned int op, type a, type b)                       \
	{                                                                                          \
		switch (op) {                                                                      \
		case SC_FETCH_ADD:                                                                 \
			return __atomic_fetch_add(at, a, __ATOMIC_SEQ_CST);                        \
		case SC_EXCHANGE:                                                                  \
			return __atomic_exchange_n(at, a, __ATOMIC_SEQ_CST);                       \
		case SC_FETCH_AND:                                                                 \
			return __atomic_fetch_and(at, a, __ATOMIC_SEQ_CST);                        \
		case SC_FETCH_OR:                                                                  \
			return __atomic_fetch_or(at, a, __ATOMIC_SEQ_CST);                         \
		case SC_FETCH_XOR:                                                                 \
			return __atomic_fetch_xor(at, a, __ATOMIC_SEQ_CST);                        \
		default:                                                                           \
			__atomic_compare_exchange_n(at, &a, b, false, __ATOMIC_SEQ_CST,            \
						    __ATOMIC_SEQ_CST);                             \
			return a;                                                                  \
		}                                                                                  \
	}
MODIFY(uint32_t)
MODIFY(uint64_t)

int64_t sc_modify(uint64_t address, size_t size, unsigned int op, int64_t a, int64_t b, int by)
{
	int64_t old;

	begin("atomic operation", address, size, by, true);
	if (size == sizeof(uint32_t))
		old = (int32_t)modify_uint32_t((uint32_t *)(uintptr_t)address, op, (uint32_t)a,
					       (uint32_t)b);
	else
		old = (int64_t)modify_uint64_t((uint64_t *)(uintptr_t)address, op, (uint64_t)a,
					       (uint64_t)b);
	end();
	return old;
}

static void check_function(uint64_t function, int by)
{
	if (function < sc.image_begin || function >= sc.image_end)
		sc_fail("processor %d calls 0x%llx, which is no function of the program", by,
			(unsigned long long)function);
}

int64_t sc_run_atomic(uint64_t function, uint64_t address, int64_t a, int64_t b, int by)
{
	splitc_atomic_fn run = (splitc_atomic_fn)(uintptr_t)function;
	int64_t result;

	check_function(function, by);
	sc.serving = true;
	result = run((void *)(uintptr_t)address, a, b);
	sc.serving = false;
	return result;
}

void sc_run_rpc(uint64_t function, const void *args, size_t nargs, void *result, size_t nresult,
		int by)
{
	splitc_rpc_fn run = (splitc_rpc_fn)(uintptr_t)function;

	check_function(function, by);
	memset(result, 0, nresult);
	sc.serving = true;
	run(by, args, nargs, result, nresult);
	sc.serving = false;
}
