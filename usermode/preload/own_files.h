/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * This process' own files in /proc, which the daemon gets: by them it reads and writes its
 * memory, and sees its map and its capabilities.
 */
#ifndef OWN_FILES_H
#define OWN_FILES_H

#include "../vnet_proto.h"

struct own_files {
	int fd[VNET_MSG_FDS];
	unsigned int n;
};

/* 0, or negative errno where the memory cannot be had; of the others, as many as can. */
int own_files_open(struct own_files *files);
void own_files_close(struct own_files *files);
/* In a forked child. */
void own_files_forked(void);

/* A session begins: all of the user's processes may trace this one, if the user wants that. */
void own_files_allow_ptrace(void);

#endif /* OWN_FILES_H */
