/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the environment asks for, read once. */
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
	/* Runtime directory of this user, and of this node below it. */
	char runtime_dir[PATH_MAX / 2];
	char node_dir[PATH_MAX / 2 + 64];
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

#endif /* SETTINGS_H */
