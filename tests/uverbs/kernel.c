// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../unit/test_platform.h"
#include "../../usermode/vnetd/link/link.h"
#include "clients/connections.h"
#include "kernel.h"

struct kernel kernel;

static const struct nic_config small = {
	.max_qp = 16,
	.max_cq = 16,
	.max_srq = 4,
	.max_mr = 32,
	.max_channel = 4,
	.max_client = 16,
	.queue_bytes = 64u << 20,
	.stall_ns = 50000000,
	.node_guid = 0x1122334455667788,
};

/* -------------------------------------------------- the daemon's core, faked */

static int read_self(void *dst, u64 addr, size_t length)
{
	struct iovec local = { dst, length };
	struct iovec remote = { (void *)(uintptr_t)addr, length };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)length ? 0 :
											 -EFAULT;
}

static int write_self(u64 addr, const void *src, size_t length)
{
	struct iovec local = { (void *)(uintptr_t)src, length };
	struct iovec remote = { (void *)(uintptr_t)addr, length };

	return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)length ? 0 :
											  -EFAULT;
}

static u8 *lent;
static size_t lent_size;

void kernel_lend(void *memory, size_t size)
{
	lent = memory;
	lent_size = size;
}

/* Returns NULL if the range is not inside the lent memory. */
static u8 *find_lent(u64 addr, size_t length)
{
	u64 offset = addr - (uintptr_t)lent;

	return offset <= lent_size && length <= lent_size - offset ? lent + offset : NULL;
}

int user_read(struct client *client, void *dst, u64 addr, size_t length)
{
	const u8 *from = find_lent(addr, length);

	if (!lent)
		return read_self(dst, addr, length);
	if (!from)
		return -EFAULT;
	memcpy(dst, from, length);
	return 0;
}

int user_write(struct client *client, u64 addr, const void *src, size_t length)
{
	u8 *to = find_lent(addr, length);

	if (!lent)
		return write_self(addr, src, length);
	if (!to)
		return -EFAULT;
	memcpy(to, src, length);
	return 0;
}

/* Checks that each page is readable. Memory that was lent is always present. */
int user_bring(struct client *client, u64 addr, u64 length)
{
	u64 end = addr + length;
	u8 byte;

	for (; !lent && addr < end; addr = (addr | 4095) + 1)
		if (read_self(&byte, addr, 1))
			return -EFAULT;
	return 0;
}

bool client_left(const struct client *client)
{
	return client->dead;
}

struct client *client_get(struct client *client)
{
	client->refs++;
	return client;
}

void client_put(struct client *client)
{
	assert_true(client->refs > 0);
	client->refs--;
}

void discover_peers(struct device *device)
{
}

/* The user-mode platform caches descriptors of channels; the platform of these tests has none. */
void host_drop_channel(struct host *host, u32 channel)
{
}

static struct file *file_make(enum vnet_file_kind kind, void *priv)
{
	static u32 last_id;
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->id = ++last_id;
	file->kind = kind;
	file->device = &kernel.device;
	file->priv = priv;
	file->sock = -1;
	file->next = kernel.files;
	kernel.files = file;
	return file;
}

struct file *file_create(struct daemon *daemon, struct device *device, enum vnet_file_kind kind,
			 void *priv, int *peer_fd)
{
	struct file *file;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return NULL;
	file = file_make(kind, priv);
	file->sock = fds[0];
	*peer_fd = fds[1];
	return file;
}

void file_tell(struct file *file, bool first)
{
	if (first)
		(void)!send(file->sock, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		(void)shutdown(file->sock, SHUT_RD);
}

struct file *kernel_file(u32 id)
{
	struct file *file;

	for (file = kernel.files; file && file->id != id;)
		file = file->next;
	return file;
}

void file_destroy(struct file *file)
{
	struct file **place = &kernel.files;

	while (*place != file)
		place = &(*place)->next;
	*place = file->next;
	if (file->sock >= 0)
		close(file->sock);
	free(file);
}

/* ------------------------------------------------------------- start and end */

void kernel_format(void)
{
	struct device *device = &kernel.device;
	struct nic_config config = small;

	memset(device->memory, 0, device->nic.off_queue);
	assert_int_equal(nic_format(device->memory, device->memory_size, &config), NIC_OK);
	assert_int_equal(nic_attach(&device->nic, device->memory, device->memory_size), NIC_OK);
	device->nic.self = 1;
	device->nic.hdr->port_up = 1;
	device->nic.hdr->ngids = device->ngids;
	memcpy(device->nic.hdr->gid, device->gid, sizeof(device->gid));
}

static void device_start(struct device *device)
{
	struct nic_config config = small;
	u64 size = nic_memory_size(&config);
	int fd = memfd_create("nic", MFD_CLOEXEC);

	assert_true(fd >= 0 && size);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	device->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(device->memory != MAP_FAILED);
	device->memory_size = size;
	device->memory_fd = fd;
	device->index = 3;
	device->ngids = 2;
	device->gids_shown = 2;
	device->gid[0][0] = 0xfe;
	device->gid[1][15] = 1;
	device->gid_ifindex[1] = 5;
	kernel_format();
	tp = (struct tp){ .memory = device->memory,
			  .memory_size = size,
			  .off_queue = device->nic.off_queue,
			  .queue_bytes = device->nic.queue_bytes };
	assert_int_equal(uverbs_device_init(device), 0);
}

struct file *kernel_open(void)
{
	struct file *file = file_make(VNET_FILE_UVERBS, NULL);

	assert_int_equal(uverbs_file_open(file), 0);
	return file;
}

enum call_outcome kernel_close(struct file *file)
{
	enum call_outcome outcome = uverbs_file_close(file);

	if (outcome == CALL_DONE)
		file_destroy(file);
	return outcome;
}

int kernel_start(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.client.pid = getpid();
	kernel.client.space = 0x10001;
	kernel.client.owner = 2;
	kernel.client.maps_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	kernel.client.status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	device_start(&kernel.device);
	kernel.file = kernel_open();
	return 0;
}

int kernel_start_context(void **state)
{
	struct ioctl_call call;
	struct vnet_alloc_ucontext_req driver = { .hw_version = VNET_HW_VERSION };

	kernel_start(state);
	ioctl_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	ioctl_in(&call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	assert_int_equal(ioctl_run(&call), 0);
	return 0;
}

void kernel_check_empty(void)
{
	const struct device *device = &kernel.device;
	const struct device_alloc *alloc = device->alloc;
	const struct uv_block *first = alloc->heap.after;

	assert_int_equal(alloc->qp.pool.free, device->nic.max_qp);
	assert_int_equal(alloc->cq.pool.free, device->nic.max_cq);
	assert_int_equal(alloc->srq.pool.free, device->nic.max_srq);
	assert_int_equal(alloc->mr.pool.free, device->nic.max_mr - 1);
	assert_int_equal(alloc->channel.pool.free, device->nic.max_channel);
	assert_int_equal(alloc->pd.pool.free, UV_MAX_PD);
	assert_int_equal(alloc->ah.pool.free, UV_MAX_AH);
	assert_int_equal(alloc->table.pool.free, UV_MAX_TABLES);
	assert_int_equal(alloc->flow.pool.free, NIC_MAX_FLOWS);
	assert_int_equal(alloc->counters.pool.free, NIC_MAX_FLOW_COUNTERS);
	assert_true(first->free && first->size == device->nic.queue_bytes);
	assert_int_equal(alloc->dm_bytes, 0);
	assert_null(alloc->contexts);
	assert_int_equal(kernel.client.refs, 0);
}

int kernel_stop(void **state)
{
	struct device *device = &kernel.device;

	if (kernel.file)
		assert_int_equal(kernel_close(kernel.file), CALL_DONE);
	while (kernel.files)
		assert_int_equal(kernel_close(kernel.files), CALL_DONE);
	while (kernel.made)
		close(kernel.made_fd[--kernel.made]);
	kernel_check_empty();
	uverbs_device_fini(device);
	close(kernel.client.maps_fd);
	close(kernel.client.status_fd);
	munmap(device->memory, device->memory_size);
	close(device->memory_fd);
	return 0;
}

/* --------------------------------------------------------------- system calls */

static int answer(const struct call *call, enum call_outcome outcome)
{
	kernel.result = call->result;
	for (u32 i = 0; i < VNET_RESULT_FDS; i++)
		kernel.fd[i] = i < call->result.nfds ? call->fd[i] : -1;
	for (u32 i = 0; i < call->result.nfds; i++)
		kernel.made_fd[kernel.made++] = call->fd[i];
	memcpy(kernel.record, call->record, sizeof(kernel.record));
	if (outcome == CALL_PARK)
		return PARKED;
	return call->result.error ? -(int)call->result.error : 0;
}

/* Like the preload library: repeats the call with the descriptors that the server asks for. */
static int run_call(enum call_outcome (*run)(struct call *), struct file *file, const void *bytes,
		    u32 length)
{
	s32 fd[VNET_MSG_FDS];
	u32 nfds = 0;

	for (;;) {
		struct call call = { .client = &kernel.client,
				     .file = file,
				     .data = bytes,
				     .length = length,
				     .user_addr = (uintptr_t)bytes,
				     .fd_number = fd,
				     .fd_attached = fd,
				     .nfds = nfds };
		enum call_outcome outcome = run(&call);

		if (!call.result.wants_fd)
			return answer(&call, outcome);
		if (fcntl(call.result.wanted_fd, F_GETFD) < 0)
			return -EBADF;
		assert_true(nfds < VNET_MSG_FDS);
		fd[nfds++] = call.result.wanted_fd;
	}
}

int sys_write(struct file *file, const void *bytes, u32 length)
{
	return run_call(uverbs_write, file, bytes, length);
}

int sys_ioctl(struct file *file, const void *bytes, u32 length)
{
	return run_call(uverbs_ioctl, file, bytes, length);
}

int sys_read_async(struct file *file, struct ib_uverbs_async_event_desc *event)
{
	struct call call = { .client = &kernel.client, .file = file };
	int err = answer(&call, uverbs_async_read(&call));

	if (!err) {
		memcpy(event, kernel.record, sizeof(*event));
		uverbs_async_answered(file, !kernel.answers_lost);
	}
	return err;
}

static u32 append(u8 *bytes, u32 at, const void *src, u32 length)
{
	if (length)
		memcpy(bytes + at, src, length);
	return at + length;
}

int plain_command(u32 command, const struct parts *parts)
{
	struct ib_uverbs_cmd_hdr hdr = { .command = command };
	u64 response = (uintptr_t)parts->out;
	u8 bytes[1024];
	u32 length = sizeof(hdr);

	length = append(bytes, length, parts->in, parts->in_length);
	if (parts->out)
		append(bytes, sizeof(hdr), &response, sizeof(response));
	length = append(bytes, length, parts->driver_in, parts->driver_in_length);
	hdr.in_words = (u16)(length / 4);
	hdr.out_words = (u16)(parts->out_length / 4);
	append(bytes, 0, &hdr, sizeof(hdr));
	return sys_write(kernel.file, bytes, length);
}

int extended_command(u32 command, const struct parts *parts)
{
	struct ib_uverbs_cmd_hdr hdr = {
		.command = command | IB_USER_VERBS_CMD_FLAG_EXTENDED,
		.in_words = (u16)(parts->in_length / 8),
		.out_words = (u16)((parts->out_length - parts->driver_out_length) / 8),
	};
	struct ib_uverbs_ex_cmd_hdr ex = {
		.response = (uintptr_t)parts->out,
		.provider_in_words = (u16)(parts->driver_in_length / 8),
		.provider_out_words = (u16)(parts->driver_out_length / 8),
	};
	u8 bytes[1024];
	u32 length = append(bytes, 0, &hdr, sizeof(hdr));

	length = append(bytes, length, &ex, sizeof(ex));
	length = append(bytes, length, parts->in, parts->in_length);
	length = append(bytes, length, parts->driver_in, parts->driver_in_length);
	return sys_write(kernel.file, bytes, length);
}

/* --------------------------------------------------------------------- ioctls */

void ioctl_begin(struct ioctl_call *call, u16 object, u16 method)
{
	memset(call, 0, sizeof(*call));
	call->hdr.object_id = object;
	call->hdr.method_id = method;
	call->hdr.length = sizeof(call->hdr);
}

static struct ib_uverbs_attr *add_attr(struct ioctl_call *call, u16 id, u16 length)
{
	struct ib_uverbs_attr *attr = &call->attr[call->hdr.num_attrs++];

	call->hdr.length += sizeof(*attr);
	attr->attr_id = id;
	attr->len = length;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

void ioctl_in(struct ioctl_call *call, u16 id, const void *data, u16 length)
{
	struct ib_uverbs_attr *attr = add_attr(call, id, length);

	if (length <= sizeof(attr->data))
		memcpy(&attr->data, data, length);
	else
		attr->data = (uintptr_t)data;
}

void ioctl_const(struct ioctl_call *call, u16 id, u64 value)
{
	add_attr(call, id, sizeof(value))->data = value;
}

void ioctl_u32(struct ioctl_call *call, u16 id, u32 value)
{
	add_attr(call, id, sizeof(value))->data = value;
}

void ioctl_out(struct ioctl_call *call, u16 id, void *data, u16 length)
{
	add_attr(call, id, length)->data = (uintptr_t)data;
}

void ioctl_object(struct ioctl_call *call, u16 id, s64 value)
{
	add_attr(call, id, 0)->data = (u64)value;
}

int ioctl_run(struct ioctl_call *call)
{
	return sys_ioctl(kernel.file, call, call->hdr.length);
}

struct ib_uverbs_attr *ioctl_attr(struct ioctl_call *call, u16 id)
{
	for (u16 i = 0; i < call->hdr.num_attrs; i++)
		if (call->attr[i].attr_id == id)
			return &call->attr[i];
	fail_msg("the ioctl has no attribute %u", id);
	return NULL;
}

/* -------------------------------------------------------------------- objects */

u32 make_pd(void)
{
	struct ib_uverbs_alloc_pd cmd = { 0 };
	struct ib_uverbs_alloc_pd_resp resp;

	assert_int_equal(PLAIN(ALLOC_PD, &cmd, &resp), 0);
	return resp.pd_handle;
}

u32 make_cq(u32 entries, int channel_fd)
{
	struct ib_uverbs_create_cq cmd = { .cqe = entries,
					   .comp_channel = channel_fd,
					   .user_handle = 0xc0ffee };
	struct ib_uverbs_create_cq_resp resp;

	assert_int_equal(PLAIN(CREATE_CQ, &cmd, &resp), 0);
	return resp.cq_handle;
}

u32 make_qp(u8 type, u32 pd, u32 cq, s64 srq)
{
	struct ib_uverbs_create_qp cmd = {
		.user_handle = 0xbead,
		.pd_handle = pd,
		.send_cq_handle = cq,
		.recv_cq_handle = cq,
		.srq_handle = srq < 0 ? 0 : (u32)srq,
		.is_srq = srq >= 0,
		.max_send_wr = 16,
		.max_recv_wr = 16,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.qp_type = type,
	};
	struct ib_uverbs_create_qp_resp resp;

	assert_int_equal(PLAIN(CREATE_QP, &cmd, &resp), 0);
	return resp.qp_handle;
}

u32 make_srq(u32 pd)
{
	struct ib_uverbs_create_srq cmd = {
		.pd_handle = pd, .max_wr = 16, .max_sge = 1, .user_handle = 0x5eed
	};
	struct ib_uverbs_create_srq_resp resp;

	assert_int_equal(PLAIN(CREATE_SRQ, &cmd, &resp), 0);
	return resp.srq_handle;
}

u32 make_mr(u32 pd, void *addr, u64 length, u32 access, u32 *key)
{
	struct ib_uverbs_reg_mr cmd = { .pd_handle = pd,
					.start = (uintptr_t)addr,
					.hca_va = (uintptr_t)addr,
					.length = length,
					.access_flags = access };
	struct ib_uverbs_reg_mr_resp resp;

	assert_int_equal(PLAIN(REG_MR, &cmd, &resp), 0);
	assert_int_equal(resp.lkey, resp.rkey);
	if (key)
		*key = resp.lkey;
	return resp.mr_handle;
}

u32 make_mw(u32 pd, u8 type, u32 *key)
{
	struct ib_uverbs_alloc_mw cmd = { .pd_handle = pd, .mw_type = type };
	struct ib_uverbs_alloc_mw_resp resp;

	assert_int_equal(PLAIN(ALLOC_MW, &cmd, &resp), 0);
	if (key)
		*key = resp.rkey;
	return resp.mw_handle;
}

u32 make_ah(u32 pd)
{
	struct ib_uverbs_create_ah cmd = { .pd_handle = pd,
					   .attr = { .port_num = 1, .is_global = 1 } };
	struct ib_uverbs_create_ah_resp resp;

	assert_int_equal(PLAIN(CREATE_AH, &cmd, &resp), 0);
	return resp.ah_handle;
}

int make_channel(void)
{
	struct ib_uverbs_create_comp_channel cmd = { 0 };
	struct ib_uverbs_create_comp_channel_resp resp;

	assert_int_equal(PLAIN(CREATE_COMP_CHANNEL, &cmd, &resp), 0);
	assert_int_equal(kernel.result.nfds, 1);
	assert_int_equal(kernel.result.fd[0].user_addr, (uintptr_t)&resp.fd);
	return kernel.fd[0];
}

/* Some destroy commands have a response address before the handle, others have only the handle. */
int destroy(u32 command, u32 handle)
{
	struct {
		u64 response;
		u32 handle;
		u32 reserved;
	} with_response = { .handle = handle };
	u64 resp[2];
	bool responds = command == IB_USER_VERBS_CMD_DESTROY_QP ||
			command == IB_USER_VERBS_CMD_DESTROY_CQ ||
			command == IB_USER_VERBS_CMD_DESTROY_SRQ;

	if (!responds)
		return plain_command(command,
				     &(struct parts){ .in = &handle, .in_length = sizeof(handle) });
	return plain_command(command, &(struct parts){ .in = &with_response,
						       .in_length = sizeof(with_response),
						       .out = resp,
						       .out_length = sizeof(resp) });
}

static struct uv_object *object_of(u16 type, u32 handle)
{
	struct uv_object *obj = NULL;

	assert_int_equal(uv_object_find_dying(kernel.file->priv, type, handle, &obj), 0);
	return obj;
}

struct uv_qp *qp_of(u32 handle)
{
	return UV_CAST(struct uv_qp, object_of(UVERBS_OBJECT_QP, handle));
}

struct uv_cq *cq_of(u32 handle)
{
	return UV_CAST(struct uv_cq, object_of(UVERBS_OBJECT_CQ, handle));
}

struct uv_srq *srq_of(u32 handle)
{
	return UV_CAST(struct uv_srq, object_of(UVERBS_OBJECT_SRQ, handle));
}

struct nic_srq *srq_entry(u32 handle)
{
	struct nic *nic = &kernel.device.nic;

	return &nic->srq[nic_srqn_index(nic, srq_of(handle)->srqn)];
}

struct uv_mr *mr_of(u32 handle)
{
	return UV_CAST(struct uv_mr, object_of(UVERBS_OBJECT_MR, handle));
}
