/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Asking the daemon. */
#ifndef STATUS_ASK_H
#define STATUS_ASK_H

#include <stdbool.h>
#include <stddef.h>

struct ask {
	/* Runtime directory and node. */
	const char *dir;
	const char *node;
	/* Why something failed. */
	char problem[512];
	/* There is just no daemon. */
	bool nobody;
};

/* Its status: JSON text, to be freed. NULL: ask->problem says why. */
char *ask_status(struct ask *ask, size_t *length);
/* A command for its links (see vnetd/link_command.c): JSON text, as above. */
char *ask_link(struct ask *ask, const char *command, size_t *length);
/* End it, and wait until it is gone. */
bool ask_stop(struct ask *ask);

#endif /* STATUS_ASK_H */
