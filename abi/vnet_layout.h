/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Assertions of all offsets and sizes in the headers of abi/. A new member is added here, at the
 * end of its structure. Any other change here needs a new version of the header concerned.
 */
#ifndef VNET_LAYOUT_H
#define VNET_LAYOUT_H

#include "vnet-abi.h"
#include "vnet_hw.h"
#include "vnet_wire.h"

#define VNET_SIZE(_type, _size) static_assert(sizeof(struct _type) == (_size), "size of " #_type)
#define VNET_AT(_type, _member, _offset)                                                           \
	static_assert(offsetof(struct _type, _member) == (_offset), #_type "." #_member)

/* -------------------------------------------------------------- vnet-abi.h */

VNET_SIZE(vnet_doorbell_page, 128 + 8 * VNET_DOORBELL_WORDS);
VNET_AT(vnet_doorbell_page, need_wakeup, 0);
VNET_AT(vnet_doorbell_page, rsvd, 4);
VNET_AT(vnet_doorbell_page, summary, 64);
VNET_AT(vnet_doorbell_page, rsvd2, 80);
VNET_AT(vnet_doorbell_page, word, 128);

VNET_SIZE(vnet_alloc_ucontext_req, 8);
VNET_AT(vnet_alloc_ucontext_req, hw_version, 0);
VNET_AT(vnet_alloc_ucontext_req, reserved_20, 4);

VNET_SIZE(vnet_alloc_ucontext_resp, 56);
VNET_AT(vnet_alloc_ucontext_resp, hw_version, 0);
VNET_AT(vnet_alloc_ucontext_resp, caps, 4);
VNET_AT(vnet_alloc_ucontext_resp, gate, 8);
VNET_AT(vnet_alloc_ucontext_resp, gate_cookie, 16);
VNET_AT(vnet_alloc_ucontext_resp, max_send_sge, 24);
VNET_AT(vnet_alloc_ucontext_resp, max_recv_sge, 28);
VNET_AT(vnet_alloc_ucontext_resp, max_inline_data, 32);
VNET_AT(vnet_alloc_ucontext_resp, clock_khz, 36);
VNET_AT(vnet_alloc_ucontext_resp, doorbell_fd, 40);
VNET_AT(vnet_alloc_ucontext_resp, reserved_160, 44);
VNET_AT(vnet_alloc_ucontext_resp, doorbell_page, 48);

VNET_SIZE(vnet_alloc_dm_resp, 24);
VNET_AT(vnet_alloc_dm_resp, mmap_offset, 0);
VNET_AT(vnet_alloc_dm_resp, mmap_size, 8);
VNET_AT(vnet_alloc_dm_resp, length, 16);

VNET_SIZE(vnet_query_device_resp, 24);
VNET_AT(vnet_query_device_resp, rx_hash_fields, 0);
VNET_AT(vnet_query_device_resp, rx_hash_functions, 8);
VNET_AT(vnet_query_device_resp, rate_limit_min, 12);
VNET_AT(vnet_query_device_resp, rate_limit_max, 16);
VNET_AT(vnet_query_device_resp, rate_limit_types, 20);

VNET_SIZE(vnet_alloc_pd_resp, 8);
VNET_AT(vnet_alloc_pd_resp, pdn, 0);
VNET_AT(vnet_alloc_pd_resp, reserved_20, 4);

VNET_SIZE(vnet_ring_info, 24);
VNET_AT(vnet_ring_info, mmap_offset, 0);
VNET_AT(vnet_ring_info, mmap_size, 8);
VNET_AT(vnet_ring_info, entries, 16);
VNET_AT(vnet_ring_info, stride_shift, 20);

VNET_SIZE(vnet_create_cq_req, 8);
VNET_AT(vnet_create_cq_req, flags, 0);
VNET_AT(vnet_create_cq_req, reserved_20, 4);

VNET_SIZE(vnet_create_cq_resp, 32);
VNET_AT(vnet_create_cq_resp, cqn, 0);
VNET_AT(vnet_create_cq_resp, reserved_20, 4);
VNET_AT(vnet_create_cq_resp, cq, 8);

VNET_SIZE(vnet_resize_cq_resp, 24);
VNET_AT(vnet_resize_cq_resp, cq, 0);

VNET_SIZE(vnet_create_srq_resp, 56);
VNET_AT(vnet_create_srq_resp, srqn, 0);
VNET_AT(vnet_create_srq_resp, tags, 4);
VNET_AT(vnet_create_srq_resp, rq, 8);
VNET_AT(vnet_create_srq_resp, ops, 32);

VNET_SIZE(vnet_create_qp_req, 56);
VNET_AT(vnet_create_qp_req, rx_hash_fields, 0);
VNET_AT(vnet_create_qp_req, rx_hash_function, 8);
VNET_AT(vnet_create_qp_req, rx_hash_key_len, 9);
VNET_AT(vnet_create_qp_req, reserved_50, 10);
VNET_AT(vnet_create_qp_req, flags, 12);
VNET_AT(vnet_create_qp_req, rx_hash_key, 16);

VNET_SIZE(vnet_create_wq_resp, 32);
VNET_AT(vnet_create_wq_resp, wqn, 0);
VNET_AT(vnet_create_wq_resp, reserved_20, 4);
VNET_AT(vnet_create_wq_resp, rq, 8);

VNET_SIZE(vnet_create_qp_resp, 56);
VNET_AT(vnet_create_qp_resp, qpn, 0);
VNET_AT(vnet_create_qp_resp, reserved_20, 4);
VNET_AT(vnet_create_qp_resp, sq, 8);
VNET_AT(vnet_create_qp_resp, rq, 32);

/* --------------------------------------------------------------- vnet_hw.h */

VNET_SIZE(vnet_ring, VNET_RING_HDR_SIZE);
VNET_AT(vnet_ring, prod, 0);
VNET_AT(vnet_ring, rsvd0, 4);
VNET_AT(vnet_ring, cons, 64);
VNET_AT(vnet_ring, ended, 68);
VNET_AT(vnet_ring, rsvd1, 72);
VNET_AT(vnet_ring, need_doorbell, 128);
VNET_AT(vnet_ring, no_receive, 132);
VNET_AT(vnet_ring, rsvd2, 136);
VNET_AT(vnet_ring, arm, 192);
VNET_AT(vnet_ring, rsvd3, 196);

VNET_SIZE(vnet_sge, 16);
VNET_AT(vnet_sge, addr, 0);
VNET_AT(vnet_sge, length, 8);
VNET_AT(vnet_sge, lkey, 12);

VNET_SIZE(vnet_wqe_rdma, 40);
VNET_AT(vnet_wqe_rdma, remote_addr, 0);
VNET_AT(vnet_wqe_rdma, rkey, 8);
VNET_AT(vnet_wqe_rdma, rsvd, 12);
VNET_AT(vnet_wqe_rdma, compare_add, 16);
VNET_AT(vnet_wqe_rdma, swap, 24);
VNET_AT(vnet_wqe_rdma, imm_high, 32);
VNET_AT(vnet_wqe_rdma, rsvd2, 36);

VNET_SIZE(vnet_wqe_ud, 40);
VNET_AT(vnet_wqe_ud, dgid, 0);
VNET_AT(vnet_wqe_ud, remote_qpn, 16);
VNET_AT(vnet_wqe_ud, remote_qkey, 20);
VNET_AT(vnet_wqe_ud, flow_label, 24);
VNET_AT(vnet_wqe_ud, sgid_index, 28);
VNET_AT(vnet_wqe_ud, hop_limit, 29);
VNET_AT(vnet_wqe_ud, traffic_class, 30);
VNET_AT(vnet_wqe_ud, sl, 31);
VNET_AT(vnet_wqe_ud, imm_high, 32);
VNET_AT(vnet_wqe_ud, dlid, 36);
VNET_AT(vnet_wqe_ud, no_grh, 38);
VNET_AT(vnet_wqe_ud, rsvd, 39);

VNET_SIZE(vnet_wqe_bind, 40);
VNET_AT(vnet_wqe_bind, addr, 0);
VNET_AT(vnet_wqe_bind, length, 8);
VNET_AT(vnet_wqe_bind, old_rkey, 16);
VNET_AT(vnet_wqe_bind, new_rkey, 20);
VNET_AT(vnet_wqe_bind, lkey, 24);
VNET_AT(vnet_wqe_bind, access, 28);
VNET_AT(vnet_wqe_bind, page_offset, 32);

VNET_SIZE(vnet_send_wqe, VNET_WQE_HDR_SIZE);
VNET_AT(vnet_send_wqe, wr_id, 0);
VNET_AT(vnet_send_wqe, opcode, 8);
VNET_AT(vnet_send_wqe, flags, 9);
VNET_AT(vnet_send_wqe, num_sge, 10);
VNET_AT(vnet_send_wqe, rsvd, 11);
VNET_AT(vnet_send_wqe, imm, 12);
VNET_AT(vnet_send_wqe, inline_len, 16);
VNET_AT(vnet_send_wqe, srqn, 20);
VNET_AT(vnet_send_wqe, rdma, 24);
VNET_AT(vnet_send_wqe, ud, 24);
VNET_AT(vnet_send_wqe, bind, 24);

VNET_SIZE(vnet_recv_wqe, VNET_RECV_HDR_SIZE);
VNET_AT(vnet_recv_wqe, wr_id, 0);
VNET_AT(vnet_recv_wqe, num_sge, 8);
VNET_AT(vnet_recv_wqe, rsvd, 12);

VNET_SIZE(vnet_tm_op, 1 << VNET_TM_OP_SHIFT);
VNET_AT(vnet_tm_op, wr_id, 0);
VNET_AT(vnet_tm_op, recv_wr_id, 8);
VNET_AT(vnet_tm_op, tag, 16);
VNET_AT(vnet_tm_op, mask, 24);
VNET_AT(vnet_tm_op, handle, 32);
VNET_AT(vnet_tm_op, unexpected, 36);
VNET_AT(vnet_tm_op, opcode, 40);
VNET_AT(vnet_tm_op, flags, 41);
VNET_AT(vnet_tm_op, num_sge, 42);
VNET_AT(vnet_tm_op, rsvd, 43);
VNET_AT(vnet_tm_op, sge, 48);
VNET_AT(vnet_tm_op, rsvd2, 112);

VNET_SIZE(vnet_cqe, VNET_CQE_SIZE);
VNET_AT(vnet_cqe, wr_id, 0);
VNET_AT(vnet_cqe, scatter_addr, 8);
VNET_AT(vnet_cqe, byte_len, 16);
VNET_AT(vnet_cqe, qp_num, 20);
VNET_AT(vnet_cqe, src_qp, 24);
VNET_AT(vnet_cqe, imm, 28);
VNET_AT(vnet_cqe, opcode, 32);
VNET_AT(vnet_cqe, status, 33);
VNET_AT(vnet_cqe, flags, 34);
VNET_AT(vnet_cqe, payload_len, 35);
VNET_AT(vnet_cqe, seq, 36);
VNET_AT(vnet_cqe, payload, 40);
VNET_AT(vnet_cqe, timestamp, 120);

#if !defined(__KERNEL__) && __SIZEOF_POINTER__ == 8
VNET_SIZE(vnet_gate, 72);
VNET_AT(vnet_gate, size, 0);
VNET_AT(vnet_gate, rsvd, 4);
VNET_AT(vnet_gate, send_doorbell, 8);
VNET_AT(vnet_gate, recv_doorbell, 16);
VNET_AT(vnet_gate, idle, 24);
VNET_AT(vnet_gate, copy, 32);
VNET_AT(vnet_gate, recv_fault, 40);
VNET_AT(vnet_gate, ring, 48);
VNET_AT(vnet_gate, tag_doorbell, 56);
VNET_AT(vnet_gate, cq_doorbell, 64);
#endif

/* ------------------------------------------------------------- vnet_wire.h */

VNET_SIZE(vnet_frame, 56);
VNET_AT(vnet_frame, magic, 0);
VNET_AT(vnet_frame, version, 2);
VNET_AT(vnet_frame, kind, 3);
VNET_AT(vnet_frame, crc, 4);
VNET_AT(vnet_frame, src_incarnation, 8);
VNET_AT(vnet_frame, dst_incarnation, 16);
VNET_AT(vnet_frame, dst_row, 24);
VNET_AT(vnet_frame, src_row, 28);
VNET_AT(vnet_frame, payload_len, 32);
VNET_AT(vnet_frame, nacks, 34);
VNET_AT(vnet_frame, proof, 35);
VNET_AT(vnet_frame, rsvd, 36);
VNET_AT(vnet_frame, secret, 40);

VNET_SIZE(vnet_frame_ack, 24);
VNET_AT(vnet_frame_ack, seq, 0);
VNET_AT(vnet_frame_ack, timestamp, 4);
VNET_AT(vnet_frame_ack, channel, 8);
VNET_AT(vnet_frame_ack, code, 9);
VNET_AT(vnet_frame_ack, rsvd, 10);
VNET_AT(vnet_frame_ack, result, 16);

VNET_SIZE(vnet_frame_hello, 96);
VNET_AT(vnet_frame_hello, src_gid, 0);
VNET_AT(vnet_frame_hello, dst_gid, 16);
VNET_AT(vnet_frame_hello, payload, 32);
VNET_AT(vnet_frame_hello, window, 36);
VNET_AT(vnet_frame_hello, nonce, 40);
VNET_AT(vnet_frame_hello, cookie, 56);
VNET_AT(vnet_frame_hello, share, 72);
VNET_AT(vnet_frame_hello, flags, 88);
VNET_AT(vnet_frame_hello, rsvd, 92);

VNET_SIZE(vnet_frame_op, 72);
VNET_AT(vnet_frame_op, seq, 0);
VNET_AT(vnet_frame_op, timestamp, 4);
VNET_AT(vnet_frame_op, channel, 8);
VNET_AT(vnet_frame_op, opcode, 9);
VNET_AT(vnet_frame_op, flags, 10);
VNET_AT(vnet_frame_op, qp_type, 11);
VNET_AT(vnet_frame_op, src_qpn, 12);
VNET_AT(vnet_frame_op, dst_qpn, 16);
VNET_AT(vnet_frame_op, psn, 20);
VNET_AT(vnet_frame_op, offset, 24);
VNET_AT(vnet_frame_op, msg_len, 28);
VNET_AT(vnet_frame_op, imm, 32);
VNET_AT(vnet_frame_op, read_len, 36);
VNET_AT(vnet_frame_op, remote_addr, 40);
VNET_AT(vnet_frame_op, group_high, 40);
VNET_AT(vnet_frame_op, rkey, 48);
VNET_AT(vnet_frame_op, sl, 48);
VNET_AT(vnet_frame_op, floor, 52);
VNET_AT(vnet_frame_op, srqn, 52);
VNET_AT(vnet_frame_op, compare_add, 56);
VNET_AT(vnet_frame_op, group_low, 56);
VNET_AT(vnet_frame_op, swap, 64);
VNET_AT(vnet_frame_op, imm_high, 64);

VNET_SIZE(vnet_wire_trailer, 48);
VNET_AT(vnet_wire_trailer, key_id, 0);
VNET_AT(vnet_wire_trailer, rsvd, 4);
VNET_AT(vnet_wire_trailer, salt, 8);
VNET_AT(vnet_wire_trailer, number, 24);
VNET_AT(vnet_wire_trailer, mac, 32);

VNET_SIZE(vnet_wire_prefix, 48);
VNET_AT(vnet_wire_prefix, from, 0);
VNET_AT(vnet_wire_prefix, to, 16);
VNET_AT(vnet_wire_prefix, from_port, 32);
VNET_AT(vnet_wire_prefix, to_port, 34);
VNET_AT(vnet_wire_prefix, length, 36);
VNET_AT(vnet_wire_prefix, rsvd, 40);

#undef VNET_SIZE
#undef VNET_AT

#endif /* VNET_LAYOUT_H */
