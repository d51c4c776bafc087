// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The transition of a queue pair to the error state, with the events that belong to it. */
#include "pending/pending.h"
#include "completion/completion.h"

void nic_qp_fail(struct nic *nic, struct nic_qp *qp, int event)
{
	u8 before = nic_load(&qp->state);

	/* In RESET there is nothing to flush, and the QP may be under destruction. */
	if (before == NIC_QPS_ERR || before == NIC_QPS_RESET)
		return;
	nic_store(&qp->state, NIC_QPS_ERR);
	nic_store(&qp->flush_rq, 1);
	if (event >= 0)
		nic_raise_qp(nic, qp, (enum nic_event)event);
	/* Not if requests name the SRQ (XRC): the event is defined for a QP with one SRQ only. */
	if (qp->srqn && qp->srqn != NIC_SRQ_NAMED)
		nic_raise_qp(nic, qp, NIC_EVENT_QP_LAST_WQE_REACHED);
	nic_pend(nic, qp);
}
