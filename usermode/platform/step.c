// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Test hook: kills or stops this process at a numbered step of the firmware.
 *
 * Part of libvnet-preload-steps.so only (NIC_TEST_STEPS).
 *
 *   VNET_TEST_STEP=STEP[:SIGNAL[:COUNT]]   send SIGNAL (by default SIGKILL) to this
 *                                          process the COUNTth time it reaches STEP
 */
#include <stdlib.h>

#include "host.h"
#include "raw.h"

static int the_step = -1, the_signal = SIGKILL;
static u32 count = 1;

static void __attribute__((constructor)) read_plan(void)
{
	const char *text = getenv("VNET_TEST_STEP");
	char *rest;

	if (!text)
		return;
	the_step = (int)strtol(text, &rest, 10);
	if (*rest == ':')
		the_signal = (int)strtol(rest + 1, &rest, 10);
	if (*rest == ':')
		count = (u32)strtoul(rest + 1, NULL, 10);
}

void plat_step(int step)
{
	if (likely(step != the_step) || __atomic_sub_fetch(&count, 1, __ATOMIC_RELAXED))
		return;
	(void)raw_syscall(SYS_kill, raw_getpid(), the_signal, 0, 0, 0, 0);
}
