// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The gate: the firmware's entry points for the data path of this process. A context that a forked
 * child has inherited refers to the parent's view of the NIC. The child must not touch the parent's
 * locks and queue pairs, so these functions do nothing there.
 */
#include "devices/gate.h"

#include "base/result.h"
#include "base/sys.h"
#include "session/session.h"

/* Minimum time between two flushes after the daemon's death, ns. */
#define FLUSH_PAUSE 1000000ull
/* Number of a thread's empty polls, some tens of microseconds, before it yields. */
#define POLLS_PER_YIELD 2048
/* An empty poll that also looks at the link counts as this many: it makes a system call. */
#define LINK_POLLS 32

static inline struct client_nic *client_nic(u64 cookie)
{
	return (struct client_nic *)(unsigned long)cookie;
}

static void gate_send_doorbell(u64 cookie, u32 qpn)
{
	struct client_nic *cn = client_nic(cookie);

	if (likely(!cn->foreign))
		nic_send_doorbell(&cn->nic, qpn);
}

static void gate_recv_doorbell(u64 cookie, u32 num, int is_srq)
{
	struct client_nic *cn = client_nic(cookie);

	if (likely(!cn->foreign))
		nic_recv_doorbell(&cn->nic, num, is_srq);
}

static void gate_tag_doorbell(u64 cookie, u32 srqn)
{
	struct client_nic *cn = client_nic(cookie);

	if (!cn->foreign)
		nic_tm_doorbell(&cn->nic, srqn);
}

static void gate_cq_doorbell(u64 cookie, u32 cqn)
{
	struct client_nic *cn = client_nic(cookie);

	if (!cn->foreign)
		nic_cq_doorbell(&cn->nic, cqn);
}

/* Flush repeatedly: a peer may have held a queue pair's lock at the first attempt. */
static void __attribute__((noinline)) device_is_dead(struct client_nic *cn)
{
	u64 now = plat_clock();
	u64 last = __atomic_load_n(&cn->flushed_at, __ATOMIC_RELAXED);

	if (now - last < FLUSH_PAUSE)
		return;
	__atomic_store_n(&cn->flushed_at, now, __ATOMIC_RELAXED);
	session_ended(cn->session);
}

/*
 * Yield the processor now and then: the peer for which a polling program waits may need this
 * processor. If each of them has a processor of its own, the call returns at once, and is too rare
 * to cost a noticeable time.
 */
static void give_way(u32 cost)
{
	static __thread u32 polls __attribute__((tls_model("initial-exec")));

	polls += cost;
	if (likely(polls < POLLS_PER_YIELD))
		return;
	polls = 0;
	(void)sys(SYS_sched_yield);
}

static void gate_idle(u64 cookie, u32 cqn)
{
	struct client_nic *cn = client_nic(cookie);
	u32 cost = 1;

	if (unlikely(cn->foreign))
		return;
	if (unlikely(nic_load(&cn->nic.hdr->fatal) || !session_alive(cn->session))) {
		device_is_dead(cn);
		return;
	}
	if (unlikely(nic_is_wired(&cn->nic))) {
		link_idle(&cn->nic, cqn);
		cost = LINK_POLLS;
	}
	nic_idle(&cn->nic);
	give_way(cost);
}

static int gate_copy(u64 cookie, void *dst, const void *src, u32 len)
{
	(void)cookie;
	return host_guarded_copy(dst, src, len) == NIC_COPY_OK ? 0 : -1;
}

static void gate_recv_fault(u64 cookie, u32 qpn)
{
	struct client_nic *cn = client_nic(cookie);

	if (!cn->foreign)
		nic_recv_fault(&cn->nic, qpn);
}

static void *gate_ring(u64 cookie, u64 mmap_offset, u64 mmap_size)
{
	struct client_nic *cn = client_nic(cookie);

	return cn->foreign ? NULL : plat_queue(&cn->nic, mmap_offset, mmap_size);
}

const struct vnet_gate gate = {
	.size = sizeof(gate),
	.send_doorbell = gate_send_doorbell,
	.recv_doorbell = gate_recv_doorbell,
	.idle = gate_idle,
	.copy = gate_copy,
	.recv_fault = gate_recv_fault,
	.ring = gate_ring,
	.tag_doorbell = gate_tag_doorbell,
	.cq_doorbell = gate_cq_doorbell,
};
