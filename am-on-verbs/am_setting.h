/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Lists of name=value, by a table of what there is to be set. */
#ifndef AM_SETTING_H
#define AM_SETTING_H

#include <stdbool.h>
#include <stddef.h>

struct am_setting {
	const char *name;
	/* Of a long in the values; with `size`, of a text of less than so many bytes. */
	size_t offset;
	long min, max;
	size_t size;
	/* What the numbers from min to max are called, where they are not told as such. */
	const char *const *words;
};

struct am_setting_table {
	/* Who says it when something is wrong. */
	const char *who;
	const struct am_setting *setting;
	size_t count;
};

/* Sets NAME to VALUE. 0, or EINVAL after a message on stderr, and nothing is changed. */
int am_setting_set(const struct am_setting_table *table, void *values, const char *name,
		   const char *value);
/* NAME=VALUE[,...], up to the first that is wrong. 0, EINVAL as above, or ENOMEM. */
int am_setting_read(const struct am_setting_table *table, void *values, const char *list);

#endif
