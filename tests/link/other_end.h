/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Programs whose other end is themselves, at another node. */
#ifndef OTHER_END_H
#define OTHER_END_H

/*
 * Becomes the other end: by a command that starts programs there, such as "vnet run
 * --node B", followed by this program's words and "--end SOCKET", which is inherited.
 * Both lists end with NULL. For helper_start(); does not return.
 */
void become_other_end(int sock, char *const *command, char *const *program)
	__attribute__((noreturn));

#endif /* OTHER_END_H */
