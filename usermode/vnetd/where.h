/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where a node's daemon is, by the environment: for the daemon and who asks it. */
#ifndef WHERE_H
#define WHERE_H

/* An environment variable that is set, and not empty. */
const char *where_variable(const char *name, const char *otherwise);
/* Runtime directory of this user. */
const char *where_runtime_dir(void) __attribute__((returns_nonnull));
/* Name of the node, a folder in it. */
const char *where_node(void) __attribute__((returns_nonnull));

#endif /* WHERE_H */
