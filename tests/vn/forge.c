// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "forge.h"

u64 space[VNET_WIRE_MAX_FRAME / sizeof(u64) + 1];
struct vnet_frame *const head = (struct vnet_frame *)space;
struct vnet_frame_op *const op = (struct vnet_frame_op *)((struct vnet_frame *)space + 1);
struct vnet_frame_ack *const ack = (struct vnet_frame_ack *)((struct vnet_frame *)space + 1);

struct nic_row *row_of(u32 i)
{
	return &side[i].nic.row[0];
}

struct nic_endpoint *endpoint_of(const struct end *e)
{
	struct nic *nic = &e->side->nic;
	u32 i;

	for (i = 0; i < nic->max_frame && nic->frame[i].qpn != e->qpn; i++)
		;
	CHECK(i < nic->max_frame);
	return &nic->frame[i];
}

void make(u8 opcode, u32 length)
{
	memset(space, 0, sizeof(*head) + sizeof(*op));
	sign_for(1, head);
	head->kind = VNET_FRAME_DATA;
	head->payload_len = nic_to_le16((u16)length);
	op->seq = nic_to_le32(row_of(1)->rx[CHANNEL].seq + 1);
	op->channel = CHANNEL;
	op->opcode = opcode;
	op->flags = VNET_OP_FIRST | VNET_OP_LAST;
	op->qp_type = connected[0]->type;
	op->src_qpn = nic_to_le32(connected[0]->qpn);
	op->dst_qpn = nic_to_le32(connected[1]->qpn);
	op->msg_len = nic_to_le32(length);
	op->remote_addr = nic_to_le64((u64)(unsigned long)side[1].data);
	op->rkey = nic_to_le32(side[1].key);
	if (connected[0]->type != NIC_QPT_UD)
		op->psn = nic_to_le32(endpoint_of(connected[1])->expected);
	memset(op + 1, 0xee, length);
}

void arrives_from(u8 address, u32 length)
{
	head->crc = 0;
	nic_frame_set_crc(space, length);
	deliver_from(1, address, space, length);
	nic_receive_end(&side[1].nic);
}

void arrives(void)
{
	arrives_from(0, (u32)(sizeof(*head) + sizeof(*op)) + nic_le16(head->payload_len));
}

bool is_written(void)
{
	return side[1].data[0] == 0xee;
}

u8 answer(void)
{
	(void)last_frame(0, space);
	CHECK(head->kind == VNET_FRAME_ACK && head->nacks == 1 && ack->channel == CHANNEL);
	return ack->code;
}

void still_works(void)
{
	stream_sends(connected[0], connected[1], 20, 4, false);
}
