// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registered sources of bulk transfers, kept for the next one (paper 003,
 * "dynamic registration with a registration cache"; F96). A region covers whole
 * pages. One that nobody uses is forgotten when there are too many, the longest
 * unused first, and when its memory goes away (am_memory_hooks.c).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "am_core.h"

struct am_region {
	struct am_region *next; /* the most recently used first */
	struct ibv_mr *mr;
	uintptr_t begin, end;
	unsigned int users;
	bool stale; /* its memory has gone: it is not found again */
};

static void region_free(struct am_region *region)
{
	ibv_dereg_mr(region->mr);
	free(region);
}

/* Takes the region that was not used for the longest time out of the cache. */
static struct am_region *oldest_unused(struct am_device *device)
{
	struct am_region **at, **oldest = NULL, *region;

	for (at = &device->regions; *at; at = &(*at)->next) {
		if (!(*at)->users)
			oldest = at;
	}
	if (!oldest)
		return NULL;
	region = *oldest;
	*oldest = region->next;
	device->nregions--;
	return region;
}

static struct am_region *find(struct am_device *device, uintptr_t begin, uintptr_t end)
{
	struct am_region **at, *region;

	for (at = &device->regions; *at; at = &(*at)->next) {
		region = *at;
		if (region->stale || region->begin > begin || region->end < end)
			continue;
		*at = region->next;
		region->next = device->regions;
		device->regions = region;
		return region;
	}
	return NULL;
}

static struct am_region *make(struct am_device *device, uintptr_t begin, uintptr_t end)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct am_region *region = calloc(1, sizeof(*region)), *old;

	if (!region)
		return NULL;
	region->begin = begin & ~(page - 1);
	region->end = (end + page - 1) & ~(page - 1);
	if (region->end < end) {
		errno = EFAULT;
		goto free;
	}
	while (device->nregions >= device->max_regions && (old = oldest_unused(device)))
		region_free(old);
	for (;;) {
		region->mr = ibv_reg_mr(device->pd, (void *)region->begin,
					region->end - region->begin, 0);
		if (region->mr)
			break;
		/* What the device, or the limit of locked memory, has no room for: make room. */
		if (errno != ENOMEM || !(old = oldest_unused(device)))
			goto free;
		region_free(old);
	}
	region->next = device->regions;
	device->regions = region;
	device->nregions++;
	return region;
free:
	free(region);
	return NULL;
}

struct am_region *am_region_get(struct am_device *device, const void *address, size_t length)
{
	uintptr_t begin = (uintptr_t)address, end = begin + length;
	struct am_region *region;

	pthread_mutex_lock(&device->region_lock);
	region = find(device, begin, end);
	if (!region)
		region = make(device, begin, end);
	if (region)
		region->users++;
	pthread_mutex_unlock(&device->region_lock);
	return region;
}

/* Takes @region out of the cache, if it is stale and unused. */
static bool retire(struct am_device *device, struct am_region *region)
{
	struct am_region **at = &device->regions;

	if (!region->stale || region->users)
		return false;
	while (*at != region)
		at = &(*at)->next;
	*at = region->next;
	device->nregions--;
	return true;
}

void am_region_put(struct am_device *device, struct am_region *region)
{
	bool gone;

	pthread_mutex_lock(&device->region_lock);
	region->users--;
	gone = retire(device, region);
	pthread_mutex_unlock(&device->region_lock);
	if (gone)
		region_free(region);
}

uint32_t am_region_lkey(const struct am_region *region)
{
	return region->mr->lkey;
}

/* The cache itself may free memory: its lock is a recursive one. */
void am_regions_forget(const void *address, size_t length)
{
	struct am_device *device = am_the_device();
	uintptr_t begin = (uintptr_t)address, end = begin + length;

	if (!device)
		return;
	pthread_mutex_lock(&device->region_lock);
	for (struct am_region *r = device->regions; r; r = r->next) {
		if (r->begin < end && begin < r->end)
			r->stale = true;
	}
	pthread_mutex_unlock(&device->region_lock);
}

void am_device_close(struct am_device *device)
{
	struct am_region *region;

	while ((region = device->regions)) {
		device->regions = region->next;
		region_free(region);
	}
	pthread_mutex_destroy(&device->region_lock);
	ibv_dealloc_pd(device->pd);
	ibv_close_device(device->context);
	device->context = NULL;
	device->pd = NULL;
}
