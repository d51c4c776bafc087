// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The oracle: prints the firmware's state of requests that never completed. */
#include <stdio.h>

#include "oracle/oracle.h"

/* Print the firmware's state of an end. */
static void tell_endpoint(const struct end *e)
{
	const struct nic *nic = &e->qp->process->node->nic;
	const struct nic_qp *qp = &nic->qp[e->qp->qpn & nic->qp_index_mask];
	const struct nic_endpoint *ep = qp->frame < nic->max_frame ? &nic->frame[qp->frame] :
								     &nic->backing[qp - nic->qp];

	if (e->gone || is_lost(e->qp->process, e->qp->life))
		return;
	fprintf(stderr,
		"    sq_cons %u wait %u phase %u lock %u; frame %d of QP %u: packets %u to %u, "
		"request %u cut at %u, done %llx, failed %u at %u, hold until %llu us, "
		"expects %u\n",
		qp->sq_cons, qp->wait, qp->op_phase, qp->sq_lock, (int)qp->frame, ep->qpn, ep->una,
		ep->next, ep->sq_next, ep->cut, (unsigned long long)ep->done,
		(u32)(ep->failed >> 32), (u32)ep->failed, (unsigned long long)ep->rnr_until / 1000,
		ep->expected);
}

/* Print the endpoint frames of this end's NIC. */
static void tell_frames(const struct end *e)
{
	const struct nic *nic = &e->qp->process->node->nic;
	u32 i;

	if (nic->hdr->frame_lock)
		fprintf(stderr, "      frame_lock is held by %u\n", nic->hdr->frame_lock);
	for (i = 0; i < nic->max_frame; i++) {
		const struct nic_endpoint *ep = &nic->frame[i];
		const struct nic_qp *qp = &nic->qp[ep->qpn & nic->qp_index_mask];

		if (ep->qpn)
			fprintf(stderr,
				"      frame %u: QP %u type %u state %u, packets %u to %u, done %llx, "
				"again %llx, request %u of %u, used %u, sent %u, leaving %u, "
				"phase %u, lock %u, row %d\n",
				i, ep->qpn, qp->type, qp->state, ep->una, ep->next,
				(unsigned long long)ep->done, (unsigned long long)ep->resend,
				ep->sq_next, qp->sq_cons, ep->used, ep->sent, ep->leaving,
				qp->op_phase, qp->sq_lock, (int)qp->row);
	}
}

/* Report an end that failed, has completed its requests, and was not destroyed. */
static void tell_forgotten(const struct end *e, u32 *said)
{
	++*said;
	fprintf(stderr, "  node %u QP %u type %u failed, and is not taken down (%s)\n", node_of(e),
		e->qp->qpn, e->type, e->closing ? "begun" : "not begun");
}

void check_incomplete(void)
{
	u32 i, said = 0;

	for (i = 0; i < posted.nend && said < 8; i++) {
		const struct end *e = posted.end[i];

		if (check_is_complete(e)) {
			if (e->failed && !e->gone)
				tell_forgotten(e, &said);
			continue;
		}
		said++;
		fprintf(stderr,
			"  node %u QP %u type %u state %u: %u posted, %u complete, %u in queue; "
			"peer node %u QP %u\n",
			node_of(e), e->qp->qpn, e->type, state_of(e->qp), e->nwork, e->done,
			e->qp->sq.mask + 1 - send_room(e->qp), e->peer ? node_of(e->peer) : 0,
			e->peer ? e->peer->qp->qpn : 0);
		tell_endpoint(e);
		if (e->peer)
			tell_frames(e->peer);
	}
}
