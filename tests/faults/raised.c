// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests the asynchronous events that "vnet fault" raises. The program that owns the object
 * reads each event once, for the right object; other contexts do not read it. The object has
 * the state that belongs to the event.
 *
 *   raised [COMMAND]    COMMAND raises events, NAME or NAME:NUMBER. If it is given, the
 *                       device is the driver's, which does not have all events.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "side.h"

/* The kind of object that an event belongs to. */
enum element { DEVICE, PAIR, COMPLETIONS, SHARED, WORK };

static const struct {
	const char *name;
	enum ibv_event_type type;
	enum element element;
	/* The queue pair or work queue is in the error state afterwards. */
	bool fails;
} raised[] = {
	{ "device-fatal", IBV_EVENT_DEVICE_FATAL, DEVICE, false },
	{ "port-active", IBV_EVENT_PORT_ACTIVE, DEVICE, false },
	{ "port-err", IBV_EVENT_PORT_ERR, DEVICE, false },
	{ "lid-change", IBV_EVENT_LID_CHANGE, DEVICE, false },
	{ "pkey-change", IBV_EVENT_PKEY_CHANGE, DEVICE, false },
	{ "sm-change", IBV_EVENT_SM_CHANGE, DEVICE, false },
	{ "client-reregister", IBV_EVENT_CLIENT_REREGISTER, DEVICE, false },
	{ "gid-change", IBV_EVENT_GID_CHANGE, DEVICE, false },
	{ "comm-est", IBV_EVENT_COMM_EST, PAIR, false },
	{ "sq-drained", IBV_EVENT_SQ_DRAINED, PAIR, false },
	{ "path-mig", IBV_EVENT_PATH_MIG, PAIR, false },
	{ "path-mig-err", IBV_EVENT_PATH_MIG_ERR, PAIR, false },
	{ "qp-last-wqe", IBV_EVENT_QP_LAST_WQE_REACHED, PAIR, false },
	{ "qp-fatal", IBV_EVENT_QP_FATAL, PAIR, true },
	{ "qp-req-err", IBV_EVENT_QP_REQ_ERR, PAIR, true },
	{ "qp-access-err", IBV_EVENT_QP_ACCESS_ERR, PAIR, true },
	{ "cq-err", IBV_EVENT_CQ_ERR, COMPLETIONS, false },
	{ "srq-err", IBV_EVENT_SRQ_ERR, SHARED, false },
	{ "srq-limit", IBV_EVENT_SRQ_LIMIT_REACHED, SHARED, false },
	{ "wq-fatal", IBV_EVENT_WQ_FATAL, WORK, true },
};

#define EVENTS (sizeof(raised) / sizeof(raised[0]))

#define WORK_DEPTH 4

/* A work queue and its CQ. In user mode, no other object uses that CQ. */
struct work {
	struct ibv_cq *cq;
	struct ibv_wq *wq;
};

/* Command that raises events; and whether the device is that of the driver. */
static const char *raise_command = "\"$VNET\" fault --event";
static bool is_kernel;

static void run_fault(const char *event, uint32_t number)
{
	char command[256], suffix[16] = "";

	if (number)
		snprintf(suffix, sizeof(suffix), ":%u", number);
	snprintf(command, sizeof(command), "unset LD_PRELOAD; %s %s%s >/dev/null", raise_command,
		 event, suffix);
	CHECK_EQ(system(command), 0);
}

/*
 * Number of this process's object in the status, by list and size. The kernel's status has no
 * sizes, but numbers in order of creation; there, the last object is meant.
 */
static uint32_t number_of(const char *list, const char *member, uint32_t entries)
{
	char question[160];

	if (is_kernel)
		snprintf(question, sizeof(question),
			 "[.devices[0].%s[] | select(.pid == %d) | .%s] | max", list, getpid(),
			 member);
	else
		snprintf(question, sizeof(question),
			 ".devices[0].%s[] | select(.pid == %d and .entries == %u) | .%s", list,
			 getpid(), entries, member);
	return (uint32_t)strtoul(ask_status(question), NULL, 10);
}

static uint32_t size_of_shared(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr;

	CHECK_EQ(ibv_query_srq(srq, &attr), 0);
	return attr.max_wr;
}

/* Each side has its own context. Queues of the same kind differ in size, to tell them apart. */
static void open_each(struct side s[2], struct work *work)
{
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ,
					 .max_wr = WORK_DEPTH,
					 .max_sge = 1 };
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct address address[2];

	for (int i = 0; i < 2; i++) {
		/* Low limits, so that a send to a queue pair in error fails soon. */
		side_open(&s[i], &(struct wish){ .srq = true,
						 .depth = i ? 16 : 64,
						 .timeout = 10,
						 .retry_cnt = 1 });
		CHECK_EQ(fcntl(s[i].context->async_fd, F_SETFL, O_NONBLOCK), 0);
		address[i] = side_address(&s[i]);
	}
	for (int i = 0; i < 2; i++)
		side_connect(&s[i], &address[!i]);
	/* In the kernel, the test finds s[1].cq as the last CQ of the process. */
	work->cq = is_kernel ? s[1].cq : ibv_create_cq(s[1].context, 4, NULL, NULL, 0);
	CHECK(work->cq);
	init.pd = s[1].pd;
	init.cq = work->cq;
	work->wq = MADE(ibv_create_wq(s[1].context, &init));
	CHECK_EQ(ibv_modify_wq(work->wq, &ready), 0);
}

static void close_each(struct side s[2], struct work *work)
{
	CHECK_EQ(ibv_destroy_wq(work->wq), 0);
	if (work->cq != s[1].cq)
		CHECK_EQ(ibv_destroy_cq(work->cq), 0);
	pair_close(s);
}

static void expect_no_event(struct side *s)
{
	struct ibv_async_event event;

	CHECK_EQ(ibv_get_async_event(s->context, &event), -1);
	CHECK_EQ(errno, EAGAIN);
}

static uint32_t number(enum element element, const struct side *s, const struct work *work)
{
	switch (element) {
	case PAIR:
		return s->qp->qp_num;
	case COMPLETIONS:
		return number_of("cqs", "cqn", (uint32_t)s->cq->cqe);
	case SHARED:
		return number_of("srqs", "srqn", size_of_shared(s->srq));
	case WORK:
		/* "rdma resource" does not list work queues. */
		return is_kernel ? work->wq->wq_num : number_of("wqs", "wqn", WORK_DEPTH);
	default:
		return 0;
	}
}

static bool is_of(const struct ibv_async_event *event, enum element element, const struct side *s,
		  const struct work *work)
{
	switch (element) {
	case PAIR:
		return event->element.qp == s->qp;
	case COMPLETIONS:
		return event->element.cq == s->cq;
	case SHARED:
		return event->element.srq == s->srq;
	case WORK:
		return event->element.wq == work->wq;
	default:
		return event->element.port_num == 1;
	}
}

/* Posts a receive to the work queue: it is flushed at once if the work queue failed. */
static void look_at_work(struct work *work, const struct side *s, bool fails)
{
	struct ibv_sge sge = side_sge(s, 0, 8);
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	CHECK_EQ(ibv_post_wq_recv(work->wq, &wr, &bad), 0);
	if (!fails) {
		CHECK_EQ(ibv_poll_cq(work->cq, 1, &wc), 0);
		return;
	}
	wc = cq_wait(work->cq);
	CHECK(wc.wr_id == 5 && wc.status == IBV_WC_WR_FLUSH_ERR);
}

/* Checks that the connection works, or that both sides see its failure. */
static void look_at_pair(struct side s[2], bool fails)
{
	CHECK_EQ(side_state(&s[1]), fails ? IBV_QPS_ERR : IBV_QPS_RTS);
	CHECK_EQ(side_state(&s[0]), IBV_QPS_RTS);
	side_receive(&s[1], 1, 0, 8);
	side_post(&s[0], IBV_WR_SEND, 2, 0, 8);
	if (fails) {
		(void)side_expect(&s[0], 2, IBV_WC_RETRY_EXC_ERR);
		side_post(&s[1], IBV_WR_SEND, 3, 0, 8);
		(void)side_expect(&s[1], 3, IBV_WC_WR_FLUSH_ERR);
		return;
	}
	(void)side_expect(&s[0], 2, IBV_WC_SUCCESS);
	(void)side_expect(&s[1], 1, IBV_WC_SUCCESS);
}

static void one(size_t i)
{
	enum element element = raised[i].element;
	struct ibv_async_event event;
	struct side s[2];
	struct work work = { NULL, NULL };

	open_each(s, &work);
	run_fault(raised[i].name, number(element, &s[1], &work));
	for (int side = element == DEVICE ? 0 : 1; side < 2; side++) {
		event = side_event(&s[side]);
		CHECK_EQ(event.event_type, raised[i].type);
		CHECK(is_of(&event, element, &s[side], &work));
	}
	look_at_work(&work, &s[1], element == WORK && raised[i].fails);
	look_at_pair(s, element == PAIR && raised[i].fails);
	for (int side = 0; side < 2; side++) {
		/* A queue pair with an SRQ that enters the error state has this event, too. */
		if (element == PAIR && raised[i].fails)
			CHECK_EQ(side_event(&s[side]).event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
		expect_no_event(&s[side]);
	}
	close_each(s, &work);
}

/* The kernel's core itself raises GID_CHANGE. */
static bool kernel_has(size_t i)
{
	return raised[i].type != IBV_EVENT_GID_CHANGE;
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		raise_command = argv[1];
		is_kernel = true;
	}
	for (size_t i = 0; i < EVENTS; i++) {
		if (is_kernel && !kernel_has(i))
			continue;
		alarm(4 * TIME_LIMIT);
		note("%s", raised[i].name);
		one(i);
	}
	return 0;
}
