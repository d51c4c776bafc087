// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The write interface: validates headers and finds the parts of a command. */
#include <errno.h>
#include <string.h>

#include "write.h"

/* Plain headers count 32-bit words, extended ones 64-bit words. */
#define PLAIN_WORD 4u
#define EXTENDED_WORD 8u

static int check_plain(const struct uv_command *command, const struct ib_uverbs_cmd_hdr *hdr,
		       u32 length)
{
	if (hdr->in_words * PLAIN_WORD != length)
		return -EINVAL;
	if (length < command->request + sizeof(*hdr))
		return -ENOSPC;
	if (hdr->out_words * PLAIN_WORD < command->response)
		return -ENOSPC;
	return 0;
}

/* Finds the parts of a plain command. Its request begins with the response address, if any. */
static void split_plain(struct uv_request *req, const struct uv_command *command,
			const struct ib_uverbs_cmd_hdr *hdr)
{
	u32 out_length = hdr->out_words * PLAIN_WORD;

	req->in = req->call->data + sizeof(*hdr);
	req->in_length = req->call->length - (u32)sizeof(*hdr);
	if (command->driver_part) {
		req->driver_in = req->in + command->request;
		req->driver_in_length = req->in_length - command->request;
		req->in_length = command->request;
	}
	if (!command->responds)
		return;
	memcpy(&req->out, req->in, sizeof(req->out));
	req->out_length = out_length;
	if (command->driver_part) {
		req->out_length = command->response;
		req->driver_out = req->out + command->response;
		req->driver_out_length = out_length - command->response;
	}
}

/* Brings the response's pages first: after an effect, the command cannot be repeated. */
static int bring_answers(const struct uv_request *req)
{
	if (user_bring(req->client, req->out, req->out_length) == UV_PARK)
		return UV_PARK;
	if (user_bring(req->client, req->driver_out, req->driver_out_length) == UV_PARK)
		return UV_PARK;
	return 0;
}

static int plain_command(struct uv_request *req, const struct uv_command *command,
			 const struct ib_uverbs_cmd_hdr *hdr)
{
	int err;

	err = check_plain(command, hdr, req->call->length);
	if (err)
		return err;
	split_plain(req, command, hdr);
	err = bring_answers(req);
	return err ? err : command->handler(req);
}

static int check_extended(const struct uv_command *command, const struct ib_uverbs_cmd_hdr *hdr,
			  const struct ib_uverbs_ex_cmd_hdr *ex, u32 length)
{
	if ((hdr->in_words + ex->provider_in_words) * EXTENDED_WORD !=
	    length - sizeof(*hdr) - sizeof(*ex))
		return -EINVAL;
	if (hdr->in_words * EXTENDED_WORD < command->request)
		return -ENOSPC;
	if (ex->cmd_hdr_reserved)
		return -EINVAL;
	/* Address and length of the response are both set, or neither. */
	if (!ex->response != !(hdr->out_words || ex->provider_out_words))
		return -EINVAL;
	if (ex->response && hdr->out_words * EXTENDED_WORD < command->response)
		return -ENOSPC;
	return 0;
}

static int extended_command(struct uv_request *req, const struct uv_command *command,
			    const struct ib_uverbs_cmd_hdr *hdr)
{
	struct call *call = req->call;
	struct ib_uverbs_ex_cmd_hdr ex;
	int err;

	if (call->length < sizeof(*hdr) + sizeof(ex))
		return -EINVAL;
	memcpy(&ex, call->data + sizeof(*hdr), sizeof(ex));
	err = check_extended(command, hdr, &ex, call->length);
	if (err)
		return err;
	req->in = call->data + sizeof(*hdr) + sizeof(ex);
	req->in_length = hdr->in_words * EXTENDED_WORD;
	req->out = ex.response;
	req->out_length = hdr->out_words * EXTENDED_WORD;
	req->driver_in = req->in + req->in_length;
	req->driver_in_length = ex.provider_in_words * EXTENDED_WORD;
	req->driver_out = req->out + req->out_length;
	req->driver_out_length = ex.provider_out_words * EXTENDED_WORD;
	err = bring_answers(req);
	return err ? err : command->handler(req);
}

static int run_command(struct uv_request *req)
{
	const struct uv_command *command;
	struct ib_uverbs_cmd_hdr hdr;
	int err;

	if (req->call->length < sizeof(hdr))
		return -EINVAL;
	memcpy(&hdr, req->call->data, sizeof(hdr));
	err = uv_command_find(hdr.command, &command);
	if (err)
		return err;
	if (command->extended)
		return extended_command(req, command, &hdr);
	return plain_command(req, command, &hdr);
}

enum call_outcome uverbs_write(struct call *call)
{
	struct uv_request req = {
		.call = call,
		.ctx = call->file->priv,
		.device = call->file->device,
		.client = call->client,
	};

	if (call->file->kind != VNET_FILE_UVERBS)
		return uv_answer(call, -EINVAL, 0);
	return uv_answer(call, uv_finish(&req, run_command(&req)), (s32)call->length);
}
