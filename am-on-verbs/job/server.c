// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "server.h"

#include <errno.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ranks.h"

static pmix_nspace_t name; /* PMIx namespace of the job */
static int size;
static int wake_fd = -1;

/* Written by PMIx's thread and read by the launcher. Guarded by @lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum member members[MAX_RANKS];
static bool somebody_joined;
static bool aborted;
static struct server_abort first_abort;

static bool ours(const pmix_proc_t *proc)
{
	return PMIX_CHECK_NSPACE(proc->nspace, name) && proc->rank < (pmix_rank_t)size;
}

static void set_member(const pmix_proc_t *proc, enum member member)
{
	if (!ours(proc))
		return;
	pthread_mutex_lock(&lock);
	members[proc->rank] = member;
	somebody_joined = true;
	pthread_mutex_unlock(&lock);
	eventfd_write(wake_fd, 1);
}

/* Callbacks. PMIx calls them in its thread; each completes at once. */

static pmix_status_t client_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
				      size_t ninfo, pmix_op_cbfunc_t done, void *arg)
{
	(void)object, (void)info, (void)ninfo;
	set_member(proc, MEMBER_JOINED);
	if (done)
		done(PMIX_SUCCESS, arg);
	return PMIX_SUCCESS;
}

static pmix_status_t client_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
				      void *arg)
{
	(void)object;
	set_member(proc, MEMBER_LEFT);
	if (done)
		done(PMIX_SUCCESS, arg);
	return PMIX_SUCCESS;
}

/* Ends all processes, whichever of them the caller named. */
static pmix_status_t client_aborts(const pmix_proc_t *proc, void *object, int status,
				   const char message[], pmix_proc_t procs[], size_t nprocs,
				   pmix_op_cbfunc_t done, void *arg)
{
	(void)object, (void)procs, (void)nprocs;
	pthread_mutex_lock(&lock);
	if (!aborted && ours(proc)) {
		aborted = true;
		first_abort.rank = (int)proc->rank;
		first_abort.status = status;
		snprintf(first_abort.message, sizeof(first_abort.message), "%s",
			 message ? message : "");
	}
	pthread_mutex_unlock(&lock);
	eventfd_write(wake_fd, 1);
	if (done)
		done(PMIX_SUCCESS, arg);
	return PMIX_SUCCESS;
}

/* All processes of the job are clients of this server, so the collected data are complete. */
static pmix_status_t fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
			   size_t ninfo, char *data, size_t ndata, pmix_modex_cbfunc_t done,
			   void *arg)
{
	(void)procs, (void)nprocs, (void)info, (void)ninfo;
	if (done)
		done(PMIX_SUCCESS, data, ndata, arg, free, data);
	else
		free(data);
	return PMIX_SUCCESS;
}

static pmix_status_t register_events(pmix_status_t *codes, size_t ncodes, const pmix_info_t info[],
				     size_t ninfo, pmix_op_cbfunc_t done, void *arg)
{
	(void)codes, (void)ncodes, (void)info, (void)ninfo, (void)done, (void)arg;
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t deregister_events(pmix_status_t *codes, size_t ncodes, pmix_op_cbfunc_t done,
				       void *arg)
{
	(void)codes, (void)ncodes, (void)done, (void)arg;
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_server_module_t module = {
	.client_connected2 = client_connected,
	.client_finalized = client_finalized,
	.abort = client_aborts,
	.fence_nb = fence,
	.register_events = register_events,
	.deregister_events = deregister_events,
};

/* A call of PMIx that completes in PMIx's thread. */
struct operation {
	sem_t done;
	pmix_status_t status;
};

static void operation_done(pmix_status_t status, void *arg)
{
	struct operation *operation = arg;

	operation->status = status;
	sem_post(&operation->done);
}

/* Waits for the completion. @status is the return value of the call. */
static pmix_status_t finish(struct operation *operation, pmix_status_t status)
{
	if (status == PMIX_OPERATION_SUCCEEDED)
		return PMIX_SUCCESS;
	if (status != PMIX_SUCCESS)
		return status;
	while (sem_wait(&operation->done) && errno == EINTR)
		;
	return operation->status;
}

/* If a PMIx server started the launcher itself, its variables must not reach the processes. */
static void forget_outer_server(void)
{
	char variable[256];

	for (size_t i = 0; environ[i];) {
		size_t length = strcspn(environ[i], "=");

		if (!strncmp(environ[i], "PMIX_", 5) && strncmp(environ[i], "PMIX_MCA_", 9) != 0 &&
		    length < sizeof(variable)) {
			memcpy(variable, environ[i], length);
			variable[length] = '\0';
			unsetenv(variable); /* moves the next variable to index i */
		} else {
			i++;
		}
	}
}

/*
 * PMIx lets hwloc examine the whole machine, which is not needed here. Leaving out its PCI
 * devices halves the start-up time of a job.
 */
static pmix_status_t init(const char *directory)
{
	bool hurry = !getenv("HWLOC_COMPONENTS");
	pmix_info_t info[4];
	bool tools = false;
	pmix_status_t status;

	if (hurry)
		setenv("HWLOC_COMPONENTS", "-pci", 1);
	PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, directory, PMIX_STRING);
	PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, directory, PMIX_STRING);
	PMIX_INFO_LOAD(&info[2], PMIX_SERVER_NSPACE, name, PMIX_STRING);
	PMIX_INFO_LOAD(&info[3], PMIX_SERVER_TOOL_SUPPORT, &tools, PMIX_BOOL);
	status = PMIx_server_init(&module, info, 4);
	if (hurry)
		unsetenv("HWLOC_COMPONENTS");
	for (size_t i = 0; i < 4; i++)
		PMIX_INFO_DESTRUCT(&info[i]);
	return status;
}

/* Returns a string such as "0,1,2". */
static char *list_ranks(void)
{
	char *list = malloc((size_t)size * 4 + 1), *at = list;

	for (int i = 0; list && i < size; i++)
		at += sprintf(at, "%s%d", i ? "," : "", i);
	return list;
}

/* Attributes of one rank, which each process may query. */
static void describe_rank(pmix_info_t *info, int rank, const char *host)
{
	pmix_rank_t number = (pmix_rank_t)rank;
	uint16_t local = (uint16_t)rank;
	uint32_t zero = 0;
	pmix_data_array_t *array;
	pmix_info_t *about;

	PMIX_DATA_ARRAY_CREATE(array, 7, PMIX_INFO);
	about = array->array;
	PMIX_INFO_LOAD(&about[0], PMIX_RANK, &number, PMIX_PROC_RANK);
	PMIX_INFO_LOAD(&about[1], PMIX_GLOBAL_RANK, &number, PMIX_PROC_RANK);
	PMIX_INFO_LOAD(&about[2], PMIX_LOCAL_RANK, &local, PMIX_UINT16);
	PMIX_INFO_LOAD(&about[3], PMIX_NODE_RANK, &local, PMIX_UINT16);
	PMIX_INFO_LOAD(&about[4], PMIX_APPNUM, &zero, PMIX_UINT32);
	PMIX_INFO_LOAD(&about[5], PMIX_NODEID, &zero, PMIX_UINT32);
	PMIX_INFO_LOAD(&about[6], PMIX_HOSTNAME, host, PMIX_STRING);
	PMIX_LOAD_KEY(info->key, PMIX_PROC_DATA);
	info->value.type = PMIX_DATA_ARRAY;
	info->value.data.darray = array;
}

static pmix_status_t describe_job(const char *directory, const char *host, const char *ranks,
				  const char *node_map, const char *rank_map)
{
	enum { ABOUT_JOB = 13 };
	uint32_t count = (uint32_t)size, one = 1, zero = 0;
	struct operation operation;
	pmix_status_t status;
	pmix_info_t *info;
	size_t n = 0;

	PMIX_INFO_CREATE(info, ABOUT_JOB + (size_t)size);
	if (!info)
		return PMIX_ERR_NOMEM;
	PMIX_INFO_LOAD(&info[n++], PMIX_JOBID, name, PMIX_STRING);
	PMIX_INFO_LOAD(&info[n++], PMIX_JOB_SIZE, &count, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_UNIV_SIZE, &count, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_MAX_PROCS, &count, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_LOCAL_SIZE, &count, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_NODE_SIZE, &count, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_JOB_NUM_APPS, &one, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_NUM_NODES, &one, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_LOCALLDR, &zero, PMIX_PROC_RANK);
	PMIX_INFO_LOAD(&info[n++], PMIX_LOCAL_PEERS, ranks, PMIX_STRING);
	PMIX_INFO_LOAD(&info[n++], PMIX_NODE_MAP, node_map, PMIX_REGEX);
	PMIX_INFO_LOAD(&info[n++], PMIX_PROC_MAP, rank_map, PMIX_REGEX);
	PMIX_INFO_LOAD(&info[n++], PMIX_NSDIR, directory, PMIX_STRING);
	for (int rank = 0; rank < size; rank++)
		describe_rank(&info[n++], rank, host);

	sem_init(&operation.done, 0, 0);
	status = finish(&operation, PMIx_server_register_nspace(name, size, info, n, operation_done,
								&operation));
	sem_destroy(&operation.done);
	PMIX_INFO_FREE(info, n);
	return status;
}

static pmix_status_t register_job(const char *directory)
{
	char *ranks = list_ranks(), *node_map = NULL, *rank_map = NULL;
	pmix_status_t status = PMIX_ERR_NOMEM;
	char host[256] = "localhost";

	gethostname(host, sizeof(host) - 1);
	if (ranks)
		status = PMIx_generate_regex(host, &node_map);
	if (status == PMIX_SUCCESS)
		status = PMIx_generate_ppn(ranks, &rank_map);
	if (status == PMIX_SUCCESS)
		status = describe_job(directory, host, ranks, node_map, rank_map);
	free(rank_map);
	free(node_map);
	free(ranks);
	return status;
}

/* Registers a client. PMIx accepts only processes of the launcher's user. */
static pmix_status_t register_rank(int rank)
{
	struct operation operation;
	pmix_status_t status;
	pmix_proc_t proc;

	PMIX_LOAD_PROCID(&proc, name, (pmix_rank_t)rank);
	sem_init(&operation.done, 0, 0);
	status = finish(&operation, PMIx_server_register_client(&proc, geteuid(), getegid(), NULL,
								operation_done, &operation));
	sem_destroy(&operation.done);
	return status;
}

const char *server_open(const char *directory, int processes)
{
	pmix_status_t status;

	size = processes;
	snprintf(name, sizeof(name), "vnet-launch-%d", (int)getpid());
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake_fd < 0)
		return strerror(errno);
	forget_outer_server();
	/* Tells the processes that the launcher prints the messages of job_abort(). */
	setenv("VNET_LAUNCH", name, 1);
	status = init(directory);
	if (status == PMIX_SUCCESS)
		status = register_job(directory);
	for (int rank = 0; rank < size && status == PMIX_SUCCESS; rank++)
		status = register_rank(rank);
	return status == PMIX_SUCCESS ? NULL : PMIx_Error_string(status);
}

int server_fd(void)
{
	return wake_fd;
}

void server_look(void)
{
	eventfd_t count;

	eventfd_read(wake_fd, &count);
}

enum member server_member(int rank)
{
	enum member member;

	pthread_mutex_lock(&lock);
	member = members[rank];
	pthread_mutex_unlock(&lock);
	return member;
}

bool server_somebody_joined(void)
{
	bool joined;

	pthread_mutex_lock(&lock);
	joined = somebody_joined;
	pthread_mutex_unlock(&lock);
	return joined;
}

bool server_aborted(struct server_abort *abort)
{
	bool was;

	pthread_mutex_lock(&lock);
	was = aborted;
	if (was)
		*abort = first_abort;
	pthread_mutex_unlock(&lock);
	return was;
}

char **server_environment(int rank, char **base)
{
	char **environment;
	pmix_proc_t proc;
	size_t n = 0;

	while (base[n])
		n++;
	/*
	 * PMIx extends the array by realloc(), so the array and each string are separate
	 * allocations.
	 */
	environment = calloc(n + 1, sizeof(*environment));
	for (size_t i = 0; environment && i < n; i++) {
		environment[i] = strdup(base[i]);
		if (!environment[i])
			goto err;
	}
	PMIX_LOAD_PROCID(&proc, name, (pmix_rank_t)rank);
	if (environment && PMIx_server_setup_fork(&proc, &environment) == PMIX_SUCCESS)
		return environment;
err:
	server_free(environment);
	return NULL;
}

void server_free(char **environment)
{
	for (size_t i = 0; environment && environment[i]; i++)
		free(environment[i]);
	free(environment);
}

void server_tell_death(int rank)
{
	/*
	 * Static, because PMIx reads it until the operation completes, and nothing waits
	 * for that.
	 */
	static pmix_info_t info[2];
	static pmix_proc_t proc;
	bool others = true;

	PMIX_LOAD_PROCID(&proc, name, (pmix_rank_t)rank);
	PMIX_INFO_LOAD(&info[0], PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
	PMIX_INFO_LOAD(&info[1], PMIX_EVENT_NON_DEFAULT, &others, PMIX_BOOL);
	PMIx_Notify_event(PMIX_ERR_PROC_ABORTED, &proc, PMIX_RANGE_NAMESPACE, info, 2, NULL, NULL);
}

void server_close(void)
{
	PMIx_server_finalize();
}
