// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The memory file of a session, and what the daemon is told of its pages. */
#define _GNU_SOURCE
#include <linux/falloc.h>
#include <sys/resource.h>

#include "mapped/inside.h"
#include "session/control.h"
#include "session/fdtable.h"
#include "../../platform/window.h"

int mapped_tell(struct session *s, u32 op, u32 why, u64 start, u64 end)
{
	struct vnet_msg_map map = {
		.msg = { .type = VNET_MSG_MAP, .length = sizeof(map) },
		.op = op,
		.why = why,
		.start = start,
		.length = end - start,
	};
	struct iovec iov = { .iov_base = &map, .iov_len = sizeof(map) };
	struct reply reply;
	int ret = control_request(s, &iov, 1, &reply);

	if (ret)
		return ret;
	control_drop_fds(&reply);
	return -(int)reply.result.error;
}

bool mapped_files_are_limited(void)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	(void)sys(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit);
	return limit.rlim_cur < HOST_MEMORY_FILE_SIZE;
}

int mapped_open_file(struct session *s)
{
	struct vnet_msg_get get = {
		.msg = { .type = VNET_MSG_GET_MEMORY, .length = sizeof(get) },
		.number = s->space,
	};
	struct iovec iov = { .iov_base = &get, .iov_len = sizeof(get) };
	struct reply reply;
	int ret;

	if (s->memory_fd >= 0)
		return 0;
	ret = control_request(s, &iov, 1, &reply);
	if (ret)
		return ret;
	if (reply.result.error || reply.nfds != 1) {
		control_drop_fds(&reply);
		return reply.result.error ? -(int)reply.result.error : -EMFILE;
	}
	s->memory_fd = fdtable_keep(reply.fd[0], false);
	return 0;
}

void mapped_close_file(struct session *s)
{
	int fd = s->memory_fd;

	nic_store(&s->memory_fd, -1);
	fdtable_drop(fd);
}

void mapped_punch(const struct session *s, u64 start, u64 end)
{
	(void)sys(SYS_fallocate, s->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start,
		  end - start);
}
