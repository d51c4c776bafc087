/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs that most tests begin with: a device, and a queue pair's way from RESET to RTS.
 * No function ends the program; the caller checks.
 */
#ifndef TESTS_VERBS_QP_H
#define TESTS_VERBS_QP_H

#include <infiniband/verbs.h>

/* Opens the device of this name; NULL: the first one. Returns NULL if there is none. */
struct ibv_context *open_test_device(const char *name);

/*
 * Attributes for port 1 that connect to this queue pair, or serve a datagram queue pair: MTU
 * 1024 (also for devices on Ethernet), every remote access, one read or atomic outstanding, 67 ms
 * (14), retried 7 times, and without a limit if no receive is posted. The caller may change any.
 */
struct ibv_qp_attr qp_attr_to(uint32_t qpn, const union ibv_gid *gid, uint8_t sgid_index);

/*
 * Modifies the queue pair to `state`, with those attributes that the transition requires for
 * the queue pair's type. Returns what ibv_modify_qp() returns.
 */
int qp_to(struct ibv_qp *qp, enum ibv_qp_state state, struct ibv_qp_attr *attr);

/* From RESET or INIT through INIT and RTR to RTS. Returns 0, or the first error. */
int qp_to_rts(struct ibv_qp *qp, struct ibv_qp_attr *attr);

#endif
