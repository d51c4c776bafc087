// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "base/real.h"

#include <dlfcn.h>

struct real real_functions;

/* Several threads may run this at once: all store the same values. */
void real_init(void)
{
#define REAL_RESOLVE(name)                                                                         \
	__atomic_store_n((void **)&real_functions.name, dlsym(RTLD_NEXT, #name), __ATOMIC_RELAXED);
	REAL_FUNCTIONS(REAL_RESOLVE)
#undef REAL_RESOLVE
	__atomic_store_n(&real_functions.ready, true, __ATOMIC_RELEASE);
}
