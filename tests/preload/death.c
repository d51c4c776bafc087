// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the death of the daemon: a polling client gets flushed completions, and a sleeping one
 * wakes up. Each async file reports the fatal event once, and the device can be opened again.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Limit of all waits, in milliseconds. */
#define TIME_LIMIT 10000

static void end_daemon(int sig)
{
	pid_t pid = daemon_pid();

	EXPECT(pid > 0 && !kill(pid, sig));
}

static void kill_daemon(void)
{
	end_daemon(SIGKILL);
}

static void expect_fatal(struct ibv_context *context)
{
	struct ibv_async_event event;

	EXPECT(!ibv_get_async_event(context, &event));
	EXPECT(event.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	REFUSES(ibv_get_async_event(context, &event), EIO);
}

/* Commands fail with EIO. */
static void expect_dead(struct ibv_context *context)
{
	EXPECT(!ibv_alloc_pd(context) && errno == EIO);
}

static void expect_flushed(struct pair *pair)
{
	struct ibv_recv_wr recv = { 0 }, *bad;

	/* A receive that was posted before the death, and one posted after it. */
	EXPECT(pair_poll(pair) == IBV_WC_WR_FLUSH_ERR);
	EXPECT(!ibv_post_recv(pair->qp[1], &recv, &bad));
	EXPECT(pair_poll(pair) == IBV_WC_WR_FLUSH_ERR);
}

static void polling(void)
{
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct pair pair;

	pair_make(&pair);
	expect_traffic(&pair);
	EXPECT(!ibv_post_recv(pair.qp[1], &recv, &bad));
	kill_daemon();
	expect_flushed(&pair);
	expect_fatal(pair.context);
	expect_dead(pair.context);
}

/* Waits for one completion event. */
static void *sleep_on_channel(void *arg)
{
	struct pair *pair = arg;
	struct ibv_cq *cq;
	void *context;

	EXPECT(!ibv_get_cq_event(pair->channel, &cq, &context) && cq == pair->cq);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

static void sleeping(void)
{
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct pair pair;
	pthread_t thread;
	unsigned long long name;

	pair_make(&pair);
	expect_traffic(&pair);
	EXPECT(!ibv_req_notify_cq(pair.cq, 0));
	EXPECT(!ibv_post_recv(pair.qp[1], &recv, &bad));
	EXPECT(!pthread_create(&thread, NULL, sleep_on_channel, &pair));
	usleep(50000);
	kill_daemon();
	/* The flushed receive makes a completion, and that makes an event. */
	EXPECT(!pthread_join(thread, NULL));
	EXPECT(pair_poll(&pair) == IBV_WC_WR_FLUSH_ERR);
	REFUSES(read(pair.channel->fd, &name, sizeof(name)), EIO);
	expect_fatal(pair.context);
}

/*
 * Each process gets an event from the other one, so that each holds the other end of the peer's
 * channel.
 */
static void exchange(struct pair *pair, int sock)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct ibv_cq *cq;
	void *context;
	char byte;

	EXPECT(!ibv_req_notify_cq(pair->cq, 0));
	EXPECT(!ibv_post_recv(pair->qp[0], &recv, &bad));
	EXPECT(write(sock, "p", 1) == 1 && read(sock, &byte, 1) == 1);
	EXPECT(!ibv_post_send(pair->qp[0], &send, &bad_send));
	EXPECT(!ibv_get_cq_event(pair->channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	EXPECT(pair_poll(pair) == IBV_WC_SUCCESS && pair_poll(pair) == IBV_WC_SUCCESS);
}

/* Ways to wait until the channel is readable, without calls of libibverbs. */
static void sleep_in_read(int fd)
{
}

static void sleep_in_poll(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	EXPECT(poll(&pfd, 1, TIME_LIMIT) == 1 && (pfd.revents & POLLIN));
}

static void sleep_in_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int set = epoll_create1(EPOLL_CLOEXEC);

	EXPECT(!epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	EXPECT(epoll_wait(set, &event, 1, TIME_LIMIT) == 1 && (event.events & EPOLLIN));
	close(set);
}

static void sleep_in_select(int fd)
{
	struct timeval timeout = { .tv_sec = TIME_LIMIT / 1000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	EXPECT(select(fd + 1, &set, NULL, NULL, &timeout) == 1 && FD_ISSET(fd, &set));
}

/* Waits for a message that never comes, until the daemon is dead. */
static void sleep_until_death(struct pair *pair, int ready, void (*sleep_on)(int fd))
{
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct ibv_cq *cq;
	void *context;

	EXPECT(!ibv_req_notify_cq(pair->cq, 0));
	EXPECT(!ibv_post_recv(pair->qp[0], &recv, &bad));
	EXPECT(write(ready, "s", 1) == 1);
	sleep_on(pair->channel->fd);
	EXPECT(!ibv_get_cq_event(pair->channel, &cq, &context) && cq == pair->cq);
	ibv_ack_cq_events(cq, 1);
	EXPECT(pair_poll(pair) == IBV_WC_WR_FLUSH_ERR);
	expect_fatal(pair->context);
}

static bool is_asleep(pid_t pid)
{
	char path[32], line[128] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	EXPECT(file && fgets(line, sizeof(line), file));
	fclose(file);
	return strstr(line, ") S ");
}

/*
 * Two sleeping processes, each of which holds the other end of the peer's channel. Both must wake
 * up.
 */
static void both_asleep(int sig, void (*one)(int fd), void (*other)(int fd))
{
	struct pair pair;
	pid_t child[2];
	int sock[2], ready[2];
	char byte;

	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	EXPECT(!pipe(ready));
	for (int i = 0; i < 2; i++) {
		child[i] = fork();
		if (child[i])
			continue;
		pair_make(&pair);
		pair_join(&pair, sock[i]);
		exchange(&pair, sock[i]);
		EXPECT(write(sock[i], "d", 1) == 1 && read(sock[i], &byte, 1) == 1);
		sleep_until_death(&pair, ready[1], i ? other : one);
		_exit(0);
	}
	for (int i = 0; i < 2; i++)
		EXPECT(read(ready[0], &byte, 1) == 1);
	for (int i = 0; i < 2; i++)
		AWAIT(is_asleep(child[i]));
	end_daemon(sig);
	for (int i = 0; i < 2; i++)
		expect_exit(child[i], 0);
	for (int i = 0; i < 2; i++) {
		close(sock[i]);
		close(ready[i]);
	}
}

static void *sleep_on_async(void *arg)
{
	expect_fatal(arg);
	return NULL;
}

static void sleeping_async(void)
{
	struct ibv_context *context = open_first(), *other = open_first();
	pthread_t thread;

	EXPECT(!pthread_create(&thread, NULL, sleep_on_async, context));
	usleep(50000);
	kill_daemon();
	EXPECT(!pthread_join(thread, NULL));
	expect_fatal(other);
	expect_dead(other);
	ibv_close_device(context);
	ibv_close_device(other);
}

/* A child that was forked before the death has the file but no daemon. It can open a new device. */
static void forked(void)
{
	struct ibv_context *context = open_first();
	int fds[2];
	char byte;
	pid_t pid;

	EXPECT(!pipe(fds));
	pid = fork();
	if (pid == 0) {
		close(fds[1]);
		EXPECT(read(fds[0], &byte, 1) == 0);
		expect_dead(context);
		expect_alive(open_first());
		expect_dead(context);
		_exit(0);
	}
	kill_daemon();
	close(fds[0]);
	close(fds[1]);
	expect_exit(pid, 0);
	expect_dead(context);
}

static void again(void)
{
	struct pair pair;

	pair_make(&pair);
	expect_traffic(&pair);
	pair_end(&pair);
}

/* Number of the library's own descriptors, which are the high ones. */
static int count_high(void)
{
	int n = 0;

	for (int fd = 256; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* A process that outlives many daemons needs no more descriptors than one that outlives three. */
static void many_daemons(void)
{
	struct ibv_context *context;
	int some = 0;

	for (int i = 0; i < 6; i++) {
		again();
		if (i == 2)
			some = count_high();
		context = open_first();
		kill_daemon();
		expect_fatal(context);
		ibv_close_device(context);
	}
	again();
	EXPECT(some > 0 && count_high() <= some);
}

int main(void)
{
	polling();
	again();
	sleeping();
	again();
	sleeping_async();
	again();
	both_asleep(SIGKILL, sleep_in_read, sleep_in_read);
	again();
	both_asleep(SIGKILL, sleep_in_poll, sleep_in_poll);
	again();
	both_asleep(SIGKILL, sleep_in_epoll, sleep_in_select);
	again();
	both_asleep(SIGTERM, sleep_in_poll, sleep_in_epoll);
	again();
	forked();
	again();
	many_daemons();
	return 0;
}
