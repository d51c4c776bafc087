// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The state of the process: device, list of bundles, numbers of endpoints; and the clock. */
#include "am_process.h"

#include <time.h>

#include "am_wiring.h"

struct am_process am_process;

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
	return __atomic_load_n(&am_process.users, __ATOMIC_ACQUIRE) > 0;
}

struct am_device *am_the_device(void)
{
	return am_initialised() ? &am_process.device : NULL;
}

uint32_t am_endpoint_number(void)
{
	return __atomic_add_fetch(&endpoints, 1, __ATOMIC_RELAXED);
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

struct am_eb *am_bundle_take(void)
{
	struct am_eb *eb;

	pthread_mutex_lock(&lock);
	eb = bundles;
	if (eb)
		bundles = eb->next;
	pthread_mutex_unlock(&lock);
	return eb;
}

struct am_eb *am_bundles(void)
{
	return bundles;
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
			other->wiring->address(other, now);
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}
