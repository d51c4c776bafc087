// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "nicmap.h"

#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

/* The preload library maps the whole NIC memory file, from offset 0. */
static void find_memory(struct nic_map *map)
{
	unsigned long long start, end, offset;
	FILE *maps = MADE(fopen("/proc/self/maps", "re"));
	char line[512];

	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/memfd:vnet-nic") ||
		    sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) != 3 || offset ||
		    end - start <= map->size)
			continue;
		map->base = (uint8_t *)(uintptr_t)start;
		map->size = end - start;
	}
	fclose(maps);
	CHECK(map->base);
	map->hdr = (struct nic_header *)(void *)map->base;
	CHECK_EQ(map->hdr->magic, NIC_MAGIC);
}

int open_raw_device(void)
{
	int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

int raw_get_context(int fd, const struct vnet_gate **gate, uint64_t *cookie)
{
	struct {
		struct ib_uverbs_get_context_resp ibv;
		struct vnet_alloc_ucontext_resp vnet;
	} reply = { .vnet = { .hw_version = 0 } };
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_get_context ibv;
		struct vnet_alloc_ucontext_req vnet;
	} command = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_GET_CONTEXT,
			.in_words = sizeof(command) / 4,
			.out_words = sizeof(reply) / 4,
		},
		.ibv = { .response = (uintptr_t)&reply },
		.vnet = { .hw_version = VNET_HW_VERSION },
	};

	if (write(fd, &command, sizeof(command)) != sizeof(command))
		return errno;
	close((int)reply.ibv.async_fd);
	if (gate)
		*gate = (const struct vnet_gate *)(uintptr_t)reply.vnet.gate;
	if (cookie)
		*cookie = reply.vnet.gate_cookie;
	return 0;
}

void nic_map_find(struct nic_map *map)
{
	int fd = open_raw_device();

	memset(map, 0, sizeof(*map));
	find_memory(map);
	CHECK_EQ(raw_get_context(fd, &map->gate, &map->cookie), 0);
	CHECK(map->gate);
	/* The gate remains valid as long as the process has a session with vnetd. */
	close(fd);
}
