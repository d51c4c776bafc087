// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Settings of the vn transport, parsed from "name=value,...". All can be changed under traffic
 * except "frames", which is fixed when the NIC is created.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "nic_settings.h"

#define SETTING(field, least, most) { #field, offsetof(struct nic_settings, field), least, most },

static const struct {
	const char *name;
	size_t offset;
	u32 least, most;
} settings[] = {
	/* clang-format off */
	SETTING(payload, VNET_WIRE_MIN_PAYLOAD, VNET_WIRE_MAX_FRAME - VNET_WIRE_SLACK)
	SETTING(window, 4096, 1u << 30)
	SETTING(fit, 0, VNET_WIRE_MAX_FRAME - VNET_WIRE_SLACK)
	NIC_SETTINGS(SETTING)
	/* clang-format on */
};

#define MOST_FRAMES 8192u

static u32 *field(struct nic_settings *to, size_t i)
{
	return (u32 *)(void *)((char *)to + settings[i].offset);
}

/* Returns the setting's name for the user, with dashes for underscores. */
static const char *name_of(size_t i)
{
	static char name[32];
	size_t n = 0;

	for (const char *c = settings[i].name; *c && n < sizeof(name) - 1; c++)
		name[n++] = *c == '_' ? '-' : *c;
	name[n] = '\0';
	return name;
}

static bool number(const char *text, u32 least, u32 most, u32 *value)
{
	char *end;
	unsigned long long parsed;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	parsed = strtoull(text, &end, 10);
	if (errno || *end || parsed < least || parsed > most)
		return false;
	*value = (u32)parsed;
	return true;
}

/* Parses "weight3=8", the weight of service level 3. */
static const char *set_weight(struct nic_settings *to, const char *name, const char *value)
{
	u32 level, weight;

	if (!number(name + strlen("weight"), 0, 15, &level))
		return "a weight is of a service level: weight0 to weight15";
	if (!number(value, 1, 255, &weight))
		return "a weight is 1 to 255";
	to->weight[level] = (u8)weight;
	return NULL;
}

static const char *set_one(struct nic_settings *to, u32 *frames, const char *name,
			   const char *value)
{
	static char problem[128];

	if (!strncmp(name, "weight", strlen("weight")))
		return set_weight(to, name, value);
	if (!strcmp(name, "frames")) {
		if (!frames)
			return "frames can only be set when a node starts";
		return number(value, 1, MOST_FRAMES, frames) ? NULL : "frames is 1 to 8192";
	}
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		if (strcmp(name, name_of(i)) != 0)
			continue;
		if (number(value, settings[i].least, settings[i].most, field(to, i)))
			return NULL;
		snprintf(problem, sizeof(problem), "%s is %u to %u", name, settings[i].least,
			 settings[i].most);
		return problem;
	}
	snprintf(problem, sizeof(problem), "there is no setting '%.40s'", name);
	return problem;
}

const char *link_settings_parse(struct nic_settings *to, u32 *frames, const char *text)
{
	struct nic_settings wanted = *to;
	const char *problem = NULL;
	char *copy = strdup(text), *at = copy, *item;

	if (!copy)
		return "no memory";
	while (!problem && (item = strsep(&at, ",")) != NULL) {
		char *value = strchr(item, '=');

		if (!*item)
			continue;
		if (!value) {
			problem = "a setting is NAME=VALUE";
			break;
		}
		*value++ = '\0';
		problem = set_one(&wanted, frames, item, value);
	}
	if (!problem)
		problem = nic_settings_problem(&wanted);
	/*
	 * Apply all or none. Each word is stored by itself, as the firmware reads them meanwhile.
	 */
	for (size_t i = 0; !problem && i < ARRAY_SIZE(settings); i++)
		nic_store(field(to, i), *field(&wanted, i));
	for (size_t i = 0; !problem && i < sizeof(wanted.weight); i++)
		nic_store(&to->weight[i], wanted.weight[i]);
	free(copy);
	return problem;
}

bool link_settings_differ(const struct nic_settings *now, u32 frames, const char *text)
{
	struct nic_settings wanted = *now;
	u32 wanted_frames = frames;

	return link_settings_parse(&wanted, &wanted_frames, text) || wanted_frames != frames ||
	       memcmp(&wanted, now, sizeof(wanted)) != 0;
}

void link_settings_put(const struct nic_settings *from, u32 frames, FILE *out)
{
	struct nic_settings now = *from;

	fprintf(out, "\"settings\": {\"frames\": %u", frames);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		fprintf(out, ", \"%s\": %u", name_of(i), *field(&now, i));
	fputs(", \"weights\": [", out);
	for (size_t i = 0; i < sizeof(now.weight); i++)
		fprintf(out, "%s%u", i ? ", " : "", now.weight[i] ? now.weight[i] : 1);
	fputs("]}", out);
}
