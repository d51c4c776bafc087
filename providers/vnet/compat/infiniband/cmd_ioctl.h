/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Out-of-tree stand-in for rdma-core's private <infiniband/cmd_ioctl.h>. It declares what a
 * provider needs to add its own attributes to an ioctl of libibverbs 44.
 */
#ifndef VNET_COMPAT_CMD_IOCTL_H
#define VNET_COMPAT_CMD_IOCTL_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

#ifndef container_of
#define container_of(_ptr, _type, _member) ((_type *)((uintptr_t)(_ptr)-offsetof(_type, _member)))
#endif

/*
 * A provider's attributes, passed to an ibv_cmd_*() function, which appends them to its own. The
 * attributes follow hdr directly. The uhw_* members belong to the older write interface and are not
 * used by a provider.
 */
struct ibv_command_buffer {
	struct ibv_command_buffer *next;
	struct ib_uverbs_attr *next_attr;
	struct ib_uverbs_attr *last_attr;
	uint8_t uhw_in_idx;
	uint8_t uhw_out_idx;
	uint8_t uhw_in_headroom_dwords;
	uint8_t uhw_out_headroom_dwords;
	uint8_t buffer_error : 1;
	uint8_t fallback_require_ex : 1;
	uint8_t fallback_ioctl_only : 1;
	struct ib_uverbs_ioctl_hdr hdr;
};

static inline void vnet_compat_init_buffer(struct ibv_command_buffer *buf, uint16_t object_id,
					   uint16_t method_id, unsigned int num_attrs)
{
	const uint8_t no_uhw = 0xff;

	*buf = (struct ibv_command_buffer){
		.next_attr = buf->hdr.attrs,
		.last_attr = buf->hdr.attrs + num_attrs,
		.uhw_in_idx = no_uhw,
		.uhw_out_idx = no_uhw,
		.hdr = { .object_id = object_id, .method_id = method_id },
	};
}

/* An array: the elements after the first provide the space for the attributes. */
#define DECLARE_COMMAND_BUFFER(_name, _object, _method, _num)                                      \
	struct ibv_command_buffer _name[2 + (_num) * sizeof(struct ib_uverbs_attr) /               \
						    sizeof(struct ibv_command_buffer)];            \
	vnet_compat_init_buffer(_name, _object, _method, _num)

static inline struct ib_uverbs_attr *fill_attr_out(struct ibv_command_buffer *cmd, uint16_t attr_id,
						   void *data, size_t len)
{
	struct ib_uverbs_attr *attr = cmd->next_attr++;

	*attr = (struct ib_uverbs_attr){
		.attr_id = attr_id,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.len = (uint16_t)len,
		.data = (uintptr_t)data,
	};
	return attr;
}

static inline struct ib_uverbs_attr *fill_attr_in_obj(struct ibv_command_buffer *cmd,
						      uint16_t attr_id, uint32_t handle)
{
	struct ib_uverbs_attr *attr = fill_attr_out(cmd, attr_id, NULL, 0);

	attr->data = handle;
	return attr;
}

/* Small values are stored in the attribute itself. */
static inline struct ib_uverbs_attr *fill_attr_const_in(struct ibv_command_buffer *cmd,
							uint16_t attr_id, uint64_t value)
{
	struct ib_uverbs_attr *attr = fill_attr_out(cmd, attr_id, NULL, sizeof(value));

	attr->data = value;
	return attr;
}

/* Execute a command buffer on its own. Returns 0, or -1 and errno. */
int execute_ioctl(struct ibv_context *context, struct ibv_command_buffer *cmd);

#define fill_attr_out_ptr(_cmd, _attr_id, _ptr) fill_attr_out(_cmd, _attr_id, _ptr, sizeof(*(_ptr)))

#endif /* VNET_COMPAT_CMD_IOCTL_H */
