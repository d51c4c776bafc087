// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Injected device faults: asynchronous events, missing receives (RNR), and a NIC reset. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "completion/event_names.h"
#include "daemon.h"
#include "devices.h"
#include "link/link.h"
#include "loop/loop.h"
#include "sysfs/sysfs.h"
#include "uverbs/uverbs.h"

#define NAMED_EVENT(name, event, kind) { name, event, kind },

static const struct {
	const char *name;
	u32 event;
	char kind;
} events[] = { NIC_EVENT_NAMES(NAMED_EVENT) };

/* Retries and pause if the object's lock is held. */
#define BUSY_TRIES 1000
#define BUSY_NS (NSEC_PER_MSEC / 10)

/* ---------------------------------------------------------- missing receives */

static void starve(struct daemon *daemon, bool starves)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		nic_starve(&daemon->device[i]->device.nic, starves);
}

static void begin_storm(struct daemon *daemon, u64 on, u64 period)
{
	daemon->storm = (struct storm){
		.on = on,
		.period = period,
		.change_at = on ? clock_now() + on : NEVER,
		.starves = on,
	};
	starve(daemon, on);
}

u64 device_faults_run(struct daemon *daemon, u64 now)
{
	struct storm *storm = &daemon->storm;

	if (!storm->on || now < storm->change_at)
		return storm->on ? storm->change_at : NEVER;
	if (!storm->period) {
		begin_storm(daemon, 0, 0);
		return NEVER;
	}
	storm->starves = !storm->starves;
	storm->change_at = now + (storm->starves ? storm->on : storm->period - storm->on);
	starve(daemon, storm->starves);
	return storm->change_at;
}

/* Parses "5ms" (once), "5ms/20ms" (the first 5 ms of each 20), or "off". */
static bool parse_storm(struct daemon *daemon, char *text)
{
	char *slash = strchr(text, '/');
	u32 on, period = 0;

	if (!strcmp(text, "off")) {
		begin_storm(daemon, 0, 0);
		return true;
	}
	if (slash)
		*slash++ = '\0';
	if (!link_parse_time(text, &on) || !on ||
	    (slash && (!link_parse_time(slash, &period) || period <= on)))
		return false;
	begin_storm(daemon, on * 1000ull, period * 1000ull);
	return true;
}

/* -------------------------------------------------------------------- events */

static bool parse_object(const char *text, u32 *num)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 0);
	*num = (u32)value;
	return isdigit((unsigned char)*text) && !*end && !errno && value <= 0xffffffffu;
}

/* Raises an event; retries while the object's lock is held. Returns NULL, or what is wrong. */
static const char *raise_event(struct device *device, const struct nic_async *event)
{
	const struct timespec pause = { .tv_nsec = BUSY_NS };
	enum nic_result result = nic_async_raise(&device->nic, event);

	for (u32 i = 0; result == NIC_BUSY && i < BUSY_TRIES; i++) {
		nanosleep(&pause, NULL);
		result = nic_async_raise(&device->nic, event);
	}
	return result == NIC_OK   ? NULL :
	       result == NIC_BUSY ? "it is held by a process that does not go on" :
				    "there is no such object";
}

static bool is_work_queue(const struct device *device, u32 num)
{
	const struct nic_qp *qp = &device->nic.qp[num & device->nic.qp_index_mask];

	return nic_load(&qp->kind) == NIC_QPT_WQ;
}

static const char *raise_object(struct device *device, struct nic_async *event)
{
	if (event->kind == 'w' || event->kind == 'q') {
		if (is_work_queue(device, event->num) != (event->kind == 'w'))
			return "there is no such object";
		event->kind = 'q';
	}
	return raise_event(device, event);
}

static const char *parse_event(struct device *device, char *text)
{
	char *number = strchr(text, ':');
	struct nic_async event = { 0 };

	if (number)
		*number++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (strcmp(text, events[i].name) != 0)
			continue;
		event.kind = events[i].kind;
		event.event = events[i].event;
		if (event.kind == 'd') {
			uverbs_device_event(device, event.event, 1);
			return number ? "this event is of the device, and has no number" : NULL;
		}
		if (!number || !parse_object(number, &event.num))
			return "this event wants the number of an object";
		return raise_object(device, &event);
	}
	return "there is no such event";
}

/* ------------------------------------------------------------------ parsing */

static struct device *find_device(struct daemon *daemon, const char *name)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		if (!strcmp(daemon->device[i]->device.name, name))
			return &daemon->device[i]->device;
	return NULL;
}

static const char *one_fault(struct daemon *daemon, struct device **device, char *item)
{
	char *value = strchr(item, '=');

	if (!strcmp(item, "reset")) {
		daemon->stop = "its NIC was reset";
		return NULL;
	}
	if (!value)
		return "there is no such fault";
	*value++ = '\0';
	if (!strcmp(item, "device")) {
		*device = find_device(daemon, value);
		return *device ? NULL : "there is no such device";
	}
	if (!strcmp(item, "rnr"))
		return parse_storm(daemon, value) ? NULL : "rnr wants a time, as 5ms or 5ms/20ms";
	if (!strcmp(item, "event"))
		return parse_event(*device, value);
	return "there is no such fault";
}

const char *device_faults(struct daemon *daemon, const char *text)
{
	struct device *device = &daemon->device[0]->device;
	const char *problem = NULL;
	char item[64];

	while (*text && !problem) {
		size_t length = strcspn(text, ",");

		if (length >= sizeof(item))
			return "there is no such fault";
		snprintf(item, sizeof(item), "%.*s", (int)length, text);
		problem = one_fault(daemon, &device, item);
		text += length + (text[length] == ',');
	}
	return problem;
}

void device_port(struct daemon *daemon, bool up)
{
	for (u32 i = 0; i < daemon->ndevices; i++) {
		struct device *device = &daemon->device[i]->device;

		if (!device_set_port(daemon->device[i], up))
			continue;
		device->downs += !up;
		sysfs_port(daemon, device, up);
		uverbs_device_event(device, up ? DEVICE_EVENT_PORT_ACTIVE : DEVICE_EVENT_PORT_ERR,
				    1);
	}
}
