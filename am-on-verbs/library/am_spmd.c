// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* SPMD jobs: endpoints of all processes in one translation table, barrier, all-gather and exit. */
#include "include/am_spmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "am_library.h"
#include "job/job.h"
#include "messages/am_messages.h"

#define BARRIER_HANDLER 1
#define BARRIER_ROUNDS 31

struct spmd_name {
	en_t name;
	tag_t tag;
};

static struct spmd {
	struct job *job;
	int rank, size;
	eb_t eb;
	ep_t ep;
	/* For two barriers: the current one, and the next, which other processes may have begun. */
	unsigned int generation;
	bool arrived[2][BARRIER_ROUNDS];
} spmd = { .size = 1 };

/* Handles a barrier message. Its data are the generation and the round. */
static void barrier_handler(struct am_ep *ep, const struct am_message *message, const void *data)
{
	uint32_t word[2];

	(void)ep;
	if (message->nbytes != sizeof(word))
		return;
	memcpy(word, data, sizeof(word));
	if (word[1] < BARRIER_ROUNDS)
		spmd.arrived[word[0] & 1][word[1]] = true;
}

int AM_SPMDMyProc(void)
{
	return spmd.rank;
}

int AM_SPMDNumProcs(void)
{
	return spmd.size;
}

/* Maps the endpoints of all processes, with their ranks as indices. */
static int map_all(void)
{
	struct spmd_name mine, *all;
	int err;

	if (AM_SetNumTranslations(spmd.ep, spmd.size > 256 ? spmd.size : 256))
		return AM_ERR_RESOURCE;
	all = calloc((size_t)spmd.size, sizeof(*all));
	if (!all)
		return AM_ERR_RESOURCE;
	memset(&mine, 0, sizeof(mine));
	mine.name = spmd.ep->name;
	mine.tag = spmd.ep->tag;
	err = job_exchange(spmd.job, &mine, sizeof(mine), all) ? AM_ERR_RESOURCE : AM_OK;
	for (int i = 0; i < spmd.size && !err; i++)
		err = AM_Map(spmd.ep, i, all[i].name, all[i].tag);
	free(all);
	return err;
}

static tag_t random_tag(void)
{
	tag_t tag = 0;

	while (tag == AM_NONE || tag == AM_ALL) {
		if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
			tag = AM_NONE;
	}
	return tag;
}

static int open_endpoint(int type)
{
	en_t name;
	int err = AM_AllocateBundle(type, &spmd.eb);

	if (!err)
		err = AM_AllocateEndpoint(spmd.eb, &spmd.ep, &name);
	if (!err)
		err = AM_SetTag(spmd.ep, random_tag());
	return err ? err : map_all();
}

int AM_SPMDStartup(int type, eb_t *eb, ep_t *ep)
{
	int err;

	if (!eb || !ep || type < 0 || type >= AM_NUM_BUNDLE_MODES)
		return AM_ERR_BAD_ARG;
	if (spmd.job)
		return AM_ERR_IN_USE;
	err = job_open(&spmd.job);
	if (err) {
		fprintf(stderr, "am: cannot join the job: %s\n", strerror(err));
		return AM_ERR_RESOURCE;
	}
	spmd.rank = job_rank(spmd.job);
	spmd.size = job_size(spmd.job);
	/*
	 * A single process may communicate with processes outside of the job. Their number
	 * is unknown, so keep the assumption that CPUs are shared.
	 */
	if (spmd.size > 1)
		am_cpus_shared(job_crowded(spmd.job));
	am_system_handler(BARRIER_HANDLER, barrier_handler);
	err = AM_Init();
	if (!err)
		err = open_endpoint(type);
	if (err)
		return err;
	*eb = spmd.eb;
	*ep = spmd.ep;
	return AM_OK;
}

/*
 * Dissemination barrier: in round r, each process notifies the one at distance 2^r, and
 * waits for a notification from distance -2^r. After the last round, all have heard from
 * all.
 */
int AM_SPMDBarrier(void)
{
	unsigned int generation, round = 0;
	bool *arrived;
	int err;

	if (!spmd.ep)
		return AM_ERR_NOT_INIT;
	generation = spmd.generation++;
	arrived = spmd.arrived[generation & 1];
	for (int step = 1; step < spmd.size; step *= 2, round++) {
		uint32_t word[2] = { generation, round };

		err = am_system_request(spmd.ep, (spmd.rank + step) % spmd.size, BARRIER_HANDLER, 0,
					NULL, word, sizeof(word));
		while (!err && !arrived[round])
			err = AM_Poll(spmd.eb);
		if (err)
			return err;
		arrived[round] = false;
	}
	return AM_OK;
}

int AM_SPMDAllGather(const void *source, void *dest, size_t len)
{
	int err = AM_SPMDBarrier();

	if (err)
		return err;
	if (len && (!source || !dest))
		return AM_ERR_BAD_ARG;
	return job_exchange(spmd.job, source, len, dest) ? AM_ERR_RESOURCE : AM_OK;
}

void AM_SPMDExit(int exitcode)
{
	if (exitcode) {
		char message[64];

		snprintf(message, sizeof(message), "process %d exits with status %d", spmd.rank,
			 exitcode);
		if (spmd.job)
			job_abort(spmd.job, exitcode, message);
		exit(exitcode);
	}
	if (spmd.ep) {
		AM_SPMDBarrier();
		am_drain_all();
		/*
		 * Messages that others are sending may need polls of this process
		 * (mapping_v1.c).
		 */
		AM_SPMDBarrier();
		am_drain_all();
	}
	/* Waits until no process has messages in transit. */
	if (spmd.job)
		job_barrier(spmd.job);
	if (spmd.ep)
		AM_Terminate();
	if (spmd.job)
		job_close(spmd.job);
	exit(0);
}
