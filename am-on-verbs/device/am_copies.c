// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registered buffers into which sources of bulk transfers are copied.
 *
 * They are used where registrations cannot be cached (am_watch.c). Registering and
 * deregistering memory costs as much as copying some hundred KiB, and more if pages have to
 * be pinned.
 *
 * Buffers are allocated on demand, and kept.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "am_region.h"

/*
 * Limit for copies. Up to this length, a registration on vnet0 takes about the same time for
 * each length, and a copy takes less. For longer sources, a copy saves little.
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

/*
 * Takes a free buffer, or returns NULL. *@more: the caller may allocate one, which is
 * already counted in ncopies.
 */
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
