// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes one mistake, or none (good.c).
 *
 * Usage: pitfalls NAME [COUNT]
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

static struct loop loop;

static void unsignaled_full(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC });
	for (uint32_t i = 0; i < loop.cap.max_send_wr; i++)
		ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, 0, i));
}

static void queue_exceeded(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC });
	for (uint32_t i = 0; i <= loop.cap.max_send_wr; i++)
		ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED, i));
}

/* Does not return. */
static void unarmed_wait(void)
{
	struct ibv_cq *cq;
	void *context;

	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .channel = true });
	ENSURE(!ibv_req_notify_cq(loop.cq, 0));
	ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED, 1));
	ENSURE(!ibv_get_cq_event(loop.channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	ENSURE(loop_wait(&loop).status == IBV_WC_SUCCESS);
	/* The event has disarmed the CQ. */
	ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED, 2));
	(void)ibv_get_cq_event(loop.channel, &cq, &context);
}

static void unarmed_poll(void)
{
	struct pollfd event = { .events = POLLIN };

	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .channel = true });
	event.fd = loop.channel->fd;
	ENSURE(!poll(&event, 1, 1));
}

static void no_receive(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC });
	ENSURE(!loop_post(&loop, IBV_WR_SEND, 8, IBV_SEND_SIGNALED, 1));
	ENSURE(!loop_receive(&loop, 8, 2));
	ENSURE(loop_wait(&loop).status == IBV_WC_SUCCESS);
	ENSURE(loop_wait(&loop).status == IBV_WC_SUCCESS);
}

static void local_access(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .mr_access = IBV_ACCESS_REMOTE_READ });
	ENSURE(!loop_receive(&loop, 8, 2));
}

static void local_range(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC });
	ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, LOOP_BYTES + 8, IBV_SEND_SIGNALED, 1));
	ENSURE(loop_wait(&loop).status == IBV_WC_LOC_PROT_ERR);
}

static void local_key(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC });
	loop.mr->lkey += 0x1000;
	ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED, 1));
	ENSURE(loop_wait(&loop).status == IBV_WC_LOC_PROT_ERR);
	loop.mr->lkey -= 0x1000;
}

/* Missing rights of the queue pair cause another error than those of the region. */
static void remote_access(const struct wish *wish, enum ibv_wc_status status)
{
	loop_open(&loop, wish);
	ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED, 1));
	ENSURE(loop_wait(&loop).status == status);
}

static void remote_region(void)
{
	struct ibv_async_event event;

	remote_access(&(struct wish){ .type = IBV_QPT_RC, .mr_access = IBV_ACCESS_LOCAL_WRITE },
		      IBV_WC_REM_ACCESS_ERR);
	ENSURE(!ibv_get_async_event(loop.context, &event));
	ENSURE(event.event_type == IBV_EVENT_QP_ACCESS_ERR);
	ibv_ack_async_event(&event);
}

static void remote_qp(void)
{
	remote_access(&(struct wish){ .type = IBV_QPT_RC,
				      .no_access = true,
				      .mr_access = IBV_ACCESS_LOCAL_WRITE |
						   IBV_ACCESS_REMOTE_WRITE },
		      IBV_WC_REM_INV_REQ_ERR);
}

static void cq_too_small(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .cq_entries = 1 });
	for (int i = 0; i <= loop.cq->cqe; i++)
		ENSURE(!loop_receive(&loop, 8, (uint64_t)i));
}

static void receive_too_small(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC });
	ENSURE(!loop_receive(&loop, 8, 2));
	ENSURE(!loop_post(&loop, IBV_WR_SEND, 16, IBV_SEND_SIGNALED, 1));
	ENSURE(loop_wait(&loop).status != IBV_WC_SUCCESS);
	ENSURE(loop_wait(&loop).status != IBV_WC_SUCCESS);
}

static void inline_too_long(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC });
	ENSURE(loop_post(&loop, IBV_WR_RDMA_WRITE, loop.cap.max_inline_data + 1, IBV_SEND_INLINE,
			 1));
}

static void inline_too_long_wr(void)
{
	struct ibv_qp_ex *ex;

	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .extended = true });
	ex = ibv_qp_to_qp_ex(loop.qp);
	ibv_wr_start(ex);
	ex->wr_flags = 0;
	ibv_wr_rdma_write(ex, loop.mr->rkey, (uintptr_t)loop.memory);
	ibv_wr_set_inline_data(ex, loop.memory, loop.cap.max_inline_data + 1);
	ENSURE(ibv_wr_complete(ex));
}

static void no_room_for_grh(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_UD, .no_connection = true });
	ENSURE(!loop_receive(&loop, 32, 1));
}

static void no_read_credit(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .no_read_credit = true });
	(void)loop_post(&loop, IBV_WR_RDMA_READ, 8, IBV_SEND_SIGNALED, 1);
}

static void misaligned_atomic(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.sg_list = &sge,
		.num_sge = 1,
	};
	struct ibv_send_wr *bad;

	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC });
	sge = loop_sge(&loop, 0, 8);
	wr.wr.atomic.remote_addr = (uintptr_t)loop.memory + 4;
	wr.wr.atomic.rkey = loop.mr->rkey;
	(void)ibv_post_send(loop.qp, &wr, &bad);
}

/* Does not return. */
static void events_unacknowledged(void)
{
	struct ibv_cq *cq;
	void *context;

	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .channel = true });
	ENSURE(!ibv_req_notify_cq(loop.cq, 0));
	ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED, 1));
	ENSURE(!ibv_get_cq_event(loop.channel, &cq, &context));
	loop_close(&loop);
}

static void flush_region(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC,
					 .extended = true,
					 .qp_access = VNETDV_ACCESS_FLUSH_GLOBAL });
	loop_flush(&loop, 8, VNETDV_FLUSH_GLOBAL, VNETDV_FLUSH_RANGE, 1);
	ENSURE(loop_wait(&loop).status == IBV_WC_REM_ACCESS_ERR);
}

static void flush_qp(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .extended = true });
	loop_flush(&loop, 8, VNETDV_FLUSH_GLOBAL, VNETDV_FLUSH_RANGE, 1);
	ENSURE(loop_wait(&loop).status == IBV_WC_REM_INV_REQ_ERR);
}

static void wrong_state(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .no_connection = true });
	ENSURE(loop_post(&loop, IBV_WR_SEND, 8, 0, 1) == EINVAL);
}

static void refused(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .num_sge = 1000 }, *bad;

	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC });
	ENSURE(ibv_post_send(loop.qp, &wr, &bad) == EINVAL && bad == &wr);
}

static void unreachable(void)
{
	loop_open(&loop, &(struct wish){ .type = IBV_QPT_RC, .no_peer = true });
	ENSURE(!loop_post(&loop, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED, 1));
	ENSURE(loop_wait(&loop).status == IBV_WC_RETRY_EXC_ERR);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{ "unsignaled-full", unsignaled_full },
		{ "queue-exceeded", queue_exceeded },
		{ "unarmed-wait", unarmed_wait },
		{ "unarmed-poll", unarmed_poll },
		{ "no-receive", no_receive },
		{ "local-access", local_access },
		{ "local-range", local_range },
		{ "local-key", local_key },
		{ "remote-region", remote_region },
		{ "remote-qp", remote_qp },
		{ "flush-region", flush_region },
		{ "flush-qp", flush_qp },
		{ "cq-too-small", cq_too_small },
		{ "receive-too-small", receive_too_small },
		{ "inline-too-long", inline_too_long },
		{ "inline-too-long-wr", inline_too_long_wr },
		{ "no-room-for-grh", no_room_for_grh },
		{ "no-read-credit", no_read_credit },
		{ "misaligned-atomic", misaligned_atomic },
		{ "events-unacknowledged", events_unacknowledged },
		{ "wrong-state", wrong_state },
		{ "refused", refused },
		{ "unreachable", unreachable },
	};
	unsigned int i;

	if (argc > 1 && run_good(argv[1], argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 3))
		return 0;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (argc < 2 || strcmp(all[i].name, argv[1]) != 0)
			continue;
		all[i].run();
		loop_close(&loop);
		return 0;
	}
	fputs("Usage: pitfalls NAME [COUNT]\n", stderr);
	return 2;
}
