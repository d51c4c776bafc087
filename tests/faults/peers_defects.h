/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the files of peers_defects: the local side of the connection, and requests. */
#ifndef FAULTS_PEERS_DEFECTS_H
#define FAULTS_PEERS_DEFECTS_H

#include "peer.h"

#define COUNT(_table) (sizeof(_table) / sizeof((_table)[0]))
#define LENGTH 65536u
/* Value of bytes that must not be written. */
#define UNTOUCHED 0xa5

extern struct side here;

#define ONE_SIDED 5
extern const enum ibv_wr_opcode one_sided[ONE_SIDED];

bool all_are(const uint8_t *bytes, size_t length, uint8_t value);

/* Builds a request; `remote` and `rkey` are used by one-sided operations. */
struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge *sges, int count,
			   uint64_t remote, uint32_t rkey);
/* Builds a datagram to the peer. */
struct ibv_send_wr datagram(struct ibv_ah *ah, struct ibv_sge *sge);
/* Creates an address handle with this node's own GID as destination. */
struct ibv_ah *address_handle(uint8_t sgid_index);

void post_here(struct ibv_send_wr *wr);
/*
 * Posts a request, checks that it fails with `status` (also if it is unsignaled), and
 * reconnects.
 */
void check_fails(const char *what, struct ibv_send_wr *wr, enum ibv_wc_status status);

/* The defects, by the file that provokes them. */

/* peers_bounds.c */
void failed_bounds_check(void);
void wrapped_bounds(void);
void wrapped_windows(void);
void large_region(void);
void large_counts(void);

/* peers_pieces.c */
void slid_data(void);
void memory_in_grh(void);

/* peers_queues.c */
void unlocked_pop(void);
void ended_with_timer(void);

/* peers_commands.c */
void half_answered(void);
void half_built(void);

/* peers_input.c */
void bad_key_no_cqe(void);
void input_trusted(void);

#endif
