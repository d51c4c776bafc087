/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Another process with a connected queue pair, which executes RDMA operations on memory of the test
 * when it is told to.
 */
#ifndef SERVANT_H
#define SERVANT_H

#include "side.h"

/* Limit of the length of an operation. */
#define SERVANT_ROOM (1u << 20)

struct servant {
	struct helper helper;
	struct side side;
};

/* To be called before the device is opened. */
void servant_start(struct servant *v);
void servant_end(struct servant *v);

/* Have the servant write bytes of this pattern (fill()) to registered memory; returns the status. */
enum ibv_wc_status servant_write(struct servant *v, void *to, const struct ibv_mr *mr,
				 size_t length, uint32_t mark);
/* Have it read, and compare with the pattern; CHECKs that the bytes are right if it succeeds. */
enum ibv_wc_status servant_read(struct servant *v, const void *from, const struct ibv_mr *mr,
				size_t length, uint32_t mark);
/* Have it read, and compare with this byte. */
enum ibv_wc_status servant_read_bytes(struct servant *v, const void *from, const struct ibv_mr *mr,
				      size_t length, uint8_t byte);
/* Fetch and add; returns the old value. */
uint64_t servant_add(struct servant *v, void *word, const struct ibv_mr *mr, uint64_t value);
/* Have it begin to add 1, so many times; and wait until it is done. */
void servant_begin_adds(struct servant *v, void *word, const struct ibv_mr *mr, unsigned int count);
void servant_end_adds(struct servant *v);
/* Have it send bytes of this pattern; the test has posted the receive. */
enum ibv_wc_status servant_send(struct servant *v, size_t length, uint32_t mark);
/* Number of bytes that the servant has copied by system calls, from "vnet status". */
long long servant_calls(const struct servant *v);

/* Are the pages of this address shared with peers, as /proc/self/maps says? */
bool is_mapped(const void *address);

#endif /* SERVANT_H */
