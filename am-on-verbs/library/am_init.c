// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Initialises and terminates the library, and lists all bundles of the process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "objects/am_process.h"
#include "objects/am_wiring.h"

/*
 * Held by AM_Init() and AM_Terminate() until they return: the device is opened and closed by one
 * thread at a time.
 */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;
static unsigned int users; /* changed under @life; atomic, because am_initialised() reads it */
static struct am_device device;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list of bundles */
static struct am_eb *bundles;
static uint32_t endpoints; /* last number given */

uint64_t am_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool am_initialised(void)
{
	return __atomic_load_n(&users, __ATOMIC_ACQUIRE) > 0;
}

struct am_device *am_the_device(void)
{
	return am_initialised() ? &device : NULL;
}

uint32_t am_endpoint_number(void)
{
	return __atomic_add_fetch(&endpoints, 1, __ATOMIC_RELAXED);
}

int AM_SetOption(const char *name, const char *value)
{
	if (!name || !value)
		return AM_ERR_BAD_ARG;
	if (am_initialised())
		return AM_ERR_IN_USE;
	return am_settings_set(name, value) ? AM_ERR_BAD_ARG : AM_OK;
}

static int init(void)
{
	const char *list = getenv("AM_SETTINGS");
	struct am_device_choice choice;

	if (list && am_settings_read(list))
		return AM_ERR_BAD_ARG;
	choice = (struct am_device_choice){ .who = "am",
					    .device = am_settings.device,
					    .port = am_settings.port,
					    .gid_index = am_settings.gid_index,
					    .regions = am_settings.regions };
	if (am_device_open(&device, &choice))
		return AM_ERR_RESOURCE;
	return AM_OK;
}

int AM_Init(void)
{
	int err = AM_OK;

	pthread_mutex_lock(&life);
	if (!users)
		err = init();
	if (!err)
		__atomic_add_fetch(&users, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&life);
	return err;
}

static struct am_eb *any_bundle(void)
{
	struct am_eb *eb;

	pthread_mutex_lock(&lock);
	eb = bundles;
	if (eb)
		bundles = eb->next;
	pthread_mutex_unlock(&lock);
	return eb;
}

void am_drain_all(void)
{
	for (struct am_eb *eb = bundles; eb; eb = eb->next) {
		am_lock(eb);
		am_bundle_drain(eb);
		am_unlock(eb);
	}
}

/*
 * Frees all bundles, without @lock: a bundle that drains may receive a connection request, for
 * which am_endpoint_elsewhere() takes @lock.
 */
static void end(void)
{
	struct am_eb *eb;

	while ((eb = any_bundle()))
		am_bundle_free(eb);
	am_device_close(&device);
}

int AM_Terminate(void)
{
	int err = AM_OK;

	pthread_mutex_lock(&life);
	if (!users)
		err = AM_ERR_NOT_INIT;
	else if (users == 1)
		end();
	if (!err)
		__atomic_sub_fetch(&users, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&life);
	return err;
}

/*
 * Held to change a bundle's list of endpoints, because am_endpoint_elsewhere() reads those
 * of all bundles.
 */
void am_endpoints_lock(void)
{
	pthread_mutex_lock(&lock);
}

void am_endpoints_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void am_bundle_register(struct am_eb *eb)
{
	pthread_mutex_lock(&lock);
	eb->next = bundles;
	bundles = eb;
	pthread_mutex_unlock(&lock);
}

/* Returns whether the bundle was in the list. */
bool am_bundle_unregister(struct am_eb *eb)
{
	struct am_eb **at;
	bool found;

	pthread_mutex_lock(&lock);
	for (at = &bundles; *at && *at != eb;)
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = eb->next;
	pthread_mutex_unlock(&lock);
	return found;
}

/*
 * Finds an endpoint that has been moved to a bundle of this process other than @eb. *@now
 * is its name there.
 */
bool am_endpoint_elsewhere(const struct am_eb *eb, const en_t *name, en_t *now)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (struct am_eb *other = bundles; other && !found; other = other->next) {
		if (other == eb)
			continue;
		for (struct am_ep *ep = other->eps; ep && !found; ep = ep->next) {
			found = ep->name.endpoint == name->endpoint &&
				ep->name.incarnation == name->incarnation;
			*now = *name;
			am_wire_address(other, now);
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}
