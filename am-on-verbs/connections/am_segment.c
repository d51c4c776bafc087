// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The boards that tell an endpoint's segment and tag to peers.
 *
 * Each side of a connection has a board in the peer's memory. An endpoint writes the
 * location of its segment, and its tag, to the boards of its peers by RDMA. That needs no
 * message and no credit. A peer that learns of the new segment by a later message finds it
 * on the board.
 */
#include "am_connections.h"
#include "objects/am_mapping.h"

#define BOARD_LOOKS 100000u /* reads of an inconsistent board before giving up */

struct am_segment am_segment_mine(const struct am_ep *ep)
{
	struct am_segment s = { .before = ep->segment_version,
				.after = ep->segment_version,
				.tag = ep->tag };

	if (ep->segment_mr) {
		s.address = (uintptr_t)ep->segment;
		s.length = ep->segment_length;
		s.rkey = ep->segment_mr->rkey;
	}
	return s;
}

/*
 * Reads the board. The peer writes it with one RDMA write of a cache line, which need not
 * be atomic. If the board stays inconsistent, the peer died during the write; no segment is
 * returned then.
 */
struct am_segment am_segment_of(const struct am_conn *conn)
{
	const volatile struct am_segment *board = conn->board;
	struct am_segment s = { .goodbye = 0 };

	for (unsigned int i = 0; i < BOARD_LOOKS; i++) {
		s.after = __atomic_load_n(&board->after, __ATOMIC_ACQUIRE);
		s.address = board->address;
		s.length = board->length;
		s.rkey = board->rkey;
		s.tag = board->tag;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		s.before = __atomic_load_n(&board->before, __ATOMIC_RELAXED);
		if (s.before == s.after)
			return s;
	}
	return (struct am_segment){ .goodbye = 0 };
}

static int tell(struct am_conn *conn, bool goodbye)
{
	/* source of the write; must not change until the write is complete */
	struct am_segment *mine = &conn->board[1];

	*mine = am_segment_mine(conn->ep);
	mine->goodbye = goodbye;
	return conn->eb->mapping->write(conn, mine, sizeof(*mine), conn->theirs.board,
					conn->theirs.board_rkey);
}

int am_segment_tell(struct am_conn *conn)
{
	return tell(conn, false);
}

int am_segment_goodbye(struct am_conn *conn)
{
	return tell(conn, true);
}
