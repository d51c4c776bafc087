/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the environment asks for, read once; and where that is for the process' user. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <limits.h>
#include <stdbool.h>

#include "../vnet_proto.h"

struct settings {
	/* Nothing of vnet is wanted: every function passes through. */
	bool off;
	/* Show the machine's own devices too. */
	bool host_devices;
	/* All of the user's processes may trace the program, though Yama would not let them. */
	bool allow_ptrace;
	char node[64];
	/* Names, with commas between. */
	char devices[VNET_DEVICES_MAX];
	/* Of their ports; empty: whichever the daemon has. */
	char link_layer[VNET_LINK_LAYER_MAX];
	/* How long the daemon may take to answer: seconds. */
	unsigned int answer_timeout;
	/* The daemon's program. */
	char vnetd[PATH_MAX];
	/* The daemon's environment: "NAME=value" strings, NULL at the end. */
	char *environment[32];
};

const struct settings *settings(void);

/* Runtime directory of a user, and of this node below it. */
struct node_place {
	/* Who that is. */
	unsigned int uid;
	char runtime_dir[PATH_MAX / 2];
	char node_dir[PATH_MAX / 2 + 64];
};

/* Of the user that this process had when its session was made, or is about to be. */
const struct node_place *node_place(void);
/* There is no session: another user's, if the process has changed its user since. */
void node_place_renew(void);

#endif /* SETTINGS_H */
