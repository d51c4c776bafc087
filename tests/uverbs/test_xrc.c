// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of XRC domains, targets that several contexts open, and XRC shared receive queues. Domains
 * are identified by file.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/test_platform.h"
#include "kernel.h"

#define NO_FILE ((u32)-1)

/* Returns the handle, or -errno. */
static int open_domain(u32 fd, u32 oflags)
{
	struct ib_uverbs_open_xrcd cmd = { .fd = fd, .oflags = oflags };
	struct ib_uverbs_open_xrcd_resp resp;
	int err = PLAIN(OPEN_XRCD, &cmd, &resp);

	return err ? err : (int)resp.xrcd_handle;
}

static u32 make_domain(u32 fd, u32 oflags)
{
	int handle = open_domain(fd, oflags);

	assert_true(handle >= 0);
	return (u32)handle;
}

static int close_domain(u32 handle)
{
	return destroy(IB_USER_VERBS_CMD_CLOSE_XRCD, handle);
}

static int make_file(void)
{
	int fd = memfd_create("domain", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/*
 * Opens another context, which commands use until back_to(). Returns the file of the first context.
 */
static struct file *second_context(void)
{
	struct vnet_alloc_ucontext_req driver = { .hw_version = VNET_HW_VERSION };
	struct file *first = kernel.file;
	struct ioctl_call call;

	kernel.file = kernel_open();
	ioctl_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	ioctl_in(&call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	assert_int_equal(ioctl_run(&call), 0);
	return first;
}

static void back_to(struct file *first)
{
	assert_int_equal(kernel_close(kernel.file), CALL_DONE);
	kernel.file = first;
}

static u32 domain_number(u32 handle)
{
	struct uctx *ctx = kernel.file->priv;
	struct uv_object *obj;

	assert_int_equal(uv_object_find(ctx, UVERBS_OBJECT_XRCD, handle, &obj), 0);
	return UV_CAST(struct uv_xrcd, obj)->domain->number;
}

/* --------------------------------------------------------------------- domains */

static void domain_arguments(void **state)
{
	int fd = make_file();
	struct ib_uverbs_open_xrcd cmd = { .fd = (u32)fd, .oflags = O_CREAT };
	struct parts parts = { .in = &cmd, .in_length = sizeof(cmd), .out_length = 4 };

	assert_int_equal(open_domain(12345, O_CREAT), -EBADF);
	assert_int_equal(open_domain((u32)-2, O_CREAT), -EBADF);
	assert_int_equal(open_domain((u32)fd, 0), -EAGAIN);
	assert_int_equal(open_domain((u32)fd, O_EXCL), -EAGAIN);
	parts.out = (void *)8;
	assert_int_equal(plain_command(IB_USER_VERBS_CMD_OPEN_XRCD, &parts), -EFAULT);
	/* The failed command left no domain. */
	assert_int_equal(open_domain((u32)fd, 0), -EAGAIN);
	assert_int_equal(close_domain(77), -ENOENT);
	assert_int_equal(close_domain(make_pd()), -EINVAL);
	close(fd);
}

static void domains_by_file(void **state)
{
	int fd = make_file(), copy = dup(fd), other = make_file();
	u32 one = make_domain((u32)fd, O_CREAT | O_EXCL), two, three;
	struct file *first;

	assert_int_equal(open_domain((u32)copy, O_CREAT | O_EXCL), -EINVAL);
	assert_int_equal(open_domain((u32)copy, O_EXCL), -EINVAL);
	two = make_domain((u32)copy, 0);
	assert_int_equal(domain_number(one), domain_number(two));
	three = make_domain((u32)other, O_CREAT);
	assert_int_not_equal(domain_number(one), domain_number(three));
	three = make_domain(NO_FILE, 0);
	assert_int_not_equal(domain_number(one), domain_number(three));
	assert_int_not_equal(domain_number(three), domain_number(make_domain(NO_FILE, O_CREAT)));

	first = second_context();
	three = make_domain((u32)fd, O_CREAT);
	assert_int_equal(((struct uctx *)first->priv)->object[one] != NULL, 1);
	/* The domain exists as long as one context has it open. */
	assert_int_equal(close_domain(three), 0);
	assert_int_equal(close_domain(three), -ENOENT);
	make_domain((u32)copy, 0);
	back_to(first);
	assert_int_equal(close_domain(one), 0);
	assert_int_equal(close_domain(two), 0);
	assert_int_equal(open_domain((u32)fd, 0), -EAGAIN);
	close(fd);
	close(copy);
	close(other);
}

/* The domain keeps the inode of its file, even if the file is deleted and closed. */
static void domain_holds_its_inode(void **state)
{
	char path[] = "/tmp/xrcd-XXXXXX";
	int fd = mkstemp(path);
	struct stat st, again;

	assert_true(fd >= 0);
	make_domain((u32)fd, O_CREAT);
	assert_int_equal(fstat(fd, &st), 0);
	unlink(path);
	close(fd);
	for (u32 i = 0; i < 64; i++) {
		strcpy(path, "/tmp/xrcd-XXXXXX");
		fd = mkstemp(path);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &again), 0);
		assert_int_not_equal(st.st_ino, again.st_ino);
		assert_int_equal(open_domain((u32)fd, 0), -EAGAIN);
		unlink(path);
		close(fd);
	}
}

static void domain_by_ioctl(void **state)
{
	struct ioctl_call call;
	u32 domain = make_domain(NO_FILE, 0);

	ioctl_begin(&call, UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY);
	assert_int_equal(ioctl_run(&call), -EINVAL);
	ioctl_object(&call, UVERBS_ATTR_DESTROY_XRCD_HANDLE, domain);
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(ioctl_run(&call), -ENOENT);
}

static void domains_exhausted(void **state)
{
	u32 i, first = make_domain(NO_FILE, 0);
	int err = 0;

	for (i = 0; i <= UV_MAX_XRCD && err >= 0; i++)
		err = open_domain(NO_FILE, 0);
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(i, UV_MAX_XRCD);
	assert_int_equal(close_domain(first), 0);
	make_domain(NO_FILE, 0);
}

/* ---------------------------------------------------------- shared receive queues */

static int try_srq(u32 pd, u32 domain, u32 cq)
{
	struct ib_uverbs_create_xsrq cmd = {
		.srq_type = IB_UVERBS_SRQT_XRC,
		.pd_handle = pd,
		.max_wr = 4,
		.max_sge = 1,
		.xrcd_handle = domain,
		.cq_handle = cq,
	};
	struct ib_uverbs_create_srq_resp resp;
	int err = PLAIN(CREATE_XSRQ, &cmd, &resp);

	return err ? err : (int)resp.srq_handle;
}

static void shared_queues(void **state)
{
	u32 pd = make_pd(), cq = make_cq(8, -1), domain = make_domain(NO_FILE, 0), srq;
	struct ib_uverbs_create_qp qp = { .pd_handle = pd,
					  .send_cq_handle = cq,
					  .recv_cq_handle = cq,
					  .max_send_wr = 1,
					  .qp_type = IB_UVERBS_QPT_RC,
					  .is_srq = 1 };
	struct ib_uverbs_create_qp_resp resp;

	assert_int_equal(try_srq(99, domain, cq), -EINVAL);
	assert_int_equal(try_srq(pd, 99, cq), -EINVAL);
	assert_int_equal(try_srq(pd, domain, 99), -EINVAL);
	assert_int_equal(try_srq(domain, domain, cq), -EINVAL);
	assert_int_equal(try_srq(pd, pd, cq), -EINVAL);
	assert_int_equal(try_srq(pd, domain, domain), -EINVAL);
	srq = (u32)try_srq(pd, domain, cq);
	assert_int_equal(srq_entry(srq)->xrcdn, domain_number(domain));
	assert_int_equal(srq_entry(srq)->cqn, cq_of(cq)->cqn);
	/* The SRQ's domain, CQ and PD are busy. */
	assert_int_equal(close_domain(domain), -EBUSY);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_CQ, cq), -EBUSY);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, pd), -EBUSY);
	/* An RC QP cannot use the SRQ. */
	qp.srq_handle = srq;
	assert_int_equal(PLAIN(CREATE_QP, &qp, &resp), -EINVAL);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_SRQ, srq), 0);
	assert_int_equal(close_domain(domain), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_CQ, cq), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, pd), 0);
}

/* -------------------------------------------------------------------- queue pairs */

static int try_target(u32 domain, u32 *qpn)
{
	struct ib_uverbs_create_qp cmd = { .pd_handle = domain,
					   .qp_type = IB_UVERBS_QPT_XRC_TGT,
					   .user_handle = 0x7a1 };
	struct ib_uverbs_create_qp_resp resp;
	int err = PLAIN(CREATE_QP, &cmd, &resp);

	*qpn = 0;
	if (err)
		return err;
	assert_int_equal(resp.max_send_wr, 0);
	assert_int_equal(resp.max_recv_wr, 0);
	*qpn = resp.qpn;
	return (int)resp.qp_handle;
}

static int try_open(u32 domain, u32 qpn, u8 type, u64 user_handle)
{
	struct ib_uverbs_open_qp cmd = {
		.pd_handle = domain, .qpn = qpn, .qp_type = type, .user_handle = user_handle
	};
	struct ib_uverbs_create_qp_resp resp;
	int err = PLAIN(OPEN_QP, &cmd, &resp);

	if (err)
		return err;
	assert_int_equal(resp.qpn, qpn);
	return (int)resp.qp_handle;
}

static void initiators(void **state)
{
	u32 pd = make_pd(), cq = make_cq(8, -1);
	struct ib_uverbs_create_qp cmd = { .pd_handle = pd,
					   .send_cq_handle = cq,
					   .recv_cq_handle = 99,
					   .max_send_wr = 4,
					   .max_send_sge = 1,
					   .max_recv_wr = 4,
					   .is_srq = 1,
					   .srq_handle = 99,
					   .qp_type = IB_UVERBS_QPT_XRC_INI };
	struct ib_uverbs_create_qp_resp resp;

	/* Receive attributes of an initiator are ignored. */
	assert_int_equal(PLAIN(CREATE_QP, &cmd, &resp), 0);
	assert_int_equal(resp.max_send_wr, 4);
	assert_int_equal(resp.max_recv_wr, 0);
	assert_null(qp_of(resp.qp_handle)->rq);
	cmd.pd_handle = 99;
	assert_int_equal(PLAIN(CREATE_QP, &cmd, &resp), -EINVAL);
	cmd.pd_handle = pd, cmd.send_cq_handle = pd;
	assert_int_equal(PLAIN(CREATE_QP, &cmd, &resp), -EINVAL);
	cmd.send_cq_handle = cq, cmd.max_send_wr = UV_MAX_QP_WR + 1;
	assert_int_equal(PLAIN(CREATE_QP, &cmd, &resp), -EINVAL);
}

static void targets(void **state)
{
	u32 domain = make_domain(NO_FILE, 0), other = make_domain(NO_FILE, 0), qpn, rc;
	int one, two;

	assert_int_equal(try_target(99, &qpn), -EINVAL);
	assert_int_equal(try_target(make_pd(), &qpn), -EINVAL);
	one = try_target(domain, &qpn);
	assert_true(one >= 0);
	assert_int_equal(close_domain(domain), -EBUSY);

	assert_int_equal(try_open(99, qpn, IB_UVERBS_QPT_XRC_TGT, 0), -EINVAL);
	assert_int_equal(try_open(other, qpn, IB_UVERBS_QPT_XRC_TGT, 0), -EINVAL);
	assert_int_equal(try_open(domain, 0, IB_UVERBS_QPT_XRC_TGT, 0), -EINVAL);
	assert_int_equal(try_open(domain, qpn + 1, IB_UVERBS_QPT_XRC_TGT, 0), -EINVAL);
	assert_int_equal(try_open(domain, qpn, IB_UVERBS_QPT_XRC_INI, 0), -EINVAL);
	assert_int_equal(try_open(domain, qpn, IB_UVERBS_QPT_RC, 0), -EINVAL);
	rc = make_qp(IB_UVERBS_QPT_RC, make_pd(), make_cq(4, -1), -1);
	assert_int_equal(try_open(domain, qp_of(rc)->params.qpn, IB_UVERBS_QPT_XRC_TGT, 0),
			 -EINVAL);

	two = try_open(domain, qpn, IB_UVERBS_QPT_XRC_TGT, 0);
	assert_true(two >= 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, (u32)one), 0);
	/* The second handle still refers to the target. */
	assert_int_equal(kernel.device.nic.qp[qpn & kernel.device.nic.qp_index_mask].qpn, qpn);
	assert_int_equal(close_domain(domain), -EBUSY);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, (u32)two), 0);
	assert_int_equal(kernel.device.nic.qp[qpn & kernel.device.nic.qp_index_mask].qpn, 0);
	assert_int_equal(try_open(domain, qpn, IB_UVERBS_QPT_XRC_TGT, 0), -EINVAL);
	assert_int_equal(close_domain(domain), 0);
}

static void target_by_ioctl(void **state)
{
	u32 domain = make_domain(NO_FILE, 0), qpn = 0, cq = make_cq(4, -1);
	struct ib_uverbs_qp_cap cap = { 0 };
	struct ioctl_call call;
	u64 name = 1;

	ioctl_begin(&call, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	ioctl_object(&call, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	ioctl_in(&call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &name, sizeof(name));
	ioctl_in(&call, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	ioctl_const(&call, UVERBS_ATTR_CREATE_QP_TYPE, IB_UVERBS_QPT_XRC_TGT);
	ioctl_out(&call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap, sizeof(cap));
	ioctl_out(&call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qpn, sizeof(qpn));
	assert_int_equal(ioctl_run(&call), -ENOENT);
	ioctl_object(&call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, domain);
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_not_equal(qpn, 0);
	ioctl_object(&call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq);
	assert_int_equal(ioctl_run(&call), -EINVAL);
}

/* Allocates an event file for the context's asynchronous events. */
static void make_events(void)
{
	struct ioctl_call call;

	ioctl_begin(&call, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	ioctl_object(&call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	assert_int_equal(ioctl_run(&call), 0);
}

/* Raises an event of a queue pair in NIC memory, as the NIC does. */
static void raise_for_all(u32 index)
{
	struct nic *nic = &kernel.device.nic;

	nic->qp[index].async_pending |= 1u << NIC_EVENT_COMM_EST;
	nic->async_qp[index / 64] |= 1ull << index % 64;
	nic->hdr->async_any = 1;
	uverbs_collect_async(&kernel.device);
}

/* A target of several contexts: all of them get its events, and the last one ends it. */
static void targets_of_several(void **state)
{
	int fd = make_file(), mine, theirs;
	u32 domain = make_domain((u32)fd, O_CREAT), qpn, index;
	const struct uv_qp *maker;
	struct file *first;

	make_events();
	mine = try_target(domain, &qpn);
	index = qpn & kernel.device.nic.qp_index_mask;
	first = second_context();
	make_events();
	theirs = try_open(make_domain((u32)fd, 0), qpn, IB_UVERBS_QPT_XRC_TGT, 0xbeef);
	raise_for_all(index);
	assert_int_equal(qp_of((u32)theirs)->obj.events_unread, 1);
	maker = UV_CAST(struct uv_qp, ((struct uctx *)first->priv)->object[mine]);
	assert_int_equal(maker->obj.events_unread, 1);
	back_to(first);
	assert_int_equal(kernel.device.nic.qp[index].qpn, qpn);
	assert_ptr_equal(uv_number_owner(&kernel.device.alloc->qp, index), qp_of((u32)mine));
	assert_int_equal(try_open(domain, qpn, IB_UVERBS_QPT_XRC_TGT, 0) >= 0, 1);

	/* The creating context is closed while another one has the target open. */
	first = second_context();
	theirs = try_open(make_domain((u32)fd, 0), qpn, IB_UVERBS_QPT_XRC_TGT, 0xbeef);
	assert_true(theirs >= 0);
	assert_int_equal(kernel_close(first), CALL_DONE);
	assert_int_equal(kernel.device.nic.qp[index].qpn, qpn);
	assert_ptr_equal(uv_number_owner(&kernel.device.alloc->qp, index), qp_of((u32)theirs));
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, (u32)theirs), 0);
	assert_int_equal(kernel.device.nic.qp[index].qpn, 0);
	close(fd);
}

/* Destruction parks while the send queue is locked. Meanwhile, the target cannot be opened. */
static void target_that_is_ending(void **state)
{
	u32 domain = make_domain(NO_FILE, 0), qpn, index;
	int target = try_target(domain, &qpn);
	struct nic_qp *frame;

	index = qpn & kernel.device.nic.qp_index_mask;
	frame = &kernel.device.nic.qp[index];
	frame->sq_lock = STRANGER;
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, (u32)target), PARKED);
	assert_int_equal(try_open(domain, qpn, IB_UVERBS_QPT_XRC_TGT, 0), -EINVAL);
	frame->sq_lock = 0;
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, (u32)target), 0);
	assert_int_equal(close_domain(domain), 0);
}

#define CONTEXT(name) cmocka_unit_test_setup_teardown(name, kernel_start_context, kernel_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT(domain_arguments),
		CONTEXT(domains_by_file),
		CONTEXT(domain_holds_its_inode),
		CONTEXT(domain_by_ioctl),
		CONTEXT(domains_exhausted),
		CONTEXT(shared_queues),
		CONTEXT(initiators),
		CONTEXT(targets),
		CONTEXT(target_by_ioctl),
		CONTEXT(targets_of_several),
		CONTEXT(target_that_is_ending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
