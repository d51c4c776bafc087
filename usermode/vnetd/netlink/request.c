// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parser and dispatcher for NETLINK_RDMA requests, with the kernel's error codes. */
#include <errno.h>
#include <string.h>

#include "daemon.h"
#include "inside.h"

#define TYPE_CLIENT(type) ((type) >> 10)
#define TYPE_COMMAND(type) ((type)&0x3ff)
#define ANSWER_TYPE(command) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)

/* ------------------------------------------------------------- attributes */

/* Minimum length of an attribute that the commands use; 0: it is not used. */
static u32 least_payload(u32 type)
{
	switch (type) {
	case RDMA_NLDEV_ATTR_DEV_INDEX:
	case RDMA_NLDEV_ATTR_PORT_INDEX:
	case RDMA_NLDEV_ATTR_RES_LQPN:
	case RDMA_NLDEV_ATTR_RES_PDN:
	case RDMA_NLDEV_ATTR_RES_CQN:
	case RDMA_NLDEV_ATTR_RES_MRN:
	case RDMA_NLDEV_ATTR_RES_CM_IDN:
	case RDMA_NLDEV_ATTR_RES_CTXN:
	case RDMA_NLDEV_ATTR_RES_SRQN:
	case RDMA_NLDEV_ATTR_STAT_MODE:
	case RDMA_NLDEV_ATTR_STAT_RES:
	case RDMA_NLDEV_ATTR_STAT_COUNTER_ID:
		return sizeof(u32);
	case RDMA_NLDEV_ATTR_CHARDEV_TYPE:
		return 1;
	default:
		return 0;
	}
}

static u32 payload(const struct nlattr *attr)
{
	return attr->nla_len - (u32)NLA_HDRLEN;
}

static bool well_formed(u32 type, const struct nlattr *attr)
{
	u32 length = payload(attr);

	if (length < least_payload(type))
		return false;
	/* A string must be null-terminated. */
	return type != RDMA_NLDEV_ATTR_CHARDEV_TYPE ||
	       memchr((const u8 *)attr + NLA_HDRLEN, '\0', length);
}

/*
 * Stores the request's attributes by type; the last of equal types counts. Stops at an attribute
 * that exceeds the message, like the kernel. Returns 0 or -EINVAL.
 */
static int parse(struct netlink_request *request)
{
	const u8 *at = (const u8 *)request->header + NLMSG_HDRLEN;
	u32 left = request->header->nlmsg_len - (u32)NLMSG_HDRLEN;

	while (left >= NLA_HDRLEN) {
		const struct nlattr *attr = (const void *)at;
		u32 type = attr->nla_type & NLA_TYPE_MASK;
		u32 step;

		if (attr->nla_len < NLA_HDRLEN || attr->nla_len > left)
			break;
		if (type && type < RDMA_NLDEV_ATTR_MAX) {
			if (!well_formed(type, attr))
				return -EINVAL;
			request->attr[type] = attr;
		}
		step = NLA_ALIGN(attr->nla_len);
		if (step > left)
			break;
		at += step;
		left -= step;
	}
	return 0;
}

bool netlink_has(const struct netlink_request *request, u32 type)
{
	return request->attr[type];
}

u32 netlink_get_u32(const struct netlink_request *request, u32 type)
{
	u32 value;

	memcpy(&value, (const u8 *)request->attr[type] + NLA_HDRLEN, sizeof(value));
	return value;
}

struct device *netlink_device(const struct netlink_request *request)
{
	u32 index;

	if (!netlink_has(request, RDMA_NLDEV_ATTR_DEV_INDEX))
		return NULL;
	index = netlink_get_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX);
	return index < request->daemon->ndevices ? &request->daemon->device[index]->device : NULL;
}

int netlink_port(const struct netlink_request *request, u32 *port)
{
	*port = 0;
	if (!netlink_has(request, RDMA_NLDEV_ATTR_PORT_INDEX))
		return 0;
	*port = netlink_get_u32(request, RDMA_NLDEV_ATTR_PORT_INDEX);
	return *port == 1 ? 0 : -EINVAL;
}

/* ---------------------------------------------------------------- answers */

void netlink_answer(struct netlink_request *request, u32 command, const struct device *device)
{
	struct netlink_message *message = &request->answer;

	netlink_cut(message, 0);
	netlink_begin(message, ANSWER_TYPE(command), request->dump ? NLM_F_MULTI : 0,
		      request->header->nlmsg_seq, netlink_port_id(request->netlink));
	if (!device)
		return;
	netlink_put_u32(message, RDMA_NLDEV_ATTR_DEV_INDEX, device->index);
	netlink_put_string(message, RDMA_NLDEV_ATTR_DEV_NAME, device->name);
}

int netlink_answer_end(struct netlink_request *request)
{
	if (request->answer.full)
		return -EMSGSIZE;
	netlink_end(&request->answer);
	netlink_send(request->netlink, request->answer.bytes, request->answer.length);
	return 0;
}

/* Sends NLMSG_DONE with the dump's result. */
static void send_done(struct netlink_request *request, int error)
{
	struct {
		struct nlmsghdr header;
		int error;
	} done = {
		.header = { .nlmsg_len = sizeof(done),
			    .nlmsg_type = NLMSG_DONE,
			    .nlmsg_flags = NLM_F_MULTI,
			    .nlmsg_seq = request->header->nlmsg_seq,
			    .nlmsg_pid = netlink_port_id(request->netlink) },
		.error = error,
	};

	netlink_send(request->netlink, &done, sizeof(done));
}

/* Sends NLMSG_ERROR: an error with the request, or an acknowledgement (error 0). */
static void send_acknowledgement(struct netlink *netlink, const struct nlmsghdr *request, int error)
{
	static struct {
		struct nlmsghdr header;
		struct nlmsgerr answer;
		u8 rest[VNET_MSG_MAX];
	} message;
	bool capped = !error || netlink_option(netlink, NETLINK_CAP_ACK);
	u32 rest = capped ? 0 : request->nlmsg_len - (u32)NLMSG_HDRLEN;

	message.header = (struct nlmsghdr){
		.nlmsg_len = (u32)offsetof(typeof(message), rest) + rest,
		.nlmsg_type = NLMSG_ERROR,
		.nlmsg_flags = capped ? NLM_F_CAPPED : 0,
		.nlmsg_seq = request->nlmsg_seq,
		.nlmsg_pid = netlink_port_id(netlink),
	};
	message.answer = (struct nlmsgerr){ .error = error, .msg = *request };
	memcpy(message.rest, request + 1, rest);
	netlink_send(netlink, &message, message.header.nlmsg_len);
}

/* --------------------------------------------------------------- commands */

typedef int (*netlink_handler)(struct netlink_request *request);

/* Commands that would configure the kernel's devices. */
static int not_supported(struct netlink_request *request)
{
	(void)request;
	return -EOPNOTSUPP;
}

/* The kernel returns this if the driver has no raw format for the object. */
static int no_raw_form(struct netlink_request *request)
{
	(void)request;
	return -EINVAL;
}

static const struct {
	/* Handlers for a single answer, and for a dump. NULL: not supported in that form. */
	netlink_handler get, dump;
} commands[RDMA_NLDEV_NUM_OPS] = {
	[RDMA_NLDEV_CMD_GET] = { netlink_get, netlink_get },
	[RDMA_NLDEV_CMD_SET] = { not_supported, NULL },
	[RDMA_NLDEV_CMD_NEWLINK] = { not_supported, NULL },
	[RDMA_NLDEV_CMD_DELLINK] = { not_supported, NULL },
	[RDMA_NLDEV_CMD_PORT_GET] = { netlink_port_get, netlink_port_get },
	[RDMA_NLDEV_CMD_SYS_GET] = { netlink_sys_get, NULL },
	[RDMA_NLDEV_CMD_SYS_SET] = { not_supported, NULL },
	[RDMA_NLDEV_CMD_RES_GET] = { netlink_summary, netlink_summary },
	[RDMA_NLDEV_CMD_RES_QP_GET] = { netlink_objects, netlink_objects },
	[RDMA_NLDEV_CMD_RES_CM_ID_GET] = { netlink_objects, netlink_objects },
	[RDMA_NLDEV_CMD_RES_CQ_GET] = { netlink_objects, netlink_objects },
	[RDMA_NLDEV_CMD_RES_MR_GET] = { netlink_objects, netlink_objects },
	[RDMA_NLDEV_CMD_RES_PD_GET] = { netlink_objects, netlink_objects },
	[RDMA_NLDEV_CMD_GET_CHARDEV] = { netlink_chardev_get, NULL },
	[RDMA_NLDEV_CMD_STAT_SET] = { not_supported, NULL },
	[RDMA_NLDEV_CMD_STAT_GET] = { netlink_stat_get, netlink_stat_get },
	[RDMA_NLDEV_CMD_STAT_DEL] = { not_supported, NULL },
	[RDMA_NLDEV_CMD_RES_QP_GET_RAW] = { no_raw_form, no_raw_form },
	[RDMA_NLDEV_CMD_RES_CQ_GET_RAW] = { no_raw_form, no_raw_form },
	[RDMA_NLDEV_CMD_RES_MR_GET_RAW] = { no_raw_form, no_raw_form },
	[RDMA_NLDEV_CMD_RES_CTX_GET] = { netlink_objects, netlink_objects },
	[RDMA_NLDEV_CMD_RES_SRQ_GET] = { netlink_objects, netlink_objects },
	[RDMA_NLDEV_CMD_STAT_GET_STATUS] = { netlink_stat_status, NULL },
};

/* Executes a dump. Its result is in NLMSG_DONE, so only errors before the start are returned. */
static int run_dump(struct netlink_request *request, netlink_handler dump)
{
	int error;

	if (!dump)
		return -EINVAL;
	/* The previous dump has not been read yet. */
	if (!netlink_idle(request->netlink))
		return -EBUSY;
	error = parse(request);
	send_done(request, error ? error : dump(request));
	return 0;
}

static int run_get(struct netlink_request *request, netlink_handler get)
{
	int error = get ? parse(request) : -EINVAL;

	return error ? error : get(request);
}

static void run(struct daemon *daemon, struct netlink *netlink, const struct nlmsghdr *header)
{
	/* As large as a page: too large for the stack. */
	static struct netlink_request request;
	u32 type = header->nlmsg_type, command = TYPE_COMMAND(type);
	bool acknowledge = header->nlmsg_flags & NLM_F_ACK;
	int error = 0;

	memset(&request, 0, offsetof(struct netlink_request, answer));
	request.daemon = daemon;
	request.netlink = netlink;
	request.header = header;
	request.command = command;
	request.dump = header->nlmsg_flags & NLM_F_DUMP;
	netlink_cut(&request.answer, 0);
	if ((header->nlmsg_flags & NLM_F_REQUEST) && type >= NLMSG_MIN_TYPE) {
		if (TYPE_CLIENT(type) != RDMA_NL_NLDEV || command >= RDMA_NLDEV_NUM_OPS)
			error = -EINVAL;
		else if (request.dump)
			error = run_dump(&request, commands[command].dump);
		else
			error = run_get(&request, commands[command].get);
		/* A dump that has started ends with NLMSG_DONE, not with an acknowledgement. */
		acknowledge = acknowledge && (!request.dump || error);
	}
	if (error || acknowledge)
		send_acknowledgement(netlink, header, error);
}

void netlink_receive(struct daemon *daemon, struct netlink *netlink, const u8 *data, u32 length)
{
	while (length >= NLMSG_HDRLEN && !netlink_is_full(netlink)) {
		const struct nlmsghdr *header = (const void *)data;
		u32 step;

		if (header->nlmsg_len < NLMSG_HDRLEN || header->nlmsg_len > length)
			return;
		run(daemon, netlink, header);
		step = NLMSG_ALIGN(header->nlmsg_len);
		if (step >= length)
			return;
		data += step;
		length -= step;
	}
}
