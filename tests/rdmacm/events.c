// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of rdma_cm events: which events each end gets, in which order, and when the descriptor is
 * readable.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "peers.h"

static u_int8_t data[256];

static bool is_readable(const struct rdma_event_channel *channel)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* Reads CONNECT_REQUEST, checks its private data and parameters, and returns the new id. */
static struct rdma_cm_id *request(struct peers *peers, u_int8_t length)
{
	struct rdma_cm_event *event =
		peers_event(peers->server_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = event->id;

	EXPECT(event->listen_id == peers->listener);
	EXPECT(id->verbs && id->route.num_paths == 1);
	if (id->qp_type == IBV_QPT_UD) {
		EXPECT(event->param.ud.private_data_len == 180);
		EXPECT(!memcmp(event->param.ud.private_data, data, length));
	} else {
		EXPECT(event->param.conn.private_data_len == 56);
		EXPECT(!memcmp(event->param.conn.private_data, data, length));
		EXPECT(event->param.conn.responder_resources == 2);
		EXPECT(event->param.conn.initiator_depth == 3);
		EXPECT(event->param.conn.retry_count == 5);
		EXPECT(event->param.conn.rnr_retry_count == 6);
		EXPECT(event->param.conn.qp_num == peers_qpn);
	}
	EXPECT(!rdma_ack_cm_event(event));
	return id;
}

static void establish(struct peers *peers)
{
	struct rdma_cm_event *event;

	peers_resolve(peers, RDMA_PS_TCP);
	EXPECT(!peers_connect(peers->client, data, 56));
	peers->server = request(peers, 56);
	EXPECT(!peers_accept(peers->server, data, 196));
	event = peers_event(peers->client_channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	EXPECT(event->param.conn.private_data_len == 196);
	EXPECT(!memcmp(event->param.conn.private_data, data, 196));
	EXPECT(event->param.conn.qp_num == PEERS_SERVER_QPN);
	EXPECT(!rdma_ack_cm_event(event));
	EXPECT(!rdma_establish(peers->client));
	EXPECT(!peers_heard(peers->server_channel, RDMA_CM_EVENT_ESTABLISHED));
}

/* Attributes of queue pairs permit RDMA read and write, and flushes. */
static void rights(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	/* IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT */
	unsigned int placement = 1u << 8 | 1u << 9;
	int mask;

	EXPECT(!rdma_init_qp_attr(id, &attr, &mask));
	EXPECT(mask & IBV_QP_ACCESS_FLAGS && attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE);
	EXPECT(attr.qp_access_flags & IBV_ACCESS_REMOTE_READ);
	EXPECT((attr.qp_access_flags & placement) == placement);
}

static void whole_life(void)
{
	struct peers peers;

	peers_listen(&peers, RDMA_PS_TCP, 4);
	establish(&peers);
	rights(peers.client);
	rights(peers.server);
	REFUSES(rdma_notify(peers.server, IBV_EVENT_COMM_EST), EISCONN);
	EXPECT(!rdma_disconnect(peers.client));
	EXPECT(!peers_heard(peers.server_channel, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT(!rdma_disconnect(peers.server));
	EXPECT(!peers_heard(peers.client_channel, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT(!peers_heard(peers.client_channel, RDMA_CM_EVENT_TIMEWAIT_EXIT));
	EXPECT(!peers_heard(peers.server_channel, RDMA_CM_EVENT_TIMEWAIT_EXIT));
	peers_end(&peers);
}

/* Destroying a connected id disconnects it. */
static void destroyed(void)
{
	struct peers peers;

	peers_listen(&peers, RDMA_PS_TCP, 4);
	establish(&peers);
	EXPECT(!rdma_destroy_id(peers.server));
	peers.server = NULL;
	EXPECT(!peers_heard(peers.client_channel, RDMA_CM_EVENT_DISCONNECTED));
	peers_end(&peers);
}

static void rejected(void)
{
	struct rdma_cm_event *event;
	struct peers peers;

	peers_listen(&peers, RDMA_PS_TCP, 4);
	peers_resolve(&peers, RDMA_PS_TCP);
	EXPECT(!peers_connect(peers.client, data, 10));
	peers.server = request(&peers, 10);
	EXPECT(!rdma_reject(peers.server, data, 148));
	event = peers_event(peers.client_channel, RDMA_CM_EVENT_REJECTED);
	EXPECT(event->status == 28);
	EXPECT(event->param.conn.private_data_len == 148);
	EXPECT(!memcmp(event->param.conn.private_data, data, 148));
	EXPECT(!rdma_ack_cm_event(event));
	REFUSES(rdma_reject(peers.server, NULL, 0), EINVAL);
	peers_end(&peers);

	/* Destroying a listener rejects its pending request. */
	peers_listen(&peers, RDMA_PS_TCP, 4);
	peers_resolve(&peers, RDMA_PS_TCP);
	EXPECT(!peers_connect(peers.client, NULL, 0));
	AWAIT(is_readable(peers.server_channel));
	EXPECT(!rdma_destroy_id(peers.listener));
	peers.listener = NULL;
	EXPECT(!is_readable(peers.server_channel));
	EXPECT(peers_heard(peers.client_channel, RDMA_CM_EVENT_REJECTED) == 28);
	peers_end(&peers);
}

/* Without a listener: reject reason 8, invalid service ID. */
static void nobody(void)
{
	struct peers peers;

	peers_listen(&peers, RDMA_PS_TCP, 4);
	peers_resolve(&peers, RDMA_PS_TCP);
	EXPECT(!rdma_destroy_id(peers.listener));
	peers.listener = NULL;
	EXPECT(!peers_connect(peers.client, NULL, 0));
	EXPECT(peers_heard(peers.client_channel, RDMA_CM_EVENT_REJECTED) == 8);
	peers_end(&peers);
}

/*
 * The listener is destroyed, and another one listens to its port after the client has sent its
 * request. Returns true if the new listener gets the request, which depends on the timing.
 */
static bool comes_back(enum rdma_port_space ps)
{
	struct rdma_conn_param param = { .qp_num = ++peers_qpn };
	struct sockaddr_in in;
	struct peers peers;
	bool heard;

	peers_listen(&peers, RDMA_PS_TCP, 4);
	in = peers_loopback(rdma_get_src_port(peers.listener));
	peers_resolve(&peers, ps);
	EXPECT(!rdma_destroy_id(peers.listener));
	EXPECT(!rdma_connect(peers.client, &param));
	EXPECT(!rdma_create_id(peers.server_channel, &peers.listener, NULL, ps));
	EXPECT(!rdma_bind_addr(peers.listener, (struct sockaddr *)&in));
	EXPECT(!rdma_listen(peers.listener, 1));
	AWAIT(is_readable(peers.server_channel) || is_readable(peers.client_channel));
	heard = is_readable(peers.server_channel);
	if (heard)
		peers.server = peers_requested(peers.server_channel);
	peers_end(&peers);
	return heard;
}

static void limits(void)
{
	struct peers peers;

	peers_listen(&peers, RDMA_PS_TCP, 4);
	peers_resolve(&peers, RDMA_PS_TCP);
	REFUSES(peers_connect(peers.client, data, 57), EINVAL);
	EXPECT(!peers_connect(peers.client, data, 56));
	REFUSES(peers_connect(peers.client, data, 56), EINVAL);
	peers_qpn--;
	peers.server = request(&peers, 56);
	REFUSES(rdma_reject(peers.server, data, 149), EINVAL);
	/* The failed reject has ended the request. */
	REFUSES(peers_accept(peers.server, data, 197), EINVAL);
	EXPECT(peers_heard(peers.client_channel, RDMA_CM_EVENT_REJECTED) == 28);
	peers_end(&peers);
}

/* A request beyond the listener's backlog is retried until there is room. */
static void backlog(void)
{
	struct rdma_cm_id *first;
	struct peers peers;

	peers_listen(&peers, RDMA_PS_TCP, 1);
	peers_resolve(&peers, RDMA_PS_TCP);
	first = peers.client;
	EXPECT(!peers_connect(first, NULL, 0));
	peers_resolve(&peers, RDMA_PS_TCP);
	EXPECT(!peers_connect(peers.client, NULL, 0));
	peers.server = peers_requested(peers.server_channel);
	EXPECT(!rdma_destroy_id(peers.server));
	EXPECT(peers_heard(peers.client_channel, RDMA_CM_EVENT_REJECTED) == 28);
	peers.server = peers_requested(peers.server_channel);
	EXPECT(!rdma_destroy_id(first));
	peers_end(&peers);
}

static void datagrams(void)
{
	struct rdma_conn_param param = { .private_data = data, .private_data_len = 181 };
	struct rdma_cm_event *event;
	struct peers peers;

	peers_listen(&peers, RDMA_PS_UDP, 4);
	peers_resolve(&peers, RDMA_PS_UDP);
	REFUSES(rdma_connect(peers.client, &param), EINVAL);
	param.private_data_len = 180;
	EXPECT(!rdma_connect(peers.client, &param));
	peers.server = request(&peers, 180);
	param.private_data_len = 136;
	param.qp_num = PEERS_SERVER_QPN;
	EXPECT(!rdma_accept(peers.server, &param));
	event = peers_event(peers.client_channel, RDMA_CM_EVENT_ESTABLISHED);
	EXPECT(event->param.ud.private_data_len == 136);
	EXPECT(!memcmp(event->param.ud.private_data, data, 136));
	EXPECT(event->param.ud.qp_num == PEERS_SERVER_QPN && event->param.ud.qkey == RDMA_UDP_QKEY);
	/* The path has a LID, or on Ethernet ports a GRH. */
	EXPECT(event->param.ud.ah_attr.is_global == !event->param.ud.ah_attr.dlid);
	EXPECT(!rdma_ack_cm_event(event));
	peers_end(&peers);

	peers_listen(&peers, RDMA_PS_UDP, 4);
	peers_resolve(&peers, RDMA_PS_UDP);
	param.private_data_len = 0;
	EXPECT(!rdma_connect(peers.client, &param));
	peers.server = request(&peers, 0);
	EXPECT(!rdma_reject(peers.server, NULL, 0));
	EXPECT(peers_heard(peers.client_channel, RDMA_CM_EVENT_UNREACHABLE) == 2);
	peers_end(&peers);
}

/* An address that nobody has. */
static void unknown_address(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(1) };
	struct rdma_cm_id *id;

	in.sin_addr.s_addr = htonl(0xcb007109);
	EXPECT(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	EXPECT(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 100));
	EXPECT(peers_heard(channel, RDMA_CM_EVENT_ADDR_ERROR) < 0);
	EXPECT(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static void waiting(void)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct epoll_event ready;
	struct rdma_cm_event *event;
	struct peers peers;
	int ep = epoll_create1(0);

	peers_listen(&peers, RDMA_PS_TCP, 4);
	ready.events = EPOLLIN;
	EXPECT(!epoll_ctl(ep, EPOLL_CTL_ADD, peers.server_channel->fd, &ready));
	EXPECT(epoll_wait(ep, &ready, 1, 0) == 0);
	EXPECT(!fcntl(peers.server_channel->fd, F_SETFL, O_NONBLOCK));
	REFUSES(rdma_get_cm_event(peers.server_channel, &event), EAGAIN);
	peers_resolve(&peers, RDMA_PS_TCP);
	EXPECT(!peers_connect(peers.client, NULL, 0));
	EXPECT(epoll_wait(ep, &ready, 1, 10000) == 1);
	/* An unread event moves with its id, and only the new channel has it. */
	EXPECT(!rdma_migrate_id(peers.listener, other));
	EXPECT(epoll_wait(ep, &ready, 1, 0) == 0);
	EXPECT(is_readable(other));
	EXPECT(!rdma_get_cm_event(other, &event));
	EXPECT(event->event == RDMA_CM_EVENT_CONNECT_REQUEST);
	peers.server = event->id;
	EXPECT(!rdma_ack_cm_event(event));
	EXPECT(!is_readable(other));
	peers_end(&peers);
	rdma_destroy_event_channel(other);
	close(ep);
}

/*
 * An edge-triggered waiter gets an edge for each event, even if earlier ones are unread. The
 * descriptor also works in a program that has not opened it, as after it was passed to another
 * process.
 */
static void edges(void)
{
	struct sockaddr_in address = peers_loopback(0);
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	static struct rdma_cm_id *id[1000];
	struct rdma_cm_event *told;
	int epoll = epoll_create1(0), many = 1000;

	EXPECT(channel && epoll >= 0);
	EXPECT(!fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	EXPECT(!epoll_ctl(epoll, EPOLL_CTL_ADD, channel->fd, &event));
	for (int i = 0; i < many; i++) {
		EXPECT(!rdma_create_id(channel, &id[i], NULL, RDMA_PS_TCP));
		EXPECT(!rdma_resolve_addr(id[i], NULL, (struct sockaddr *)&address, 1000));
		EXPECT(epoll_wait(epoll, &event, 1, 10000) == 1);
		EXPECT(epoll_wait(epoll, &event, 1, 0) == 0);
	}
	for (int i = 0; i < many; i++) {
		EXPECT(!rdma_get_cm_event(channel, &told));
		EXPECT(told->event == RDMA_CM_EVENT_ADDR_RESOLVED && told->id == id[i]);
		EXPECT(!rdma_ack_cm_event(told));
	}
	REFUSES(rdma_get_cm_event(channel, &told), EAGAIN);
	EXPECT(!is_readable(channel));
	EXPECT(!rdma_resolve_route(id[0], 1000));
	EXPECT(epoll_wait(epoll, &event, 1, 10000) >= 0 && is_readable(channel));
	for (int i = 0; i < many; i++)
		EXPECT(!rdma_destroy_id(id[i]));
	EXPECT(!is_readable(channel));
	rdma_destroy_event_channel(channel);
	close(epoll);
}

/* --------------------------------------------------------------- closed during a wait */

struct waiter {
	struct rdma_event_channel channel;
	pthread_t thread;
	volatile pid_t tid;
	volatile bool done;
};

static volatile sig_atomic_t held, drain_early;

static void hold(int sig)
{
	held = 1;
	while (!drain_early)
		sched_yield();
}

static void *wait_for_event(void *arg)
{
	struct waiter *waiter = arg;
	struct rdma_cm_event *event;

	waiter->tid = gettid();
	(void)rdma_get_cm_event(&waiter->channel, &event);
	waiter->done = true;
	return NULL;
}

static bool sleeps_or_is_done(const struct waiter *waiter)
{
	char path[64], text[512] = "";
	const char *state;
	int fd;

	if (waiter->done || !waiter->tid)
		return waiter->done;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)waiter->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	EXPECT(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

/*
 * rping's main thread closes the channel while another thread waits in it and an event has just
 * come. As in the kernel, the read must keep waiting. It must neither fail nor read from a file
 * that has reused the number.
 */
static void closed_elsewhere(void)
{
	struct sigaction act = { .sa_handler = hold, .sa_flags = SA_RESTART };
	struct sockaddr_in address = peers_loopback(0);
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct waiter waiter = { 0 };
	struct rdma_cm_id *id;

	EXPECT(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	EXPECT(!sigaction(SIGUSR1, &act, NULL));
	waiter.channel = *channel;
	EXPECT(!pthread_create(&waiter.thread, NULL, wait_for_event, &waiter));
	AWAIT(sleeps_or_is_done(&waiter));
	EXPECT(!pthread_kill(waiter.thread, SIGUSR1));
	AWAIT(held);
	EXPECT(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 1000));
	AWAIT(is_readable(channel));
	rdma_destroy_event_channel(channel);
	drain_early = 1;
	AWAIT(sleeps_or_is_done(&waiter));
	EXPECT(!waiter.done);
	EXPECT(!pthread_cancel(waiter.thread) && !pthread_join(waiter.thread, NULL));
	EXPECT(!waiter.done);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (u_int8_t)(i * 7 + 1);
	unknown_address();
	edges();
	whole_life();
	destroyed();
	rejected();
	nobody();
	/* The new listener may use another port space, as perftest's second connection does. */
	AWAIT(comes_back(RDMA_PS_TCP));
	AWAIT(comes_back(RDMA_PS_UDP));
	limits();
	datagrams();
	waiting();
	backlog();
	closed_elsewhere();
	return 0;
}
