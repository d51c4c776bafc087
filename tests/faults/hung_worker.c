// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "hung_worker.h"

#include <poll.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct slow_file *slow_file;
static struct side sides[WORKER_SIDES];

/* --------------------------------------------------------------------- verbs */

/* Replaces the side's buffer and region by a mapping of the slow file. */
static void lay_over_file(struct side *s, int flags)
{
	int access = SIDE_ACCESS | (s->wish.on_demand ? IBV_ACCESS_ON_DEMAND : 0);

	CHECK_EQ(ibv_dereg_mr(s->mr), 0);
	CHECK_EQ(munmap(s->buffer, s->length), 0);
	s->buffer = slow_file_map(slow_file, flags);
	s->mr = MADE(ibv_reg_mr(s->pd, s->buffer, s->length, access));
}

static void open_side(struct side *s, const struct order *o)
{
	side_open(s, &(struct wish){ .length = HUNG_LENGTH, .on_demand = o->on_demand });
	if (o->flags)
		lay_over_file(s, o->flags);
}

static void wait_for_completion(struct side *s, unsigned int seconds, struct answer *a)
{
	uint64_t since = now_ns();
	int n;

	do {
		n = ibv_poll_cq(s->cq, 1, &a->wc);
		CHECK(n >= 0);
		/* More processes may poll than there are processors. */
		sched_yield();
	} while (!n && !is_past(since, seconds * 1000000000ull));
	a->completed = n;
}

/* -------------------------------------------------------------------- commands */

static int64_t dealloc_pd(int fd, uint32_t handle)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_dealloc_pd ibv;
	} command = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_DEALLOC_PD,
			.in_words = sizeof(command) / 4,
		},
		.ibv = { .pd_handle = handle },
	};

	return write(fd, &command, sizeof(command)) == sizeof(command) ? 0 : errno;
}

/*
 * Allocates a PD with the response on `page`. Checks that only the response was written, and
 * deallocates the PD.
 */
static int64_t alloc_pd_on(int fd, uint8_t *page)
{
	struct ib_uverbs_alloc_pd_resp *resp = (struct ib_uverbs_alloc_pd_resp *)(void *)page;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_alloc_pd ibv;
	} command = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_ALLOC_PD,
			.in_words = sizeof(command) / 4,
			.out_words = sizeof(*resp) / 4,
		},
		.ibv = { .response = (uintptr_t)resp },
	};
	uint8_t behind[64];

	if (write(fd, &command, sizeof(command)) != sizeof(command))
		return errno;
	memcpy(behind, slow_file->content + (page - sides[0].buffer) + sizeof(*resp),
	       sizeof(behind));
	CHECK(!memcmp(resp + 1, behind, sizeof(behind)));
	return dealloc_pd(fd, resp->pd_handle);
}

/* Executes IB_USER_VERBS_CMD_QUERY_PORT with its input on `page`. */
static int64_t query_port_from(const struct side *s, uint8_t *page)
{
	struct ib_uverbs_query_port_resp resp = { 0 };
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[3];
	} command = {
		.hdr = {
			.length = sizeof(command),
			.object_id = UVERBS_OBJECT_DEVICE,
			.method_id = UVERBS_METHOD_INVOKE_WRITE,
			.num_attrs = 3,
		},
		.attr = {
			{ .attr_id = UVERBS_ATTR_CORE_IN,
			  .len = sizeof(struct ib_uverbs_query_port),
			  .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = (uintptr_t)page },
			{ .attr_id = UVERBS_ATTR_CORE_OUT,
			  .len = sizeof(resp),
			  .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = (uintptr_t)&resp },
			{ .attr_id = UVERBS_ATTR_WRITE_CMD,
			  .len = sizeof(uint64_t),
			  .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = IB_USER_VERBS_CMD_QUERY_PORT },
		},
	};
	struct ibv_port_attr port;

	if (ioctl(s->context->cmd_fd, RDMA_VERBS_IOCTL, &command) != 0)
		return errno;
	CHECK_EQ(ibv_query_port(s->context, 1, &port), 0);
	CHECK_EQ(resp.state, port.state);
	CHECK_EQ(resp.gid_tbl_len, port.gid_tbl_len);
	CHECK_EQ(resp.max_msg_sz, port.max_msg_sz);
	return 0;
}

static int64_t advise_of(const struct side *s, uint8_t *page)
{
	struct ibv_sge sge = side_sge(s, (size_t)(page - s->buffer), SLOW_PAGE);

	return ibv_advise_mr(s->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge,
			     1);
}

/* Changes the address space, and registers memory, so that vnetd reads the process's maps. */
static int64_t remap(const struct side *s)
{
	void *memory =
		mmap(NULL, SLOW_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	CHECK(memory != MAP_FAILED);
	mr = MADE(ibv_reg_mr(s->pd, memory, SLOW_PAGE, SIDE_ACCESS));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	return munmap(memory, SLOW_PAGE);
}

/* ----------------------------------------------------------------------- orders */

static void stop(void)
{
	for (int i = 0; i < WORKER_SIDES; i++)
		if (sides[i].context)
			side_close(&sides[i]);
}

static void carry_out(const struct order *o, struct answer *a)
{
	struct side *s = &sides[o->side];

	switch (o->kind) {
	case ORDER_OPEN:
		open_side(s, o);
		a->address = side_address(s);
		break;
	case ORDER_CONNECT:
		side_connect(s, &o->address);
		break;
	case ORDER_POST:
		a->value = side_try_post(s, o->opcode, o->wr_id, o->offset, o->length,
					 IBV_SEND_SIGNALED);
		break;
	case ORDER_RECEIVE:
		side_receive(s, o->wr_id, o->offset, o->length);
		break;
	case ORDER_WAIT:
		wait_for_completion(s, o->seconds, a);
		break;
	case ORDER_FILL:
		fill(s->buffer + o->offset, o->length, o->mark);
		break;
	case ORDER_LOOK:
		memcpy(a->page, s->buffer + o->offset, SLOW_PAGE);
		break;
	case ORDER_RESPONSE:
		a->value = alloc_pd_on(s->context->cmd_fd, s->buffer + o->offset);
		break;
	case ORDER_INPUT:
		a->value = query_port_from(s, s->buffer + o->offset);
		break;
	case ORDER_ADVISE:
		a->value = advise_of(s, s->buffer + o->offset);
		break;
	case ORDER_REMAP:
		a->value = remap(s);
		break;
	case ORDER_STOP:
		stop();
		break;
	}
}

static void body(int sock, void *arg)
{
	struct order order;
	struct answer answer;

	slow_file = arg;
	do {
		/* No time limit: the call returns if the test process ends. */
		if (recv(sock, &order, sizeof(order), 0) != sizeof(order))
			_exit(1);
		memset(&answer, 0, sizeof(answer));
		carry_out(&order, &answer);
		tell(sock, &answer, sizeof(answer));
	} while (order.kind != ORDER_STOP);
}

/* ------------------------------------------------------------- the test process */

void worker_start(struct worker *w, const char *name, const struct slow_file *file)
{
	w->name = name;
	helper_start(&w->h, name, body, (void *)(uintptr_t)file);
}

void worker_stop(struct worker *w)
{
	(void)worker_ask(w, "stop", &(struct order){ .kind = ORDER_STOP }, OTHER_TIME);
	helper_join(&w->h);
}

void worker_tell(const struct worker *w, const struct order *o)
{
	tell(w->h.sock, o, sizeof(*o));
}

const struct answer *worker_answer(const struct worker *w, const char *what, unsigned int seconds)
{
	struct pollfd pfd = { .fd = w->h.sock, .events = POLLIN };
	static struct answer answer;

	if (poll(&pfd, 1, (int)seconds * 1000) != 1)
		FAIL("%s: %s: no answer in %u s", w->name, what, seconds);
	if (recv(w->h.sock, &answer, sizeof(answer), 0) != sizeof(answer))
		FAIL("%s: %s: it has ended", w->name, what);
	return &answer;
}

const struct answer *worker_ask(const struct worker *w, const char *what, const struct order *o,
				unsigned int seconds)
{
	worker_tell(w, o);
	return worker_answer(w, what, seconds);
}

void workers_connect(const struct worker *a, const struct order *open_a, const struct worker *b,
		     const struct order *open_b)
{
	struct order connect_a = { .kind = ORDER_CONNECT, .side = open_a->side };
	struct order connect_b = { .kind = ORDER_CONNECT, .side = open_b->side };

	connect_b.address = worker_ask(a, "open", open_a, OTHER_TIME)->address;
	connect_a.address = worker_ask(b, "open", open_b, OTHER_TIME)->address;
	(void)worker_ask(a, "connect", &connect_a, OTHER_TIME);
	(void)worker_ask(b, "connect", &connect_b, OTHER_TIME);
}

void worker_completes(const struct worker *w, unsigned int side, uint64_t wr_id)
{
	struct order wait = { .kind = ORDER_WAIT, .side = side, .seconds = OTHER_TIME };
	const struct answer *a = worker_ask(w, "completion", &wait, OTHER_TIME + POST_TIME);

	if (!a->completed)
		FAIL("%s: side %u: no completion of request %llu", w->name, side,
		     (unsigned long long)wr_id);
	if (a->wc.status != IBV_WC_SUCCESS || a->wc.wr_id != wr_id)
		FAIL("%s: side %u: request %llu completes with %s, not %llu with success", w->name,
		     side, (unsigned long long)a->wc.wr_id, ibv_wc_status_str(a->wc.status),
		     (unsigned long long)wr_id);
}

void worker_is_silent(const struct worker *w, unsigned int side)
{
	struct order wait = { .kind = ORDER_WAIT, .side = side };
	const struct answer *a = worker_ask(w, "poll", &wait, OTHER_TIME);

	if (a->completed)
		FAIL("%s: side %u: request %llu completes before the page is there: %s", w->name,
		     side, (unsigned long long)a->wc.wr_id, ibv_wc_status_str(a->wc.status));
}
