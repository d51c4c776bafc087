// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "receivers.h"

struct end *sender, *near, *far[3];

struct end *receiver_make(struct side *s, u8 type)
{
	struct end *e = end_make(s, type, false);

	end_to_rts(e);
	return e;
}

void receivers_make(u32 seed, u8 type)
{
	world_make(seed, &world_usual);
	side[1].nic.hdr->ngids = 2;
	sender = receiver_make(&side[0], type);
	near = receiver_make(&side[0], type);
	for (u32 i = 0; i < 3; i++)
		far[i] = receiver_make(&side[1], type);
}
