/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Descriptors of this process' own /proc files, which the daemon receives. With them the daemon
 * reads and writes the process' memory, and reads its memory map and capabilities.
 */
#ifndef OWN_FILES_H
#define OWN_FILES_H

#include "../../vnet_proto.h"

struct own_files {
	int fd[VNET_MSG_FDS];
	unsigned int n;
};

/*
 * Returns 0 if the memory file could be opened, or a negative errno. The other files are opened if
 * possible.
 */
int own_files_open(struct own_files *files);
void own_files_close(struct own_files *files);
/* Called in a forked child: restore the child's dumpable flag. */
void own_files_forked(void);

/* Called when a session begins: let all processes trace this one, if the settings ask for it. */
void own_files_allow_ptrace(void);

#endif /* OWN_FILES_H */
