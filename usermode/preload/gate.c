// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The data path enters here. A context that a forked child inherited names the
 * parent's NIC view: as the parent's locks and queue pairs are not the child's
 * to touch, nothing happens.
 */
#include "gate.h"

#include "result.h"
#include "session.h"
#include "sys.h"

/* After the daemon's death: not more often than so, ns. */
#define FLUSH_PAUSE 1000000ull
/* Empty polls of a thread, some tens of microseconds, before it yields. */
#define POLLS_PER_YIELD 2048
/* What a look at the link counts for: it is a system call. */
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

/* Again and again: a queue pair may have been locked by a peer at first. */
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
 * What a polling program waits for may have to run on this very processor: the
 * peer, or what makes the peer send. With a processor of its own for each, the
 * call returns at once, and is too rare to be felt.
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
