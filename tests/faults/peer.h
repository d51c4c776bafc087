/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The other side of a connection, in this process or in a helper process, driven by calls. So
 * the same test covers both ways of moving data.
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
	/* Added to the valid lkey. */
	uint32_t key_offset;
};

/* To be called before the device is opened. `elsewhere`: the peer is a helper process. */
void peer_start(bool elsewhere);
void peer_stop(void);

/* Opens a side here and the peer's side, and connects them. */
void peer_open(struct side *here, const struct wish *wish);
void peer_close(struct side *here);
/* Moves both queue pairs through RESET to RTS, which drops all requests. */
void peer_anew(struct side *here);

/* As side_*(), for the peer's side. */
struct address peer_address(void);
void peer_receive(uint64_t wr_id, const struct piece *pieces, unsigned int count);
struct ibv_wc peer_wait(void);
struct ibv_wc peer_expect(uint64_t wr_id, enum ibv_wc_status status);
void peer_expect_silence(void);
/* Set, or return, bytes [offset, offset + length) of the peer's buffer. */
void peer_set(uint32_t offset, uint32_t length, uint8_t value);
const uint8_t *peer_look(uint32_t offset, uint32_t length);

#endif /* PEER_H */
