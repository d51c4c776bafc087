// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "side.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

static void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		splitc_error("cannot run on CPU %d: %s", cpu, strerror(errno));
}

void side_open(int argc, char **argv, const struct bench_program *prog, struct bench_options *opt)
{
	bench_parse(argc, argv, prog, opt);
	splitc_init();
	if (PROCS != 2)
		splitc_error("wants two processors: vnet run -n 2 %s", argv[0]);
	pin(opt->cpu[MYPROC]);
}

void *side_memory(size_t size, splitc_gptr *theirs)
{
	splitc_gptr all = splitc_all_spread_malloc(2, size);
	void *mine = (void *)(uintptr_t)splitc_gptr_address(all);

	*theirs = splitc_gptr_make(!MYPROC, splitc_gptr_address(all));
	memset(mine, 0, size);
	splitc_barrier();
	return mine;
}
