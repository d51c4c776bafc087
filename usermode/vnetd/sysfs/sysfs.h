/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The files of sysfs and /dev that programs read, as a tree in the runtime directory, and the port
 * counters in it. Functions that return int return 0 or -errno.
 */
#ifndef VNETD_SYSFS_H
#define VNETD_SYSFS_H

#include "device.h"

/* ----------------------------------------------------------------- sysfs.c */

/* Writes the tree below <dir>/sys and <dir>/dev. */
int sysfs_init(struct daemon *daemon);
/* Writes the current values of counters into the tree. */
int sysfs_counters(struct daemon *daemon);
/* Updates the tree after a GID was added or removed. */
void sysfs_gid(const struct nic_device *made, u32 index);
/* Writes the state of a device's port into the tree. */
void sysfs_port(struct daemon *daemon, const struct device *device, bool up);

/* ---------------------------------------------------------- port_counters.c */

/* Reads the port's standard counters. Returns their number. */
u32 port_counters_read(const struct device *device, struct counter counters[MOST_COUNTERS]);
/* Clears the counters with these names. */
void port_counters_clear(struct device *device, const char *const *names, u32 nnames);
/* Limits a value to the maximum of a counter of this width. */
u64 counter_saturated(u64 value, u32 bits);

/* ------------------------------------------------------------------ tree.c */

/* Paths are relative to dir_fd. Missing parent folders are created. */
int tree_dir(int dir_fd, const char *path);
int tree_file(int dir_fd, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Replaces a file by rename; processes that have the old file open continue to read that one. */
int tree_replace(int dir_fd, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int tree_link(int dir_fd, const char *path, const char *target);
/* Removes a path recursively; absence is success. */
int tree_remove(int dir_fd, const char *path);

#endif /* VNETD_SYSFS_H */
