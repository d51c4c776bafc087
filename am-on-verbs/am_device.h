/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The verbs device that all of a process share, and its registered memory. */
#ifndef AM_DEVICE_H
#define AM_DEVICE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_region;

/* Which device, port and address, and for whom. */
struct am_device_choice {
	const char *who; /* begins messages */
	const char *device; /* "": the first that has an active port */
	long port; /* 0: the first that is active */
	long gid_index; /* -1: the best */
	long regions; /* registrations that are kept */
};

struct am_device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	struct ibv_port_attr port_attr;
	union ibv_gid gid;
	uint8_t port;
	int gid_index;

	/* Registered sources of bulk transfers: am_regcache.c. */
	pthread_mutex_t region_lock;
	struct am_region *regions;
	unsigned int nregions, max_regions;
	bool regions_stale; /* there may be some whose memory has gone */
	unsigned int regions_gone; /* how often that happened; atomic */
	bool keeps_none; /* nobody would tell that memory has gone; atomic */
	struct am_region *copies; /* buffers that are free: am_copies.c */
	unsigned int ncopies;
	struct am_watch {
		bool tried;
		int fd; /* -1: nothing is watched */
		int end; /* readable: the thread shall end */
		pthread_t thread;
	} watch;
};

/* Opens the device that @choice names. 0, or errno after a message on stderr. */
int am_device_open(struct am_device *device, const struct am_device_choice *choice);
void am_device_close(struct am_device *device);

/*
 * The registration of [@address, @address + @length) for reading by the device, and
 * for what @access (IBV_ACCESS_*) has beyond it: a cached one where there is one. It is
 * held until am_region_put(). NULL and errno. Any thread.
 */
struct am_region *am_region_get(struct am_device *device, const void *address, size_t length,
				int access);
void am_region_put(struct am_device *device, struct am_region *region);
uint32_t am_region_lkey(const struct am_region *region);
uint32_t am_region_rkey(const struct am_region *region);
/* Whether its memory has gone, or cannot be watched, so that nobody would tell. */
bool am_region_stale(struct am_device *device, const struct am_region *region);

/*
 * am_copies.c: a buffer that is registered, for @length bytes to be copied into, where
 * registrations cannot be kept and so copying costs less than to register; of @max.
 * NULL: registering is better, or none is free. It is held until am_region_put().
 */
struct am_region *am_region_for_copy(struct am_device *device, size_t length, unsigned int max);
void *am_region_buffer(const struct am_region *region);
void am_copies_close(struct am_device *device);

/*
 * am_watch.c: tells when memory goes away, by am_regions_gone(). All but
 * am_watch_close() want region_lock to be held; am_watch_add() tells whether the
 * range can be watched.
 */
void am_watch_open(struct am_device *device);
void am_watch_close(struct am_device *device);
bool am_watch_add(struct am_device *device, uintptr_t begin, uintptr_t end);
void am_watch_remove(struct am_device *device, uintptr_t begin, uintptr_t end);

/* am_regcache.c: registrations that overlap with the range are not used again; called likewise. */
void am_regions_gone(struct am_device *device, uintptr_t begin, uintptr_t end);

#endif
