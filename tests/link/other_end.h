/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Programs that start their own other end on another node. */
#ifndef OTHER_END_H
#define OTHER_END_H

/*
 * Becomes the other end: executes a command that starts programs there, such as "vnet run
 * --node B", followed by this program's arguments and "--end SOCKET", which is inherited. Both
 * lists end with NULL. For helper_start(); does not return.
 */
void become_other_end(int sock, char *const *command, char *const *program)
	__attribute__((noreturn));

#endif /* OTHER_END_H */
