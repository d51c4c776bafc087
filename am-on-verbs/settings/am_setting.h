/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Parses lists of name=value settings by a table. */
#ifndef AM_SETTING_H
#define AM_SETTING_H

#include <stdbool.h>
#include <stddef.h>

struct am_setting {
	const char *name;
	/* Offset of the value: a long, or, if @size is not 0, a string of less than @size bytes. */
	size_t offset;
	long min, max;
	size_t size;
	/* Names of the values from @min to @max; NULL: the value is written as a number. */
	const char *const *words;
};

struct am_setting_table {
	/* Prefix of error messages. */
	const char *who;
	const struct am_setting *setting;
	size_t count;
};

/* Sets NAME to VALUE. 0, or EINVAL after a message on stderr; nothing is changed then. */
int am_setting_set(const struct am_setting_table *table, void *values, const char *name,
		   const char *value);
/* Parses NAME=VALUE[,...] up to the first error. 0, EINVAL after a message on stderr, or ENOMEM. */
int am_setting_read(const struct am_setting_table *table, void *values, const char *list);

#endif
