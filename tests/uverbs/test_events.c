// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of completion channels and asynchronous events. Checks when files are readable, and the
 * event counts that destruction reports.
 */
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../unit/test_platform.h"
#include "kernel.h"

static bool readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static void drain(int fd)
{
	char bytes[8];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

/* ---------------------------------------------------------------------- channels */

static void channel_files(void **state)
{
	struct device *device = &kernel.device;
	int fd = make_channel(), copy = dup(fd), other;
	u32 file_id = kernel.result.fd[0].file_id;
	u32 number = kernel.result.fd[0].number, generation = kernel.result.fd[0].generation;
	struct file *file = kernel_file(file_id);
	u32 cq;

	assert_non_null(file);
	assert_ptr_equal(uverbs_channel_file(device, number, generation), file);
	assert_null(uverbs_channel_file(device, number, generation + 1));
	assert_null(uverbs_channel_file(device, 99, generation));
	assert_int_equal(file->number, number);
	assert_int_equal(file->generation, generation);
	/*
	 * The channel may be named by any descriptor of its file, but not by that of another file.
	 */
	cq = make_cq(4, copy);
	assert_int_equal(cq_of(cq)->channel->index, number);
	close(copy);
	other = make_channel();
	assert_int_not_equal(kernel.result.fd[0].number, number);
	assert_int_equal(kernel_close(kernel_file(kernel.result.fd[0].file_id)), CALL_DONE);
	{
		struct ib_uverbs_create_cq cmd = { .cqe = 4, .comp_channel = other };
		struct ib_uverbs_create_cq_resp resp;

		assert_int_equal(PLAIN(CREATE_CQ, &cmd, &resp), -EBADF);
		/* A socket that is no channel. */
		cmd.comp_channel = file->sock;
		assert_int_equal(PLAIN(CREATE_CQ, &cmd, &resp), -EBADF);
		cmd.comp_channel = STDERR_FILENO;
		assert_int_equal(PLAIN(CREATE_CQ, &cmd, &resp), -EBADF);
	}
	/* The program closes the channel while a CQ uses it. The channel ends with the CQ. */
	assert_int_equal(kernel_close(file), CALL_DONE);
	assert_null(uverbs_channel_file(device, number, generation));
	assert_int_equal(device->nic.channel[number].generation, generation);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_CQ, cq), 0);
	assert_int_equal(device->nic.channel[number].generation, 0);
}

/* A CQ cannot use a channel of another device file. */
static void foreign_channel(void **state)
{
	struct ib_uverbs_create_cq cmd = { .cqe = 4, .comp_channel = make_channel() };
	struct ib_uverbs_create_cq_resp resp;
	struct file *mine = kernel.file;
	struct vnet_alloc_ucontext_req driver = { .hw_version = VNET_HW_VERSION };
	struct ioctl_call call;

	kernel.file = kernel_open();
	ioctl_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	ioctl_in(&call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(PLAIN(CREATE_CQ, &cmd, &resp), -EBADF);
	assert_int_equal(kernel_close(kernel.file), CALL_DONE);
	kernel.file = mine;
}

static void stuck_channel(void **state)
{
	struct nic *nic = &kernel.device.nic;
	u32 number;

	make_channel();
	number = kernel.result.fd[0].number;
	nic->channel[number].lock = STRANGER;
	assert_int_equal(kernel_close(kernel_file(kernel.result.fd[0].file_id)), CALL_DONE);
	/* The channel's index is not reused while the NIC still uses the channel. */
	for (u32 i = 1; i < nic->max_channel; i++) {
		make_channel();
		assert_int_not_equal(kernel.result.fd[0].number, number);
	}
	nic->channel[number].lock = 0;
	make_channel();
	assert_int_equal(kernel.result.fd[0].number, number);
}

/* Reads the event of a CQ from the channel, as the process would. */
static bool take(u32 channel, u64 *user_handle)
{
	return nic_channel_take(&kernel.device.nic, channel, user_handle, NULL, NULL) == NIC_OK;
}

static int destroy_cq_counts(u32 handle, struct ib_uverbs_destroy_cq_resp *resp)
{
	struct ib_uverbs_destroy_cq cmd = { .cq_handle = handle };

	return PLAIN(DESTROY_CQ, &cmd, resp);
}

static void completion_events(void **state)
{
	struct ib_uverbs_destroy_cq_resp resp = { 99, 99 };
	u32 cq = make_cq(4, make_channel());
	struct nic_cq *entry = &kernel.device.nic.cq[cq_of(cq)->cqn - 1];

	assert_int_equal(entry->user_handle, 0xc0ffee);
	assert_int_equal(entry->channel, cq_of(cq)->channel->index);
	/* The process has read two events. */
	entry->ev_delivered = 2;
	assert_int_equal(destroy_cq_counts(cq, &resp), 0);
	assert_int_equal(resp.comp_events_reported, 2);
	assert_int_equal(resp.async_events_reported, 0);
	{
		u64 user_handle;

		assert_false(take(0, &user_handle));
	}
}

/* ------------------------------------------------------------------ async events */

struct event_file {
	int fd;
	struct file *file;
};

static struct event_file alloc_events(void)
{
	struct ioctl_call call;

	ioctl_begin(&call, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	ioctl_object(&call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(kernel.result.fd[0].user_addr, (uintptr_t)&call.attr[0].data);
	assert_int_equal(kernel.result.fd[0].user_size, 8);
	return (struct event_file){ kernel.fd[0], kernel_file(kernel.result.fd[0].file_id) };
}

/* Raises an event in NIC memory, as the NIC does. */
static void raise_qp(u32 handle, u32 event)
{
	struct nic *nic = &kernel.device.nic;
	u32 index = qp_of(handle)->params.qpn & nic->qp_index_mask;

	nic->qp[index].async_pending |= 1u << event;
	nic->async_qp[index / 64] |= 1ull << index % 64;
	nic->hdr->async_any = 1;
	uverbs_collect_async(&kernel.device);
}

static int destroy_qp_count(u32 handle, u32 *events)
{
	struct ib_uverbs_destroy_qp cmd = { .qp_handle = handle };
	struct ib_uverbs_destroy_qp_resp resp;
	int err = PLAIN(DESTROY_QP, &cmd, &resp);

	*events = resp.events_reported;
	return err;
}

static void async_events(void **state)
{
	struct event_file events = alloc_events();
	struct ib_uverbs_async_event_desc event;
	u32 qp = make_qp(IB_UVERBS_QPT_RC, make_pd(), make_cq(4, -1), -1), count;

	assert_false(readable(events.fd));
	assert_int_equal(sys_read_async(events.file, &event), -EAGAIN);
	raise_qp(qp, IBV_EVENT_QP_FATAL);
	raise_qp(qp, IBV_EVENT_COMM_EST);
	assert_true(readable(events.fd));
	/* The preload library reads the bytes from the socket before it asks for the event. */
	drain(events.fd);
	assert_int_equal(sys_read_async(events.file, &event), 0);
	assert_int_equal(event.element, 0xbead);
	assert_int_equal(event.event_type, IBV_EVENT_QP_FATAL);
	assert_true(readable(events.fd));
	drain(events.fd);
	assert_int_equal(sys_read_async(events.file, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_COMM_EST);
	assert_false(readable(events.fd));
	assert_int_equal(sys_read_async(events.file, &event), -EAGAIN);
	/* The unread event is removed with the QP, and is not counted. */
	raise_qp(qp, IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(destroy_qp_count(qp, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(sys_read_async(events.file, &event), -EAGAIN);
}

/* An event whose answer was not sent stays unread: the next reader gets it. */
static void unsent_answer(void **state)
{
	struct event_file events = alloc_events();
	struct ib_uverbs_async_event_desc event;
	u32 qp = make_qp(IB_UVERBS_QPT_RC, make_pd(), make_cq(4, -1), -1), count;

	raise_qp(qp, IBV_EVENT_QP_FATAL);
	drain(events.fd);
	kernel.answers_lost = true;
	assert_int_equal(sys_read_async(events.file, &event), 0);
	assert_true(readable(events.fd));
	drain(events.fd);
	kernel.answers_lost = false;
	assert_int_equal(sys_read_async(events.file, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_FATAL);
	assert_false(readable(events.fd));
	raise_qp(qp, IBV_EVENT_COMM_EST);
	kernel.answers_lost = true;
	assert_int_equal(sys_read_async(events.file, &event), 0);
	/* Destruction waits for delivered events only. */
	assert_int_equal(destroy_qp_count(qp, &count), 0);
	assert_int_equal(count, 1);
}

static void others_keep_theirs(void **state)
{
	struct event_file events = alloc_events();
	struct ib_uverbs_async_event_desc event;
	u32 pd = make_pd(), cq = make_cq(4, -1), count;
	u32 first = make_qp(IB_UVERBS_QPT_RC, pd, cq, -1);
	u32 second = make_qp(IB_UVERBS_QPT_RC, pd, cq, -1);

	raise_qp(first, IBV_EVENT_COMM_EST);
	raise_qp(second, IBV_EVENT_QP_FATAL);
	raise_qp(first, IBV_EVENT_QP_FATAL);
	assert_int_equal(destroy_qp_count(first, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(sys_read_async(events.file, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_FATAL);
	assert_int_equal(sys_read_async(events.file, &event), -EAGAIN);
	/* The list of unread events is still intact at its end. */
	raise_qp(second, IBV_EVENT_COMM_EST);
	assert_int_equal(sys_read_async(events.file, &event), 0);
	assert_int_equal(destroy_qp_count(second, &count), 0);
	assert_int_equal(count, 2);
}

/* Events of an object go to the event file that its creation named, by default to the first one. */
static void chosen_file(void **state)
{
	struct event_file first = alloc_events(), second = alloc_events();
	struct ib_uverbs_async_event_desc event;
	struct ioctl_call call;
	u32 cqe = 0;

	ioctl_begin(&call, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	ioctl_object(&call, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	ioctl_u32(&call, UVERBS_ATTR_CREATE_CQ_CQE, 4);
	ioctl_const(&call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 7);
	ioctl_u32(&call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0);
	ioctl_out(&call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe, 4);
	ioctl_object(&call, UVERBS_ATTR_CREATE_CQ_EVENT_FD, second.fd);
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(cqe, 4);
	{
		struct nic *nic = &kernel.device.nic;
		u32 index = cq_of((u32)call.attr[0].data)->cqn - 1;

		nic->cq[index].async_pending |= 1u << IBV_EVENT_CQ_ERR;
		nic->async_cq[0] |= 1ull << index;
		nic->hdr->async_any = 1;
		uverbs_collect_async(&kernel.device);
	}
	assert_int_equal(sys_read_async(first.file, &event), -EAGAIN);
	assert_int_equal(sys_read_async(second.file, &event), 0);
	assert_int_equal(event.element, 7);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);

	/* A descriptor of another kind of file, a closed one, and one out of range. */
	ioctl_attr(&call, UVERBS_ATTR_CREATE_CQ_EVENT_FD)->data = (u64)make_channel();
	assert_int_equal(ioctl_run(&call), -EBADF);
	ioctl_attr(&call, UVERBS_ATTR_CREATE_CQ_EVENT_FD)->data = 54321;
	assert_int_equal(ioctl_run(&call), -EBADF);
	ioctl_attr(&call, UVERBS_ATTR_CREATE_CQ_EVENT_FD)->data = 1ull << 33;
	assert_int_equal(ioctl_run(&call), -EINVAL);
}

static void closed_file(void **state)
{
	struct event_file events = alloc_events();
	u32 qp = make_qp(IB_UVERBS_QPT_RC, make_pd(), make_cq(4, -1), -1), count;

	raise_qp(qp, IBV_EVENT_COMM_EST);
	assert_int_equal(kernel_close(events.file), CALL_DONE);
	raise_qp(qp, IBV_EVENT_QP_FATAL);
	assert_int_equal(destroy_qp_count(qp, &count), 0);
	assert_int_equal(count, 0);
}

/* The number of unread events per object is limited. */
static void flood(void **state)
{
	struct event_file events = alloc_events();
	struct ib_uverbs_async_event_desc event;
	u32 qp = make_qp(IB_UVERBS_QPT_RC, make_pd(), make_cq(4, -1), -1), got;

	for (u32 i = 0; i < 1000; i++)
		raise_qp(qp, IBV_EVENT_COMM_EST);
	for (got = 0; !sys_read_async(events.file, &event); got++)
		;
	assert_int_equal(got, UV_MAX_UNREAD);
}

static void device_events(void **state)
{
	struct event_file events = alloc_events();
	struct ib_uverbs_async_event_desc event;

	uverbs_device_event(&kernel.device, IBV_EVENT_DEVICE_FATAL, 1);
	assert_true(readable(events.fd));
	assert_int_equal(sys_read_async(events.file, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	assert_int_equal(event.element, 1);
	uverbs_device_event(&kernel.device, IBV_EVENT_DEVICE_FATAL, 1);
}

/* Events of objects that do not exist are ignored. */
static void stray_events(void **state)
{
	struct nic *nic = &kernel.device.nic;
	struct event_file events = alloc_events();
	struct ib_uverbs_async_event_desc event;

	for (u32 i = 0; i < nic->max_qp; i++) {
		nic->qp[i].qpn = 0x100000 + i;
		nic->qp[i].async_pending = ~0u;
	}
	nic->async_qp[0] = ~0ull;
	nic->async_cq[0] = ~0ull;
	nic->async_srq[0] = ~0ull;
	nic->cq[5].num = 6;
	nic->cq[5].async_pending = ~0u;
	nic->hdr->async_any = 1;
	uverbs_collect_async(&kernel.device);
	assert_int_equal(sys_read_async(events.file, &event), -EAGAIN);
	for (u32 i = 0; i < nic->max_qp; i++)
		nic->qp[i].qpn = 0;
	nic->cq[5].num = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(channel_files),      TEST(foreign_channel),
		TEST(stuck_channel),      TEST(completion_events),
		TEST(async_events),       TEST(unsent_answer),
		TEST(others_keep_theirs), TEST(chosen_file),
		TEST(closed_file),        TEST(flood),
		TEST(device_events),      TEST(stray_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
