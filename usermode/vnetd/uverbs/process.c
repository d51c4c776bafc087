// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

/* A line of a map: addresses, rights, and a path of up to PATH_MAX bytes. */
#define MAPS_CHUNK 16384
#define PAGE_BYTES 4096u

/* Reads a map file, as far as needed, to see how far a range is covered. */
struct coverage {
	u64 next;
	u64 end;
	bool writable;
	/* The range, or what can be had of it, has been passed. */
	bool done;
	/* Some of it is a file's that is not in memory for good. */
	bool file;
};

/*
 * After the addresses: rights, offset, device, inode, path. Memory that is shared has an
 * inode, too, and no server.
 */
static bool is_file(const char *rest)
{
	static const char *const memory[] = { "/memfd:", "/dev/zero", "/SYSV", "/dev/shm/",
					      "/anon_hugepage" };
	unsigned long inode = 0;
	int path = 0;

	if (sscanf(rest, " %*4s %*x %*x:%*x %lu %n", &inode, &path) < 1 || !inode)
		return false;
	for (u32 i = 0; path && i < sizeof(memory) / sizeof(memory[0]); i++)
		if (!strncmp(rest + path, memory[i], strlen(memory[i])))
			return false;
	return true;
}

static void cover_line(struct coverage *cover, const char *line)
{
	u64 start, end;
	char *rest;

	start = strtoull(line, &rest, 16);
	if (*rest != '-')
		return;
	end = strtoull(rest + 1, &rest, 16);
	if (*rest != ' ' || end <= cover->next)
		return;
	if (start > cover->next || rest[1] != 'r' || (cover->writable && rest[2] != 'w')) {
		cover->done = true;
		return;
	}
	cover->next = end;
	cover->done = end >= cover->end;
	cover->file |= is_file(rest);
}

/* Lines that are whole; answers how many bytes they were. */
static size_t cover_lines(struct coverage *cover, char *text, size_t length)
{
	size_t used = 0;
	char *line, *end;

	while (!cover->done) {
		line = text + used;
		end = memchr(line, '\n', length - used);
		if (!end)
			break;
		*end = '\0';
		cover_line(cover, line);
		used = (size_t)(end - text) + 1;
	}
	return used;
}

static void cover_from(struct coverage *cover, int fd)
{
	char text[MAPS_CHUNK];
	size_t have = 0, used;
	ssize_t got;

	while (!cover->done && have < sizeof(text)) {
		got = read(fd, text + have, sizeof(text) - have);
		if (got <= 0)
			return;
		have += (size_t)got;
		used = cover_lines(cover, text, have);
		have -= used;
		memmove(text, text + used, have);
	}
}

/* Answers the first address that is not covered, or the end. */
static int first_uncovered(const struct client *client, u64 start, u64 end, bool writable,
			   u64 *next, bool *file)
{
	struct coverage cover = { .next = start, .end = end, .writable = writable };
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)client->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -EACCES;
	cover_from(&cover, fd);
	close(fd);
	*next = cover.next;
	*file |= cover.file;
	return 0;
}

/* Where the map cannot be read (a process that is not dumpable): both ends. */
static int probe_ends(struct client *client, u64 start, u64 end)
{
	u8 byte;
	int err;

	err = user_read(client, &byte, start, 1);
	return err ? err : user_read(client, &byte, end - 1, 1);
}

int uv_process_mapped(struct client *client, u64 start, u64 length, bool writable, bool *file)
{
	u64 end = start + length, next, before;
	bool found = false;
	u8 byte;
	int err;

	if (file)
		*file = false;
	if (first_uncovered(client, start, end, writable, &next, &found))
		return probe_ends(client, start, end);
	if (next < end) {
		/* The main thread's stack grows when it is touched. */
		err = user_read(client, &byte, next, 1);
		if (err)
			return err;
		before = next;
		if (first_uncovered(client, before, end, writable, &next, &found) || next < end)
			return -EFAULT;
	}
	if (file)
		*file = found;
	return 0;
}

/* A mapping's first line in its detailed map, as in the plain one. */
static bool line_covers(const char *line, u64 address)
{
	unsigned long long start, end;

	return sscanf(line, "%llx-%llx ", &start, &end) == 2 && start <= address && address < end;
}

/* Of the mapping whose first line was read. */
static bool is_huge(FILE *map)
{
	char line[512];
	unsigned int kilobytes;

	while (fgets(line, sizeof(line), map))
		if (sscanf(line, "KernelPageSize: %u kB", &kilobytes) == 1)
			return kilobytes << 10 > PAGE_BYTES;
	return false;
}

bool uv_process_huge(const struct client *client, u64 address)
{
	char path[32], line[512];
	bool huge = false;
	FILE *map;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)client->pid);
	map = fopen(path, "re");
	if (!map)
		return false;
	while (fgets(line, sizeof(line), map)) {
		if (line_covers(line, address)) {
			huge = is_huge(map);
			break;
		}
	}
	(void)fclose(map);
	return huge;
}

int uv_process_socket(const struct client *client, s64 fd, u64 *inode)
{
	char path[48], target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%" PRId64, (int)client->pid, (int64_t)fd);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return -EBADF;
	target[length] = '\0';
	return sscanf(target, "socket:[%llu]", inode) == 1 ? 0 : -EBADF;
}

int uv_process_file(const struct client *client, s64 fd)
{
	char path[48];
	int file;

	snprintf(path, sizeof(path), "/proc/%d/fd/%" PRId64, (int)client->pid, (int64_t)fd);
	file = open(path, O_PATH | O_CLOEXEC);
	if (file >= 0)
		return file;
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -EBADF;
}

bool uv_process_capable(const struct client *client, u32 capability)
{
	unsigned long long effective = 0;
	char path[32], line[256];
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)client->pid);
	status = fopen(path, "re");
	if (!status)
		return false;
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	(void)fclose(status);
	return effective >> capability & 1;
}

int uv_socket_inode(int fd, u64 *inode)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*inode = st.st_ino;
	return 0;
}
