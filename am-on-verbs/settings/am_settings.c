// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The table of settings, with bounds and defaults. */
#include "am_settings.h"

#include <stddef.h>

#include "am_limits.h"
#include "am_setting.h"

#define AM_SETTINGS_DEFAULT                                                                        \
	{                                                                                          \
		.gid_index = -1, .mapping = 4, .ack_unit = 1, .receives = 512, .signal = 16,       \
		.connect_timeout = 30000, .keepalive = 1000, .timeout = 17, .retries = 7,          \
		.copy = 4096, .regions = 256, .copies = 8, .imm64 = 1,                             \
	}

struct am_settings am_settings = AM_SETTINGS_DEFAULT;

static const char *const mappings[] = { "v1", "v2", "v3", "v4" };

static const char *const wirings[] = { "hand", "cm" };

static const struct am_setting settings[] = {
	{ "device", offsetof(struct am_settings, device), .size = sizeof(am_settings.device) },
	{ "mapping", offsetof(struct am_settings, mapping), 1, 4, .words = mappings },
	{ "port", offsetof(struct am_settings, port), 0, 255, 0, NULL },
	{ "gid-index", offsetof(struct am_settings, gid_index), -1, 65535, 0, NULL },
	{ "credits", offsetof(struct am_settings, credits), 0, AM_MAX_CREDITS, 0, NULL },
	{ "ack-unit", offsetof(struct am_settings, ack_unit), 1, AM_MAX_CREDITS, 0, NULL },
	{ "rnr", offsetof(struct am_settings, rnr), 0, 1, 0, NULL },
	{ "receives", offsetof(struct am_settings, receives), 1, 65536, 0, NULL },
	{ "signal", offsetof(struct am_settings, signal), 1, AM_MAX_CREDITS, 0, NULL },
	{ "connect-timeout", offsetof(struct am_settings, connect_timeout), 1, 86400000, 0, NULL },
	{ "keepalive", offsetof(struct am_settings, keepalive), 1, 86400000, 0, NULL },
	{ "timeout", offsetof(struct am_settings, timeout), 1, 31, 0, NULL },
	{ "retries", offsetof(struct am_settings, retries), 0, 7, 0, NULL },
	{ "copy", offsetof(struct am_settings, copy), 0, AM_MAX_MEDIUM, 0, NULL },
	{ "regions", offsetof(struct am_settings, regions), 0, 65536, 0, NULL },
	{ "copies", offsetof(struct am_settings, copies), 0, 1024, 0, NULL },
	{ "wiring", offsetof(struct am_settings, wiring), AM_WIRED_BY_HAND, AM_WIRED_BY_CM,
	  .words = wirings },
	{ "address", offsetof(struct am_settings, address), .size = sizeof(am_settings.address) },
	{ "imm64", offsetof(struct am_settings, imm64), 0, 1, 0, NULL },
};

static const struct am_setting_table table = {
	"am",
	settings,
	sizeof(settings) / sizeof(settings[0]),
};

int am_settings_set(const char *name, const char *value)
{
	return am_setting_set(&table, &am_settings, name, value);
}

int am_settings_read(const char *list)
{
	return am_setting_read(&table, &am_settings, list);
}
