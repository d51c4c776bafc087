// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Entries of a bundle's completion queues, and its table of connections by queue pair number. */
#include <errno.h>
#include <stdlib.h>

#include "am_connections.h"

/* Reserves @more entries, and resizes the queue if necessary. */
static int cq_grow(struct ibv_cq *cq, unsigned int *needed, unsigned int more)
{
	int err;

	if (*needed + more > (unsigned int)cq->cqe) {
		err = ibv_resize_cq(cq, (int)(2 * (*needed + more)));
		if (err)
			return err;
	}
	*needed += more;
	return 0;
}

int am_cq_room(struct am_eb *eb, unsigned int sends, unsigned int receives)
{
	int err;

	if (eb->scq == eb->rcq)
		return cq_grow(eb->scq, &eb->scq_needed, sends + receives);
	err = cq_grow(eb->scq, &eb->scq_needed, sends);
	if (err)
		return err;
	err = cq_grow(eb->rcq, &eb->rcq_needed, receives);
	if (err)
		eb->scq_needed -= sends;
	return err;
}

void am_cq_room_back(struct am_eb *eb, unsigned int sends, unsigned int receives)
{
	if (eb->scq == eb->rcq) {
		eb->scq_needed -= sends + receives;
		return;
	}
	eb->scq_needed -= sends;
	eb->rcq_needed -= receives;
}

/*
 * Hash table by queue pair number: open addressing, at most half full. The low bits are a
 * good hash, because devices allocate numbers densely or at random.
 */
static struct am_qpn *qpn_place(struct am_qpn *table, unsigned int size, uint32_t qpn)
{
	unsigned int at = qpn & (size - 1);

	while (table[at].conn && table[at].qpn != qpn)
		at = (at + 1) & (size - 1);
	return &table[at];
}

static int qpn_grow(struct am_eb *eb)
{
	unsigned int size = eb->by_qpn_size ? 2 * eb->by_qpn_size : 16;
	struct am_qpn *table = calloc(size, sizeof(*table));

	if (!table)
		return ENOMEM;
	for (unsigned int i = 0; i < eb->by_qpn_size; i++) {
		if (eb->by_qpn[i].conn)
			*qpn_place(table, size, eb->by_qpn[i].qpn) = eb->by_qpn[i];
	}
	free(eb->by_qpn);
	eb->by_qpn = table;
	eb->by_qpn_size = size;
	return 0;
}

int am_qpn_insert(struct am_eb *eb, struct am_conn *conn, uint32_t qpn)
{
	int err;

	if (2 * (eb->by_qpn_used + 1) > eb->by_qpn_size) {
		err = qpn_grow(eb);
		if (err)
			return err;
	}
	*qpn_place(eb->by_qpn, eb->by_qpn_size, qpn) = (struct am_qpn){ qpn, conn };
	eb->by_qpn_used++;
	return 0;
}

struct am_conn *am_conn_by_qpn(struct am_eb *eb, uint32_t qpn)
{
	return eb->by_qpn_size ? qpn_place(eb->by_qpn, eb->by_qpn_size, qpn)->conn : NULL;
}

/* Removes an entry, and reinserts those behind it, so that they are still found. */
void am_qpn_remove(struct am_eb *eb, uint32_t qpn)
{
	unsigned int mask = eb->by_qpn_size - 1, at;
	struct am_qpn *hole, moved;

	if (!am_conn_by_qpn(eb, qpn))
		return;
	hole = qpn_place(eb->by_qpn, eb->by_qpn_size, qpn);
	hole->conn = NULL;
	eb->by_qpn_used--;
	for (at = ((unsigned int)(hole - eb->by_qpn) + 1) & mask; eb->by_qpn[at].conn;
	     at = (at + 1) & mask) {
		moved = eb->by_qpn[at];
		eb->by_qpn[at].conn = NULL;
		*qpn_place(eb->by_qpn, eb->by_qpn_size, moved.qpn) = moved;
	}
}
