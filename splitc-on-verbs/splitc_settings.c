// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The table of Split-C's settings, with bounds and defaults. */
#include "splitc_settings.h"

#include <stddef.h>

#include "settings/am_setting.h"
#include "splitc_core.h"

struct sc_settings sc_settings = {
	.gid_index = -1,
	.mapping = SC_DIRECT,
	.credits = 8,
	.coalesce = 64,
	.depth = 128,
	.signal = 32,
	.timeout = 17,
	.retries = 7,
	.copy = 1024,
	.regions = 1024,
	.heap = 65536,
};

static const char *const mappings[] = {
	[SC_MESSAGES] = "messages",
	[SC_DIRECT] = "direct",
};

static const struct am_setting settings[] = {
	{ "device", offsetof(struct sc_settings, device), .size = sizeof(sc_settings.device) },
	{ "mapping", offsetof(struct sc_settings, mapping), SC_MESSAGES, SC_DIRECT,
	  .words = mappings },
	{ "port", offsetof(struct sc_settings, port), 0, 255, 0, NULL },
	{ "gid-index", offsetof(struct sc_settings, gid_index), -1, 65535, 0, NULL },
	{ "credits", offsetof(struct sc_settings, credits), 1, SC_MAX_CREDITS, 0, NULL },
	{ "acks", offsetof(struct sc_settings, acks), 0, SC_MAX_CREDITS, 0, NULL },
	{ "coalesce", offsetof(struct sc_settings, coalesce), 0, SC_FRAGMENT, 0, NULL },
	{ "depth", offsetof(struct sc_settings, depth), 2, 1024, 0, NULL },
	{ "signal", offsetof(struct sc_settings, signal), 1, 1024, 0, NULL },
	{ "timeout", offsetof(struct sc_settings, timeout), 1, 31, 0, NULL },
	{ "retries", offsetof(struct sc_settings, retries), 0, 7, 0, NULL },
	{ "copy", offsetof(struct sc_settings, copy), 0, SC_FRAGMENT, 0, NULL },
	{ "regions", offsetof(struct sc_settings, regions), 0, 65536, 0, NULL },
	{ "heap", offsetof(struct sc_settings, heap), 1, 1 << 24, 0, NULL },
};

static const struct am_setting_table table = {
	"splitc",
	settings,
	sizeof(settings) / sizeof(settings[0]),
};

int sc_settings_read(const char *list)
{
	return am_setting_read(&table, &sc_settings, list);
}
