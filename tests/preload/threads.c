// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Stress test of the preload library with several threads. Some open and use devices, some
 * duplicate and close descriptors, and one forks.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 6

static int rounds = 20;
static bool over;

static void *use_device(void *arg)
{
	struct pair pair;
	struct ibv_cq *cq;
	void *context;

	for (int i = 0; i < rounds; i++) {
		pair_make(&pair);
		expect_traffic(&pair);
		EXPECT(!ibv_req_notify_cq(pair.cq, 0));
		expect_traffic(&pair);
		EXPECT(!ibv_get_cq_event(pair.channel, &cq, &context) && cq == pair.cq);
		ibv_ack_cq_events(cq, 1);
		expect_alive(pair.context);
		pair_end(&pair);
	}
	return NULL;
}

static void *use_descriptors(void *arg)
{
	struct stat st;
	int fd, copy;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
		EXPECT(fd >= 0);
		copy = dup(fd);
		EXPECT(copy >= 0 && !close(fd));
		EXPECT(!fstat(copy, &st) && S_ISCHR(st.st_mode));
		EXPECT(!close(copy));
	}
	return NULL;
}

/* ThreadSanitizer does not support children of a process with several threads. */
#ifdef __SANITIZE_THREAD__
#define FORKS false
#else
#define FORKS true
#endif

static void *fork_often(void *arg)
{
	pid_t pid;

	if (!FORKS)
		return NULL;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		pid = fork();
		EXPECT(pid >= 0);
		if (pid == 0) {
			int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);

			_exit(fd < 0);
		}
		expect_exit(pid, 0);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS + 3];
	int i;

	if (getenv("VNET_SOAK"))
		rounds = 1000;
	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&thread[i], NULL, use_device, NULL));
	EXPECT(!pthread_create(&thread[i++], NULL, use_descriptors, NULL));
	EXPECT(!pthread_create(&thread[i++], NULL, use_descriptors, NULL));
	EXPECT(!pthread_create(&thread[i], NULL, fork_often, NULL));
	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_join(thread[i], NULL));
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (; i < THREADS + 3; i++)
		EXPECT(!pthread_join(thread[i], NULL));
	return 0;
}
