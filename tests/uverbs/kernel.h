/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Test harness of the uverbs server: one device, whose client is the test, without the daemon.
 * Functions sys_*() are the system calls of a program.
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
#include "../../usermode/vnetd/uverbs/objects.h"

/* Result of a command that the daemon would call again later (CALL_PARK). */
#define PARKED 1000
/* Owner id of a lock that no client of these tests holds. */
#define STRANGER 7u

#define MAX_MADE 64

struct kernel {
	/* The device; its first part is what firmware functions of the daemon use. */
	union {
		struct device device;
		struct nic_device core;
	};
	struct client client;
	/* The open device file that commands use. */
	struct file *file;
	/* Answers with asynchronous events cannot be sent. */
	bool answers_lost;
	/* Result of the last command. */
	struct vnet_msg_result result;
	/* Descriptors that the last command returned; -1 if none. */
	int fd[VNET_RESULT_FDS];
	u8 record[64];
	/* List of all files. */
	struct file *files;
	/* All descriptors that commands returned; kernel_stop() closes them. */
	int made_fd[MAX_MADE];
	u32 made;
};

extern struct kernel kernel;
/*
 * Makes this buffer the client's whole memory. By default, the client's memory is the test's own,
 * accessed by system calls, so that bad addresses are errors.
 */
void kernel_lend(void *memory, size_t size);

/* Setup for cmocka: creates a device with small tables and opens a file of it. */
int kernel_start(void **state);
/* Closes everything, and checks that no object is left. */
int kernel_stop(void **state);
/* Like kernel_start(), and allocates a context. */
int kernel_start_context(void **state);
/* A test case in a context. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, kernel_start_context, kernel_stop)

/* Formats NIC memory again, whatever it contains. */
void kernel_format(void);
/* Fails the test unless all numbers and all queue memory are free. */
void kernel_check_empty(void);
struct file *kernel_open(void);
/* Finds a file by the id in a result; NULL if there is none. */
struct file *kernel_file(u32 id);
/* Returns CALL_DONE or CALL_PARK. */
enum call_outcome kernel_close(struct file *file);

/* -- system calls: return 0, -errno or PARKED */

/* A write() of exactly these bytes. */
int sys_write(struct file *file, const void *bytes, u32 length);
int sys_ioctl(struct file *file, const void *bytes, u32 length);
/* Reads one asynchronous event. */
int sys_read_async(struct file *file, struct ib_uverbs_async_event_desc *event);

/*
 * A plain command. The request consists of the core's part and the driver's part, and so does the
 * response. The address of the response is put into the request.
 */
struct parts {
	const void *in;
	u32 in_length;
	const void *driver_in;
	u32 driver_in_length;
	/* One buffer for both parts of the response. */
	void *out;
	u32 out_length;
	/* Extended commands: length of the driver's part at the end of `out`. */
	u32 driver_out_length;
};

int plain_command(u32 command, const struct parts *parts);
int extended_command(u32 command, const struct parts *parts);

/* Members of struct parts: a request and a response without parts of the driver. */
#define PARTS_OF(req, resp)                                                                        \
	.in = (req), .in_length = sizeof(*(req)), .out = (resp), .out_length = sizeof(*(resp))
#define PLAIN(command, req, resp)                                                                  \
	plain_command(IB_USER_VERBS_CMD_##command, &(struct parts){ PARTS_OF(req, resp) })
#define PLAIN_IN(command, req)                                                                     \
	plain_command(IB_USER_VERBS_CMD_##command,                                                 \
		      &(struct parts){ .in = (req), .in_length = sizeof(*(req)) })

/* An ioctl under construction. */
struct ioctl_call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[24];
};

void ioctl_begin(struct ioctl_call *call, u16 object, u16 method);
/* An input attribute. Up to eight bytes are stored in the attribute itself. */
void ioctl_in(struct ioctl_call *call, u16 id, const void *data, u16 length);
void ioctl_const(struct ioctl_call *call, u16 id, u64 value);
void ioctl_u32(struct ioctl_call *call, u16 id, u32 value);
void ioctl_out(struct ioctl_call *call, u16 id, void *data, u16 length);
/* A handle or a descriptor, as input or output. */
void ioctl_object(struct ioctl_call *call, u16 id, s64 value);
int ioctl_run(struct ioctl_call *call);
struct ib_uverbs_attr *ioctl_attr(struct ioctl_call *call, u16 id);

/* -- objects, created by write commands; the test fails if the command fails */

u32 make_pd(void);
u32 make_cq(u32 entries, int channel_fd);
/* Both CQs are `cq`; srq: handle, or -1 for none. */
u32 make_qp(u8 type, u32 pd, u32 cq, s64 srq);
u32 make_srq(u32 pd);
u32 make_mr(u32 pd, void *addr, u64 length, u32 access, u32 *key);
u32 make_mw(u32 pd, u8 type, u32 *key);
u32 make_ah(u32 pd);
/* Returns the channel's descriptor. */
int make_channel(void);

/* Destroys an object by write command: returns 0, -errno or PARKED. */
int destroy(u32 command, u32 handle);

/* The server's object of a handle. */
struct uv_qp *qp_of(u32 handle);
struct uv_cq *cq_of(u32 handle);
struct uv_srq *srq_of(u32 handle);
/* The entry in NIC memory. */
struct nic_srq *srq_entry(u32 handle);
struct uv_mr *mr_of(u32 handle);

#endif /* KERNEL_H */
