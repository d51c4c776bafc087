// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What can be set for Split-C, with its bounds and default. */
#include "splitc_settings.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "splitc_core.h"

struct sc_settings sc_settings = {
	.gid_index = -1,
	.mapping = SC_DIRECT,
	.credits = 8,
	.depth = 128,
	.signal = 32,
	.timeout = 17,
	.retries = 7,
	.copy = 1024,
	.regions = 1024,
	.heap = 65536,
};

static const struct setting {
	const char *name;
	size_t offset;
	long min, max;
} settings[] = {
	{ "port", offsetof(struct sc_settings, port), 0, 255 },
	{ "gid-index", offsetof(struct sc_settings, gid_index), -1, 65535 },
	{ "credits", offsetof(struct sc_settings, credits), 1, SC_MAX_CREDITS },
	{ "acks", offsetof(struct sc_settings, acks), 0, SC_MAX_CREDITS },
	{ "depth", offsetof(struct sc_settings, depth), 2, 1024 },
	{ "signal", offsetof(struct sc_settings, signal), 1, 1024 },
	{ "timeout", offsetof(struct sc_settings, timeout), 1, 31 },
	{ "retries", offsetof(struct sc_settings, retries), 0, 7 },
	{ "copy", offsetof(struct sc_settings, copy), 0, SC_FRAGMENT },
	{ "regions", offsetof(struct sc_settings, regions), 0, 65536 },
	{ "heap", offsetof(struct sc_settings, heap), 1, 1 << 24 },
};

static int set_number(const struct setting *s, const char *value)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(value, &end, 10);
	if (errno || end == value || *end || number < s->min || number > s->max) {
		fprintf(stderr, "splitc: setting %s is '%s', but wants %ld to %ld\n", s->name,
			value, s->min, s->max);
		return EINVAL;
	}
	memcpy((char *)&sc_settings + s->offset, &number, sizeof(number));
	return 0;
}

static int set_mapping(const char *value)
{
	if (!strcmp(value, "messages")) {
		sc_settings.mapping = SC_MESSAGES;
	} else if (!strcmp(value, "direct")) {
		sc_settings.mapping = SC_DIRECT;
	} else {
		fprintf(stderr, "splitc: setting mapping is '%s', but wants messages or direct\n",
			value);
		return EINVAL;
	}
	return 0;
}

static int set_device(const char *value)
{
	if (strlen(value) >= sizeof(sc_settings.device)) {
		fprintf(stderr, "splitc: setting device: no device has such a long name\n");
		return EINVAL;
	}
	strcpy(sc_settings.device, value);
	return 0;
}

static int set(const char *name, const char *value)
{
	if (!strcmp(name, "mapping"))
		return set_mapping(value);
	if (!strcmp(name, "device"))
		return set_device(value);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (!strcmp(name, settings[i].name))
			return set_number(&settings[i], value);
	}
	fprintf(stderr, "splitc: there is no setting '%s'\n", name);
	return EINVAL;
}

static int read_one(char *item)
{
	char *value = strchr(item, '=');

	if (!value) {
		fprintf(stderr, "splitc: setting '%s' has no value\n", item);
		return EINVAL;
	}
	*value++ = '\0';
	return set(item, value);
}

int sc_settings_read(const char *list)
{
	char *copy = strdup(list), *rest = copy, *item;
	int err = copy ? 0 : ENOMEM;

	while (!err && (item = strsep(&rest, ",")))
		err = *item ? read_one(item) : 0;
	free(copy);
	return err;
}
