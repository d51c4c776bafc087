/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Location of a node's daemon as the environment says, for the daemon and its clients. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

/* Value of an environment variable; `otherwise` if it is unset or empty. */
const char *env_or_default(const char *name, const char *otherwise);
/* Runtime directory of this user. */
const char *env_runtime_dir(void) __attribute__((returns_nonnull));
/* Name of the node, a subdirectory of the runtime directory. */
const char *env_node_name(void) __attribute__((returns_nonnull));

#endif /* ENVIRONMENT_H */
