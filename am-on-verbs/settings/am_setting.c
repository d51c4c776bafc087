// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parses lists of name=value settings by a table. */
#include "am_setting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(const struct am_setting_table *table, const struct am_setting *s,
		  const char *value)
{
	fprintf(stderr, "%s: setting %s is '%s', but wants ", table->who, s->name, value);
	if (!s->words) {
		fprintf(stderr, "%ld to %ld\n", s->min, s->max);
		return EINVAL;
	}
	for (long i = 0; i <= s->max - s->min; i++) {
		const char *before = i == 0 ? "" : i < s->max - s->min ? ", " : " or ";

		fprintf(stderr, "%s%s", before, s->words[i]);
	}
	fprintf(stderr, "\n");
	return EINVAL;
}

static int set_text(const struct am_setting_table *table, const struct am_setting *s, char *to,
		    const char *value)
{
	size_t length = strlen(value);

	if (length >= s->size) {
		fprintf(stderr, "%s: setting %s: none has such a long name\n", table->who, s->name);
		return EINVAL;
	}
	memcpy(to, value, length + 1);
	return 0;
}

/* False: @value is no valid value of @s. */
static bool number_of(const struct am_setting *s, const char *value, long *number)
{
	char *end;

	for (long i = 0; s->words && i <= s->max - s->min; i++) {
		*number = s->min + i;
		if (!strcmp(value, s->words[i]))
			return true;
	}
	errno = 0;
	*number = strtol(value, &end, 10);
	return !s->words && !errno && end != value && !*end && *number >= s->min &&
	       *number <= s->max;
}

int am_setting_set(const struct am_setting_table *table, void *values, const char *name,
		   const char *value)
{
	const struct am_setting *s = table->setting;
	char *to;
	long number;

	while (s < table->setting + table->count && strcmp(name, s->name) != 0)
		s++;
	if (s == table->setting + table->count) {
		fprintf(stderr, "%s: there is no setting '%s'\n", table->who, name);
		return EINVAL;
	}
	to = (char *)values + s->offset;
	if (s->size)
		return set_text(table, s, to, value);
	if (!number_of(s, value, &number))
		return refuse(table, s, value);
	memcpy(to, &number, sizeof(number));
	return 0;
}

static int read_one(const struct am_setting_table *table, void *values, char *item)
{
	char *value = strchr(item, '=');

	if (!value) {
		fprintf(stderr, "%s: setting '%s' has no value\n", table->who, item);
		return EINVAL;
	}
	*value++ = '\0';
	return am_setting_set(table, values, item, value);
}

int am_setting_read(const struct am_setting_table *table, void *values, const char *list)
{
	char *copy = strdup(list), *rest = copy, *item;
	int err = copy ? 0 : ENOMEM;

	while (!err && (item = strsep(&rest, ",")))
		err = *item ? read_one(table, values, item) : 0;
	free(copy);
	return err;
}
