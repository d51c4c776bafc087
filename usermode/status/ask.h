/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests of vnet-status to the daemon. */
#ifndef STATUS_ASK_H
#define STATUS_ASK_H

#include <stdbool.h>
#include <stddef.h>

struct ask {
	/* Runtime directory and node. */
	const char *dir;
	const char *node;
	/* Why a request failed. */
	char problem[512];
	/* It failed because no daemon runs. */
	bool nobody;
};

/* Get the daemon's status as JSON text, to be freed by the caller. NULL: ask->problem says why. */
char *ask_status(struct ask *ask, size_t *length);
/* Execute a link command (vnetd/status/command.c). Returns JSON text as above. */
char *ask_link(struct ask *ask, const char *command, size_t *length);
/* Stop the daemon, and wait until it has ended. */
bool ask_stop(struct ask *ask);

#endif /* STATUS_ASK_H */
