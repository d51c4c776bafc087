/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How the fake agent answers commands, for the files that have them. */
#ifndef FAKE_COMMAND_H
#define FAKE_COMMAND_H

#include "fake_agent.h"

/* 0, or what the test wants this command to fail with. */
int fake_answer(void);
/* The same of one that makes an object, or ends it. */
int fake_answer_new(uint32_t *handle);
int fake_answer_end(void);
/* A ring in the memory that the provider maps. */
struct vnet_ring_info fake_new_ring(uint32_t entries, uint32_t slot);

#endif /* FAKE_COMMAND_H */
