// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that each id that is bound to a device gets DEVICE_REMOVAL when the daemon ends. It comes
 * once, on the id's current channel. Other ids get nothing, waiting threads return, and all ids can
 * be destroyed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peers.h"

static struct rdma_event_channel *empty;

static bool is_readable(const struct rdma_event_channel *channel)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLIN);
}

static struct rdma_cm_id *id_of(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	EXPECT(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	return id;
}

static void *wait_for_nothing(void *arg)
{
	struct rdma_cm_event *event;

	REFUSES(rdma_get_cm_event(empty, &event), EIO);
	return NULL;
}

/* Expects one DEVICE_REMOVAL for each of these ids, in any order, and then an error. */
static void hear(struct rdma_event_channel *channel, struct rdma_cm_id **ids, size_t count)
{
	struct rdma_cm_event *event;

	for (size_t n = 0; n < count; n++) {
		size_t i = 0;

		event = peers_event(channel, RDMA_CM_EVENT_DEVICE_REMOVAL);
		EXPECT(!event->status);
		while (i < count && ids[i] != event->id)
			i++;
		EXPECT(i < count);
		EXPECT(!rdma_ack_cm_event(event));
		/* No second event for this id. */
		ids[i] = NULL;
	}
	EXPECT(is_readable(channel));
	REFUSES(rdma_get_cm_event(channel, &event), EIO);
}

static void connect_both(struct peers *peers)
{
	peers_listen(peers, RDMA_PS_TCP, 4);
	peers_join(peers);
}

/* Sends a request that the server reads but does not answer. Returns its id. */
static struct rdma_cm_id *unanswered(struct peers *peers)
{
	struct rdma_cm_id *first = peers->client, *server;

	peers_resolve(peers, RDMA_PS_TCP);
	EXPECT(!peers_connect(peers->client, NULL, 0));
	server = peers_requested(peers->server_channel);
	EXPECT(!rdma_destroy_id(peers->client));
	peers->client = first;
	return server;
}

static void end_device(const char *how)
{
	EXPECT(!system(how));
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel(),
				  *other = rdma_create_event_channel();
	struct sockaddr_in any = { .sin_family = AF_INET }, here = any;
	struct rdma_cm_id *fresh, *nowhere, *moved, *moved_too, *asked;
	struct rdma_cm_event *event;
	struct peers peers;
	pthread_t thread;

	EXPECT(argc == 2);
	connect_both(&peers);
	asked = unanswered(&peers);
	/* Ids that are bound to no device. */
	empty = rdma_create_event_channel();
	fresh = id_of(empty);
	nowhere = id_of(empty);
	EXPECT(!rdma_bind_addr(nowhere, (struct sockaddr *)&any));
	EXPECT(!rdma_listen(nowhere, 1));
	/* Bound ids that have migrated to another channel; one of them has had an event. */
	moved = id_of(channel);
	moved_too = id_of(channel);
	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	EXPECT(!rdma_bind_addr(moved, (struct sockaddr *)&here));
	EXPECT(!rdma_resolve_addr(moved_too, NULL, rdma_get_local_addr(peers.listener), 1000));
	EXPECT(!peers_heard(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT(!rdma_migrate_id(moved, other));
	EXPECT(!rdma_migrate_id(moved_too, other));
	EXPECT(!fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	REFUSES(rdma_get_cm_event(channel, &event), EAGAIN);
	EXPECT(!pthread_create(&thread, NULL, wait_for_nothing, NULL));

	end_device(argv[1]);
	AWAIT(is_readable(other));
	hear(channel, NULL, 0);
	hear(other, (struct rdma_cm_id *[]){ moved, moved_too }, 2);
	hear(peers.client_channel, (struct rdma_cm_id *[]){ peers.client }, 1);
	/* The unanswered request has no event of its own. */
	hear(peers.server_channel, (struct rdma_cm_id *[]){ peers.listener, peers.server }, 2);
	EXPECT(!pthread_join(thread, NULL));

	/* The only call that works is destruction. */
	REFUSES(rdma_listen(moved, 1), EIO);
	EXPECT(!rdma_destroy_id(moved));
	EXPECT(!rdma_destroy_id(moved_too));
	EXPECT(!rdma_destroy_id(fresh));
	EXPECT(!rdma_destroy_id(nowhere));
	EXPECT(!rdma_destroy_id(asked));
	peers_end(&peers);
	rdma_destroy_event_channel(channel);
	rdma_destroy_event_channel(other);
	rdma_destroy_event_channel(empty);

	/* A new channel uses the next daemon. */
	channel = rdma_create_event_channel();
	EXPECT(channel);
	EXPECT(!rdma_bind_addr(id_of(channel), (struct sockaddr *)&any));
	EXPECT(!is_readable(channel));
	return 0;
}
