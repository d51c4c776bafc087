/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of Split-C share. */
#ifndef SPLITC_CORE_H
#define SPLITC_CORE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "include/splitc.h"
#include "am_device.h"
#include "splitc_settings.h"

#define SC_FRAGMENT 4096 /* bytes of memory that one message brings */

struct job;

/* What this process has. */
struct sc {
	struct job *job;
	struct am_device device;
	bool ready; /* it can communicate */
};
extern struct sc sc;

/* Ends all processes: splitc_error(), of which only the first call does anything. */
void sc_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
