// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What can be set, with its bounds and default. */
#include "am_settings.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "am_message.h"

#define AM_SETTINGS_DEFAULT                                                                        \
	{                                                                                          \
		.gid_index = -1, .mapping = 4, .ack_unit = 1, .receives = 512, .signal = 16,       \
		.connect_timeout = 30000, .keepalive = 1000, .timeout = 17, .retries = 7,          \
		.copy = 4096, .regions = 256, .copies = 8, .imm64 = 1,                             \
	}

struct am_settings am_settings = AM_SETTINGS_DEFAULT;

static const struct setting {
	const char *name;
	size_t offset;
	long min, max;
} settings[] = {
	{ "port", offsetof(struct am_settings, port), 0, 255 },
	{ "gid-index", offsetof(struct am_settings, gid_index), -1, 65535 },
	{ "credits", offsetof(struct am_settings, credits), 0, AM_MAX_CREDITS },
	{ "ack-unit", offsetof(struct am_settings, ack_unit), 1, AM_MAX_CREDITS },
	{ "rnr", offsetof(struct am_settings, rnr), 0, 1 },
	{ "receives", offsetof(struct am_settings, receives), 1, 65536 },
	{ "signal", offsetof(struct am_settings, signal), 1, AM_MAX_CREDITS },
	{ "connect-timeout", offsetof(struct am_settings, connect_timeout), 1, 86400000 },
	{ "keepalive", offsetof(struct am_settings, keepalive), 1, 86400000 },
	{ "timeout", offsetof(struct am_settings, timeout), 1, 31 },
	{ "retries", offsetof(struct am_settings, retries), 0, 7 },
	{ "copy", offsetof(struct am_settings, copy), 0, AM_MAX_MEDIUM },
	{ "regions", offsetof(struct am_settings, regions), 0, 65536 },
	{ "copies", offsetof(struct am_settings, copies), 0, 1024 },
	{ "imm64", offsetof(struct am_settings, imm64), 0, 1 },
};

static int set_number(const struct setting *s, const char *value)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(value, &end, 10);
	if (errno || end == value || *end || number < s->min || number > s->max) {
		fprintf(stderr, "am: setting %s is '%s', but wants %ld to %ld\n", s->name, value,
			s->min, s->max);
		return EINVAL;
	}
	memcpy((char *)&am_settings + s->offset, &number, sizeof(number));
	return 0;
}

static int set_mapping(const char *value)
{
	if (value[0] != 'v' || value[1] < '1' || value[1] > '4' || value[2]) {
		fprintf(stderr, "am: setting mapping is '%s', but wants v1, v2, v3 or v4\n", value);
		return EINVAL;
	}
	am_settings.mapping = value[1] - '0';
	return 0;
}

static int set_device(const char *value)
{
	if (strlen(value) >= sizeof(am_settings.device)) {
		fprintf(stderr, "am: setting device: no device has such a long name\n");
		return EINVAL;
	}
	strcpy(am_settings.device, value);
	return 0;
}

int am_settings_set(const char *name, const char *value)
{
	if (!strcmp(name, "mapping"))
		return set_mapping(value);
	if (!strcmp(name, "device"))
		return set_device(value);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (!strcmp(name, settings[i].name))
			return set_number(&settings[i], value);
	}
	fprintf(stderr, "am: there is no setting '%s'\n", name);
	return EINVAL;
}

static int read_one(char *item)
{
	char *value = strchr(item, '=');

	if (!value) {
		fprintf(stderr, "am: setting '%s' has no value\n", item);
		return EINVAL;
	}
	*value++ = '\0';
	return am_settings_set(item, value);
}

int am_settings_read(const char *list)
{
	char *copy = strdup(list), *rest = copy, *item;
	int err = copy ? 0 : ENOMEM;

	while (!err && (item = strsep(&rest, ",")))
		err = *item ? read_one(item) : 0;
	free(copy);
	return err;
}
