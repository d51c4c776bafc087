/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Doorbells: what makes the firmware run. Doorbells of processes, turns of send queues, commands
 * of the control path, and the NIC processor. After each call of the firmware, the frames that it
 * has made are sent, and its events are delivered.
 *
 * Inside the room, processor.c calls doorbell.c, and both call turn.c.
 *
 * Calls base, queues, events and link. Takes vnet_dev.doors_lock; vnet_command() releases and
 * retakes vnet_dev.commands. Doorbells are found under vnet_inside.
 */
#ifndef VNET_IB_DOORBELLS_H
#define VNET_IB_DOORBELLS_H

#include "queues/queues.h"

/* ------------------------------------------------- turn.c: turns and commands */

/*
 * Execute up to `budget` requests of a send queue, for callers in atomic context or on behalf of
 * another process. What is left is pending for the NIC processor. A process' view only runs
 * queues of that process. The caller is in a read section of vnet_inside.
 */
void vnet_run_turn(struct vnet_view *view, u32 qpn, u32 budget);
/* The same, but leave all requests to the NIC processor. */
void vnet_run_later(struct vnet_view *view, u32 qpn);
/*
 * Send the frames and deliver the completion events of the calls of the firmware so far.
 * Completion handlers are called from here, so the caller holds no locks. Task context, or a
 * softirq that has not interrupted a consumer.
 */
void vnet_deliver(struct vnet_dev *dev);
/*
 * The same for kernel consumers, which may hold locks: a tasklet sends the frames, and an
 * irq_work calls the handlers. Any context.
 */
void vnet_deliver_later(struct vnet_dev *dev);
/*
 * The same for verbs commands, whose callers may hold locks that handlers take: frames are sent
 * at once, and an irq_work calls the handlers.
 */
void vnet_deliver_command(struct vnet_dev *dev);
/*
 * Call the firmware until it does not answer NIC_BUSY; the value is its result. dev->commands is
 * held, and is released between two attempts. May sleep.
 */
#define vnet_command(dev, call)                                                                    \
	({                                                                                         \
		enum nic_result result_;                                                           \
                                                                                                   \
		lockdep_assert_held(&(dev)->commands);                                             \
		for (;;) {                                                                         \
			vnet_enter();                                                              \
			result_ = (call);                                                          \
			vnet_leave();                                                              \
			if (result_ != NIC_BUSY)                                                   \
				break;                                                             \
			vnet_command_pause(dev);                                                   \
		}                                                                                  \
		result_;                                                                           \
	})
void vnet_command_pause(struct vnet_dev *dev);

/* --------------------------------------------- doorbell.c: doorbells of processes */

/*
 * A process' entry to the firmware: its doorbell descriptors and its doorbell page. It exists
 * until the context and all doorbell descriptors are closed.
 */
struct vnet_door {
	struct kref kref;
	/* Read under vnet_inside. NULL after the context is closed. */
	struct vnet_dev __rcu *dev;
	struct vnet_view view;
	/* Entry in vnet_dev.doors. */
	struct list_head list;
	/*
	 * Doorbell page, which is rung without a system call, and whether it has ever been
	 * mapped.
	 */
	struct vnet_ring_mem page;
	bool paged;
};

struct vnet_door *vnet_door_make(struct vnet_ucontext *uc);
/* Called when the context ends. On return, no thread is in the firmware by this entry. */
void vnet_door_close(struct vnet_door *door);
/* Returns a new file whose ioctl() rings doorbells, or ERR_PTR(). */
struct file *vnet_door_file(struct vnet_door *door);
/*
 * Run the firmware for a doorbell that a process rang for one of its queues. The caller is in a
 * read section of vnet_inside.
 */
void vnet_ring_send(struct vnet_dev *dev, struct vnet_view *view, u32 qpn);
void vnet_ring_recv(struct vnet_dev *dev, struct vnet_view *view, u32 num, bool is_srq);
void vnet_ring_tags(struct vnet_dev *dev, struct vnet_view *view, u32 srqn);
/*
 * After a receive was posted to a queue that `view` owns: give a turn to the send queue of its
 * connected peer, in the view `as`. Senders to shared receive queues and datagram queue pairs
 * are left to the NIC processor: there may be many of them, with long requests.
 */
void vnet_run_sender(struct vnet_view *view, struct vnet_view *as, u32 num, bool is_srq);
/*
 * NIC processor: run the queues that processes have marked in their doorbell pages. Returns
 * whether any page had a mark.
 */
bool vnet_doors_run(struct vnet_dev *dev);
/*
 * NIC processor: store in all doorbell pages whether a doorbell needs a system call, because
 * pages are not polled. Returns whether any page has a mark.
 */
bool vnet_doors_sleep(struct vnet_dev *dev, bool sleeps);

/* ------------------------------------------- processor.c: the NIC processor */

int vnet_processor_start(struct vnet_dev *dev);
void vnet_processor_stop(struct vnet_dev *dev);

#endif /* VNET_IB_DOORBELLS_H */
