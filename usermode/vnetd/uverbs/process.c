// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../platform/range.h"
#include "process.h"
#include "objects.h"

/* Buffer size for lines of /proc/PID/maps, whose paths have up to PATH_MAX bytes. */
#define MAPS_CHUNK 16384

/* State of reading a map file to check that a range is mapped. */
struct coverage {
	u64 next;
	u64 end;
	bool writable;
	/* Reading can stop: the range is covered, or has a gap. */
	bool done;
	/* A part belongs to a file, whose pages may be absent. */
	bool file;
};

/*
 * Whether a line of the map is of a file whose server could delay pages. `rest` starts after the
 * addresses: rights, offset, device, inode, path. Shared memory has an inode, but no server.
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

/* Handles complete lines. Returns the number of bytes consumed. */
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

/* Stores the first address that is not covered, or the end. Returns 0 or -EACCES. */
static int first_uncovered(const struct client *client, u64 start, u64 end, bool writable,
			   u64 *next, bool *file)
{
	struct coverage cover = { .next = start, .end = end, .writable = writable };

	if (lseek(client->maps_fd, 0, SEEK_SET) < 0)
		return -EACCES;
	cover_from(&cover, client->maps_fd);
	*next = cover.next;
	*file |= cover.file;
	return 0;
}

/* Without a map (the process could not open it), probes the first and the last byte. */
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
		/* A stack grows when it is touched: touch it, and read the map again. */
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

/* Whether this is the first line of the mapping of `address` in smaps. */
static bool line_covers(const char *line, u64 address)
{
	unsigned long long start, end;

	return sscanf(line, "%llx-%llx ", &start, &end) == 2 && start <= address && address < end;
}

/* Whether the mapping whose first line was just read has huge pages. */
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

/*
 * Finds the attached copy of descriptor `fd` of the process. If it is not attached, asks the
 * process for it and returns UV_PARK. The daemon does not use /proc/PID/fd: access to it fails if
 * the process has changed its user, or is in another PID or user namespace.
 */
static int find_attached(struct call *call, s64 fd, int *attached)
{
	if (fd < 0 || fd > INT32_MAX)
		return -EBADF;
	for (u32 i = 0; i < call->nfds; i++)
		if (call->fd_number[i] == fd) {
			*attached = call->fd_attached[i];
			return 0;
		}
	if (call->nfds == VNET_MSG_FDS)
		return -EBADF;
	call->result.wants_fd = 1;
	call->result.wanted_fd = (s32)fd;
	return UV_PARK;
}

int uv_process_socket(struct call *call, s64 fd, u64 *inode)
{
	struct stat st;
	int attached, err;

	err = find_attached(call, fd, &attached);
	if (err)
		return err;
	if (fstat(attached, &st) < 0 || !S_ISSOCK(st.st_mode))
		return -EBADF;
	*inode = st.st_ino;
	return 0;
}

/* Opens the file with O_PATH, so that the daemon shares no locks or offset with the program. */
int uv_process_file(struct call *call, s64 fd, int *file)
{
	char path[32];
	int attached, err;

	err = find_attached(call, fd, &attached);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", attached);
	*file = open(path, O_PATH | O_CLOEXEC);
	if (*file >= 0)
		return 0;
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -EBADF;
}

/* Reads a small file. Returns its length, or -1. */
static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size);

	if (fd >= 0)
		close(fd);
	return n;
}

/*
 * Whether the process is in the daemon's user namespace; capabilities in another one do not
 * count. The namespace file may be unreadable, if the process has more capabilities than the
 * daemon. Then the uid_map must be equal: only a process that is privileged in the outer
 * namespace can create an inner one with the same map.
 */
static bool shares_user_namespace(const struct client *client)
{
	char path[40], text[2][1024];
	struct stat own, its;
	ssize_t n[2];

	if (client->pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)client->pid);
	if (stat("/proc/self/ns/user", &own) == 0 && stat(path, &its) == 0)
		return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)client->pid);
	n[0] = read_file("/proc/self/uid_map", text[0], sizeof(text[0]));
	n[1] = read_file(path, text[1], sizeof(text[1]));
	return n[0] > 0 && n[0] == n[1] && n[0] < (ssize_t)sizeof(text[0]) &&
	       !memcmp(text[0], text[1], (size_t)n[0]);
}

bool uv_process_capable(const struct client *client, u32 capability)
{
	unsigned long long effective = 0;
	char text[4096];
	const char *line;
	ssize_t n;

	n = client->dead ? -1 : pread(client->status_fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return false;
	text[n] = '\0';
	line = strstr(text, "\nCapEff:");
	if (!line || sscanf(line, " CapEff: %llx", &effective) != 1)
		return false;
	return (effective >> capability & 1) && shares_user_namespace(client);
}

int uv_socket_inode(int fd, u64 *inode)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*inode = st.st_ino;
	return 0;
}
