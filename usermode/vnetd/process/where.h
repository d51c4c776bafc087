/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Location of a node's daemon as the environment says, for the daemon and its clients. */
#ifndef WHERE_H
#define WHERE_H

/* Value of an environment variable; `otherwise` if it is unset or empty. */
const char *where_variable(const char *name, const char *otherwise);
/* Runtime directory of this user. */
const char *where_runtime_dir(void) __attribute__((returns_nonnull));
/* Name of the node, a subdirectory of the runtime directory. */
const char *where_node(void) __attribute__((returns_nonnull));

#endif /* WHERE_H */
