// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registered buffers for sources of bulk transfers to be copied into, where
 * registrations cannot be kept (am_watch.c). To register memory and to take that back
 * costs as much as to copy some hundred KiB, and more where pages have to be pinned.
 *
 * They are made when they are wanted first, and stay.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "am_region.h"

/*
 * On vnet0, a transfer of 8 KiB to 512 KiB takes 53 to 62 us longer if it is registered,
 * and 0.2 to 19 us to copy; of 1 MiB 87 and 73.
 */
#define COPY_BYTES ((size_t)512 << 10)

static struct am_region *make(struct am_device *device)
{
	struct am_region *region = calloc(1, sizeof(*region));
	void *memory;

	if (!region)
		return NULL;
	memory = mmap(NULL, COPY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		goto free;
	region->mr = ibv_reg_mr(device->pd, memory, COPY_BYTES, 0);
	if (!region->mr)
		goto unmap;
	region->begin = (uintptr_t)memory;
	region->end = region->begin + COPY_BYTES;
	region->copy = true;
	return region;
unmap:
	munmap(memory, COPY_BYTES);
free:
	free(region);
	return NULL;
}

/* One that is free, or NULL; *@more: one may be made, and has been counted. */
static struct am_region *take(struct am_device *device, unsigned int max, bool *more)
{
	struct am_region *region;

	pthread_mutex_lock(&device->region_lock);
	region = device->copies;
	*more = !region && device->ncopies < max;
	if (region)
		device->copies = region->next;
	device->ncopies += *more;
	pthread_mutex_unlock(&device->region_lock);
	return region;
}

struct am_region *am_region_for_copy(struct am_device *device, size_t length, unsigned int max)
{
	struct am_region *region;
	bool more;

	if (!__atomic_load_n(&device->keeps_none, __ATOMIC_RELAXED) || length > COPY_BYTES)
		return NULL;
	region = take(device, max, &more);
	if (!more)
		return region;
	region = make(device);
	if (region)
		return region;
	pthread_mutex_lock(&device->region_lock);
	device->ncopies--;
	pthread_mutex_unlock(&device->region_lock);
	return NULL;
}

void *am_region_buffer(const struct am_region *region)
{
	return (void *)region->begin;
}

void am_copies_close(struct am_device *device)
{
	struct am_region *region;

	while ((region = device->copies)) {
		device->copies = region->next;
		ibv_dereg_mr(region->mr);
		munmap((void *)region->begin, COPY_BYTES);
		free(region);
	}
}
