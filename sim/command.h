/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Between the files of simulated processes: commands, which are repeated while a
 * lock is taken, what a process has of its NIC, and rings.
 */
#ifndef SIM_COMMAND_H
#define SIM_COMMAND_H

#include "process.h"
#include "trace.h"

#define SEND_SHIFT 10
#define RECV_SHIFT 9
#define CQE_SHIFT 7
#define MAX_INLINE 256
/* Of a send entry and a receive entry of those sizes. */
#define MAX_SEND_SGE 32
#define MAX_RECV_SGE 16

/*
 * Its NIC is there, and the one that it had. On a node that has died nobody frees the
 * locks of who was stopped or killed: no command has to come to an end.
 */
static inline bool has_nic(const struct process *p)
{
	return !p->fatal && !p->node->dead;
}

/* A command found a lock taken: whether to repeat it, some time later. */
bool command_again(struct process *p, u32 *tries);

/* Repeat a command until it is not busy any more. */
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

/* Something of a NIC that its process has, by kind and number (struct owned). */
void own_number(struct process *p, char kind, u32 num);
void disown(struct process *p, char kind, u32 num);
/* A ring in queue memory, which is never given back. */
struct ring_view ring_make(struct process *p, u32 entries, u32 shift);
/* The channel `*(bool *)arg` tells of is read. */
void channel_read(void *arg);
/* The process polled, and nothing was there. */
void process_polled(struct process *p);

#endif
