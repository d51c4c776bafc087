// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prints how many bytes of queue memory (rings) the NICs of a vnetd have allocated. The
 * argument is the daemon's PID. Bytes are counted as the data (not holes) of the memory files.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout/memory.h"

static long long bytes_in_use(int fd)
{
	struct nic_header hdr;
	long long sum = 0;
	off_t at, end;

	if (pread(fd, &hdr, sizeof(hdr), 0) != sizeof(hdr) || hdr.magic != NIC_MAGIC)
		return -1;
	for (at = (off_t)hdr.off_queue; (at = lseek(fd, at, SEEK_DATA)) >= 0; at = end) {
		end = lseek(fd, at, SEEK_HOLE);
		if (end < 0)
			break;
		sum += end - at;
	}
	return sum;
}

static long long of_descriptor(const char *dir, const char *name)
{
	char path[512], target[64];
	long long sum;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return 0;
	target[n] = '\0';
	if (strncmp(target, "/memfd:vnet-nic", 15) != 0)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	sum = fd < 0 ? -1 : bytes_in_use(fd);
	if (sum < 0) {
		fprintf(stderr, "fault_queue_memory: %s is no NIC memory\n", path);
		exit(1);
	}
	close(fd);
	return sum;
}

int main(int argc, char **argv)
{
	struct dirent *entry;
	long long sum = 0;
	char path[64];
	DIR *dir;

	if (argc != 2)
		return 2;
	snprintf(path, sizeof(path), "/proc/%.20s/fd", argv[1]);
	dir = opendir(path);
	if (!dir) {
		perror(path);
		return 1;
	}
	while ((entry = readdir(dir)))
		sum += of_descriptor(path, entry->d_name);
	closedir(dir);
	printf("%lld\n", sum);
	return 0;
}
