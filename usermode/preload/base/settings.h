/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Settings from the environment, read once, and the user's runtime directory. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <limits.h>
#include <stdbool.h>

#include "../../vnet_proto.h"

/* Which regions have their pages moved into the process' memory file, which peers map. */
enum map_regions {
	MAP_NEVER,
	/* Small regions, up to a limit of all moved pages: mapped/register.c. */
	MAP_HOT,
	MAP_ALWAYS,
};

struct settings {
	/* vnet is disabled: every function passes through. */
	bool off;
	/* Show the machine's own RDMA devices, too. */
	bool host_devices;
	/* Let all processes of the user trace the program, even where Yama would refuse it. */
	bool allow_ptrace;
	enum map_regions map_regions;
	char node[64];
	/* Device names, separated by commas. */
	char devices[VNET_DEVICES_MAX];
	/* Link layer of the ports; empty: the daemon's default. */
	char link_layer[VNET_LINK_LAYER_MAX];
	/* Time limit for an answer of the daemon, in seconds. */
	unsigned int answer_timeout;
	/* Path of the daemon's executable. */
	char vnetd[PATH_MAX];
	/* Environment for the daemon: "NAME=value" strings, terminated by NULL. */
	char *environment[32];
};

const struct settings *settings(void);

/* Runtime directory of one user, and this node's directory below it. */
struct node_place {
	/* The user. */
	unsigned int uid;
	char runtime_dir[PATH_MAX / 2];
	char node_dir[PATH_MAX / 2 + 64];
};

/*
 * Directories of the user that this process had when its session was made, or has if it is about to
 * make one.
 */
const struct node_place *node_place(void);
/* Adopt the directories of the process' current user. Only while there is no session. */
void node_place_renew(void);

#endif /* SETTINGS_H */
