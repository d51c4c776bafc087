// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Start and exit of Split-C in this process, and its clocks. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "splitc_mapping.h"
#include "job/job.h"

/* Consecutive empty polls before the CPU is yielded, if job_crowded() and otherwise. */
#define CROWDED 100
#define ALONE 2000

struct sc sc;
int splitc_my_proc, splitc_procs = 1;

#define TEXT_SIZE 512

static void end_all(const char *text) __attribute__((noreturn));

static void end_all(const char *text)
{
	fflush(stdout);
	job_abort(sc.job, 1, text);
}

static void put_text(char text[TEXT_SIZE], const char *format, va_list args)
{
	int n = snprintf(text, TEXT_SIZE, "processor %d: ", splitc_my_proc);

	vsnprintf(text + n, TEXT_SIZE - (size_t)n, format, args);
}

void splitc_error(const char *format, ...)
{
	char text[TEXT_SIZE];
	va_list args;

	va_start(args, format);
	put_text(text, format, args);
	va_end(args);
	end_all(text);
}

void sc_fail(const char *format, ...)
{
	char text[TEXT_SIZE];
	va_list args;

	va_start(args, format);
	put_text(text, format, args);
	va_end(args);
	end_all(text);
}

static void open_device(void)
{
	struct am_device_choice choice = { .who = "splitc",
					   .device = sc_settings.device,
					   .port = sc_settings.port,
					   .gid_index = sc_settings.gid_index,
					   .regions = sc_settings.regions };

	if (am_device_open(&sc.device, &choice))
		sc_fail("the verbs device cannot be used");
}

void splitc_init(void)
{
	const char *list = getenv("SPLITC_SETTINGS");
	int err;

	if (sc.job)
		sc_fail("splitc_init() was called before");
	err = job_open(&sc.job);
	if (err)
		sc_fail("cannot join the job: %s", strerror(err));
	splitc_my_proc = job_rank(sc.job);
	splitc_procs = job_size(sc.job);
	if (splitc_procs > SPLITC_MAX_PROCS)
		sc_fail("there are at most %d processors", SPLITC_MAX_PROCS);
	if (list && sc_settings_read(list))
		sc_fail("SPLITC_SETTINGS cannot be used");
	sc.mapping = sc_settings.mapping == SC_DIRECT ? &sc_mapping_direct : &sc_mapping_messages;
	sc.idle_limit = job_crowded(sc.job) ? CROWDED : ALONE;
	open_device();
	sc_heap_open();
	sc_access_open();
	sc_wire_open();
	sc.ready = true;
}

void splitc_exit(int status)
{
	if (status) {
		char text[64];

		snprintf(text, sizeof(text), "processor %d: exits with status %d", splitc_my_proc,
			 status);
		if (sc.job)
			job_abort(sc.job, status, text);
		exit(status);
	}
	if (sc.ready) {
		/* Wait until no processor has messages in transit. */
		splitc_sync();
		splitc_barrier();
		sc_drain();
		job_barrier(sc.job);
		sc.closing = true;
		sc_exports_close();
		sc_wire_close();
		am_device_close(&sc.device);
	}
	job_close(sc.job);
	exit(0);
}

const char *splitc_mapping_name(void)
{
	return sc.mapping ? sc.mapping->name : "";
}

uint64_t splitc_get_ticks(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

double splitc_get_seconds(void)
{
	return (double)splitc_get_ticks() * 1e-9;
}
