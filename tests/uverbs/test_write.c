// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of headers and lengths of write commands, plain and extended, and inside an ioctl.
 */
#include "kernel.h"

static int raw(u32 command, u16 in_words, u16 out_words, u32 length)
{
	u32 words[64] = { command, (u32)out_words << 16 | in_words };

	return sys_write(kernel.file, words, length);
}

static void headers(void **state)
{
	u32 unknown_bits = IB_USER_VERBS_CMD_QUERY_DEVICE | 0x100;

	assert_int_equal(raw(0, 0, 0, 0), -EINVAL);
	assert_int_equal(raw(0, 2, 0, 7), -EINVAL);
	assert_int_equal(raw(unknown_bits, 2, 0, 8), -EINVAL);
	/* The word count must match the length. */
	assert_int_equal(raw(IB_USER_VERBS_CMD_DEALLOC_PD, 2, 0, 12), -EINVAL);
	assert_int_equal(raw(IB_USER_VERBS_CMD_DEALLOC_PD, 3, 0, 12), -ENOENT);
	/* The request is too short, or the response buffer too small. */
	assert_int_equal(raw(IB_USER_VERBS_CMD_DEALLOC_PD, 2, 0, 8), -ENOSPC);
	assert_int_equal(raw(IB_USER_VERBS_CMD_ALLOC_PD, 4, 0, 16), -ENOSPC);
	/* A response buffer at address 0. */
	assert_int_equal(raw(IB_USER_VERBS_CMD_ALLOC_PD, 4, 1, 16), -EFAULT);
}

static void absent_commands(void **state)
{
	static const u32 plain[] = {
		IB_USER_VERBS_CMD_MODIFY_AH,
		IB_USER_VERBS_CMD_QUERY_AH,
		IB_USER_VERBS_CMD_REG_SMR,
		IB_USER_VERBS_CMD_QUERY_MR,
		IB_USER_VERBS_CMD_BIND_MW,
		IB_USER_VERBS_CMD_POLL_CQ,
		IB_USER_VERBS_CMD_PEEK_CQ,
		IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
		IB_USER_VERBS_CMD_POST_RECV,
		IB_USER_VERBS_CMD_POST_SRQ_RECV,
		41,
		0xff,
	};
	static const u32 extended[] = {
		IB_USER_VERBS_CMD_GET_CONTEXT,
		0xff,
	};

	for (size_t i = 0; i < UV_ARRAY_SIZE(plain); i++)
		assert_int_equal(raw(plain[i], 16, 16, 64), -EOPNOTSUPP);
	for (size_t i = 0; i < UV_ARRAY_SIZE(extended); i++)
		assert_int_equal(raw(extended[i] | IB_USER_VERBS_CMD_FLAG_EXTENDED, 5, 8, 64),
				 -EOPNOTSUPP);
}

static void nothing_without_context(void **state)
{
	struct ib_uverbs_alloc_pd pd = { 0 };
	struct ib_uverbs_alloc_pd_resp pd_resp;
	struct ib_uverbs_query_device device = { 0 };
	struct ib_uverbs_query_device_resp device_resp;
	struct ib_uverbs_create_comp_channel channel = { 0 };
	struct ib_uverbs_create_comp_channel_resp channel_resp;

	assert_int_equal(PLAIN(ALLOC_PD, &pd, &pd_resp), -EINVAL);
	assert_int_equal(PLAIN(QUERY_DEVICE, &device, &device_resp), -EINVAL);
	assert_int_equal(PLAIN(CREATE_COMP_CHANNEL, &channel, &channel_resp), -EINVAL);
}

static int get_context(const struct vnet_alloc_ucontext_req *driver, u32 driver_length, void *out,
		       u32 out_length)
{
	struct ib_uverbs_get_context cmd = { 0 };

	return plain_command(IB_USER_VERBS_CMD_GET_CONTEXT,
			     &(struct parts){ .in = &cmd,
					      .in_length = sizeof(cmd),
					      .driver_in = driver,
					      .driver_in_length = driver_length,
					      .out = out,
					      .out_length = out_length });
}

static void context_by_write(void **state)
{
	struct vnet_alloc_ucontext_req driver = { .hw_version = VNET_HW_VERSION + 1 };
	struct {
		struct ib_uverbs_get_context_resp core;
		struct vnet_alloc_ucontext_resp driver;
	} resp;

	assert_int_equal(get_context(&driver, sizeof(driver), &resp, sizeof(resp)), -EINVAL);
	driver.hw_version = VNET_HW_VERSION;
	driver.reserved_20[3] = 1;
	assert_int_equal(get_context(&driver, sizeof(driver), &resp, sizeof(resp)), -EINVAL);
	driver.reserved_20[3] = 0;
	assert_int_equal(get_context(NULL, 0, &resp, sizeof(resp)), -EINVAL);
	assert_int_equal(kernel.result.nfds, 0);

	assert_int_equal(get_context(&driver, sizeof(driver), &resp, sizeof(resp)), 0);
	assert_int_equal(resp.core.num_comp_vectors, 1);
	assert_int_equal(resp.driver.hw_version, VNET_HW_VERSION);
	assert_int_equal(resp.driver.max_send_sge, VNET_MAX_SGE);
	assert_int_equal(resp.driver.gate, 0);
	/*
	 * The result tells the preload library where to write the gate, and where the event file's
	 * descriptor.
	 */
	assert_int_equal(kernel.result.ucontext_addr, (uintptr_t)&resp.driver);
	assert_int_equal(kernel.result.ucontext_nic, kernel.device.index);
	assert_int_equal(kernel.result.nfds, 1);
	assert_int_equal(kernel.result.fd[0].kind, VNET_FILE_ASYNC);
	assert_int_equal(kernel.result.fd[0].user_addr, (uintptr_t)&resp.core.async_fd);
	assert_int_equal(kernel.result.fd[0].user_size, 4);
	/* A file has only one context. */
	assert_int_equal(get_context(&driver, sizeof(driver), &resp, sizeof(resp)), -EINVAL);
}

static void context_without_room_for_gate(void **state)
{
	struct vnet_alloc_ucontext_req driver = { .hw_version = VNET_HW_VERSION };
	struct ib_uverbs_get_context_resp resp;

	assert_int_equal(get_context(&driver, sizeof(driver), &resp, sizeof(resp)), 0);
	assert_int_equal(kernel.result.ucontext_addr, 0);
}

/* If writing the response fails, no object is left behind. */
static void fault_in_response(void **state)
{
	struct ib_uverbs_alloc_pd cmd = { .response = 8 };
	struct ib_uverbs_create_comp_channel channel = { .response = 8 };
	struct vnet_alloc_pd_resp *half = (void *)(uintptr_t)8;

	assert_int_equal(plain_command(IB_USER_VERBS_CMD_ALLOC_PD,
				       &(struct parts){ .in = &cmd,
							.in_length = sizeof(cmd),
							.out = half,
							.out_length = 4 }),
			 -EFAULT);
	assert_int_equal(kernel.device.alloc->pd.pool.free, UV_MAX_PD);
	assert_int_equal(plain_command(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
				       &(struct parts){ .in = &channel,
							.in_length = sizeof(channel),
							.out = half,
							.out_length = 4 }),
			 -EFAULT);
	assert_int_equal(kernel.result.nfds, 0);
	assert_int_equal(kernel.device.alloc->channel.pool.free, kernel.device.nic.max_channel);
}

/*
 * Request bytes that the server does not know must be zero. Response bytes that it does not know
 * are zeroed.
 */
static void longer_and_shorter(void **state)
{
	struct {
		struct ib_uverbs_query_port cmd;
		u64 more;
	} longer = { .cmd = { .port_num = 1 } };
	struct {
		struct ib_uverbs_query_port_resp resp;
		u32 more[4];
	} room;
	struct parts parts = {
		.in = &longer, .in_length = sizeof(longer), .out = &room, .out_length = sizeof(room)
	};

	memset(&room, 0xff, sizeof(room));
	assert_int_equal(plain_command(IB_USER_VERBS_CMD_QUERY_PORT, &parts), 0);
	assert_int_equal(room.resp.gid_tbl_len, NIC_MAX_GIDS);
	assert_int_equal(room.more[0] | room.more[3], 0);
	longer.more = 1ull << 63;
	assert_int_equal(plain_command(IB_USER_VERBS_CMD_QUERY_PORT, &parts), -EOPNOTSUPP);
}

static void extended_headers(void **state)
{
	struct ib_uverbs_ex_query_device cmd = { 0 };
	struct ib_uverbs_ex_query_device_resp resp;
	struct parts parts = { PARTS_OF(&cmd, &resp) };
	u32 command = IB_USER_VERBS_EX_CMD_QUERY_DEVICE;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		struct ib_uverbs_ex_query_device cmd;
	} bytes = { .hdr = { command | IB_USER_VERBS_CMD_FLAG_EXTENDED, 1, 0 } };

	assert_int_equal(extended_command(command, &parts), 0);
	assert_int_equal(resp.response_length, sizeof(resp));
	assert_int_equal(resp.timestamp_mask, ~0ull);
	/* response_length tells how much of a short buffer was used. */
	parts.out_length = UV_UP_TO(struct ib_uverbs_ex_query_device_resp, odp_caps);
	assert_int_equal(extended_command(command, &parts), 0);
	assert_int_equal(resp.response_length, parts.out_length);
	parts.out_length = sizeof(resp.base);
	assert_int_equal(extended_command(command, &parts), -ENOSPC);
	cmd.reserved = 1;
	parts.out_length = sizeof(resp);
	assert_int_equal(extended_command(command, &parts), -EINVAL);

	/* Without a response. */
	assert_int_equal(sys_write(kernel.file, &bytes, sizeof(bytes)), 0);
	bytes.hdr.out_words = 40;
	assert_int_equal(sys_write(kernel.file, &bytes, sizeof(bytes)), -EINVAL);
	bytes.hdr.out_words = 0;
	bytes.ex.response = (uintptr_t)&resp;
	assert_int_equal(sys_write(kernel.file, &bytes, sizeof(bytes)), -EINVAL);
	bytes.ex.response = 0;
	bytes.ex.cmd_hdr_reserved = 1;
	assert_int_equal(sys_write(kernel.file, &bytes, sizeof(bytes)), -EINVAL);
	bytes.ex.cmd_hdr_reserved = 0;
	bytes.ex.provider_in_words = 1;
	assert_int_equal(sys_write(kernel.file, &bytes, sizeof(bytes)), -EINVAL);
	/* All words of the request are declared as the driver's part. */
	bytes.hdr.in_words = 0;
	assert_int_equal(sys_write(kernel.file, &bytes, sizeof(bytes)), -ENOSPC);
	bytes.hdr.in_words = 1;
	assert_int_equal(sys_write(kernel.file, &bytes, sizeof(bytes.hdr) + 8), -EINVAL);
}

/* ----------------------------------------------------------- inside an ioctl */

static int invoke(u64 command, const void *in, u16 in_length, void *out, u16 out_length)
{
	struct ioctl_call call;
	int err;

	ioctl_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	ioctl_const(&call, UVERBS_ATTR_WRITE_CMD, command);
	if (in_length)
		ioctl_in(&call, UVERBS_ATTR_CORE_IN, in, in_length);
	if (out_length)
		ioctl_out(&call, UVERBS_ATTR_CORE_OUT, out, out_length);
	err = ioctl_run(&call);
	if (!err && out_length)
		assert_true(ioctl_attr(&call, UVERBS_ATTR_CORE_OUT)->flags &
			    UVERBS_ATTR_F_VALID_OUTPUT);
	return err;
}

static void invoked(void **state)
{
	struct ib_uverbs_alloc_pd cmd = { .response = 0 };
	struct ib_uverbs_alloc_pd_resp resp = { .pd_handle = 99 };
	struct ib_uverbs_dealloc_pd dealloc;

	/* The request is one byte too short. */
	assert_int_equal(invoke(IB_USER_VERBS_CMD_ALLOC_PD, &cmd, sizeof(cmd) - 1, &resp,
				sizeof(resp)),
			 -ENOSPC);
	/* libibverbs' probe sends no request. */
	assert_int_equal(invoke(IB_USER_VERBS_CMD_QUERY_DEVICE, NULL, 0, NULL, 0), -ENOSPC);
	assert_int_equal(invoke(IB_USER_VERBS_CMD_POLL_CQ, &cmd, sizeof(cmd), &resp, sizeof(resp)),
			 -EOPNOTSUPP);
	assert_int_equal(invoke(1ull << 32, NULL, 0, NULL, 0), -EINVAL);
	assert_int_equal(invoke(IB_USER_VERBS_CMD_ALLOC_PD, &cmd, sizeof(cmd), &resp, sizeof(resp)),
			 0);
	assert_int_equal(resp.pd_handle, 0);
	dealloc.pd_handle = resp.pd_handle;
	assert_int_equal(invoke(IB_USER_VERBS_CMD_DEALLOC_PD, &dealloc, sizeof(dealloc), NULL, 0),
			 0);
	assert_int_equal(invoke(IB_USER_VERBS_CMD_DEALLOC_PD, &dealloc, sizeof(dealloc), NULL, 0),
			 -ENOENT);
	assert_int_equal(invoke(IB_USER_VERBS_CMD_ALLOC_PD, (void *)8, 16, &resp, sizeof(resp)),
			 -EFAULT);
	assert_int_equal(invoke(IB_USER_VERBS_CMD_ALLOC_PD, &cmd, sizeof(cmd), (void *)8, 4),
			 -EFAULT);
	assert_int_equal(kernel.device.alloc->pd.pool.free, UV_MAX_PD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(headers),
		TEST(absent_commands),
		cmocka_unit_test_setup_teardown(nothing_without_context, kernel_start, kernel_stop),
		cmocka_unit_test_setup_teardown(context_by_write, kernel_start, kernel_stop),
		cmocka_unit_test_setup_teardown(context_without_room_for_gate, kernel_start,
						kernel_stop),
		TEST(fault_in_response),
		TEST(longer_and_shorter),
		TEST(extended_headers),
		TEST(invoked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
