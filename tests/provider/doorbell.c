// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of doorbells without a gate. The provider chooses the way to ring by the capabilities of
 * the agent and by VNET_DOORBELL.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fake_agent.h"

/* The last ioctl() on the doorbell descriptor. */
static struct {
	unsigned int calls;
	int fd;
	unsigned long request;
	unsigned long num;
} rung;

/* Replaces the C library's ioctl(); only the provider calls it here. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list args;

	va_start(args, request);
	rung.num = va_arg(args, unsigned long);
	va_end(args);
	rung.calls++;
	rung.fd = fd;
	rung.request = request;
	errno = EBADFD;
	return -1;
}

struct objects {
	struct vnet_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

/* Opens a context of an agent with these capabilities; `asked` is the value of VNET_DOORBELL. */
static struct objects begin(struct ibv_context *first, uint32_t caps, const char *asked)
{
	struct verbs_context *vctx;
	struct objects o;

	agent.without_gate = true;
	agent.caps = caps;
	rung.calls = 0;
	if (asked)
		setenv("VNET_DOORBELL", asked, 1);
	else
		unsetenv("VNET_DOORBELL");
	vctx = fake_device_ops->alloc_context(first->device, dup(first->cmd_fd), NULL);
	assert_non_null(vctx);
	o.ctx = to_vctx(&vctx->context);
	o.pd = fake_pd(&vctx->context);
	o.cq = fake_cq(&vctx->context);
	o.qp = fake_qp(o.pd, o.cq, NULL, IBV_QPT_RC, false);
	return o;
}

static void end(struct objects *o)
{
	int fd = o->ctx->doorbell_fd;

	fake_end_qp(o->qp);
	fake_end_cq(o->cq);
	fake_end_pd(o->pd);
	fake_ops->free_context(&o->ctx->ibv_ctx.context);
	assert_true(fd < 0 || (close(fd) == -1 && errno == EBADF));
}

/* The result of posting does not depend on the result of the trap, and errno is kept. */
static void post_one(struct objects *o)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad_wr;

	errno = 0;
	assert_int_equal(fake_ops->post_send(o->qp, &wr, &bad_wr), 0);
	assert_int_equal(errno, 0);
}

static void receive_one(struct objects *o)
{
	struct ibv_recv_wr wr = {}, *bad_wr;

	fake_ring(&to_vqp(o->qp)->rq)->need_doorbell = 1;
	assert_int_equal(fake_ops->post_recv(o->qp, &wr, &bad_wr), 0);
}

static void by_the_descriptor(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_DOORBELL_FD, NULL);

	post_one(&o);
	assert_int_equal(rung.calls, 1);
	assert_int_equal(rung.fd, o.ctx->doorbell_fd);
	assert_int_equal(rung.request, VNET_DOORBELL_SEND);
	assert_int_equal(rung.num, FAKE_QPN);
	receive_one(&o);
	assert_int_equal(rung.calls, 2);
	assert_int_equal(rung.request, VNET_DOORBELL_RECV);
	assert_int_equal(rung.num, FAKE_QPN);
	assert_int_equal(agent.traps, 0);
	end(&o);
}

static void shared_receives_too(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_DOORBELL_FD, NULL);
	struct ibv_srq *srq = fake_srq(o.pd);
	struct ibv_recv_wr wr = {}, *bad_wr;

	fake_ring(&to_vsrq(srq)->rq)->need_doorbell = 1;
	assert_int_equal(fake_ops->post_srq_recv(srq, &wr, &bad_wr), 0);
	assert_int_equal(rung.request, VNET_DOORBELL_SRQ_RECV);
	assert_int_equal(rung.num, FAKE_SRQN);
	fake_end_srq(srq);
	end(&o);
}

/*
 * Adds a tag with IBV_OPS_SIGNALED. Such an operation needs a doorbell, because senders do not
 * execute it.
 */
static void add_tag(struct objects *o)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_TM_INFO };
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_ADD, .flags = IBV_OPS_SIGNALED };
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 1, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = o->pd,
		.tm_cap = { .max_num_tags = 1, .max_ops = 1 },
	};
	struct ibv_context *context = &o->ctx->ibv_ctx.context;
	struct ibv_cq_ex *cq = fake_ops->create_cq_ex(context, &cq_attr);
	struct ibv_ops_wr *bad_wr;
	struct ibv_srq *srq;

	assert_non_null(cq);
	attr.cq = ibv_cq_ex_to_cq(cq);
	srq = fake_ops->create_srq_ex(context, &attr);
	assert_non_null(srq);
	errno = 0;
	assert_int_equal(fake_ops->post_srq_ops(srq, &wr, &bad_wr), 0);
	assert_int_equal(errno, 0);
	fake_end_srq(srq);
	fake_end_cq(attr.cq);
}

/* The provider may ring several times, because nobody executes the operation. */
static void tags_by_the_descriptor(void **state)
{
	struct objects o =
		begin(*state, VNET_UCONTEXT_CAP_DOORBELL_FD | VNET_UCONTEXT_CAP_TM, NULL);

	add_tag(&o);
	assert_true(rung.calls);
	assert_int_equal(rung.request, VNET_DOORBELL_TAG);
	assert_int_equal(rung.num, FAKE_SRQN);
	assert_int_equal(agent.traps, 0);
	end(&o);
}

static void tags_by_the_write_command(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_TM, NULL);

	add_tag(&o);
	assert_int_equal(rung.calls, 0);
	assert_true(agent.traps);
	end(&o);
}

static void by_the_write_command(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_DOORBELL_FD, "write");

	post_one(&o);
	receive_one(&o);
	assert_int_equal(rung.calls, 0);
	assert_int_equal(agent.traps, 2);
	end(&o);
}

/* The doorbell page's bits are set. The provider traps only if the NIC processor sleeps. */
static void by_the_page(void **state)
{
	struct objects o = begin(
		*state, VNET_UCONTEXT_CAP_DOORBELL_FD | VNET_UCONTEXT_CAP_DOORBELL_PAGE, "page");
	uint32_t bit = FAKE_QPN % (VNET_DOORBELL_WORDS * 64);
	struct vnet_doorbell_page *page = o.ctx->doorbell_page;

	assert_non_null(page);
	post_one(&o);
	assert_int_equal(page->word[bit / 64], 1ull << (bit % 64));
	assert_int_equal(page->summary[bit / 64 / 64], 1ull << (bit / 64 % 64));
	assert_int_equal(rung.calls, 0);
	page->need_wakeup = 1;
	post_one(&o);
	assert_int_equal(rung.calls, 1);
	assert_int_equal(rung.request, VNET_DOORBELL_WAKE);
	/* The page has no bits for receive queues. */
	receive_one(&o);
	assert_int_equal(rung.request, VNET_DOORBELL_RECV);
	assert_int_equal(agent.traps, 0);
	end(&o);
}

/* A way to ring that the agent does not offer is not used. */
static void as_offered(void **state)
{
	struct objects o = begin(*state, 0, "page");

	assert_int_equal(o.ctx->doorbell_fd, -1);
	post_one(&o);
	assert_int_equal(agent.traps, 1);
	end(&o);
	o = begin(*state, VNET_UCONTEXT_CAP_DOORBELL_FD, "page");
	assert_null(o.ctx->doorbell_page);
	post_one(&o);
	assert_int_equal(rung.request, VNET_DOORBELL_SEND);
	end(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_the_descriptor),
		TEST(shared_receives_too),
		TEST(by_the_write_command),
		TEST(by_the_page),
		TEST(as_offered),
		TEST(tags_by_the_descriptor),
		TEST(tags_by_the_write_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
