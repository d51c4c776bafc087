// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The oracle: checks the bytes of buffers before it frees them. */
#include "base/trace.h"
#include "oracle/oracle.h"

struct pool *pool_of(const struct buffer *buffer)
{
	return &((struct actor *)buffer->process->user)->pool;
}

void put(struct buffer *buffer, u32 used)
{
	const u8 *memory = buffer_memory(buffer);

	if (used < buffer->size &&
	    !bytes_are(memory + used, buffer->size - used, buffer_id(buffer), used))
		violated("node %u: the buffer at %#llx (%u bytes) was written after the %u "
			 "bytes that it was for",
			 buffer->process->node->index, (unsigned long long)buffer_address(buffer),
			 buffer->size, used);
	buffer_put(pool_of(buffer), buffer);
}

bool pieces_are(struct buffer *const *buffer, const u32 *length, u32 n, u32 total, u64 id, u32 skip)
{
	u32 i, done = 0, part;

	for (i = 0; i < n && done < total; i++) {
		const u8 *memory = buffer_memory(buffer[i]);

		part = length[i] < total - done ? length[i] : total - done;
		if (part > skip && !bytes_are(memory + skip, part - skip, id, done))
			return false;
		/* The GRH of a datagram is at the beginning of the first piece. */
		done += part > skip ? part - skip : 0;
		if (skip) {
			total -= skip;
			skip = 0;
		}
	}
	return done == total;
}

void bad(const struct work *w, const char *what)
{
	violated("node %u QP %u: request %llu (opcode %u, %u bytes): %s", node_of(w->end),
		 w->end->qp->qpn, (unsigned long long)w->id, w->opcode, w->length, what);
}

void release_source(struct work *w)
{
	u32 i;

	if (!w->is_inline &&
	    !pieces_are(w->local, w->local_length, w->nlocal, w->length, w->content, 0))
		bad(w, "its own data has changed");
	for (i = 0; i < w->nlocal; i++)
		put(w->local[i], w->local_length[i]);
	w->nlocal = 0;
}

void release_target(struct work *w, u64 id)
{
	u32 i;

	if (!pieces_are(w->local, w->local_length, w->nlocal, w->length, id, 0))
		bad(w, "success, but the data that it brought is wrong");
	if (w->relayed)
		return;
	for (i = 0; i < w->nlocal; i++)
		put(w->local[i], w->local_length[i]);
	w->nlocal = 0;
}
