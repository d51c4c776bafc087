// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creates and destroys the two completion queues of a bundle. */
#include "am_two_cqs.h"

#include <errno.h>

#define FIRST_SIZE 256 /* am_cq_room() grows them as connections are made */

int am_two_cqs_open(struct am_eb *eb)
{
	int err;

	eb->scq = ibv_create_cq(eb->device->context, FIRST_SIZE, NULL, eb->channel, 0);
	if (!eb->scq)
		return errno;
	eb->rcq = ibv_create_cq(eb->device->context, FIRST_SIZE, NULL, eb->channel, 0);
	if (eb->rcq)
		return 0;
	err = errno;
	ibv_destroy_cq(eb->scq);
	return err;
}

void am_two_cqs_close(struct am_eb *eb)
{
	ibv_destroy_cq(eb->rcq);
	ibv_destroy_cq(eb->scq);
}
