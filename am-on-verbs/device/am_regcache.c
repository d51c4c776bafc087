// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cache of memory registrations for sources of bulk transfers.
 *
 * It implements "dynamic registration with a registration cache" of paper 003 (F96). A
 * region covers whole pages. An unused region is freed when there are too many, least
 * recently used first, and when its memory is unmapped (am_watch.c).
 *
 * With region_lock held, memory must not be allocated, freed, registered or deregistered:
 * an unmapping thread would wait for the watch thread, which waits for the lock.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "am_region.h"

static void free_list(struct am_region *list)
{
	struct am_region *region;

	while ((region = list)) {
		list = region->next;
		if (region->mr)
			ibv_dereg_mr(region->mr);
		free(region);
	}
}

/*
 * Returns the end of a region that contains @address. If there is none, returns @address,
 * and reduces *@next to the beginning of the next region.
 */
static uintptr_t covered(const struct am_device *device, uintptr_t address, uintptr_t *next)
{
	for (const struct am_region *r = device->regions; r; r = r->next) {
		if (r->begin <= address && r->end > address)
			return r->end;
		if (r->begin > address && r->begin < *next)
			*next = r->begin;
	}
	return address;
}

/*
 * Ends the watch over @region's memory, except for parts that other regions cover.
 * Otherwise, memory that the program maps there later would be watched.
 */
static void unwatch(struct am_device *device, const struct am_region *region)
{
	uintptr_t at = region->begin, end, next;

	while (at < region->end) {
		next = region->end;
		end = covered(device, at, &next);
		if (end == at) {
			am_watch_remove(device, at, next);
			end = next;
		}
		at = end;
	}
}

/* Removes the region at @at from the cache. The caller holds region_lock. */
static struct am_region *take(struct am_device *device, struct am_region **at)
{
	struct am_region *region = *at;

	*at = region->next;
	region->next = NULL;
	device->nregions--;
	unwatch(device, region);
	return region;
}

/*
 * Removes the least recently used region that is not in use. Returns it, or NULL. The
 * caller holds region_lock.
 */
static struct am_region *take_oldest(struct am_device *device)
{
	struct am_region **at, **oldest = NULL;

	for (at = &device->regions; *at; at = &(*at)->next) {
		if (!(*at)->users)
			oldest = at;
	}
	return oldest ? take(device, oldest) : NULL;
}

/* Removes all stale regions that are not in use. Returns them. The caller holds region_lock. */
static struct am_region *take_stale(struct am_device *device)
{
	struct am_region **at = &device->regions, *list = NULL, *region;

	device->regions_stale = false;
	while ((region = *at)) {
		if (!region->stale || region->users) {
			at = &region->next;
			continue;
		}
		region = take(device, at);
		region->next = list;
		list = region;
	}
	return list;
}

/* Frees the least recently used region. Returns whether there was one. */
static bool make_room(struct am_device *device)
{
	struct am_region *old;

	pthread_mutex_lock(&device->region_lock);
	old = take_oldest(device);
	pthread_mutex_unlock(&device->region_lock);
	free_list(old);
	return old;
}

static struct am_region *find(struct am_device *device, uintptr_t begin, uintptr_t end, int access)
{
	struct am_region **at, *region;

	for (at = &device->regions; *at; at = &(*at)->next) {
		region = *at;
		if (!region->mr || region->stale || region->begin > begin || region->end < end)
			continue;
		if (access & ~region->access)
			continue;
		*at = region->next;
		region->next = device->regions;
		device->regions = region;
		return region;
	}
	return NULL;
}

/*
 * Inserts a region before it is registered, so that unmapping during the registration is
 * noticed.
 */
static void insert(struct am_device *device, struct am_region *region)
{
	struct am_region *old = NULL;

	pthread_mutex_lock(&device->region_lock);
	if (device->nregions >= device->max_regions)
		old = take_oldest(device);
	region->stale = device->nregions >= device->max_regions ||
			!am_watch_add(device, region->begin, region->end);
	region->next = device->regions;
	device->regions = region;
	device->nregions++;
	pthread_mutex_unlock(&device->region_lock);
	free_list(old);
}

static struct ibv_mr *register_memory(struct am_device *device, const struct am_region *region)
{
	struct ibv_mr *mr;

	/*
	 * ENOMEM may mean that the device or RLIMIT_MEMLOCK is exhausted: free cached
	 * regions, and retry.
	 */
	do
		mr = ibv_reg_mr(device->pd, (void *)region->begin, region->end - region->begin,
				region->access);
	while (!mr && errno == ENOMEM && make_room(device));
	return mr;
}

static struct am_region *make(struct am_device *device, uintptr_t begin, uintptr_t end, int access)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct am_region *region = calloc(1, sizeof(*region));
	struct ibv_mr *mr;
	int err;

	if (!region)
		return NULL;
	region->users = 1;
	region->access = access;
	region->begin = begin & ~(page - 1);
	region->end = (end + page - 1) & ~(page - 1);
	if (region->end < end) {
		free(region);
		errno = EFAULT;
		return NULL;
	}
	insert(device, region);
	mr = register_memory(device, region);
	err = errno;
	pthread_mutex_lock(&device->region_lock);
	region->mr = mr;
	region->stale |= !mr;
	pthread_mutex_unlock(&device->region_lock);
	if (mr)
		return region;
	am_region_put(device, region);
	errno = err;
	return NULL;
}

/*
 * Starts the watch with the first region, unless caching is disabled. The caller holds
 * region_lock.
 */
static void open_once(struct am_device *device)
{
	if (device->watch.tried || !device->max_regions)
		return;
	device->watch.tried = true;
	am_watch_open(device);
	if (device->watch.fd < 0)
		__atomic_store_n(&device->keeps_none, true, __ATOMIC_RELAXED);
}

struct am_region *am_region_get(struct am_device *device, const void *address, size_t length,
				int access)
{
	uintptr_t begin = (uintptr_t)address, end = begin + length;
	struct am_region *region, *stale = NULL;

	pthread_mutex_lock(&device->region_lock);
	open_once(device);
	if (device->regions_stale)
		stale = take_stale(device);
	region = find(device, begin, end, access);
	if (region)
		region->users++;
	pthread_mutex_unlock(&device->region_lock);
	free_list(stale);
	return region ? region : make(device, begin, end, access);
}

static struct am_region **place_of(struct am_device *device, const struct am_region *region)
{
	struct am_region **at = &device->regions;

	while (*at != region)
		at = &(*at)->next;
	return at;
}

void am_region_put(struct am_device *device, struct am_region *region)
{
	struct am_region *gone = NULL;

	pthread_mutex_lock(&device->region_lock);
	if (region->copy) {
		region->next = device->copies;
		device->copies = region;
	} else if (!--region->users && region->stale)
		gone = take(device, place_of(device, region));
	pthread_mutex_unlock(&device->region_lock);
	free_list(gone);
}

uint32_t am_region_lkey(const struct am_region *region)
{
	return region->mr->lkey;
}

uint32_t am_region_rkey(const struct am_region *region)
{
	return region->mr->rkey;
}

bool am_region_stale(struct am_device *device, const struct am_region *region)
{
	bool stale;

	pthread_mutex_lock(&device->region_lock);
	stale = region->stale;
	pthread_mutex_unlock(&device->region_lock);
	return stale;
}

void am_device_close(struct am_device *device)
{
	/*
	 * The program may have forked: a child's copy of the descriptor keeps the
	 * userfaultfd open, so remove all ranges from it.
	 */
	pthread_mutex_lock(&device->region_lock);
	for (struct am_region *r = device->regions; r; r = r->next)
		am_watch_remove(device, r->begin, r->end);
	pthread_mutex_unlock(&device->region_lock);
	am_watch_close(device);
	am_copies_close(device);
	free_list(device->regions);
	device->regions = NULL;
	pthread_mutex_destroy(&device->region_lock);
	ibv_dealloc_pd(device->pd);
	ibv_close_device(device->context);
	device->context = NULL;
	device->pd = NULL;
}
