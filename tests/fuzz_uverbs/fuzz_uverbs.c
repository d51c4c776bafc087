// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A libFuzzer target: a hostile client of the uverbs server. Commands and ioctls have random
 * bytes, or are well-formed with random contents. The client's memory is a small arena. Locks
 * may be held by nobody, and NIC memory may be overwritten. At the end the file is closed, and
 * nothing may be left.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../usermode/vnetd/uverbs/ioctl.h"
#include "../../usermode/vnetd/uverbs/write.h"
#include "../fuzz/input.h"
#include "../uverbs/kernel.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define ARENA_SIZE 16384u
#define MAX_STEPS 60
/* More attempts than any command needs once all locks are free. */
#define MAX_TRIES 100

static u8 arena[ARENA_SIZE] __attribute__((aligned(4096)));
static FILE *nowhere;
static bool scribbled;

/* Mostly in the arena. */
static u64 take_addr(void)
{
	u32 value = take32();

	if (value % 16 == 15)
		return value;
	return (uintptr_t)arena + value % ARENA_SIZE;
}

/* Mostly small handles and lengths. */
static u32 take_small(void)
{
	u8 value = take8();

	return value == 0xff ? take32() : value % 24;
}

/* ---------------------------------------------------------------------- commands */

static void raw_write(void)
{
	u8 bytes[256];
	u32 length = take8();

	take(bytes, sizeof(bytes));
	sys_write(kernel.file, bytes, length);
}

static void raw_ioctl(void)
{
	u32 length = take32() % ARENA_SIZE;

	take(arena, 512);
	sys_ioctl(kernel.file, arena, length);
}

/* Handles are in different places, so a few words get likely values. */
static void likely_words(u32 *words, u32 count)
{
	u8 picks = take8();

	for (u32 i = 0; i < 4 && count; i++, picks >>= 2)
		words[(take8() % count)] = picks & 3 ? take_small() : take32();
}

static void plain(void)
{
	struct ib_uverbs_cmd_hdr hdr = { .command = take8() % 44 };
	u32 words[64], count = take8() % 48;
	u64 response = take_addr();

	take(words, sizeof(words));
	if (take8() & 1)
		memset(words, 0, sizeof(words));
	likely_words(words + 2, count);
	hdr.in_words = (u16)(count + 2);
	hdr.out_words = take8();
	memcpy(words, &hdr, sizeof(hdr));
	if (take8() & 7)
		memcpy(words + 2, &response, sizeof(response));
	sys_write(kernel.file, words, hdr.in_words * 4);
}

static void extended(void)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		u32 words[64];
	} cmd;

	take(&cmd, sizeof(cmd));
	cmd.hdr.command = (take8() % 60) | IB_USER_VERBS_CMD_FLAG_EXTENDED;
	cmd.hdr.in_words = take8() % 24;
	cmd.hdr.out_words = take8();
	cmd.ex.response = take_addr();
	cmd.ex.provider_in_words = take8() % 8;
	cmd.ex.provider_out_words = take8();
	cmd.ex.cmd_hdr_reserved = 0;
	likely_words(cmd.words, cmd.hdr.in_words * 2u);
	sys_write(kernel.file, &cmd,
		  (u32)(sizeof(cmd.hdr) + sizeof(cmd.ex)) +
			  8u * (cmd.hdr.in_words + cmd.ex.provider_in_words));
}

/* Mostly a descriptor that a command created. */
static u64 take_fd(void)
{
	u8 pick = take8();

	return kernel.made && pick < 0xf0 ? (u64)kernel.made_fd[pick % kernel.made] : take32();
}

static void fill_attr(struct ib_uverbs_attr *attr)
{
	switch (take8() % 8) {
	case 0:
	case 1:
	case 2:
		attr->len = 0;
		attr->data = take_small();
		break;
	case 3:
		attr->len = 8;
		attr->data = take_small();
		break;
	case 4:
		attr->len = 4;
		attr->data = take_small();
		break;
	case 5:
		attr->len = take8();
		attr->data = take_addr();
		break;
	case 6:
		attr->len = 0;
		attr->data = take_fd();
		break;
	default:
		take(attr, sizeof(*attr));
		break;
	}
}

static void any_ioctl(void)
{
	struct ioctl_call *call = (void *)arena;
	u8 count = take8() % 24;

	ioctl_begin(call, take8() % 18, take8() % 8);
	call->hdr.num_attrs = count;
	call->hdr.length = (u16)(sizeof(call->hdr) + count * sizeof(call->attr[0]));
	for (u8 i = 0; i < count; i++) {
		call->attr[i] = (struct ib_uverbs_attr){ .flags = 0 };
		fill_attr(&call->attr[i]);
		/* Mostly each attribute once. */
		call->attr[i].attr_id = take8() & 7 ? i : take8() & 1 ? 0x1000 : 0x1001;
	}
	sys_ioctl(kernel.file, call, call->hdr.length);
}

/* ----------------------------------------------------------- by the command tables */

/* Fills part of the arena with small numbers, for attributes that are read from there. */
static u8 *small_words(void)
{
	u32 *words = (u32 *)(void *)(arena + ARENA_SIZE / 2);

	for (u32 i = 0; i < 64; i++)
		words[i] = take_small();
	return (u8 *)words;
}

/* A command of the right size with small numbers. */
static void command_by_table(void)
{
	const struct uv_command *command;
	u32 number = take8() % 44, words[64] = { 0 }, length;
	u8 oddity = take8();
	u64 response = take_addr();
	struct parts parts = { .in = words, .out = (void *)(uintptr_t)response };

	if (oddity & 1)
		number |= IB_USER_VERBS_CMD_FLAG_EXTENDED;
	if (uv_command_find(number, &command))
		return;
	length = (command->request + 7u) / 8 * 8;
	for (u32 i = 0; i < length / 4; i++)
		words[i] = take_small();
	parts.in_length = command->extended ? length : (command->request + 3u) / 4 * 4;
	parts.out_length = command->responds ? (command->response + 7u) / 8 * 8 : 0;
	if (!command->responds)
		parts.out = NULL;
	if (oddity & 2)
		parts.out_length += 64;
	if (oddity & 4) {
		parts.driver_in = words + 48;
		parts.driver_in_length = 8;
	}
	if (command->extended)
		extended_command(number & 0xff, &parts);
	else
		plain_command(number, &parts);
}

static void attr_by_spec(struct ib_uverbs_attr *attr, const struct uv_attr_spec *spec, u8 *words)
{
	u16 longest = spec->max_length < 128 ? spec->max_length : 128;

	attr->attr_id = spec->id;
	switch (spec->type) {
	case UV_ATTR_IN:
		attr->len = take8() & 1 ? spec->min_length : longest;
		attr->data = attr->len <= 8 ? take_small() : (uintptr_t)words;
		break;
	case UV_ATTR_OUT:
		attr->len = take8() & 1 ? spec->min_length : longest;
		attr->data = take_addr();
		break;
	case UV_ATTR_HANDLE:
		attr->data = take_small();
		break;
	default:
		attr->data = take_fd();
		break;
	}
}

/* A method with its own attributes, one of which may be invalid. */
static void ioctl_by_table(void)
{
	u16 object = take8() % 17, id = take8() % 8;
	/* The last one is vnet's own method. */
	const struct uv_method *method = uv_method_find(object, id < 7 ? id : VNET_METHOD_DM_QUERY);
	struct ioctl_call *call = (void *)arena;
	u8 oddity = take8(), *words = small_words();

	if (!method)
		return;
	ioctl_begin(call, method->object, method->id);
	for (u16 i = 0; i < method->attrs; i++) {
		struct ib_uverbs_attr *attr = &call->attr[call->hdr.num_attrs];

		if (!method->attr[i].mandatory && take8() & 1)
			continue;
		attr->flags = UVERBS_ATTR_F_MANDATORY;
		attr_by_spec(attr, &method->attr[i], words);
		call->hdr.num_attrs++;
	}
	call->hdr.length = (u16)(sizeof(call->hdr) + call->hdr.num_attrs * sizeof(call->attr[0]));
	if (oddity < 64 && call->hdr.num_attrs)
		fill_attr(&call->attr[oddity % call->hdr.num_attrs]);
	sys_ioctl(kernel.file, call, call->hdr.length);
}

/* --------------------------------------------------------------- useful objects */

static void open_context(void)
{
	struct vnet_alloc_ucontext_req driver = { .hw_version = VNET_HW_VERSION };
	struct ib_uverbs_get_context cmd = { 0 };
	struct parts parts = { .in = &cmd,
			       .in_length = sizeof(cmd),
			       .driver_in = &driver,
			       .driver_in_length = sizeof(driver),
			       .out = arena,
			       .out_length = 8 };

	plain_command(IB_USER_VERBS_CMD_GET_CONTEXT, &parts);
}

static void create_queues(void)
{
	u32 *out = (u32 *)(void *)arena;
	struct ib_uverbs_alloc_pd pd = { 0 };
	struct ib_uverbs_create_comp_channel channel = { 0 };
	struct ib_uverbs_create_cq cq = { .cqe = take_small(), .comp_channel = -1 };
	struct ib_uverbs_create_srq srq = { .max_wr = take_small(), .max_sge = take_small() };
	struct ib_uverbs_create_qp qp = { .max_send_wr = take_small(),
					  .qp_type = 2 + take8() % 3,
					  .max_send_sge = take_small(),
					  .is_srq = take8() & 1 };

	plain_command(IB_USER_VERBS_CMD_ALLOC_PD,
		      &(struct parts){
			      .in = &pd, .in_length = sizeof(pd), .out = arena, .out_length = 4 });
	qp.pd_handle = srq.pd_handle = out[0];
	if (take8() & 1) {
		plain_command(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
			      &(struct parts){ .in = &channel,
					       .in_length = sizeof(channel),
					       .out = arena,
					       .out_length = 4 });
		cq.comp_channel = kernel.fd[0];
	}
	plain_command(IB_USER_VERBS_CMD_CREATE_CQ,
		      &(struct parts){
			      .in = &cq, .in_length = sizeof(cq), .out = arena, .out_length = 8 });
	qp.send_cq_handle = qp.recv_cq_handle = out[0];
	plain_command(IB_USER_VERBS_CMD_CREATE_SRQ, &(struct parts){ .in = &srq,
								     .in_length = sizeof(srq),
								     .out = arena,
								     .out_length = 16 });
	qp.srq_handle = out[0];
	plain_command(IB_USER_VERBS_CMD_CREATE_QP,
		      &(struct parts){
			      .in = &qp, .in_length = sizeof(qp), .out = arena, .out_length = 32 });
}

/* Returns the handle in an extended command's response, or what was in memory before. */
static u32 create_extended(u32 command, const void *in, u32 length, const void *driver,
			   u32 driver_length)
{
	struct parts parts = { .in = in,
			       .in_length = length,
			       .driver_in = driver,
			       .driver_in_length = driver_length,
			       .out = arena,
			       .out_length = 256,
			       .driver_out_length = 128 };
	u32 handle;

	extended_command(command, &parts);
	memcpy(&handle, arena + 8, sizeof(handle));
	return handle;
}

/* SRQs with XRC, with tag matching, and basic ones. */
static void create_shared_queue(void)
{
	struct ib_uverbs_open_xrcd domain = { .fd = (u32)-1, .oflags = 0100 };
	struct ib_uverbs_create_xsrq cmd = { .srq_type = take8() % 4,
					     .pd_handle = take_small(),
					     .max_wr = take_small(),
					     .max_sge = take_small(),
					     .max_num_tags = take_small(),
					     .cq_handle = take_small() };

	plain_command(IB_USER_VERBS_CMD_OPEN_XRCD, &(struct parts){ .in = &domain,
								    .in_length = sizeof(domain),
								    .out = arena,
								    .out_length = 4 });
	memcpy(&cmd.xrcd_handle, arena, sizeof(cmd.xrcd_handle));
	plain_command(IB_USER_VERBS_CMD_CREATE_XSRQ, &(struct parts){ .in = &cmd,
								      .in_length = sizeof(cmd),
								      .out = arena,
								      .out_length = 64 });
}

static void create_window(void)
{
	struct ib_uverbs_alloc_mw cmd = { .pd_handle = take_small(), .mw_type = take8() % 4 };

	plain_command(IB_USER_VERBS_CMD_ALLOC_MW, &(struct parts){ .in = &cmd,
								   .in_length = sizeof(cmd),
								   .out = arena,
								   .out_length = 8 });
}

/* A work queue, which may become ready; an indirection table; and a QP with RSS. */
static void create_spreading(void)
{
	struct ib_uverbs_ex_create_wq wq = { .pd_handle = take_small(),
					     .cq_handle = take_small(),
					     .max_wr = take_small(),
					     .max_sge = take_small() };
	struct ib_uverbs_ex_modify_wq modify = { .attr_mask = take8() & 7,
						 .wq_state = take8() & 3,
						 .curr_wq_state = take8() & 3 };
	u32 table[2 + 4] = { 0, take8() % 3 };
	struct ib_uverbs_ex_create_qp qp = { .qp_type = take8() < 240 ? IB_UVERBS_QPT_RAW_PACKET :
									take8(),
					     .comp_mask = 1 };
	struct vnet_create_qp_req driver = { .rx_hash_fields = take8(),
					     .rx_hash_function = take8() < 240,
					     .rx_hash_key_len = take8() < 240 ? 40 : take8() };

	qp.pd_handle = wq.pd_handle;
	modify.wq_handle =
		create_extended(IB_USER_VERBS_EX_CMD_CREATE_WQ, &wq, sizeof(wq), NULL, 0);
	extended_command(IB_USER_VERBS_EX_CMD_MODIFY_WQ,
			 &(struct parts){ .in = &modify, .in_length = sizeof(modify) });
	for (u32 i = 0; i < 4; i++)
		table[2 + i] = take8() < 240 ? modify.wq_handle : take_small();
	qp.rwq_ind_tbl_handle = create_extended(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL, table,
						8 + (4u << table[1]), NULL, 0);
	create_extended(IB_USER_VERBS_EX_CMD_CREATE_QP, &qp, sizeof(qp), &driver, sizeof(driver));
}

/* A raw packet queue pair, and a flow to it with any specifications. */
static void create_flow(void)
{
	struct ib_uverbs_create_qp qp = { .pd_handle = take_small(),
					  .send_cq_handle = take_small(),
					  .recv_cq_handle = take_small(),
					  .max_recv_wr = take_small(),
					  .max_send_wr = take_small(),
					  .qp_type = IB_UVERBS_QPT_RAW_PACKET };
	struct {
		struct ib_uverbs_create_flow flow;
		u16 spec[64];
	} cmd;
	u32 handle;

	plain_command(IB_USER_VERBS_CMD_CREATE_QP,
		      &(struct parts){
			      .in = &qp, .in_length = sizeof(qp), .out = arena, .out_length = 32 });
	memcpy(&handle, arena, sizeof(handle));
	take(&cmd, sizeof(cmd));
	cmd.flow =
		(struct ib_uverbs_create_flow){ .qp_handle = take8() < 240 ? handle : take_small(),
						.flow_attr = { .type = take8() % 5,
							       .size = sizeof(cmd.spec),
							       .priority = take8() & 3,
							       .num_of_specs = take8() % 6,
							       .port = 1,
							       .flags = take8() & 3 } };
	/* Mostly a valid header type and size. */
	for (u32 at = 0; at + 4 < 64 && take8() < 250; at += cmd.spec[at + 2] / 2u) {
		static const u32 types[] = { 0x20, 0x30, 0x31, 0x34,   0x40,   0x41,
					     0x50, 0x51, 0x60, 0x1000, 0x1001, 0x1003 };
		u32 type = types[take8() % 12];

		memcpy(&cmd.spec[at], &type, sizeof(type));
		cmd.spec[at + 2] = (u16)(8 + 8 * (take8() % 8));
	}
	create_extended(IB_USER_VERBS_EX_CMD_CREATE_FLOW, &cmd, sizeof(cmd), NULL, 0);
}

static void register_memory(void)
{
	struct ib_uverbs_reg_mr cmd = { .start = take_addr(),
					.length = take32() % ARENA_SIZE,
					.pd_handle = take_small(),
					.access_flags = take8() };

	cmd.hca_va = cmd.start;
	plain_command(IB_USER_VERBS_CMD_REG_MR, &(struct parts){ .in = &cmd,
								 .in_length = sizeof(cmd),
								 .out = arena,
								 .out_length = 12 });
}

static void create_address(void)
{
	struct ib_uverbs_create_ah cmd = {
		.pd_handle = take_small(),
		.attr = { .port_num = 1, .is_global = 1, .grh.sgid_index = take8() & 3 }
	};

	plain_command(IB_USER_VERBS_CMD_CREATE_AH, &(struct parts){ .in = &cmd,
								    .in_length = sizeof(cmd),
								    .out = arena,
								    .out_length = 4 });
}

static void change_memory(void)
{
	struct ib_uverbs_rereg_mr cmd = { .mr_handle = take_small(),
					  .flags = take8() % 9,
					  .start = take_addr(),
					  .length = take32() % ARENA_SIZE,
					  .pd_handle = take_small(),
					  .access_flags = take8() };

	cmd.hca_va = cmd.start;
	plain_command(IB_USER_VERBS_CMD_REREG_MR, &(struct parts){ .in = &cmd,
								   .in_length = sizeof(cmd),
								   .out = arena,
								   .out_length = 8 });
}

/* A state transition with the attributes that RC, UC or UD requires. */
static void modify_queue_pair(void)
{
	static const u32 masks[][3] = {
		{ 0x1, 0x1, 0x1 },
		{ 0x39, 0x39, 0x71 },
		{ 0x129181 | 1 << 17, 0x101181, 0x1 },
		{ 0x12e01 & ~0x100u, 0x10001, 0x10001 },
		{ 0x1, 0x1, 0x1 },
		{ 0x1, 0x1, 0x1 },
		{ 0x1, 0x1, 0x1 },
	};
	struct ib_uverbs_modify_qp cmd = { .qp_handle = take_small(), .qp_state = take8() % 7 };

	take(&cmd.dest, sizeof(cmd.dest));
	cmd.attr_mask = masks[cmd.qp_state][take8() % 3];
	if (!(take8() & 7))
		cmd.attr_mask ^= 1u << take8() % 32;
	cmd.port_num = cmd.dest.port_num = take8() < 240 ? 1 : 2;
	cmd.dest.is_global = take8() < 240;
	cmd.dest.sgid_index &= 1;
	cmd.dest.flow_label &= 0xfffff;
	cmd.dest.sl &= 15;
	cmd.path_mtu = 1 + take8() % 5;
	cmd.dest_qp_num = take32() & 0xffffff;
	cmd.timeout = take8() % 32;
	cmd.max_rd_atomic = cmd.max_dest_rd_atomic = take8() % 17;
	plain_command(IB_USER_VERBS_CMD_MODIFY_QP,
		      &(struct parts){ .in = &cmd, .in_length = sizeof(cmd) });
}

static void ask_for_channels(void)
{
	u32 number = take_small();

	uverbs_channel_file(&kernel.device, number, take_small());
	uverbs_device_event(&kernel.device, take8(), 1);
}

/* ----------------------------------------------------------------- other actions */

static void close_some_file(void)
{
	u8 skip = take8() % 8;
	struct file *file = kernel.files;

	while (file && skip--)
		file = file->next;
	if (!file)
		return;
	if (file == kernel.file) {
		if (kernel_close(file) == CALL_DONE)
			kernel.file = kernel_open();
	} else if (file->kind != VNET_FILE_UVERBS) {
		kernel_close(file);
	}
}

static void read_events(void)
{
	struct ib_uverbs_async_event_desc event;
	struct file *file;

	for (file = kernel.files; file; file = file->next)
		if (file->kind == VNET_FILE_ASYNC)
			sys_read_async(file, &event);
}

static void raise_events(void)
{
	struct nic *nic = &kernel.device.nic;
	u32 bits = take32();

	for (u32 i = 0; i < nic->max_qp; i++)
		nic->qp[i].async_pending |= bits;
	nic->async_qp[0] |= take32();
	nic->async_cq[0] |= take32();
	nic->async_srq[0] |= take8();
	nic->hdr->async_any = 1;
	uverbs_collect_async(&kernel.device);
}

static void toggle_lock(void)
{
	struct nic *nic = &kernel.device.nic;
	nic_lock_t *lock = NULL;
	u8 which = take8() % 16;

	switch (take8() % 5) {
	case 0:
		lock = &nic->qp[which].sq_lock;
		break;
	case 1:
		lock = &nic->qp[which].rq.lock;
		break;
	case 2:
		lock = &nic->cq[which].lock;
		break;
	case 3:
		lock = &nic->srq[which % 4].rq.lock;
		break;
	default:
		lock = &nic->channel[which % 4].lock;
		break;
	}
	*lock = *lock ? 0 : STRANGER;
}

/* Overwrites any table of NIC memory, like a hostile client. */
static void scribble(void)
{
	struct device *device = &kernel.device;
	u64 offset = take32() % (device->nic.off_queue - 64);

	take((u8 *)device->memory + offset, 1 + take8() % 64);
	scribbled = true;
}

static void show_status(void)
{
	uverbs_status(&kernel.device, nowhere);
}

/* --------------------------------------------------------------------- the target */

static void clear_locks(void)
{
	struct nic *nic = &kernel.device.nic;

	for (u32 i = 0; i < nic->max_qp; i++)
		nic->qp[i].sq_lock = nic->qp[i].rq.lock = 0;
	for (u32 i = 0; i < nic->max_cq; i++)
		nic->cq[i].lock = 0;
	for (u32 i = 0; i < nic->max_srq; i++)
		nic->srq[i].rq.lock = 0;
	for (u32 i = 0; i < nic->max_channel; i++)
		nic->channel[i].lock = 0;
}

static void close_all(void)
{
	u32 tries = 0;

	/* Corrupted NIC memory cannot be used any more; the daemon would restart. */
	if (scribbled)
		kernel_format();
	scribbled = false;
	clear_locks();
	while (kernel.files && tries++ < MAX_TRIES)
		kernel_close(kernel.files);
	while (kernel.made)
		close(kernel.made_fd[--kernel.made]);
	uv_channel_sweep(&kernel.device);
	if (kernel.files)
		abort();
	kernel_check_empty();
}

static void start_once(void)
{
	if (nowhere)
		return;
	nowhere = fopen("/dev/null", "w");
	kernel_lend(arena, sizeof(arena));
	kernel_start(NULL);
	kernel_close(kernel.file);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static void (*const steps[])(void) = {
		raw_write,
		raw_ioctl,
		plain,
		plain,
		extended,
		any_ioctl,
		any_ioctl,
		command_by_table,
		command_by_table,
		command_by_table,
		command_by_table,
		ioctl_by_table,
		ioctl_by_table,
		ioctl_by_table,
		ioctl_by_table,
		create_queues,
		create_queues,
		create_queues,
		register_memory,
		change_memory,
		modify_queue_pair,
		modify_queue_pair,
		close_some_file,
		read_events,
		raise_events,
		toggle_lock,
		show_status,
		ask_for_channels,
		create_address,
		create_shared_queue,
		create_window,
		create_spreading,
		create_flow,
		scribble,
	};

	start_once();
	input = data;
	left = size;
	kernel.file = kernel_open();
	memset(arena, 0, sizeof(arena));
	if (take8() & 15)
		open_context();
	for (u32 count = 0; left && count < MAX_STEPS && kernel.made < MAX_MADE - 4; count++)
		steps[take8() % UV_ARRAY_SIZE(steps)]();
	close_all();
	return 0;
}
