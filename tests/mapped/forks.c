// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that fork() ends while another thread unmaps mapped pages with a lock held that a fork
 * handler of its library takes, as allocators do.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocator.h"
#include "servant.h"

#define LENGTH (4 * 4096u)
enum { FORKS = 200 };

static struct servant servant;
static bool ends;

static void *unmap_all_the_time(void *arg)
{
	while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) {
		void *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct ibv_mr *mr;

		CHECK(memory != MAP_FAILED);
		mr = MADE(ibv_reg_mr(servant.side.pd, memory, LENGTH, SIDE_ACCESS));
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		allocator_unmap(memory, LENGTH);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	int status;

	servant_start(&servant);
	CHECK_EQ(pthread_create(&thread, NULL, unmap_all_the_time, NULL), 0);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		CHECK(pid > 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	__atomic_store_n(&ends, true, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	servant_end(&servant);
	return 0;
}
