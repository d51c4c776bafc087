// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "allocator.h"

#include <pthread.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void allocator_unmap(void *memory, size_t length)
{
	pthread_mutex_lock(&lock);
	munmap(memory, length);
	pthread_mutex_unlock(&lock);
}

static void take(void)
{
	pthread_mutex_lock(&lock);
}

static void release(void)
{
	pthread_mutex_unlock(&lock);
}

static void __attribute__((constructor)) load(void)
{
	pthread_atfork(take, release, release);
}
