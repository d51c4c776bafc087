// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of peers that end: killed, terminated, not polling, or with their endpoint freed.
 *
 * A launcher would end all processes of a job, so this program starts the processes itself. They
 * communicate by shared memory.
 *
 *	am_test_death SCENARIO...
 *
 * In all scenarios, process 0 sends to process 1, the victim, and to process 2, the bystander. Each
 * request is answered, or returned with its payload.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "settings/am_settings.h"
#include "check.h"

enum { SENDER, VICTIM, BYSTANDER, PROCESSES };
enum { TAKE = 5, TAKE_DATA, GOT };

#define CREDITS 8
#define BYTES 1000
#define SHARED_FD 200
#define TIME_LIMIT 30 /* seconds for one scenario */

/* Memory that all processes share. */
struct shared {
	en_t name[PROCESSES];
	int ready[PROCESSES]; /* its name is valid */
	int asked; /* the parent is asked to kill the victim */
	int gone; /* the victim, or its endpoint, has ended */
	int done; /* the scenario is over */
	int sends; /* the sender sends */
	/* The sender's counts of requests: made, answered, returned. */
	int sent[PROCESSES], answered[PROCESSES], returned[PROCESSES];
};

static struct shared *shared;
static en_t my_name;

static int look(const int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void tell(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
}

/* The sender's record of requests that were answered or returned. */
static bool settled[PROCESSES][100000]; /* by number */
static int status_wanted[2];

static void take(void *token, int32_t to, int32_t number)
{
	IS(to, rank);
	OK(AM_Reply2(token, GOT, to, number));
}

static void take_data(void *token, void *buf, int nbytes, int32_t to, int32_t number)
{
	CHECK(filled(buf, (size_t)nbytes, (uint32_t)number));
	take(token, to, number);
}

static void settle(int to, int number)
{
	CHECK(to > 0 && to < PROCESSES && number >= 0 && number < shared->sent[to]);
	CHECK(!settled[to][number]);
	settled[to][number] = true;
}

static void got(void *token, int32_t to, int32_t number)
{
	settle(to, number);
	shared->answered[to]++;
}

static void came(int status, op_t opcode, void *argblock)
{
	const struct am_arguments *a = argblock;

	CHECK(status == status_wanted[0] || status == status_wanted[1]);
	IS(a->nargs, 2);
	settle(a->args[0], a->args[1]);
	CHECK(AM_NameEqual(a->destination, shared->name[a->args[0]]));
	IS(a->index, a->args[0]);
	IS(a->tag, 1);
	if (opcode == AM_REQUEST_M)
		IS(a->handler, TAKE);
	else
		CHECK(a->nbytes == BYTES && filled(a->source, BYTES, (uint32_t)a->args[1]));
	shared->returned[a->args[0]]++;
}

static void new_endpoint(void)
{
	OK(AM_AllocateEndpoint(eb, &ep, &my_name));
	OK(AM_SetTag(ep, 1));
	OK(AM_SetExpectedResources(ep, PROCESSES, CREDITS));
	OK(AM_SetHandler(ep, 0, came));
	OK(AM_SetHandler(ep, TAKE, take));
	OK(AM_SetHandler(ep, TAKE_DATA, take_data));
	OK(AM_SetHandler(ep, GOT, got));
}

static void begin(void)
{
	OK(AM_Init());
	OK(AM_AllocateBundle(AM_SEQ, &eb));
	new_endpoint();
	shared->name[rank] = my_name;
	tell(&shared->ready[rank]);
	for (int i = 0; i < PROCESSES; i++)
		POLL_UNTIL(look(&shared->ready[i]));
	for (int i = 0; i < PROCESSES; i++)
		OK(AM_Map(ep, i, shared->name[i], 1));
}

static void send_one(int to)
{
	uint8_t bytes[BYTES];
	int number = shared->sent[to]++;

	CHECK((size_t)number < sizeof(settled[0]));
	fill(bytes, BYTES, (uint32_t)number);
	if (number % 2)
		OK(AM_RequestI2(ep, to, TAKE_DATA, bytes, BYTES, to, number));
	else
		OK(AM_Request2(ep, to, TAKE, to, number));
}

static int open_requests(int to)
{
	return shared->sent[to] - shared->answered[to] - shared->returned[to];
}

/* Afterwards, requests to the bystander are answered, and those to the victim returned. */
static void send_rest(void)
{
	int before;

	POLL_UNTIL(!open_requests(VICTIM));
	before = shared->returned[VICTIM];
	for (int i = 0; i < 20; i++) {
		send_one(VICTIM);
		send_one(BYSTANDER);
	}
	POLL_UNTIL(!open_requests(VICTIM) && !open_requests(BYSTANDER));
	IS(shared->returned[VICTIM], before + 20);
	IS(shared->returned[BYSTANDER], 0);
	IS(shared->answered[BYSTANDER], shared->sent[BYSTANDER]);
	OK(AM_UnMap(ep, VICTIM));
}

static void connect_both(void)
{
	send_one(VICTIM);
	send_one(BYSTANDER);
	POLL_UNTIL(!open_requests(VICTIM) && !open_requests(BYSTANDER));
}

/*
 * The victim will not connect, so the limit for that becomes short. The bystander is connected
 * before, however slow the machine is.
 */
static void connect_bystander(void)
{
	send_one(BYSTANDER);
	POLL_UNTIL(!open_requests(BYSTANDER));
	IS(am_settings_set("connect-timeout", "2000"), 0);
}

static void serve_until(const int *flag)
{
	POLL_UNTIL(look(flag));
}

/* The victim is killed with requests in its queue, all of which must be returned. */
static void killed_deaf(void)
{
	if (rank != SENDER) {
		serve_until(rank == VICTIM ? &shared->sends : &shared->done);
		while (rank == VICTIM)
			pause();
		return;
	}
	connect_both();
	tell(&shared->sends);
	/* The victim may still answer some. In the end, CREDITS requests are unanswered. */
	while (open_requests(VICTIM) < CREDITS)
		send_one(VICTIM);
	tell(&shared->asked);
	/*
	 * The requests that the victim's last poll has not answered are returned; there may be
	 * none. killed_busy() waits until one is returned.
	 */
	POLL_UNTIL(!open_requests(VICTIM));
	send_rest();
}

/* The victim is killed at any moment. */
static void killed_busy(void)
{
	if (rank != SENDER) {
		serve_until(&shared->done);
		return;
	}
	connect_both();
	tell(&shared->asked);
	while (!shared->returned[VICTIM]) {
		send_one(VICTIM);
		send_one(BYSTANDER);
	}
	send_rest();
}

/* The victim frees its endpoint while requests are sent, and makes another one. */
static void freed(void)
{
	if (rank == BYSTANDER) {
		serve_until(&shared->done);
		return;
	}
	if (rank == VICTIM) {
		serve_until(&shared->sends);
		OK(AM_FreeEndpoint(ep));
		new_endpoint();
		tell(&shared->gone);
		serve_until(&shared->done);
		return;
	}
	connect_both();
	tell(&shared->sends);
	while (!shared->returned[VICTIM]) {
		send_one(VICTIM);
		send_one(BYSTANDER);
	}
	send_rest();
}

/* The victim has ended before it was connected: by itself, or killed. */
static void ended(void)
{
	if (rank != SENDER) {
		if (rank == BYSTANDER)
			serve_until(&shared->done);
		return;
	}
	connect_bystander();
	tell(&shared->asked);
	POLL_UNTIL(look(&shared->gone));
	send_rest();
}

static void killed(void)
{
	while (rank == VICTIM)
		pause();
	ended();
}

/* The victim is alive but never polls. */
static void deaf(void)
{
	if (rank == VICTIM) {
		while (!look(&shared->done))
			usleep(1000);
		return;
	}
	if (rank == BYSTANDER) {
		serve_until(&shared->done);
		return;
	}
	connect_bystander();
	send_rest();
}

static const struct scenario {
	const char *name;
	void (*run)(void);
	bool kill; /* the parent kills the victim when the sender asks for it */
	int status[2]; /* permitted statuses of returned requests */
} scenarios[] = {
	{ "killed-deaf", killed_deaf, true, { EUNREACHABLE, 0 } },
	{ "killed-busy", killed_busy, true, { EUNREACHABLE, 0 } },
	{ "freed", freed, false, { EUNREACHABLE, EBADENDPOINT } },
	{ "ended", ended, false, { EUNREACHABLE, 0 } },
	{ "killed", killed, true, { EUNREACHABLE, 0 } },
	{ "deaf", deaf, false, { EUNREACHABLE, 0 } },
};

static const struct scenario *find(const char *name)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (!strcmp(scenarios[i].name, name))
			return &scenarios[i];
	}
	fprintf(stderr, "death: there is no scenario %s\n", name);
	exit(2);
}

/* Runs one of the processes: death SCENARIO NUMBER. */
static int be(const struct scenario *s, const char *number)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	CHECK(shared != MAP_FAILED);
	rank = atoi(number);
	status_wanted[0] = s->status[0];
	status_wanted[1] = s->status[1];
	OK(AM_SetOption("keepalive", "50"));
	begin();
	s->run();
	if (rank == SENDER)
		tell(&shared->done);
	OK(AM_Terminate());
	return 0;
}

/* Starts a process, alternately on the two nodes of AM_TEST_NODES. */
static pid_t start(const struct scenario *s, int number)
{
	const char *nodes = getenv("AM_TEST_NODES"), *comma;
	char text[16], node[32];
	pid_t pid;

	snprintf(text, sizeof(text), "%d", number);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	if (nodes && *nodes) {
		comma = strchr(nodes, ',');
		CHECK(comma);
		if (number % 2)
			snprintf(node, sizeof(node), "%s", comma + 1);
		else
			snprintf(node, sizeof(node), "%.*s", (int)(comma - nodes), nodes);
		setenv("VNET_NODE", node, 1);
	}
	execl("/proc/self/exe", "death", s->name, text, NULL);
	_exit(127);
}

static void too_late(int number)
{
	fprintf(stderr, "death: process %d has not ended after %d s\n", number, TIME_LIMIT);
	for (int i = 0; i < PROCESSES; i++)
		fprintf(stderr, "  %d: ready %d, sent %d, answered %d, returned %d\n", i,
			look(&shared->ready[i]), look(&shared->sent[i]), look(&shared->answered[i]),
			look(&shared->returned[i]));
	fprintf(stderr, "  asked %d, gone %d, done %d\n", look(&shared->asked), look(&shared->gone),
		look(&shared->done));
	exit(1);
}

static void ended_well(const pid_t *pid, int number)
{
	int status = -1;

	for (int ms = 0; !waitpid(pid[number], &status, WNOHANG); ms++) {
		if (ms == TIME_LIMIT * 1000)
			too_late(number);
		usleep(1000);
	}
	IS(status, 0);
}

/* Waits for a flag that another process sets. The sender must not end meanwhile. */
static void wait_while(const int *flag, pid_t sender)
{
	while (!look(flag)) {
		IS(waitpid(sender, NULL, WNOHANG), 0);
		usleep(1000);
	}
}

static void play(const struct scenario *s)
{
	pid_t pid[PROCESSES];
	int status;

	memset(shared, 0, sizeof(*shared));
	for (int i = 0; i < PROCESSES; i++)
		pid[i] = start(s, i);
	if (s->kill) {
		wait_while(&shared->asked, pid[SENDER]);
		kill(pid[VICTIM], SIGKILL);
		IS(waitpid(pid[VICTIM], &status, 0), pid[VICTIM]);
		CHECK(WIFSIGNALED(status));
		tell(&shared->gone);
	} else if (s->run == ended) {
		ended_well(pid, VICTIM);
		tell(&shared->gone);
	}
	ended_well(pid, SENDER);
	ended_well(pid, BYSTANDER);
	if (!s->kill && s->run != ended)
		ended_well(pid, VICTIM);
}

int main(int argc, char **argv)
{
	int fd;

	CHECK(argc > 1);
	if (argc == 3 && argv[2][0] >= '0' && argv[2][0] <= '9')
		return be(find(argv[1]), argv[2]);
	fd = memfd_create("death", 0);
	CHECK(fd >= 0 && !ftruncate(fd, sizeof(*shared)) && dup2(fd, SHARED_FD) == SHARED_FD);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(shared != MAP_FAILED);
	for (int i = 1; i < argc; i++)
		play(find(argv[i]));
	return 0;
}
