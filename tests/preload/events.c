// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion channels and async files as descriptors: reading, waiting, not
 * waiting, being interrupted, and what is left when a queue is destroyed.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

static bool readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLIN);
}

static void set_waiting(int fd, bool waits)
{
	int flags = fcntl(fd, F_GETFL);

	EXPECT(!fcntl(fd, F_SETFL, waits ? flags & ~O_NONBLOCK : flags | O_NONBLOCK));
}

static void make_event(struct pair *pair)
{
	EXPECT(!ibv_req_notify_cq(pair->cq, 0));
	expect_traffic(pair);
}

static void reading(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	unsigned long long name = 0, more[4];
	int epoll = epoll_create1(0), fd;
	struct pair pair;

	pair_make(&pair);
	fd = pair.channel->fd;
	EXPECT(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	EXPECT(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	set_waiting(fd, false);
	EXPECT(!readable(fd) && epoll_wait(epoll, &event, 1, 0) == 0);
	EXPECT(read(fd, &name, sizeof(name)) == -1 && errno == EAGAIN);

	make_event(&pair);
	EXPECT(readable(fd) && epoll_wait(epoll, &event, 1, 0) == 1);
	EXPECT(read(fd, &name, 7) == -1 && errno == EINVAL);
	EXPECT(write(fd, &name, sizeof(name)) == -1 && errno == EINVAL);
	/* One record a call, whatever the room. */
	EXPECT(read(fd, more, sizeof(more)) == sizeof(name) && more[0] == (uintptr_t)pair.cq);
	EXPECT(!readable(fd) && epoll_wait(epoll, &event, 1, 0) == 0);
	ibv_ack_cq_events(pair.cq, 1);

	make_event(&pair);
	make_event(&pair);
	EXPECT(read(fd, &name, sizeof(name)) == sizeof(name) && readable(fd));
	EXPECT(read(dup(fd), &name, sizeof(name)) == sizeof(name) && !readable(fd));
	EXPECT(read(fd, &name, sizeof(name)) == -1 && errno == EAGAIN);
	ibv_ack_cq_events(pair.cq, 2);
	close(epoll);
	pair_end(&pair);
}

/* As programs do that poll until there is nothing, arm, and sleep. */
static void arming_late(void)
{
	struct pair pair;
	struct ibv_wc wc;
	int fd;

	pair_make(&pair);
	fd = pair.channel->fd;
	EXPECT(!ibv_poll_cq(pair.cq, 1, &wc));
	pair_post(&pair, 100);
	EXPECT(!readable(fd));
	EXPECT(!ibv_req_notify_cq(pair.cq, 0));
	EXPECT(readable(fd));
	pair_end(&pair);
}

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

struct reader {
	struct pair *pair;
	pthread_t thread;
	volatile long ret;
	volatile int error;
	volatile bool done;
};

static void *read_one(void *arg)
{
	struct reader *reader = arg;
	unsigned long long name;

	reader->ret = read(reader->pair->channel->fd, &name, sizeof(name));
	reader->error = errno;
	reader->done = true;
	return NULL;
}

static void start_reader(struct reader *reader, struct pair *pair)
{
	memset(reader, 0, sizeof(*reader));
	reader->pair = pair;
	interrupted = 0;
	EXPECT(!pthread_create(&reader->thread, NULL, read_one, reader));
	usleep(20000);
	EXPECT(!reader->done);
}

static void interrupt(const struct reader *reader)
{
	EXPECT(!pthread_kill(reader->thread, SIGUSR1));
	AWAIT(interrupted);
	usleep(20000);
}

/* As the handler was installed: read() fails, or is not seen to stop. */
static void interruption(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct reader reader;
	struct pair pair;

	pair_make(&pair);
	EXPECT(!sigaction(SIGUSR1, &act, NULL));
	start_reader(&reader, &pair);
	interrupt(&reader);
	EXPECT(!pthread_join(reader.thread, NULL));
	EXPECT(reader.ret == -1 && reader.error == EINTR);

	act.sa_flags = SA_RESTART;
	EXPECT(!sigaction(SIGUSR1, &act, NULL));
	start_reader(&reader, &pair);
	interrupt(&reader);
	EXPECT(!reader.done);
	make_event(&pair);
	EXPECT(!pthread_join(reader.thread, NULL) && reader.ret == 8);

	/* A thread that waits for an event can be cancelled. */
	start_reader(&reader, &pair);
	EXPECT(!pthread_cancel(reader.thread) && !pthread_join(reader.thread, NULL));
	EXPECT(!reader.done);
	ibv_ack_cq_events(pair.cq, 1);
	pair_end(&pair);
}

/* With events of it unread, and a thread that waits for more. */
static void destroyed(int unread)
{
	struct ibv_cq *cq;
	struct pair pair;
	struct reader reader;
	int i;

	pair_make(&pair);
	if (!unread)
		start_reader(&reader, &pair);
	for (i = 0; i < unread; i++)
		make_event(&pair);
	for (i = 0; i < 2; i++)
		EXPECT(!ibv_destroy_qp(pair.qp[i]));
	EXPECT(readable(pair.channel->fd) == (unread > 0));
	EXPECT(!ibv_destroy_cq(pair.cq));
	/* What was to be read is gone, and the channel works on. */
	EXPECT(!readable(pair.channel->fd));
	if (!unread) {
		EXPECT(!reader.done);
		EXPECT(!pthread_cancel(reader.thread) && !pthread_join(reader.thread, NULL));
	}
	cq = ibv_create_cq(pair.context, 16, NULL, pair.channel, 0);
	EXPECT(cq && !ibv_destroy_cq(cq));
	EXPECT(!ibv_dereg_mr(pair.mr) && !ibv_destroy_comp_channel(pair.channel));
	EXPECT(!ibv_dealloc_pd(pair.pd) && !ibv_close_device(pair.context));
	free(pair.buffer);
}

/* A queue overruns: its event can be read, once. */
static void asynchronous(void)
{
	struct ibv_async_event event;
	struct ibv_cq *cq;
	struct pair pair;
	int fd, i, told = 0;

	pair_make_small(&pair, 4);
	fd = pair.context->async_fd;
	set_waiting(fd, false);
	EXPECT(!readable(fd));
	EXPECT(ibv_get_async_event(pair.context, &event) == -1 && errno == EAGAIN);
	cq = pair.cq;
	for (i = 0; i < 16; i++)
		pair_post(&pair, 8);
	AWAIT(readable(fd));
	EXPECT(read(fd, &event, 8) == -1 && errno == EINVAL);
	/* Its queue pairs have something to tell, too. */
	for (i = 0; i < 10 && told < 1; i++) {
		AWAIT(readable(fd));
		EXPECT(!ibv_get_async_event(pair.context, &event));
		told += event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == cq;
		ibv_ack_async_event(&event);
	}
	EXPECT(told == 1);
	pair_end(&pair);
}

int main(void)
{
	reading();
	arming_late();
	interruption();
	destroyed(0);
	destroyed(1);
	destroyed(5);
	asynchronous();
	return 0;
}
