// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory files of clients. A client that maps its regions moves their pages into its memory file, a
 * sparse memfd, at the offset that equals their address. Peers map that file. The daemon creates
 * it, so it is sealed against truncation, and no process gets SIGBUS from it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../platform/range.h"
#include "../../platform/window.h"
#include "clients/connections.h"

/* A conversion takes milliseconds. After this time, its process must have given it up. */
#define CONVERSION_TIME (10 * NSEC_PER_SEC)
/* Limit of separate ranges. */
#define MOST_RANGES 65536

struct range {
	u64 start, end;
};

struct client_map {
	int fd;
	/* Ranges of pages in the file, sorted, with gaps between them. */
	struct range *range;
	u32 n, capacity;
	/* The range that the process is moving into the file; empty: none. */
	struct range moving;
	u64 moving_since;
	/* Why the process did not map these ranges, the last few. */
	struct refusal {
		struct range range;
		u32 why;
	} refusal[16];
	u32 refusals;
	struct client_map_wait wait;
};

/* Whole pages inside a range. */
static struct range pages_of(u64 start, u64 length)
{
	struct range pages = { .start = page_ceiling(start), .end = page_floor(start + length) };

	return pages;
}

static bool is_empty(struct range r)
{
	return r.start >= r.end;
}

static bool overlaps(struct range a, struct range b)
{
	return a.start < b.end && b.start < a.end;
}

/* ------------------------------------------------------------------- the file */

static int make_file(void)
{
	int error, fd = memfd_create("vnet-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)HOST_MEMORY_FILE_SIZE) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		error = -errno;
		close(fd);
		return error;
	}
	return fd;
}

static int make_map(struct client *client)
{
	struct client_map *map = calloc(1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	map->fd = make_file();
	if (map->fd < 0) {
		int error = map->fd;

		free(map);
		return error;
	}
	client->map = map;
	return 0;
}

int client_memory_file(struct client *client, bool make)
{
	int fd, error;

	if (client->dead || client_left(client))
		return -ESRCH;
	if (!client->map && make) {
		error = make_map(client);
		if (error)
			return error;
	}
	if (!client->map)
		return -ENOENT;
	fd = fcntl(client->map->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

void client_map_free(struct client *client)
{
	struct client_map *map = client->map;
	int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	if (!map)
		return;
	client->map = NULL;
	/* Peers may have the file mapped for a long time: free its pages now. */
	(void)fallocate(map->fd, mode, 0, (off_t)HOST_MEMORY_FILE_SIZE);
	close(map->fd);
	free(map->range);
	free(map);
}

/* ----------------------------------------------------------------- the ranges */

static struct range *insert_at(struct client_map *map, u32 i)
{
	if (map->n == map->capacity) {
		u32 capacity = map->capacity ? 2 * map->capacity : 16;
		struct range *more = NULL;

		if (capacity <= MOST_RANGES)
			more = realloc(map->range, capacity * sizeof(*more));
		if (!more)
			return NULL;
		map->range = more;
		map->capacity = capacity;
	}
	memmove(&map->range[i + 1], &map->range[i], (map->n - i) * sizeof(map->range[0]));
	map->n++;
	return &map->range[i];
}

static void remove_at(struct client_map *map, u32 i, u32 count)
{
	memmove(&map->range[i], &map->range[i + count],
		(map->n - i - count) * sizeof(map->range[0]));
	map->n -= count;
}

/* Index of the first range that ends after `addr`. */
static u32 first_after(const struct client_map *map, u64 addr)
{
	u32 low = 0, high = map->n;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (map->range[middle].end > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Add a range, and merge it with those that it touches. Returns 0 or -ENOMEM. */
static int add_range(struct client_map *map, struct range add)
{
	u32 first = first_after(map, add.start ? add.start - 1 : 0), last = first;
	struct range *place;

	while (last < map->n && map->range[last].start <= add.end) {
		if (map->range[last].start < add.start)
			add.start = map->range[last].start;
		if (map->range[last].end > add.end)
			add.end = map->range[last].end;
		last++;
	}
	if (last > first) {
		map->range[first] = add;
		remove_at(map, first + 1, last - first - 1);
		return 0;
	}
	place = insert_at(map, first);
	if (!place)
		return -ENOMEM;
	*place = add;
	return 0;
}

static void remove_range(struct client_map *map, struct range gone)
{
	u32 i = first_after(map, gone.start);

	if (is_empty(gone))
		return;
	while (i < map->n && map->range[i].start < gone.end) {
		struct range *r = &map->range[i], rest = { .start = gone.end, .end = r->end };

		if (r->start < gone.start && r->end > gone.end) {
			r->end = gone.start;
			r = insert_at(map, i + 1);
			/* Without memory, the rest counts as not mapped. */
			if (r)
				*r = rest;
			return;
		}
		if (r->start < gone.start) {
			r->end = gone.start;
			i++;
		} else if (r->end > gone.end) {
			r->start = gone.end;
			return;
		} else {
			remove_at(map, i, 1);
		}
	}
}

bool client_maps(const struct client *client, u64 start, u64 length)
{
	struct range pages = pages_of(start, length);
	const struct client_map *map = client->map;
	u32 i;

	if (!map || is_empty(pages))
		return false;
	i = first_after(map, pages.start);
	return i < map->n && map->range[i].start <= pages.start && map->range[i].end >= pages.end;
}

bool client_moves(const struct client *client, u64 start, u64 length)
{
	struct range range = { .start = start, .end = start + length };
	const struct client_map *map = client->map;

	return map && overlaps(map->moving, range) &&
	       plat_clock() < map->moving_since + CONVERSION_TIME;
}

u32 client_why_unmapped(const struct client *client, u64 start, u64 length)
{
	struct range pages = pages_of(start, length);
	const struct client_map *map = client->map;
	u32 i;

	if (is_empty(pages))
		return VNET_UNMAPPED_SMALL;
	for (i = 0; map && i < ARRAY_SIZE(map->refusal); i++) {
		const struct refusal *r =
			&map->refusal[(map->refusals - 1 - i) % ARRAY_SIZE(map->refusal)];

		if (r->why && overlaps(r->range, pages))
			return r->why;
	}
	return VNET_UNMAPPED_NEVER;
}

/* ------------------------------------------------------------ moves of pages */

int client_map_begin(struct client *client, u64 start, u64 length)
{
	struct range pages = pages_of(start, length);
	struct client_map *map = client->map;

	if (!map || is_empty(pages) || pages.end > HOST_MEMORY_FILE_SIZE)
		return -EINVAL;
	map->moving = pages;
	map->moving_since = plat_clock();
	return 0;
}

int client_map_done(struct client *client, u64 start, u64 length)
{
	struct range pages = pages_of(start, length);
	struct client_map *map = client->map;

	if (!map || pages.end > HOST_MEMORY_FILE_SIZE)
		return -EINVAL;
	memset(&map->moving, 0, sizeof(map->moving));
	/* The client waits for no VNET_MAP_GONE any more: the next one is for other pages. */
	map->wait.active = false;
	return is_empty(pages) ? 0 : add_range(map, pages);
}

int client_map_refused(struct client *client, u64 start, u64 length, u32 why)
{
	struct range pages = pages_of(start, length);
	struct client_map *map;

	if (!client->map && make_map(client))
		return -ENOMEM;
	map = client->map;
	memset(&map->moving, 0, sizeof(map->moving));
	map->refusal[map->refusals++ % ARRAY_SIZE(map->refusal)] =
		(struct refusal){ .range = pages, .why = why };
	return 0;
}

struct client_map_wait *client_map_gone(struct client *client, u64 start, u64 length)
{
	struct client_map *map = client->map;

	if (!map)
		return NULL;
	/* The client may have given up the call that waited. */
	if (map->wait.start != start || map->wait.length != length)
		map->wait.active = false;
	map->wait.start = start;
	map->wait.length = length;
	if (!map->wait.active)
		remove_range(map, pages_of(start, length));
	return &map->wait;
}
