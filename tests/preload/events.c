// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of completion channels and async files as descriptors. Covers blocking and non-blocking
 * reads, poll and epoll, interruption by signals, and unread events when a queue is destroyed.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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
	REFUSES(read(fd, &name, sizeof(name)), EAGAIN);

	make_event(&pair);
	EXPECT(readable(fd) && epoll_wait(epoll, &event, 1, 0) == 1);
	REFUSES(read(fd, &name, 7), EINVAL);
	REFUSES(write(fd, &name, sizeof(name)), EINVAL);
	/* A read returns one record, however large the buffer is. */
	EXPECT(read(fd, more, sizeof(more)) == sizeof(name) && more[0] == (uintptr_t)pair.cq);
	EXPECT(!readable(fd) && epoll_wait(epoll, &event, 1, 0) == 0);
	ibv_ack_cq_events(pair.cq, 1);

	make_event(&pair);
	make_event(&pair);
	EXPECT(read(fd, &name, sizeof(name)) == sizeof(name) && readable(fd));
	EXPECT(read(dup(fd), &name, sizeof(name)) == sizeof(name) && !readable(fd));
	REFUSES(read(fd, &name, sizeof(name)), EAGAIN);
	ibv_ack_cq_events(pair.cq, 2);
	close(epoll);
	pair_end(&pair);
}

/* The same for asynchronous events. */
static void asynchronous_edges(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_qp_attr init_attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int epoll = epoll_create1(0), many = 1000, fd;
	static struct ibv_qp *qp[1000];
	struct ibv_async_event told;
	struct ibv_srq *srq;
	struct pair pair;

	pair_make(&pair);
	fd = pair.context->async_fd;
	set_waiting(fd, false);
	srq = ibv_create_srq(pair.pd, &srq_attr);
	EXPECT(srq && epoll >= 0);
	EXPECT(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	for (int i = 0; i < many; i++) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
						 .send_cq = pair.cq,
						 .recv_cq = pair.cq,
						 .srq = srq,
						 .cap = { .max_send_wr = 1, .max_send_sge = 1 } };

		qp[i] = ibv_create_qp(pair.pd, &init);
		EXPECT(qp[i] && !ibv_modify_qp(qp[i], &init_attr,
					       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						       IBV_QP_ACCESS_FLAGS));
		EXPECT(!ibv_modify_qp(qp[i], &attr, IBV_QP_STATE));
		EXPECT(epoll_wait(epoll, &event, 1, 10000) == 1);
		EXPECT(epoll_wait(epoll, &event, 1, 0) == 0);
	}
	for (int i = 0; i < many; i++) {
		EXPECT(!ibv_get_async_event(pair.context, &told));
		EXPECT(told.event_type == IBV_EVENT_QP_LAST_WQE_REACHED &&
		       told.element.qp == qp[i]);
		ibv_ack_async_event(&told);
	}
	REFUSES(ibv_get_async_event(pair.context, &told), EAGAIN);
	EXPECT(!readable(fd));
	for (int i = 0; i < many; i++)
		EXPECT(!ibv_destroy_qp(qp[i]));
	EXPECT(!ibv_destroy_srq(srq));
	pair_end(&pair);
	close(epoll);
}

/*
 * A program that arms the CQ after the completion has come: after it has polled the CQ empty, or
 * without ever polling.
 */
static void arming_late(bool polls)
{
	struct pair pair;
	struct ibv_wc wc;
	int fd;

	pair_make(&pair);
	fd = pair.channel->fd;
	if (polls)
		EXPECT(!ibv_poll_cq(pair.cq, 1, &wc));
	pair_post(&pair, 100);
	EXPECT(!readable(fd));
	EXPECT(!ibv_req_notify_cq(pair.cq, 0));
	EXPECT(readable(fd));
	pair_end(&pair);
}

/* -------------------------------------------------------------- interruption */

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = 1;
}

struct reader {
	int fd;
	pthread_t thread;
	volatile pid_t tid;
	volatile long ret;
	volatile int error;
	volatile bool done;
};

static void *read_one(void *arg)
{
	struct reader *reader = arg;
	/* Large enough for both kinds of events. */
	unsigned long long event[2];

	reader->tid = gettid();
	reader->ret = read(reader->fd, event, sizeof(event));
	reader->error = errno;
	reader->done = true;
	return NULL;
}

/*
 * True if the reader sleeps in read(), or has ended. A signal that comes before the reader sleeps
 * would not interrupt the call.
 */
static bool has_settled(const struct reader *reader)
{
	char path[64], text[512] = "";
	const char *state;
	int fd;

	if (reader->done || !reader->tid)
		return reader->done;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)reader->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return reader->done;
	EXPECT(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

static void start_reader(struct reader *reader, int fd)
{
	memset(reader, 0, sizeof(*reader));
	reader->fd = fd;
	interrupted = 0;
	EXPECT(!pthread_create(&reader->thread, NULL, read_one, reader));
	usleep(20000);
	AWAIT(has_settled(reader));
	EXPECT(!reader->done);
}

/* A thread sleeps in read() until an event comes. */
static void block_in_read(struct pair *pair)
{
	struct reader reader;

	start_reader(&reader, pair->channel->fd);
	make_event(pair);
	EXPECT(!pthread_join(reader.thread, NULL) && reader.ret == 8);
	ibv_ack_cq_events(pair->cq, 1);
}

/*
 * Passes the descriptor as if to a process without the library: its arrival is not intercepted, and
 * so neither are calls with the new number.
 */
static int pass(int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int socks[2], got;

	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	send_fds(socks[0], &fd, 1);
	EXPECT(syscall(SYS_recvmsg, socks[1], &msg, 0) == 1);
	EXPECT(CMSG_FIRSTHDR(&msg) && CMSG_FIRSTHDR(&msg)->cmsg_type == SCM_RIGHTS);
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(got));
	close(socks[0]);
	close(socks[1]);
	return got;
}

/*
 * An edge-triggered waiter sees an edge for each event, even if earlier ones are unread, and even if
 * a thread was blocked in read() before. passed: it waits on a descriptor that was sent to it.
 */
static void edges(bool blocks, bool passed)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(0), many = 1000, fd;
	unsigned long long name;
	struct pair pair;

	pair_make(&pair);
	set_waiting(pair.channel->fd, blocks);
	if (blocks)
		block_in_read(&pair);
	fd = passed ? pass(pair.channel->fd) : pair.channel->fd;
	EXPECT(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	for (int i = 0; i < many; i++) {
		make_event(&pair);
		EXPECT(epoll_wait(epoll, &event, 1, -1) == 1);
		EXPECT(epoll_wait(epoll, &event, 1, 0) == 0);
	}
	for (int i = 0; i < many; i++)
		EXPECT(read(pair.channel->fd, &name, sizeof(name)) == sizeof(name));
	EXPECT(!readable(pair.channel->fd));
	make_event(&pair);
	EXPECT(epoll_wait(epoll, &event, 1, -1) == 1);
	EXPECT(read(pair.channel->fd, &name, sizeof(name)) == sizeof(name));
	ibv_ack_cq_events(pair.cq, (unsigned int)many + 1);
	if (passed)
		close(fd);
	pair_end(&pair);
	close(epoll);
}

/* A program that asked for signals gets one for each event, even if earlier ones are unread. */
static void signalled(bool by_ioctl)
{
	struct timespec limit = { .tv_sec = 10 };
	unsigned long long name;
	struct pair pair;
	sigset_t set;
	int many = 100, on = 1, fd;

	pair_make(&pair);
	fd = pair.channel->fd;
	block_in_read(&pair);
	EXPECT(!sigemptyset(&set) && !sigaddset(&set, SIGIO));
	EXPECT(!sigprocmask(SIG_BLOCK, &set, NULL));
	EXPECT(!fcntl(fd, F_SETOWN, getpid()));
	if (by_ioctl)
		EXPECT(!ioctl(fd, FIOASYNC, &on));
	else
		EXPECT(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
	EXPECT(fcntl(fd, F_GETFL) & O_ASYNC);
	for (int i = 0; i < many; i++) {
		make_event(&pair);
		EXPECT(sigtimedwait(&set, NULL, &limit) == SIGIO);
	}
	for (int i = 0; i < many; i++)
		EXPECT(read(fd, &name, sizeof(name)) == sizeof(name));
	EXPECT(!readable(fd));
	ibv_ack_cq_events(pair.cq, (unsigned int)many);
	pair_end(&pair);
	EXPECT(!sigprocmask(SIG_UNBLOCK, &set, NULL));
}

static void interrupt(const struct reader *reader)
{
	EXPECT(!pthread_kill(reader->thread, SIGUSR1));
	AWAIT(interrupted);
	usleep(20000);
	AWAIT(has_settled(reader));
}

static void handle_with(int sig, int flags)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = flags };

	EXPECT(!sigaction(sig, &act, NULL));
}

static void handle_plain(void)
{
	handle_with(SIGUSR1, 0);
}

static void handle_restarting(void)
{
	handle_with(SIGUSR1, SA_RESTART);
}

/* The handler of another signal, without SA_RESTART, must not have an effect. */
static void handle_restarting_beside(void)
{
	handle_with(SIGUSR1, SA_RESTART);
	handle_with(SIGUSR2, 0);
}

static void handle_by_siginterrupt(void)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	EXPECT(signal(SIGUSR1, on_signal) != SIG_ERR && !siginterrupt(SIGUSR1, 1));
#pragma GCC diagnostic pop
}

/* The handler is changed by a system call, which the library does not intercept. */
static void handle_unseen(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} act;

	handle_with(SIGUSR1, SA_RESTART);
	EXPECT(!syscall(SYS_rt_sigaction, SIGUSR1, NULL, &act, sizeof(act.mask)));
	act.flags &= ~(unsigned long)SA_RESTART;
	EXPECT(!syscall(SYS_rt_sigaction, SIGUSR1, &act, NULL, sizeof(act.mask)));
}

/*
 * As with the kernel's files, read() fails or is restarted as the handler that ran was installed.
 */
static void interruption_of(int fd)
{
	static const struct {
		void (*install)(void);
		bool ends;
	} ways[] = {
		{ handle_plain, true },           { handle_restarting, false },
		{ handle_by_siginterrupt, true }, { handle_restarting_beside, false },
		{ handle_unseen, true },
	};
	struct reader reader;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		ways[i].install();
		start_reader(&reader, fd);
		interrupt(&reader);
		if (!ways[i].ends) {
			EXPECT(!reader.done);
			handle_plain();
			interrupt(&reader);
		}
		EXPECT(!pthread_join(reader.thread, NULL));
		EXPECT(reader.ret == -1 && reader.error == EINTR);
		handle_with(SIGUSR2, SA_RESTART);
	}
}

static void interruption(void)
{
	struct reader reader;
	struct pair pair;

	pair_make(&pair);
	interruption_of(pair.channel->fd);
	interruption_of(pair.context->async_fd);

	handle_restarting();
	start_reader(&reader, pair.channel->fd);
	interrupt(&reader);
	EXPECT(!reader.done);
	make_event(&pair);
	EXPECT(!pthread_join(reader.thread, NULL) && reader.ret == 8);

	/* A thread that waits in read() can be cancelled. */
	start_reader(&reader, pair.channel->fd);
	EXPECT(!pthread_cancel(reader.thread) && !pthread_join(reader.thread, NULL));
	EXPECT(!reader.done);
	ibv_ack_cq_events(pair.cq, 1);
	pair_end(&pair);
}

/*
 * Another thread closes the descriptor while it is being read. The read must end at the next signal
 * or event at the latest, and must not continue with a reused number.
 */
static void closed_elsewhere(void)
{
	struct reader reader;
	struct pair pair;
	int fd;

	pair_make(&pair);
	fd = dup(pair.channel->fd);
	EXPECT(fd >= 0);
	handle_restarting();
	start_reader(&reader, fd);
	EXPECT(!close(fd));
	interrupt(&reader);
	if (!reader.done)
		make_event(&pair);
	EXPECT(!pthread_join(reader.thread, NULL));
	EXPECT(reader.ret == -1 && reader.error == EBADF);
	pair_end(&pair);
}

/* Destroys a CQ with unread events, or while a thread waits for events of its channel. */
static void destroyed(int unread)
{
	struct ibv_cq *cq;
	struct pair pair;
	struct reader reader;

	pair_make(&pair);
	if (!unread)
		start_reader(&reader, pair.channel->fd);
	for (int i = 0; i < unread; i++)
		make_event(&pair);
	for (int i = 0; i < 2; i++)
		EXPECT(!ibv_destroy_qp(pair.qp[i]));
	EXPECT(readable(pair.channel->fd) == (unread > 0));
	EXPECT(!ibv_destroy_cq(pair.cq));
	/* The unread events are removed, and the channel still works. */
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

/* A CQ overrun is reported by one asynchronous event. */
static void asynchronous(void)
{
	struct ibv_async_event event;
	struct ibv_cq *cq;
	struct pair pair;
	int fd, told = 0;

	pair_make_small(&pair, 4);
	fd = pair.context->async_fd;
	set_waiting(fd, false);
	EXPECT(!readable(fd));
	REFUSES(ibv_get_async_event(pair.context, &event), EAGAIN);
	cq = pair.cq;
	for (int i = 0; i < 16; i++)
		pair_post(&pair, 8);
	AWAIT(readable(fd));
	REFUSES(read(fd, &event, 8), EINVAL);
	/* There are events of the queue pairs, too. */
	for (int i = 0; i < 10 && told < 1; i++) {
		AWAIT(readable(fd));
		EXPECT(!ibv_get_async_event(pair.context, &event));
		told += event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == cq;
		ibv_ack_async_event(&event);
	}
	EXPECT(told == 1);
	pair_end(&pair);
}

/*
 * "wired" runs the tests that differ on a node that knows another one. There, the sleeper waits for
 * frames, too.
 */
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "wired")) {
		closed_elsewhere();
		destroyed(0);
		return 0;
	}
	reading();
	edges(false, false);
	edges(true, false);
	edges(true, true);
	signalled(false);
	signalled(true);
	asynchronous_edges();
	arming_late(true);
	arming_late(false);
	interruption();
	closed_elsewhere();
	destroyed(0);
	destroyed(1);
	destroyed(5);
	asynchronous();
	return 0;
}
