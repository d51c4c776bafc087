/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Names by which agents inject asynchronous events: all those of enum ibv_event_type (IB vol 1,
 * 11.6.3). Kinds: a queue pair 'q', a completion queue 'c', a shared receive queue 's', a work
 * queue 'w'; the device or its port 'd', which the firmware does not handle.
 *
 *     X(name, value in enum ibv_event_type, kind)
 */
#ifndef NIC_EVENT_NAMES_H
#define NIC_EVENT_NAMES_H

/* clang-format off */
#define NIC_EVENT_NAMES(X)                                                                         \
	X("cq-err", NIC_EVENT_CQ_ERR, 'c')                                                         \
	X("qp-fatal", NIC_EVENT_QP_FATAL, 'q')                                                     \
	X("qp-req-err", NIC_EVENT_QP_REQ_ERR, 'q')                                                 \
	X("qp-access-err", NIC_EVENT_QP_ACCESS_ERR, 'q')                                           \
	X("comm-est", NIC_EVENT_COMM_EST, 'q')                                                     \
	X("sq-drained", NIC_EVENT_SQ_DRAINED, 'q')                                                 \
	X("path-mig", NIC_EVENT_PATH_MIG, 'q')                                                     \
	X("path-mig-err", NIC_EVENT_PATH_MIG_ERR, 'q')                                             \
	X("device-fatal", 8, 'd')                                                                  \
	X("port-active", 9, 'd')                                                                   \
	X("port-err", 10, 'd')                                                                     \
	X("lid-change", 11, 'd')                                                                   \
	X("pkey-change", 12, 'd')                                                                  \
	X("sm-change", 13, 'd')                                                                    \
	X("srq-err", NIC_EVENT_SRQ_ERR, 's')                                                       \
	X("srq-limit", NIC_EVENT_SRQ_LIMIT_REACHED, 's')                                           \
	X("qp-last-wqe", NIC_EVENT_QP_LAST_WQE_REACHED, 'q')                                       \
	X("client-reregister", 17, 'd')                                                            \
	X("gid-change", 18, 'd')                                                                   \
	/* To the NIC, a work queue is a queue pair; its events have names of their own. */        \
	X("wq-fatal", NIC_EVENT_QP_FATAL, 'w')
/* clang-format on */

#endif
