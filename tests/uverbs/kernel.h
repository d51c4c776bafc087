/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The uverbs server without the daemon around it: one device, whose client is
 * the test itself, and the system calls that a program would make.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>

#include "../../usermode/vnetd/daemon.h"
#include "../../usermode/vnetd/uverbs/uverbs.h"

/* What a command answers when the daemon would call it again. */
#define PARKED 1000
/* Owner id of nobody in particular, to hold locks with. */
#define STRANGER 7u

#define MAX_MADE 64

struct kernel {
	/* With what the daemon's core has beside. */
	union {
		struct device device;
		struct nic_device core;
	};
	struct client client;
	/* An opened device file. */
	struct file *file;
	/* The answer of the last command. */
	struct vnet_msg_result result;
	/* Descriptors that came with it, -1: none. */
	int fd[VNET_RESULT_FDS];
	u8 record[64];
	/* Every file that exists. */
	struct file *files;
	/* Every descriptor that came with an answer. */
	int made_fd[MAX_MADE];
	u32 made;
};

extern struct kernel kernel;
/*
 * From now on the client's memory is just this. By default it is the test's own,
 * through the system, so that bad addresses are errors.
 */
void kernel_lend(void *memory, size_t size);

/* A device with small tables, and a file of it. For cmocka: 0. */
int kernel_start(void **state);
/* Closes everything, and checks that nothing is left. */
int kernel_stop(void **state);
/* The same with the context opened. */
int kernel_start_context(void **state);

/* Make NIC memory as it was at first, whatever stands in it. */
void kernel_format(void);
/* Everything that the device hands out has come back, or the test fails. */
void kernel_check_empty(void);
struct file *kernel_open(void);
/* A file by its id, which answers tell; NULL: there is none. */
struct file *kernel_file(u32 id);
/* CALL_DONE, or CALL_PARK. */
enum call_outcome kernel_close(struct file *file);

/* -- system calls: 0, -errno, or PARKED */

/* A write() of just these bytes. */
int sys_write(struct file *file, const void *bytes, u32 length);
int sys_ioctl(struct file *file, const void *bytes, u32 length);
/* Takes an asynchronous event. */
int sys_read_async(struct file *file, struct ib_uverbs_async_event_desc *event);

/*
 * A plain command: request, then the driver's part of it; response, then the
 * driver's part of that. The response's address is put into the request.
 */
struct parts {
	const void *in;
	u32 in_length;
	const void *driver_in;
	u32 driver_in_length;
	/* One buffer with both parts. */
	void *out;
	u32 out_length;
	/* Extended commands: how much of it is the driver's. */
	u32 driver_out_length;
};

int plain_command(u32 command, const struct parts *parts);
int extended_command(u32 command, const struct parts *parts);

#define PLAIN(command, req, resp)                                                                  \
	plain_command(IB_USER_VERBS_CMD_##command,                                                 \
		      &(struct parts){ .in = (req),                                                \
				       .in_length = sizeof(*(req)),                                \
				       .out = (resp),                                              \
				       .out_length = sizeof(*(resp)) })
#define PLAIN_IN(command, req)                                                                     \
	plain_command(IB_USER_VERBS_CMD_##command,                                                 \
		      &(struct parts){ .in = (req), .in_length = sizeof(*(req)) })

/* An ioctl under construction. */
struct ioctl_call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[24];
};

void ioctl_begin(struct ioctl_call *call, u16 object, u16 method);
/* Bytes in: up to eight stand in the attribute. */
void ioctl_in(struct ioctl_call *call, u16 id, const void *data, u16 length);
void ioctl_const(struct ioctl_call *call, u16 id, u64 value);
void ioctl_u32(struct ioctl_call *call, u16 id, u32 value);
void ioctl_out(struct ioctl_call *call, u16 id, void *data, u16 length);
/* A handle, a descriptor, or room for one. */
void ioctl_object(struct ioctl_call *call, u16 id, s64 value);
int ioctl_run(struct ioctl_call *call);
struct ib_uverbs_attr *ioctl_attr(struct ioctl_call *call, u16 id);

/* -- objects, made by write commands; the test fails where that fails */

u32 make_pd(void);
u32 make_cq(u32 entries, int channel_fd);
/* Both CQs the same; srq: handle, or -1. */
u32 make_qp(u8 type, u32 pd, u32 cq, s64 srq);
u32 make_srq(u32 pd);
u32 make_mr(u32 pd, void *addr, u64 length, u32 access, u32 *key);
u32 make_mw(u32 pd, u8 type, u32 *key);
u32 make_ah(u32 pd);
/* Its descriptor here. */
int make_channel(void);

/* Destruction by write command: 0, -errno or PARKED. */
int destroy(u32 command, u32 handle);

/* The last QP, CQ ... by number, as the server knows it. */
struct uv_qp *qp_of(u32 handle);
struct uv_cq *cq_of(u32 handle);
struct uv_srq *srq_of(u32 handle);
/* Of NIC memory. */
struct nic_srq *srq_entry(u32 handle);
struct uv_mr *mr_of(u32 handle);

#endif /* KERNEL_H */
