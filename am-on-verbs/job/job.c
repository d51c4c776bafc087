// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "job.h"

#include <errno.h>
#include <pmix.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct job {
	bool alone; /* no PMIx server: a job of one process */
	bool launcher_tells; /* the launcher prints the message of job_abort() */
	pmix_proc_t self;
	int size;
	int local_size;
	unsigned int exchanges;
	bool watching;
	size_t watch; /* PMIx's id of the event handler */
};

/*
 * PMIx passes no argument to an event handler, and a process joins at most one job, so
 * these are static. They outlive the job, because an event may arrive late.
 */
static atomic_flag opened = ATOMIC_FLAG_INIT;
static atomic_int failed_rank = -1;
static int failed_fd = -1;

static int error_of(pmix_status_t status)
{
	switch (status) {
	case PMIX_SUCCESS:
		return 0;
	case PMIX_ERR_NOMEM:
	case PMIX_ERR_OUT_OF_RESOURCE:
		return ENOMEM;
	case PMIX_ERR_UNREACH:
	case PMIX_ERR_LOST_CONNECTION:
		return ECONNRESET;
	default:
		return EIO;
	}
}

/* An attribute of the whole job; 0 if PMIx does not have it. */
static uint32_t job_number(const struct job *job, const char *key)
{
	pmix_proc_t everybody;
	pmix_value_t *value;
	uint32_t number = 0;

	PMIX_LOAD_PROCID(&everybody, job->self.nspace, PMIX_RANK_WILDCARD);
	if (PMIx_Get(&everybody, key, NULL, 0, &value) != PMIX_SUCCESS)
		return 0;
	if (value->type == PMIX_UINT32)
		number = value->data.uint32;
	PMIX_VALUE_RELEASE(value);
	return number;
}

/* Event handler; runs in PMIx's thread. Stores the first failed rank. */
static void process_failed(size_t handler, pmix_status_t status, const pmix_proc_t *source,
			   pmix_info_t info[], size_t ninfo, pmix_info_t results[], size_t nresults,
			   pmix_event_notification_cbfunc_fn_t done, void *done_arg)
{
	const pmix_proc_t *who = source;
	int nobody = -1;

	(void)handler, (void)status, (void)results, (void)nresults;
	for (size_t i = 0; i < ninfo; i++)
		if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) &&
		    info[i].value.type == PMIX_PROC)
			who = info[i].value.data.proc;
	if (who && who->rank <= PMIX_RANK_VALID &&
	    atomic_compare_exchange_strong(&failed_rank, &nobody, (int)who->rank))
		eventfd_write(failed_fd, 1);
	if (done)
		done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, done_arg);
}

struct watch_result {
	sem_t done;
	pmix_status_t status;
	size_t number;
};

static void watch_registered(pmix_status_t status, size_t number, void *arg)
{
	struct watch_result *result = arg;

	result->status = status;
	result->number = number;
	sem_post(&result->done);
}

/*
 * Subscribes to events of failed processes. If the launcher does not support them,
 * job_failed() stays -1.
 */
static void watch(struct job *job)
{
	pmix_status_t codes[] = { PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTED_BY_SIG,
				  PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_ERR_PROC_REQUESTED_ABORT };
	struct watch_result result = { .status = PMIX_ERROR };

	sem_init(&result.done, 0, 0);
	PMIx_Register_event_handler(codes, sizeof(codes) / sizeof(codes[0]), NULL, 0,
				    process_failed, watch_registered, &result);
	while (sem_wait(&result.done) && errno == EINTR)
		;
	sem_destroy(&result.done);
	job->watching = result.status == PMIX_SUCCESS;
	job->watch = result.number;
}

static int join(struct job *job)
{
	const char *launcher = getenv("VNET_LAUNCH");
	pmix_status_t status;
	uint32_t size, local;

	status = PMIx_Init(&job->self, NULL, 0);
	if (status != PMIX_SUCCESS)
		return status == PMIX_ERR_NOMEM ? ENOMEM : ECONNREFUSED;
	size = job_number(job, PMIX_JOB_SIZE);
	local = job_number(job, PMIX_LOCAL_SIZE);
	if (size == 0 || size > INT32_MAX || job->self.rank >= size) {
		PMIx_Finalize(NULL, 0);
		return EIO;
	}
	job->size = (int)size;
	job->local_size = local && local <= size ? (int)local : 1;
	job->launcher_tells = launcher && !strcmp(launcher, job->self.nspace);
	watch(job);
	return 0;
}

int job_open(struct job **result)
{
	struct job *job;
	int err;

	if (atomic_flag_test_and_set(&opened))
		return EALREADY;
	job = calloc(1, sizeof(*job));
	if (!job) {
		err = ENOMEM;
		goto not_opened;
	}
	failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (failed_fd < 0) {
		err = errno;
		goto free_job;
	}
	/*
	 * Each PMIx server sets it. Without a server, PMIx_Init() makes a job of one
	 * process or fails, depending on its version, and starts a thread.
	 */
	job->alone = !getenv("PMIX_NAMESPACE");
	job->size = job->local_size = 1;
	err = job->alone ? 0 : join(job);
	if (err)
		goto close_fd;
	*result = job;
	return 0;

close_fd:
	close(failed_fd);
	failed_fd = -1;
free_job:
	free(job);
not_opened:
	atomic_flag_clear(&opened);
	return err;
}

int job_rank(const struct job *job)
{
	return (int)job->self.rank;
}

int job_size(const struct job *job)
{
	return job->size;
}

int job_local_size(const struct job *job)
{
	return job->local_size;
}

bool job_crowded(const struct job *job)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) || job->local_size > CPU_COUNT(&cpus);
}

static pmix_status_t fence(bool collect)
{
	pmix_info_t info;
	pmix_status_t status;

	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
	status = PMIx_Fence(NULL, 0, &info, 1);
	PMIX_INFO_DESTRUCT(&info);
	return status;
}

static pmix_status_t publish(const char *key, const void *mine, size_t len)
{
	pmix_value_t value = { .type = PMIX_BYTE_OBJECT };
	pmix_status_t status;

	/* PMIx only reads from it, but its type is not const. */
	value.data.bo.bytes = (char *)(uintptr_t)mine;
	value.data.bo.size = len;
	status = PMIx_Put(PMIX_GLOBAL, key, &value);
	return status == PMIX_SUCCESS ? PMIx_Commit() : status;
}

static int fetch(const struct job *job, int rank, const char *key, void *to, size_t len)
{
	pmix_proc_t who;
	pmix_value_t *value;
	pmix_status_t status;
	int err = 0;

	PMIX_LOAD_PROCID(&who, job->self.nspace, (pmix_rank_t)rank);
	status = PMIx_Get(&who, key, NULL, 0, &value);
	if (status != PMIX_SUCCESS)
		return error_of(status);
	if (value->type == PMIX_BYTE_OBJECT && value->data.bo.size == len)
		memcpy(to, value->data.bo.bytes, len);
	else
		err = EPROTO;
	PMIX_VALUE_RELEASE(value);
	return err;
}

int job_exchange(struct job *job, const void *mine, size_t len, void *all)
{
	pmix_key_t key = "";
	pmix_status_t status;
	int err = 0;

	if (len == 0)
		return job_barrier(job);
	memcpy((char *)all + (size_t)job_rank(job) * len, mine, len);
	if (job->alone)
		return 0;
	/* A new key for each exchange: processes may have cached the value of an old key. */
	snprintf(key, sizeof(key), "vnet.job.%u", job->exchanges++);
	status = publish(key, mine, len);
	if (status == PMIX_SUCCESS)
		status = fence(true);
	if (status != PMIX_SUCCESS)
		return error_of(status);
	for (int rank = 0; rank < job->size && !err; rank++)
		if (rank != job_rank(job))
			err = fetch(job, rank, key, (char *)all + (size_t)rank * len, len);
	return err;
}

int job_barrier(struct job *job)
{
	return job->alone ? 0 : error_of(fence(false));
}

int job_failed(const struct job *job)
{
	(void)job;
	return atomic_load(&failed_rank);
}

int job_failed_fd(const struct job *job)
{
	(void)job;
	return failed_fd;
}

void job_abort(struct job *job, int status, const char *message)
{
	if (status < 1 || status > 255)
		status = 1;
	if (!job || job->alone)
		dprintf(STDERR_FILENO, "%s\n", message);
	else if (!job->launcher_tells)
		dprintf(STDERR_FILENO, "rank %d: %s\n", job_rank(job), message);
	if (job && !job->alone)
		PMIx_Abort(status, message, NULL, 0);
	_exit(status);
}

int job_close(struct job *job)
{
	int err = 0;

	if (!job)
		return 0;
	if (job->watching)
		PMIx_Deregister_event_handler(job->watch, NULL, NULL);
	if (!job->alone)
		err = error_of(PMIx_Finalize(NULL, 0));
	free(job);
	return err;
}
