// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Correct programs, for each way to post and to poll. Nothing in them causes a warning.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"

/* Waits for the completions of a send and of its receive. */
static void both_good(struct loop *loop)
{
	for (int i = 0; i < 2; i++)
		ENSURE(loop_wait(loop).status == IBV_WC_SUCCESS);
}

static void exchange(const struct wish *wish, unsigned int count)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	unsigned int i;

	ENSURE(loop);
	loop_open(loop, wish);
	for (i = 0; i < count; i++) {
		ENSURE(!loop_receive(loop, 100, 1000 + i));
		ENSURE(!loop_post(loop, IBV_WR_SEND, 64, IBV_SEND_SIGNALED, i));
		both_good(loop);
		ENSURE(!loop_post(loop, IBV_WR_RDMA_WRITE, 32, IBV_SEND_INLINE, i));
		ENSURE(!loop_post(loop, IBV_WR_RDMA_READ, 128, IBV_SEND_SIGNALED, i));
		ENSURE(loop_wait(loop).status == IBV_WC_SUCCESS);
	}
	loop_close(loop);
	free(loop);
}

static void plain(unsigned int count)
{
	exchange(&(struct wish){ .type = IBV_QPT_RC }, count);
}

static void shared(unsigned int count)
{
	exchange(&(struct wish){ .type = IBV_QPT_RC, .srq = true }, count);
}

/* Arms the CQ, and sleeps, in the correct order. */
static void events(unsigned int count)
{
	struct ibv_cq *cq;
	struct loop loop;
	unsigned int i;
	void *context;

	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .channel = true });
	for (i = 0; i < count; i++) {
		ENSURE(!ibv_req_notify_cq(loop.cq, 0));
		ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED, i));
		ENSURE(!ibv_get_cq_event(loop.channel, &cq, &context) && cq == loop.cq);
		ibv_ack_cq_events(cq, 1);
		ENSURE(loop_wait(&loop).status == IBV_WC_SUCCESS);
	}
	loop_close(&loop);
}

static void post_extended(struct loop *loop, unsigned int i)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(loop->qp);
	uint64_t remote = (uintptr_t)loop->memory + LOOP_BYTES / 2;

	ibv_wr_start(ex);
	ex->wr_id = i;
	ex->wr_flags = 0;
	ibv_wr_rdma_write(ex, loop->mr->rkey, remote);
	ibv_wr_set_inline_data(ex, loop->memory, 16);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_imm(ex, htobe32(0xabcd));
	ibv_wr_set_sge(ex, loop->mr->lkey, (uintptr_t)loop->memory, 64);
	ENSURE(!ibv_wr_complete(ex));
}

static void extended(unsigned int count)
{
	struct ibv_poll_cq_attr attr = { 0 };
	unsigned int i;
	struct loop loop;

	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .extended = true });
	for (i = 0; i < count; i++) {
		ENSURE(!loop_receive(&loop, 100, 1000 + i));
		post_extended(&loop, i);
		while (ibv_start_poll(loop.cq_ex, &attr))
			;
		for (unsigned polled = 1; polled < 2; polled++) {
			ENSURE(loop.cq_ex->status == IBV_WC_SUCCESS);
			while (ibv_next_poll(loop.cq_ex))
				;
		}
		ENSURE(loop.cq_ex->status == IBV_WC_SUCCESS);
		ibv_end_poll(loop.cq_ex);
	}
	loop_close(&loop);
}

static void flushes(unsigned int count)
{
	const struct wish wish = {
		.type = IBV_QPT_RC,
		.extended = true,
		.qp_access = VNETDV_ACCESS_FLUSH_GLOBAL,
		.mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     VNETDV_ACCESS_FLUSH_GLOBAL,
	};
	struct loop loop;
	unsigned int i;

	loop_open(&loop, &wish);
	for (i = 0; i < count; i++) {
		ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 32, IBV_SEND_INLINE, i));
		loop_flush(&loop, 32, VNETDV_FLUSH_GLOBAL, i ? VNETDV_FLUSH_MR : VNETDV_FLUSH_RANGE,
			   i);
		ENSURE(loop_wait(&loop).status == IBV_WC_SUCCESS);
	}
	loop_close(&loop);
}

static void *run_plain(void *count)
{
	plain(*(unsigned int *)count);
	return NULL;
}

/* Several threads, and a forked process. */
static void many(unsigned int count)
{
	pthread_t thread[4];
	unsigned int i;
	int status;
	pid_t pid = fork();

	ENSURE(pid >= 0);
	if (!pid) {
		plain(count);
		_exit(0);
	}
	for (i = 0; i < 4; i++)
		ENSURE(!pthread_create(&thread[i], NULL, run_plain, &count));
	for (i = 0; i < 4; i++)
		ENSURE(!pthread_join(thread[i], NULL));
	ENSURE(waitpid(pid, &status, 0) == pid && !status);
}

/* Replaces descriptors that the program does not know. */
static void closes_all(unsigned int count)
{
	struct loop loop;
	unsigned int i;

	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC });
	ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED, 0));
	ENSURE(loop_wait(&loop).status == IBV_WC_SUCCESS);
	for (int fd = 100; fd < 120; fd++)
		ENSURE(dup2(STDOUT_FILENO, fd) == fd);
	for (i = 0; i < count; i++) {
		ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED, i));
		ENSURE(loop_wait(&loop).status == IBV_WC_SUCCESS);
	}
	loop_close(&loop);
}

bool run_good(const char *name, unsigned int count)
{
	static const struct {
		const char *name;
		void (*run)(unsigned int count);
	} all[] = {
		{ "plain", plain },       { "shared", shared }, { "events", events },
		{ "extended", extended }, { "many", many },     { "closes-all", closes_all },
		{ "flushes", flushes },
	};
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].name, name) != 0)
			continue;
		all[i].run(count);
		return true;
	}
	return false;
}
