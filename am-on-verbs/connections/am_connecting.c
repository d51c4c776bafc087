// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The list of connections that are being set up, with the times of their next attempts. */
#include "am_connections.h"

#define FIRST_WAIT 5000000u /* ns; doubled for each retry */

void am_wire_watch(struct am_conn *conn)
{
	uint64_t timeout = (uint64_t)am_settings.connect_timeout * 1000000u;

	conn->wait = FIRST_WAIT;
	conn->due = am_now() + conn->wait;
	conn->deadline = am_now() + timeout;
	conn->connecting = conn->eb->connecting;
	conn->eb->connecting = conn;
}

void am_wire_forget(struct am_conn *conn)
{
	struct am_conn **at = &conn->eb->connecting;

	while (*at && *at != conn)
		at = &(*at)->connecting;
	if (*at)
		*at = conn->connecting;
}
