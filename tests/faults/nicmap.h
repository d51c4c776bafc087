/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * NIC memory as a client process has it mapped, for tests that write to it. Also the gate, by
 * which the process calls the firmware.
 */
#ifndef NICMAP_H
#define NICMAP_H

#include "layout/memory.h"

#include "side.h"

struct nic_map {
	uint8_t *base;
	size_t size;
	struct nic_header *hdr;
	const struct vnet_gate *gate;
	uint64_t cookie;
};

/* Ends the test if the process does not have the device open. */
void nic_map_find(struct nic_map *map);

static inline struct nic_qp *nic_map_qp(const struct nic_map *map, uint32_t qpn)
{
	struct nic_qp *table = (struct nic_qp *)(void *)(map->base + map->hdr->off_qp);

	return &table[qpn & (map->hdr->config.max_qp - 1)];
}

static inline struct nic_cq *nic_map_cqs(const struct nic_map *map)
{
	return (struct nic_cq *)(void *)(map->base + map->hdr->off_cq);
}

/* Opens the device file, without a command on it. */
int open_raw_device(void);
/* Sends GET_CONTEXT on the descriptor. Returns 0 or errno; gate and cookie may be NULL. */
int raw_get_context(int fd, const struct vnet_gate **gate, uint64_t *cookie);

#endif /* NICMAP_H */
