// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Encoding and validation of frames. All fields are checked here, so other files see only valid
 * frames.
 */
#include "ether/ether.h"
#include "protection/protection.h"
#include "objects/objects.h"
#include "vn/vn.h"

struct vnet_frame *nic_frame_begin(struct nic *nic, const struct nic_row *row, u8 kind)
{
	struct vnet_frame *frame = plat_frame(nic);

	if (unlikely(!frame))
		return NULL;
	memset(frame, 0, sizeof(*frame));
	frame->magic = nic_to_le16(VNET_WIRE_MAGIC);
	frame->version = VNET_WIRE_VERSION;
	frame->kind = kind;
	frame->src_incarnation = nic_to_le64(nic_load(&nic->hdr->incarnation));
	frame->src_row = nic_to_le32(NIC_NONE);
	frame->dst_row = nic_to_le32(NIC_NONE);
	if (row) {
		frame->dst_incarnation = nic_to_le64(row->incarnation);
		frame->dst_row = nic_to_le32(row->peer_row);
		frame->src_row = nic_to_le32(row->id);
		if (likely(kind >= VNET_FRAME_DATA && row->local)) {
			frame->proof = VNET_PROOF_SECRET;
			memcpy(frame->secret, row->secret_out, sizeof(frame->secret));
		}
	}
	return frame;
}

void nic_frame_send(struct nic *nic, const struct nic_address *to, u32 length)
{
	struct nic_counters *count = &nic->hdr->counters;

	nic_fetch_add(&count->frames_sent, 1);
	nic_fetch_add(&count->bytes_sent, length);
	plat_send(nic, to, length);
}

void nic_frame_set_crc(void *bytes, u32 length)
{
	struct vnet_frame *frame = bytes;

	frame->crc = nic_to_le32(plat_crc32c(0, frame, length));
}

bool nic_frame_crc_ok(void *bytes, u32 length)
{
	struct vnet_frame *frame = bytes;
	__le32 crc;
	bool whole;

	if (length < sizeof(*frame))
		return false;
	crc = frame->crc;
	frame->crc = 0;
	whole = plat_crc32c(0, frame, length) == nic_le32(crc);
	frame->crc = crc;
	return whole;
}

/* ------------------------------------------------------------------ checks */

/* Does the frame have the proof that its kind requires? A secret is checked later, by its row. */
static bool nic_proof_ok(const struct vnet_frame *head, const struct nic_proof *proof)
{
	switch (head->kind) {
	case VNET_FRAME_DATA:
	case VNET_FRAME_ACK:
		return (head->proof == VNET_PROOF_MAC && proof->given) ||
		       (head->proof == VNET_PROOF_SECRET && proof->local);
	case VNET_FRAME_REFUSE:
		return head->proof == VNET_PROOF_NONE;
	default:
		return head->proof == VNET_PROOF_MAC && proof->given;
	}
}

static bool nic_head_ok(struct nic *nic, struct vnet_frame *head, u32 length,
			const struct nic_proof *proof)
{
	if (length < sizeof(*head) || length > VNET_WIRE_MAX_FRAME) {
		nic_count(nic, bad_length);
		return false;
	}
	if (head->magic != nic_to_le16(VNET_WIRE_MAGIC) || head->version != VNET_WIRE_VERSION) {
		nic_count(nic, bad_version);
		return false;
	}
	if (!proof->given && !nic_frame_crc_ok(head, length)) {
		nic_count(nic, bad_crc);
		return false;
	}
	if (!nic_proof_ok(head, proof)) {
		nic_count(nic, bad_proof);
		return false;
	}
	return true;
}

/* Is it in enum vnet_ack_code? nic_tx_code_ok() checks whether the packet can have it. */
static bool nic_code_ok(u8 code)
{
	return code <= VNET_ACK_RESULT || (code >= VNET_NACK_FIRST && code <= VNET_NACK_EARLY) ||
	       (code >= VNET_RETURN_FIRST && code <= VNET_RETURN_DROPPED);
}

static bool nic_acks_ok(const struct vnet_frame_ack *ack, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (ack[i].channel >= VNET_WIRE_CHANNELS || !nic_code_ok(ack[i].code))
			return false;
	}
	return true;
}

/* Does the piece lie within its message, with the flags that its place requires? */
static bool nic_piece_ok(const struct vnet_frame_op *op, u32 length)
{
	u64 end = (u64)nic_le32(op->offset) + length;
	u32 total = nic_le32(op->msg_len);

	return total <= NIC_MAX_MSG && end <= total &&
	       !(op->flags & VNET_OP_FIRST) == (op->offset != 0) &&
	       !(op->flags & VNET_OP_LAST) == (end != total);
}

/* Can a requester of this type send this operation? */
static bool nic_type_ok(const struct vnet_frame_op *op)
{
	switch (op->qp_type) {
	case NIC_QPT_RC:
	case NIC_QPT_XRC_INI:
		return true;
	case NIC_QPT_UC:
		return op->opcode <= VNET_WR_SEND_IMM || op->opcode == VNET_WR_SEND_INV;
	case NIC_QPT_UD:
		return (op->opcode == VNET_WR_SEND || op->opcode == VNET_WR_SEND_IMM) &&
		       nic_le32(op->sl) <= 15;
	case NIC_QPT_RAW_PACKET:
		return op->opcode == VNET_WR_SEND && op->dst_qpn == nic_to_le32(NIC_GROUP_QPN);
	default:
		return false;
	}
}

static bool nic_flags_ok(const struct vnet_frame_op *op)
{
	u8 header = op->flags & (VNET_OP_GRH_IPV4 | VNET_OP_NO_GRH);

	if (op->flags & ~VNET_OP_FLAGS)
		return false;
	if (op->flags & VNET_OP_IMM64 && op->opcode != VNET_WR_SEND_IMM &&
	    op->opcode != VNET_WR_RDMA_WRITE_IMM)
		return false;
	return !header ||
	       (op->qp_type == NIC_QPT_UD && header != (VNET_OP_GRH_IPV4 | VNET_OP_NO_GRH));
}

/* Check the lengths of a send; datagrams and Ethernet frames are one packet. */
static bool nic_send_ok(const struct vnet_frame_op *op, u32 payload_len)
{
	if (!nic_piece_ok(op, payload_len))
		return false;
	if (op->qp_type == NIC_QPT_UD)
		return payload_len >= VNET_GRH_SIZE && payload_len <= VNET_GRH_SIZE + NIC_MTU &&
		       nic_le32(op->msg_len) == payload_len;
	return !nic_is_ether(op) ||
	       (nic_is_ether_length(payload_len) && nic_le32(op->msg_len) == payload_len);
}

static bool nic_op_ok(const struct vnet_frame_op *op, u32 payload_len)
{
	struct nic_placement placement;

	if (op->channel >= VNET_WIRE_CHANNELS || !op->src_qpn || !op->dst_qpn)
		return false;
	if (!nic_type_ok(op) || !nic_flags_ok(op))
		return false;
	switch (op->opcode) {
	case VNET_WR_SEND:
	case VNET_WR_SEND_IMM:
	case VNET_WR_SEND_INV:
		return nic_send_ok(op, payload_len);
	case VNET_WR_RDMA_WRITE:
	case VNET_WR_RDMA_WRITE_IMM:
		return nic_piece_ok(op, payload_len);
	case VNET_WR_RDMA_READ:
		return !payload_len && nic_piece_ok(op, nic_le32(op->read_len));
	case VNET_WR_ATOMIC_CMP_SWP:
	case VNET_WR_ATOMIC_FETCH_ADD:
	case VNET_WR_ATOMIC_WRITE:
		/* Atomic operations are not pieces of a message. */
		return !payload_len && !op->offset && !op->msg_len &&
		       !(op->flags & (VNET_OP_FIRST | VNET_OP_LAST));
	case VNET_WR_FLUSH:
		return !payload_len && !op->msg_len && nic_piece_ok(op, 0) &&
		       nic_placement_read(nic_le64(op->swap), &placement);
	default:
		return false;
	}
}

/* Size of the part between acknowledgements and payload; NIC_NONE: unknown kind. */
static u32 nic_body_size(u8 kind)
{
	switch (kind) {
	case VNET_FRAME_HELLO:
	case VNET_FRAME_WELCOME:
	case VNET_FRAME_REFUSE:
		return sizeof(struct vnet_frame_hello);
	case VNET_FRAME_DATA:
		return sizeof(struct vnet_frame_op);
	case VNET_FRAME_ACK:
		return 0;
	default:
		return NIC_NONE;
	}
}

bool nic_frame_parse(struct nic *nic, void *frame, u32 length, const struct nic_proof *proof,
		     struct nic_arrived_frame *out)
{
	const struct vnet_frame *head = frame;
	const u8 *body;
	u32 size;

	if (!nic_head_ok(nic, frame, length, proof))
		return false;
	out->head = head;
	out->proof = proof;
	out->ack = (const struct vnet_frame_ack *)(head + 1);
	out->nacks = head->nacks;
	out->payload_len = nic_le16(head->payload_len);
	out->op = NULL;
	out->hello = NULL;
	size = nic_body_size(head->kind);
	if (size == NIC_NONE)
		goto bad_field;
	if (length != sizeof(*head) + out->nacks * sizeof(*out->ack) + size + out->payload_len) {
		nic_count(nic, bad_length);
		return false;
	}
	body = (const u8 *)(out->ack + out->nacks);
	out->payload = body + size;
	if (out->nacks > VNET_WIRE_ACKS || !nic_acks_ok(out->ack, out->nacks))
		goto bad_field;
	if (head->kind == VNET_FRAME_DATA) {
		out->op = (const struct vnet_frame_op *)body;
		if (!nic_op_ok(out->op, out->payload_len))
			goto bad_field;
	} else if (head->kind == VNET_FRAME_ACK) {
		/* The data of a read belongs to the first acknowledgement. */
		if (out->payload_len && (!out->nacks || out->ack[0].code != VNET_ACK_DONE))
			goto bad_field;
	} else {
		out->hello = (const struct vnet_frame_hello *)body;
		if (nic_le32(out->hello->payload) < VNET_WIRE_MIN_PAYLOAD || out->payload_len)
			goto bad_field;
	}
	return true;
bad_field:
	nic_count(nic, bad_field);
	return false;
}
