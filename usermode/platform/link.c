// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The link, sending: gathers frames in batches and sends them by one system call. A batch belongs
 * to one thread at a time. Consecutive frames of one length to one peer are sent as one datagram,
 * which the kernel splits (UDP_SEGMENT).
 */
#define _GNU_SOURCE
#include <netinet/udp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "link.h"
#include "raw.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/* Batches of a process: limit of threads that send at the same time. */
#define BATCHES 64
#define BATCH_FRAMES 32
/* Room for several frames of the largest size. */
#define ARENA_SIZE (8 * 65536)
/* Frames begin at multiples of this. */
#define FRAME_ALIGN 64
/* Limits of one datagram to be split: segments, and bytes. */
#define MOST_SEGMENTS 64
#define MOST_BYTES 65000

struct link_batch {
	u32 taken;
	u32 n;
	u32 used;
	u32 rsvd;
	struct host *host;
	u8 *arena;
	struct {
		struct nic_address to;
		u32 offset;
		u32 length;
	} frame[BATCH_FRAMES];
};

/* The batch of this thread, from its first frame to the flush. */
static __thread struct link_batch *thread_batch __attribute__((tls_model("initial-exec")));

/* ------------------------------------------------------------ begin and end */

static size_t batches_size(void)
{
	return BATCHES * sizeof(struct link_batch);
}

static void *map_lazily(size_t length)
{
	return raw_mmap(NULL, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
}

int host_link_open(struct host *host, int fd, struct link_memory *memory, u64 size)
{
	struct host_link *link = &host->link;
	struct stat st = { 0 };
	int error;

	if (size < sizeof(*memory) || nic_load_acquire(&memory->magic) != LINK_MAGIC)
		return -EPROTO;
	link->memory = memory;
	link->size = size;
	if (fd < 0)
		return 0;
	if (raw_syscall(SYS_fstat, fd, (long)&st, 0, 0, 0, 0))
		return -EBADF;
	link->dev = st.st_dev;
	link->ino = st.st_ino;
	link->batch = map_lazily(batches_size());
	if (!link->batch)
		return -ENOMEM;
	error = link_receive_open(host);
	if (error)
		return error;
	nic_store_release(&link->fd, fd);
	return 0;
}

void link_close(struct host *host)
{
	struct host_link *link = &host->link;

	nic_store(&link->fd, -1);
	for (u32 i = 0; link->batch && i < BATCHES; i++)
		if (link->batch[i].arena)
			raw_munmap(link->batch[i].arena, ARENA_SIZE);
	if (thread_batch && thread_batch->host == host)
		thread_batch = NULL;
	if (link->batch)
		raw_munmap(link->batch, batches_size());
	link->batch = NULL;
	link_receive_close(host);
}

bool link_check(struct host *host)
{
	const struct host_link *link = &host->link;
	struct stat st = { 0 };
	int fd = nic_load(&link->fd);

	if (fd < 0)
		return false;
	if (raw_syscall(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) == 0 && st.st_dev == link->dev &&
	    st.st_ino == link->ino)
		return true;
	/* The program has closed the socket without our notice, and may have reused the number. */
	nic_store(&host->link.fd, -1);
	return false;
}

/* ------------------------------------------------------------------- batches */

static struct link_batch *take_batch(struct host *host)
{
	for (u32 i = 0; i < BATCHES; i++) {
		struct link_batch *batch = &host->link.batch[i];
		u32 none = 0;

		if (nic_load(&batch->taken) ||
		    !__atomic_compare_exchange_n(&batch->taken, &none, 1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		if (!batch->arena)
			batch->arena = map_lazily(ARENA_SIZE);
		if (batch->arena) {
			batch->host = host;
			batch->n = 0;
			batch->used = 0;
			return batch;
		}
		nic_store_release(&batch->taken, 0);
		break;
	}
	return NULL;
}

/* Returns how many frames, from the first on, can be sent as one datagram. */
static u32 count_gso_frames(const struct link_batch *batch, u32 first,
			    const struct link_memory *memory)
{
	u32 length = batch->frame[first].length;
	u32 total = length;
	u32 n = 1;

	if (!nic_load(&memory->segments) || length > nic_load(&memory->mtu))
		return 1;
	while (first + n < batch->n && n < MOST_SEGMENTS) {
		u32 next = batch->frame[first + n].length;

		total += next;
		if (next > length || total > MOST_BYTES ||
		    memcmp(&batch->frame[first + n].to, &batch->frame[first].to,
			   sizeof(struct nic_address)) != 0)
			break;
		n++;
		/* A shorter frame must be the last segment. */
		if (next < length)
			break;
	}
	return n;
}

static void make_message(struct link_batch *batch, u32 first, u32 n, struct msghdr *msg,
			 struct iovec *iov, char *control)
{
	union link_address *to = (void *)&batch->frame[first].to;
	u16 segment = (u16)batch->frame[first].length;
	struct cmsghdr *cmsg = (void *)control;

	*msg = (struct msghdr){ .msg_name = to,
				.msg_namelen = link_address_length(to),
				.msg_iov = iov,
				.msg_iovlen = n };
	for (u32 i = 0; i < n; i++)
		iov[i] = (struct iovec){ .iov_base = batch->arena + batch->frame[first + i].offset,
					 .iov_len = batch->frame[first + i].length };
	if (n == 1)
		return;
	cmsg->cmsg_level = SOL_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(segment));
	memcpy(CMSG_DATA(cmsg), &segment, sizeof(segment));
	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(sizeof(segment));
}

struct outgoing {
	struct mmsghdr msg[BATCH_FRAMES];
	struct iovec iov[BATCH_FRAMES];
	/* Aligned for struct cmsghdr; one for each message. */
	u64 control[BATCH_FRAMES][CMSG_SPACE(sizeof(u16)) / sizeof(u64)];
	u32 nframes[BATCH_FRAMES];
	u32 n;
};

static void make_messages(struct link_batch *batch, u32 first, struct outgoing *out)
{
	out->n = 0;
	while (first < batch->n) {
		u32 n = count_gso_frames(batch, first, batch->host->link.memory);
		struct mmsghdr *msg = &out->msg[out->n];

		make_message(batch, first, n, &msg->msg_hdr, &out->iov[first],
			     (char *)out->control[out->n]);
		msg->msg_len = 0;
		out->nframes[out->n++] = n;
		first += n;
	}
}

static long send_messages(int fd, struct outgoing *out, u32 from)
{
	long ret;

	if (out->n - from == 1) {
		ret = raw_syscall(SYS_sendmsg, fd, (long)&out->msg[from].msg_hdr,
				  MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0, 0);
		return ret < 0 ? ret : 1;
	}
	return raw_syscall(SYS_sendmmsg, fd, (long)&out->msg[from], out->n - from,
			   MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

/*
 * Message `sent` was not accepted. If segmentation may be the reason, switch it off and return
 * true: try again.
 */
static bool without_segments(struct link_memory *memory, const struct outgoing *out, u32 sent,
			     long error)
{
	if (out->nframes[sent] == 1 || (error != -EINVAL && error != -EIO && error != -EMSGSIZE))
		return false;
	nic_store(&memory->segments, 0);
	return true;
}

static void send_batch(struct link_batch *batch)
{
	struct link_memory *memory = batch->host->link.memory;
	int fd = nic_load(&batch->host->link.fd);
	struct outgoing out;
	u32 sent = 0, frame = 0;

	make_messages(batch, 0, &out);
	while (fd >= 0 && sent < out.n) {
		long ret = send_messages(fd, &out, sent);

		if (ret == -EINTR)
			continue;
		for (; ret > 0; ret--)
			frame += out.nframes[sent++];
		if (ret == 0)
			continue;
		if (without_segments(memory, &out, sent, ret)) {
			make_messages(batch, frame, &out);
			sent = 0;
			continue;
		}
		if (ret == -EBADF || ret == -ENOTSOCK) {
			(void)link_check(batch->host);
			break;
		}
		(void)__atomic_fetch_add(&memory->counters.unsent, out.nframes[sent],
					 __ATOMIC_RELAXED);
		frame += out.nframes[sent++];
	}
	batch->n = 0;
	batch->used = 0;
}

/* Returns this thread's batch for the host, with room for one more frame, or NULL. */
static struct link_batch *batch_with_room(struct host *host)
{
	if (unlikely(thread_batch && thread_batch->host != host))
		link_flush(thread_batch->host);
	if (!thread_batch)
		thread_batch = take_batch(host);
	if (thread_batch &&
	    (thread_batch->n == BATCH_FRAMES ||
	     thread_batch->used + VNET_WIRE_MAX_FRAME + sizeof(struct vnet_wire_trailer) >
		     ARENA_SIZE))
		send_batch(thread_batch);
	return thread_batch;
}

static void add(struct link_batch *batch, const struct nic_address *to, u32 length)
{
	batch->frame[batch->n].to = *to;
	batch->frame[batch->n].offset = batch->used;
	batch->frame[batch->n].length = length;
	batch->n++;
	batch->used += (length + FRAME_ALIGN - 1) & ~(FRAME_ALIGN - 1u);
}

void link_queue(struct host *host, const struct nic_address *to, const void *frame, u32 length)
{
	struct link_batch *batch;

	if (nic_load(&host->link.fd) < 0)
		return;
	batch = batch_with_room(host);
	if (!batch)
		return;
	memmove(batch->arena + batch->used, frame, length);
	add(batch, to, length);
}

void link_flush(struct host *host)
{
	struct link_batch *batch = thread_batch;

	if (!batch || batch->host != host)
		return;
	if (batch->n)
		send_batch(batch);
	thread_batch = NULL;
	nic_store_release(&batch->taken, 0);
}

/* ----------------------------------------------------------------- platform */

void *plat_frame(struct nic *nic)
{
	struct host *host = nic->host;
	struct link_batch *batch;

	if (nic_load(&host->link.fd) < 0)
		return NULL;
	batch = batch_with_room(host);
	return batch ? batch->arena + batch->used : NULL;
}

void plat_send(struct nic *nic, const struct nic_address *to, u32 length)
{
	struct host *host = nic->host;
	struct link_batch *batch = thread_batch;
	struct link_memory *memory = host->link.memory;
	u8 *frame;

	if (unlikely(!batch || batch->host != host || length > VNET_WIRE_MAX_FRAME))
		return;
	frame = batch->arena + batch->used;
	length = link_seal(memory, (const union link_address *)to, frame, length);
	if (unlikely(!length)) {
		link_count(&memory->counters.no_key);
		return;
	}
	if (unlikely(nic_load(&memory->faulty))) {
		enum link_action fate = link_fault(host, LINK_OUT, to, frame, length);

		if (fate == LINK_CONSUMED)
			return;
		add(batch, to, length);
		if (fate == LINK_SEND_TWICE)
			link_queue(host, to, frame, length);
		return;
	}
	add(batch, to, length);
}

void plat_flush(struct nic *nic)
{
	link_flush(nic->host);
}
