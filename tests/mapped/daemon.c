// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that mapped pages outlive their daemon: they keep their contents, are mapped again by the
 * next daemon's memory file, and the old file is closed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "servant.h"

#define LENGTH (64 * 4096u)
enum { DAEMONS = 4 };

/* Number of memory files that this process has open. */
static int count_files(void)
{
	DIR *dir = MADE(opendir("/proc/self/fd"));
	struct dirent *entry;
	char target[64];
	int n = 0;

	while ((entry = readdir(dir))) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[length > 0 ? length : 0] = '\0';
		n += !!strstr(target, "/memfd:vnet-memory");
	}
	closedir(dir);
	return n;
}

static void end_daemon(struct ibv_context *context)
{
	struct ibv_async_event event;

	CHECK_EQ(kill(atoi(ask_status(".pid")), SIGKILL), 0);
	CHECK_EQ(ibv_get_async_event(context, &event), 0);
	CHECK_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
}

int main(void)
{
	uint8_t *memory =
		mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	fill(memory, LENGTH, 7);
	for (int i = 0; i < DAEMONS; i++) {
		struct ibv_context *context = open_device();
		struct ibv_pd *pd = MADE(ibv_alloc_pd(context));
		struct ibv_mr *mr = MADE(ibv_reg_mr(pd, memory, LENGTH, SIDE_ACCESS));

		CHECK(is_mapped(memory));
		CHECK(is_filled(memory, LENGTH, (uint32_t)(7 + i)));
		CHECK_EQ(count_files(), 1);
		fill(memory, LENGTH, (uint32_t)(8 + i));
		end_daemon(context);
		CHECK(is_filled(memory, LENGTH, (uint32_t)(8 + i)));
		(void)ibv_dereg_mr(mr);
		(void)ibv_dealloc_pd(pd);
		(void)ibv_close_device(context);
	}
	return 0;
}
