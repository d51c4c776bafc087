// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two threads notice that a peer refuses this node. When either returns, the user has been told:
 * the program may end then.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

#include "../../usermode/platform/link.h"
#include "world.h"

/* Turns that the reporting thread leaves to the other one. */
#define TURNS 200

static struct link_memory memory;
static sem_t telling, second;
static u32 told;

static void tell(struct host *h, const u8 *gid, u32 why)
{
	(void)h;
	(void)gid;
	CHECK_EQUAL(why, LINK_OTHER_KEY);
	sem_post(&telling);
	sem_wait(&second);
	for (u32 i = 0; i < TURNS; i++)
		sched_yield();
	__atomic_store_n(&told, 1, __ATOMIC_RELEASE);
}

static void *report(void *unused)
{
	(void)unused;
	link_report_refusals(&host);
	return NULL;
}

int main(void)
{
	static const u8 gid[16] = { 1 };
	pthread_t first;

	host.link.memory = &memory;
	host.refused = tell;
	sem_init(&telling, 0, 0);
	sem_init(&second, 0, 0);
	link_report_refusals(&host);
	CHECK_EQUAL(told, 0);
	link_refused(&memory, gid, LINK_OTHER_KEY);
	CHECK_EQUAL(pthread_create(&first, NULL, report, NULL), 0);
	sem_wait(&telling);
	sem_post(&second);
	link_report_refusals(&host);
	CHECK_EQUAL(__atomic_load_n(&told, __ATOMIC_ACQUIRE), 1);
	pthread_join(first, NULL);
	return 0;
}
