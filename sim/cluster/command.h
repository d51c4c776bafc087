/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Internal header of simulated processes: commands to the firmware, owned objects, rings. */
#ifndef SIM_COMMAND_H
#define SIM_COMMAND_H

#include "base/trace.h"
#include "cluster/process.h"

#define SEND_SHIFT 10
#define RECV_SHIFT 9
#define CQE_SHIFT 7
#define MAX_INLINE 256
/* Maximum number of SGEs in send and receive entries of these sizes. */
#define MAX_SEND_SGE 32
#define MAX_RECV_SGE 16

/*
 * Whether the NIC is alive, and was not reset since the process attached to it. On a dead node,
 * locks of stopped or killed processes are never released, so commands may fail.
 */
static inline bool has_nic(const struct process *p)
{
	return !p->fatal && !p->node->dead;
}

/* A command returned NIC_BUSY: sleep, and return whether to repeat it. */
bool command_again(struct process *p, u32 *tries);

/* Repeat a command until it is not busy. */
#define COMMAND(p, call)                                                                           \
	({                                                                                         \
		enum nic_result result_ = NIC_EINVAL;                                              \
		u32 tries_ = 0;                                                                    \
		if (!(p)->fatal) {                                                                 \
			do                                                                         \
				result_ = (call);                                                  \
			while (result_ == NIC_BUSY && command_again((p), &tries_));                \
		}                                                                                  \
		result_;                                                                           \
	})

/* Record, or remove, an object that the process owns, by kind and number (struct owned). */
void own_number(struct process *p, char kind, u32 num);
void disown(struct process *p, char kind, u32 num);
/* Allocate a ring in queue memory. It is never freed. */
struct ring_view ring_make(struct process *p, u32 entries, u32 shift);
/* Clear `*(bool *)arg`, the readable state of a channel. */
void channel_read(void *arg);
/* An empty poll: costs time, and lets the process execute pending work of its NIC. */
void process_polled(struct process *p);

#endif
