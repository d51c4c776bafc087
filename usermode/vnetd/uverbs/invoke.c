// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * INVOKE_WRITE: write commands inside an ioctl. The parts of the command are attributes; the
 * response address in the request is ignored.
 */
#include <errno.h>
#include <stdlib.h>

#include "ioctl.h"
#include "write.h"

int uv_ioctl_invoke_write(struct uv_request *req)
{
	const struct uv_command *command;
	u64 number;
	u8 *in;
	int err;

	err = uv_attr_const(req, UVERBS_ATTR_WRITE_CMD, 0xffffffff, &number);
	if (err)
		return err;
	err = uv_command_find((u32)number, &command);
	if (err)
		return err;
	err = uv_attr_copy(req, UVERBS_ATTR_CORE_IN, &in, &req->in_length);
	if (err)
		goto out;
	req->in = in;
	req->out = uv_attr_out_addr(req, UVERBS_ATTR_CORE_OUT);
	req->out_length = uv_attr_length(req, UVERBS_ATTR_CORE_OUT);
	if (req->in_length < command->request || req->out_length < command->response)
		err = -ENOSPC;
	else
		err = command->handler(req);
	req->in = NULL;
out:
	free(in);
	return err;
}
