/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Internal interface of the fake agent: results of commands. */
#ifndef FAKE_COMMAND_H
#define FAKE_COMMAND_H

#include "fake_agent.h"

/* Returns 0, or the error that the test has set for this command. */
int fake_answer(void);
/* The same for a command that creates an object, or destroys it. */
int fake_answer_new(uint32_t *handle);
int fake_answer_end(void);
/* Allocates a ring in the memory that the provider maps. */
struct vnet_ring_info fake_new_ring(uint32_t entries, uint32_t slot);

#endif /* FAKE_COMMAND_H */
