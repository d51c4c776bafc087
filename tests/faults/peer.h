/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The other side of a connection, in this process or in one of its own, which
 * does as it is told: so that one test goes both ways of moving data.
 */
#ifndef PEER_H
#define PEER_H

#include "side.h"

#define PEER_PIECES 8
#define PEER_BYTES 1024

/* A piece of the peer's buffer, for a scatter list. */
struct piece {
	uint32_t offset;
	uint32_t length;
	/* What is added to the right key. */
	uint32_t key_offset;
};

/* Before the device is opened; `elsewhere`: in a process of its own. */
void peer_start(bool elsewhere);
void peer_stop(void);

/* Make a side here and one there, connected. */
void peer_open(struct side *here, const struct wish *wish);
void peer_close(struct side *here);
/* Both through RESET to RTS; whatever was under way is gone. */
void peer_anew(struct side *here);

/* As side_*(), with the peer's side. */
struct address peer_address(void);
void peer_receive(uint64_t wr_id, const struct piece *pieces, unsigned int count);
struct ibv_wc peer_wait(void);
struct ibv_wc peer_expect(uint64_t wr_id, enum ibv_wc_status status);
void peer_expect_silence(void);
/* Bytes [offset, offset + length) of its buffer: set them all, or look at them. */
void peer_set(uint32_t offset, uint32_t length, uint8_t value);
const uint8_t *peer_look(uint32_t offset, uint32_t length);

#endif /* PEER_H */
