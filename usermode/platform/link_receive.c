// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The link, receiving: processes that poll empty queues read the socket themselves. They record the
 * time of each look. While that is recent, the agent does not wait for the socket.
 */
#define _GNU_SOURCE
#include <netinet/udp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "link.h"
#include "raw.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* Limit of threads of a process that read the socket at the same time. */
#define INBOXES 4
/* Datagrams that one call receives, and room for the longest. */
#define INBOX_MESSAGES 8
#define INBOX_ROOM 65536
/*
 * Limits of batches that a process receives before it polls its CQ again and looks at timers. The
 * limit is higher after it has slept, or was preempted, because more may have arrived.
 */
#define IDLE_TURNS 1
#define WOKEN_TURNS 4
#define LATE_TURNS 32
/* The time of a look is stored only if the stored one is older than this, ns. */
#define STALE_NS (LINK_FRESH_NS / 8)

struct link_inbox {
	u32 busy;
	/* Messages below this index were used and must be prepared again. */
	u32 used;
	u8 *buffer;
	struct mmsghdr msg[INBOX_MESSAGES];
	struct iovec iov[INBOX_MESSAGES];
	union link_address from[INBOX_MESSAGES];
	u64 control[INBOX_MESSAGES][CMSG_SPACE(sizeof(int)) / sizeof(u64)];
};

static size_t inboxes_size(void)
{
	return INBOXES * sizeof(struct link_inbox);
}

int link_receive_open(struct host *host)
{
	host->link.inbox = raw_mmap(NULL, inboxes_size(), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
	return host->link.inbox ? 0 : -ENOMEM;
}

void link_receive_close(struct host *host)
{
	for (u32 i = 0; host->link.inbox && i < INBOXES; i++)
		if (host->link.inbox[i].buffer)
			raw_munmap(host->link.inbox[i].buffer, INBOX_MESSAGES * INBOX_ROOM);
	if (host->link.inbox)
		raw_munmap(host->link.inbox, inboxes_size());
	host->link.inbox = NULL;
}

static struct link_inbox *take_inbox(struct host *host)
{
	for (u32 i = 0; i < INBOXES; i++) {
		struct link_inbox *inbox = &host->link.inbox[i];
		u32 idle = 0;

		if (nic_load(&inbox->busy) ||
		    !__atomic_compare_exchange_n(&inbox->busy, &idle, 1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		if (inbox->buffer)
			return inbox;
		inbox->buffer = raw_mmap(NULL, INBOX_MESSAGES * INBOX_ROOM, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
		inbox->used = INBOX_MESSAGES;
		if (inbox->buffer)
			return inbox;
		nic_store_release(&inbox->busy, 0);
		break;
	}
	return NULL;
}

/* ------------------------------------------------------------- what arrived */

/* Without keys, only frames from this machine are accepted. */
static bool is_welcome(struct link_memory *memory, const union link_address *from)
{
	if (likely(nic_load(&memory->reachable) || link_is_loopback(from)))
		return true;
	link_count(&memory->counters.strangers);
	return false;
}

static void deliver(struct nic *nic, const struct nic_address *from, u8 *frame, u32 length)
{
	struct host *host = nic->host;
	struct nic_proof proof;
	u32 whole = length;
	bool stranger;

	length = link_unseal(host->link.memory, (const union link_address *)from, frame, length,
			     &proof, &stranger);
	if (proof.given && unlikely(!link_replay_check(nic, host->link.memory, &proof)))
		return;
	if (likely(length))
		nic_receive(nic, from, frame, length, &proof);
	else if (stranger)
		nic_refuse_caller(nic, from, frame, whole);
}

/* Handle one frame with its trailer, at any alignment in a writable buffer. */
static void take_frame(struct nic *nic, const struct nic_address *from, u8 *frame, u32 length)
{
	struct host *host = nic->host;
	struct link_memory *memory = host->link.memory;
	enum link_action fate = LINK_PASS;

	if (length > VNET_WIRE_MAX_FRAME + sizeof(struct vnet_wire_trailer)) {
		link_count(&memory->counters.oversize);
		return;
	}
	if ((u64)frame % sizeof(u64)) {
		/* There is room in front: frames before it have been handled. */
		u8 *aligned = frame - (u64)frame % sizeof(u64);

		memmove(aligned, frame, length);
		frame = aligned;
	}
	if (unlikely(nic_load(&memory->faulty)))
		fate = link_fault(host, LINK_IN, from, frame, length);
	if (fate == LINK_CONSUMED)
		return;
	if (fate == LINK_SEND_TWICE)
		(void)link_hold(host, LINK_IN, from, frame, length, plat_clock());
	deliver(nic, from, frame, length);
}

/* Returns the length of each frame, if the kernel has joined several (UDP_GRO). */
static u32 segment_of(struct msghdr *msg, u32 length)
{
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		int segment;

		if (cmsg->cmsg_level != SOL_UDP || cmsg->cmsg_type != UDP_GRO)
			continue;
		memcpy(&segment, CMSG_DATA(cmsg), sizeof(segment));
		if (segment > 0 && (u32)segment < length)
			return (u32)segment;
	}
	return length;
}

static u32 take_message(struct nic *nic, struct link_inbox *inbox, u32 i)
{
	struct host *host = nic->host;
	u32 length = inbox->msg[i].msg_len;
	u32 segment = segment_of(&inbox->msg[i].msg_hdr, length);
	u8 *frame = inbox->iov[i].iov_base;
	u32 n = 0;

	if (!is_welcome(host->link.memory, &inbox->from[i]))
		return 0;
	for (; length; n++) {
		u32 now = segment < length ? segment : length;

		take_frame(nic, &inbox->from[i].nic, frame, now);
		frame += now;
		length -= now;
	}
	return n;
}

static void prepare(struct link_inbox *inbox)
{
	for (u32 i = 0; i < inbox->used; i++) {
		inbox->iov[i] = (struct iovec){ .iov_base = inbox->buffer + i * INBOX_ROOM,
						.iov_len = INBOX_ROOM };
		memset(&inbox->from[i], 0, sizeof(inbox->from[i]));
		inbox->msg[i].msg_hdr = (struct msghdr){
			.msg_name = &inbox->from[i],
			.msg_namelen = sizeof(inbox->from[i]),
			.msg_iov = &inbox->iov[i],
			.msg_iovlen = 1,
			.msg_control = inbox->control[i],
			.msg_controllen = sizeof(inbox->control[i]),
		};
	}
	inbox->used = 0;
}

/* Receive one batch. Returns the number of datagrams, or -errno. */
static long take_some(struct nic *nic, struct link_inbox *inbox, u32 *nframes)
{
	struct host *host = nic->host;
	int fd = nic_load(&host->link.fd);
	long n;

	if (fd < 0)
		return -EBADF;
	prepare(inbox);
	n = raw_syscall(SYS_recvmmsg, fd, (long)inbox->msg, INBOX_MESSAGES, MSG_DONTWAIT, 0, 0);
	if (unlikely(n == -EBADF || n == -ENOTSOCK))
		(void)link_check(host);
	if (n <= 0)
		return n;
	inbox->used = (u32)n;
	for (u32 i = 0; i < (u32)n; i++)
		*nframes += take_message(nic, inbox, i);
	return n;
}

u32 link_poll(struct nic *nic, u32 turns)
{
	struct host *host = nic->host;
	struct link_inbox *inbox;
	u32 nframes = 0;

	if (unlikely(nic_load(&host->link.fd) < 0))
		return 0;
	inbox = take_inbox(host);
	if (!inbox)
		return 0;
	if (unlikely(nic_load(&host->link.memory->holds)))
		(void)link_release(nic, deliver);
	while (turns-- && take_some(nic, inbox, &nframes) == INBOX_MESSAGES)
		;
	nic_store_release(&inbox->busy, 0);
	/*
	 * Acknowledgements that are kept back are sent later: by vnetd in its turn, which follows,
	 * and by a process in nic_idle().
	 */
	if (nframes)
		(void)nic_receive_end(nic);
	link_report_refusals(host);
	return nframes;
}

/* -------------------------------------------------------- polling the socket */

bool link_is_polled(const struct nic *nic, u64 now)
{
	u64 polled = nic_load(&nic->hdr->link_polled);

	/* A client may have read the clock a little later than this thread. */
	return polled && now - polled + LINK_FRESH_NS < 2 * LINK_FRESH_NS;
}

void link_hand_back(struct nic *nic)
{
	const struct host *host = nic->host;

	if (nic_load(&host->link.fd) < 0 || !nic_load(&nic->hdr->link_polled))
		return;
	nic_store(&nic->hdr->link_polled, 0);
	/*
	 * Pairs with the barrier in the agent: either the agent sees the store above, or this
	 * thread sees that the agent does not listen.
	 */
	nic_barrier();
	if (!nic_load(&host->link.memory->agent_listens))
		plat_kick(nic);
}

void link_woken(struct nic *nic)
{
	nic_store(&nic->hdr->link_polled, plat_clock());
	(void)link_poll(nic, WOKEN_TURNS);
}

/* Is the CQ armed? Then the program is about to sleep. */
static bool is_armed(struct nic *nic, u32 cqn)
{
	const struct vnet_ring *ring;

	if (!cqn || cqn > nic->max_cq)
		return false;
	ring = plat_queue(nic, nic_load(&nic->cq[cqn - 1].ring), VNET_RING_HDR_SIZE);
	return ring && nic_load(&ring->arm) != VNET_CQ_DISARMED;
}

void link_idle(struct nic *nic, u32 cqn)
{
	const struct host *host = nic->host;
	u64 polled, now = plat_clock();
	u32 turns = IDLE_TURNS;

	if (unlikely(is_armed(nic, cqn)) && !nic_load(&host->link.waits)) {
		(void)link_poll(nic, IDLE_TURNS);
		link_hand_back(nic);
		return;
	}
	polled = nic_load(&nic->hdr->link_polled);
	if (now - polled > STALE_NS) {
		if (!link_check(nic->host))
			return;
		nic_store(&nic->hdr->link_polled, now);
		if (now - polled > LINK_FRESH_NS)
			turns = LATE_TURNS;
	}
	(void)link_poll(nic, turns);
}
