// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Coverage of the firmware's states: recording and printing. */
#include <stdio.h>

#include "cluster/states.h"

static const struct machine {
	const char *what;
	const char *name[STATES_NAMES];
} machines[] = {
	{ "queue pair", { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" } },
	{ "waits for", { "nothing", "RNR", "stall", "peer", "lock" } },
	{ "operation", { "idle", "commit", "notify", "executed", "retire", "retire-notify" } },
	{ "row", { "free", "calling", "up" } },
	{ "sender's channel", { "free", "under way", "refused", "sent again" } },
	{ "receiver's channel", { "free", "answered", "refused", "returned" } },
	{ "endpoint", { "home", "resident", "leaving" } },
	{ "requester", { "idle", "sending", "resting", "held", "gated", "failed" } },
	{ "responder", { "expects", "ahead", "open", "failed" } },
	{ "answer",
	  { "done", "result", "absent", "busy", "RNR", "early", "nobody", "error", "dropped" } },
};

enum machine_name {
	MACHINE_QP,
	MACHINE_WAIT,
	MACHINE_PHASE,
	MACHINE_ROW,
	MACHINE_TX,
	MACHINE_RX,
	MACHINE_ENDPOINT,
	MACHINE_REQUESTER,
	MACHINE_RESPONDER,
	MACHINE_ANSWER,
	MACHINES,
};

static_assert(MACHINES == STATES_MACHINES, "each machine has its states");

static bool watched;
static struct states states;

static void reach(enum machine_name machine, u32 state)
{
	if (state < STATES_NAMES)
		states.seen[machine][state]++;
}

void states_watch(void)
{
	watched = true;
}

static void look_at_row(const struct nic_row *row)
{
	u32 i;

	reach(MACHINE_ROW, row->state);
	for (i = 0; i < VNET_WIRE_CHANNELS; i++) {
		const struct nic_tx *tx = &row->tx[i];
		const struct nic_rx *rx = &row->rx[i];

		if (!(row->busy >> i & 1))
			reach(MACHINE_TX, 0);
		else
			reach(MACHINE_TX, tx->flags & NIC_TX_NACKED ? 2 : tx->retries ? 3 : 1);
		if (!rx->answer_seq)
			reach(MACHINE_RX, 0);
		else
			reach(MACHINE_RX, rx->code >= VNET_RETURN_FIRST ? 3 :
					  rx->code >= VNET_NACK_FIRST   ? 2 :
									  1);
	}
}

/* State of the requester as in doc/protocol.md. If several apply, the first one here counts. */
static u32 requester_state(const struct nic_endpoint *ep)
{
	if (ep->failed)
		return 5;
	if (ep->rnr_until > node_clock())
		return 3;
	if (ep->una == ep->next)
		return 0;
	if (ep->gated && ep->gate == ep->una)
		return 4;
	return ep->resting ? 2 : 1;
}

static u32 responder_state(const struct nic_qp *qp, const struct nic_endpoint *ep)
{
	if (qp->state == NIC_QPS_ERR)
		return 3;
	if (ep->receive.open)
		return 2;
	return ep->ahead != 0;
}

static void look_at_qp(const struct nic *nic, const struct nic_qp *qp)
{
	const struct nic_endpoint *ep = qp->frame < nic->max_frame ? &nic->frame[qp->frame] : NULL;

	reach(MACHINE_QP, qp->state);
	reach(MACHINE_WAIT, qp->wait);
	reach(MACHINE_PHASE, qp->op_phase);
	if (!ep || ep->qpn != qp->qpn) {
		reach(MACHINE_ENDPOINT, 0);
		return;
	}
	reach(MACHINE_ENDPOINT, ep->leaving ? 2 : 1);
	reach(MACHINE_REQUESTER, requester_state(ep));
	reach(MACHINE_RESPONDER, responder_state(qp, ep));
}

void states_look(const struct node *node)
{
	const struct nic *nic = &node->nic;
	u32 i;

	if (!watched)
		return;
	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1)) {
		if (nic->qp[i].qpn)
			look_at_qp(nic, &nic->qp[i]);
	}
	for (i = 0; i < nic->hdr->row_high && i < nic->max_row; i++)
		look_at_row(&nic->row[i]);
	/* Only rows that were never used are free: a row in use never becomes free. */
	if (nic->hdr->row_high < nic->max_row)
		reach(MACHINE_ROW, nic->row[nic->hdr->row_high].state);
}

void states_answer(u32 code)
{
	if (watched)
		reach(MACHINE_ANSWER, code >= VNET_RETURN_FIRST ? code - VNET_RETURN_FIRST + 6 :
				      code >= VNET_NACK_FIRST   ? code - VNET_NACK_FIRST + 2 :
								  code);
}

const struct states *states_seen(void)
{
	return &states;
}

u32 states_print(const struct states *s)
{
	u32 i, j, missed = 0;

	if (!watched)
		return 0;
	for (i = 0; i < MACHINES; i++) {
		printf("%-20s", machines[i].what);
		for (j = 0; j < STATES_NAMES && machines[i].name[j]; j++) {
			bool seen = s->seen[i][j];

			printf(" %s%s", machines[i].name[j], seen ? "" : " (NOT REACHED)");
			missed += !seen;
		}
		printf("\n");
	}
	return missed;
}
