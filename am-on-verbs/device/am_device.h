/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The verbs device of a process, and its cache of memory registrations.
 *
 * This room calls libibverbs only. Split-C uses it, too. Its only lock is region_lock of the
 * device, which is taken after all others. With that lock held, no memory may be allocated or
 * registered (am_watch.c).
 */
#ifndef AM_DEVICE_H
#define AM_DEVICE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_region;

/* Which device to open. */
struct am_device_choice {
	const char *who; /* prefix of error messages */
	const char *device; /* "": the first with an active port */
	long port; /* 0: the first active one */
	long gid_index; /* -1: the best one, see gid_rank() */
	long regions; /* limit of cached registrations */
};

struct am_device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	struct ibv_port_attr port_attr;
	union ibv_gid gid;
	uint8_t port;
	int gid_index;

	/* Cache of registrations (am_regcache.c). region_lock guards all but the atomic fields. */
	pthread_mutex_t region_lock;
	struct am_region *regions;
	unsigned int nregions, max_regions;
	bool regions_stale; /* some regions may be stale */
	unsigned int regions_gone; /* counts notices of memory that was unmapped; atomic */
	/* registrations are not cached: limit 0, or unmapping would go unnoticed; atomic */
	bool keeps_none;
	struct am_region *copies; /* free copy buffers (am_copies.c) */
	unsigned int ncopies;
	struct am_watch {
		bool tried;
		int fd; /* userfaultfd; -1: nothing is watched */
		int end; /* eventfd that stops the thread */
		pthread_t thread;
	} watch;
};

/* Opens the device that @choice selects. 0, or errno after a message on stderr. */
int am_device_open(struct am_device *device, const struct am_device_choice *choice);
void am_device_close(struct am_device *device);

/*
 * Returns a registration of [@address, @address + @length), from the cache if possible. The
 * device may read the memory, and has the access rights @access (IBV_ACCESS_*) in addition.
 * The caller holds it until am_region_put(). NULL and errno on failure. Any thread.
 */
struct am_region *am_region_get(struct am_device *device, const void *address, size_t length,
				int access);
void am_region_put(struct am_device *device, struct am_region *region);
uint32_t am_region_lkey(const struct am_region *region);
uint32_t am_region_rkey(const struct am_region *region);
/* Whether the region's memory has been unmapped, or is not watched. */
bool am_region_stale(struct am_device *device, const struct am_region *region);

/*
 * am_copies.c: returns a registered buffer into which the caller copies @length bytes. Used
 * where registrations cannot be cached, so that copying costs less than registering. There
 * are at most @max. NULL: registering is better, or no buffer is free. Held until
 * am_region_put().
 */
struct am_region *am_region_for_copy(struct am_device *device, size_t length, unsigned int max);
void *am_region_buffer(const struct am_region *region);
void am_copies_close(struct am_device *device);

/*
 * am_watch.c: marks registrations stale when their memory, which is watched, is unmapped. The
 * caller holds region_lock, except for am_watch_close(). am_watch_add() returns whether the range
 * can be watched.
 */
void am_watch_open(struct am_device *device);
void am_watch_close(struct am_device *device);
bool am_watch_add(struct am_device *device, uintptr_t begin, uintptr_t end);
void am_watch_remove(struct am_device *device, uintptr_t begin, uintptr_t end);

#endif
