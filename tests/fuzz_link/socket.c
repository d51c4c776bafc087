// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The socket and the frame reception of the link, with system calls and firmware emulated. The
 * file includes two sources of the link, and replaces their calls.
 */
#define _GNU_SOURCE
#include <netinet/udp.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../../usermode/platform/raw.h"
#include "socket.h"

#define DESCRIPTOR 1000

static struct datagram way[SOCKET_DATAGRAMS];
/* Free-running indices of way[]. */
static u32 way_first, way_end;

static long fuzz_syscall(long number, long a, long b, long c, long d, long e, long f);

static void fuzz_receive(struct nic *nic, const struct nic_address *from, void *frame, u32 length,
			 const struct nic_proof *proof)
{
	on_frame(nic, from, frame, length, proof);
}

#define raw_syscall fuzz_syscall
#define nic_receive fuzz_receive
/* NOLINTBEGIN(bugprone-suspicious-include) */
#include "../../usermode/platform/link.c"
#include "../../usermode/platform/link_receive.c"
/* NOLINTEND(bugprone-suspicious-include) */
#undef nic_receive
#undef raw_syscall

int socket_descriptor(void)
{
	return DESCRIPTOR;
}

struct datagram *socket_next(void)
{
	return way_end - way_first < SOCKET_DATAGRAMS ? &way[way_end % SOCKET_DATAGRAMS] : NULL;
}

void socket_arrive(void)
{
	way_end++;
}

void socket_clear(void)
{
	way_first = way_end;
}

/* Gives the segment length of coalesced frames, like the kernel. */
static void tell_segment(struct msghdr *msg, const struct datagram *datagram)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);

	if (!datagram->joined) {
		msg->msg_controllen = 0;
		return;
	}
	cmsg->cmsg_level = SOL_UDP;
	cmsg->cmsg_type = UDP_GRO;
	cmsg->cmsg_len = CMSG_LEN(sizeof(datagram->segment));
	memcpy(CMSG_DATA(cmsg), &datagram->segment, sizeof(datagram->segment));
	msg->msg_controllen = CMSG_SPACE(sizeof(datagram->segment));
}

/* Memory behind the datagram is poisoned, so that reads of it are found. */
static void fill(struct mmsghdr *message, const struct datagram *datagram)
{
	struct msghdr *msg = &message->msg_hdr;
	u8 *base = msg->msg_iov->iov_base;

	ASAN_POISON_MEMORY_REGION(base, msg->msg_iov->iov_len);
	ASAN_UNPOISON_MEMORY_REGION(base, datagram->length);
	memcpy(base, datagram->bytes, datagram->length);
	msg->msg_namelen = link_address_length(&datagram->from);
	memcpy(msg->msg_name, &datagram->from, msg->msg_namelen);
	tell_segment(msg, datagram);
	message->msg_len = datagram->length;
	on_arrival(datagram);
}

static long fuzz_recvmmsg(struct mmsghdr *message, u32 n)
{
	u32 i;

	for (i = 0; i < n && way_first != way_end; i++)
		fill(&message[i], &way[way_first++ % SOCKET_DATAGRAMS]);
	return i ? (long)i : -EAGAIN;
}

/* Each element of the I/O vector is a frame of the link. */
static void depart(const struct msghdr *msg)
{
	union link_address to;

	memset(&to, 0, sizeof(to));
	memcpy(&to, msg->msg_name, msg->msg_namelen);
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		on_departure(&to, msg->msg_iov[i].iov_base, (u32)msg->msg_iov[i].iov_len);
}

static long fuzz_fstat(struct stat *st)
{
	st->st_dev = 1;
	st->st_ino = DESCRIPTOR;
	return 0;
}

static long fuzz_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (a != DESCRIPTOR)
		abort();
	switch (number) {
	case SYS_fstat:
		return fuzz_fstat((struct stat *)b);
	case SYS_recvmmsg:
		return fuzz_recvmmsg((struct mmsghdr *)b, (u32)c);
	case SYS_sendmsg:
		depart((const struct msghdr *)b);
		return 1;
	case SYS_sendmmsg:
		for (long i = 0; i < c; i++)
			depart(&((const struct mmsghdr *)b)[i].msg_hdr);
		return c;
	default:
		abort();
	}
}
