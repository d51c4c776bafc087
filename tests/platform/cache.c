// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cached descriptors of address spaces and channels. Threads use them while the processes
 * behind them start and end. No descriptor is left at the end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

/* ------------------------------------------------------------- address spaces */

#define THREADS 3
#define SLOTS 4
#define FIRST_SLOT 2
#define WORDS 600

/* The space in each slot; 0: none. */
static u32 current[SLOTS];
static u32 stop;
static u64 *own_words;

/* These words contain only values for this process. */
static void check_own_words(struct target *self)
{
	idle_target(self);
	for (size_t i = 0; i < WORDS; i++)
		CHECK(own_words[i] == 0 || own_words[i] == nic.space);
}

static void *writer(void *arg)
{
	u64 from[WORDS];

	for (u32 i = 0; !nic_load(&stop); i++) {
		u32 space = nic_load(&current[i % SLOTS]);
		size_t n = i % 3 ? 1 : WORDS;
		enum nic_copy_result result;

		if (!space)
			continue;
		for (size_t k = 0; k < n; k++)
			from[k] = space;
		result = copy(space, own_words, nic.space, from, n * sizeof(u64));
		CHECK(result == NIC_COPY_OK || result == NIC_COPY_DST_GONE);
	}
	return arg;
}

static void come_and_go(void)
{
	u32 descriptors, rounds = 150;
	struct target t[SLOTS];
	pthread_t thread[THREADS];

	own_words = mmap(NULL, WORDS * sizeof(u64), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	world_init();
	descriptors = open_descriptors();
	for (u32 i = 0; i < SLOTS; i++) {
		target_start(&t[i], FIRST_SLOT + i, 1, check_own_words);
		nic_store(&current[i], t[i].space);
	}
	for (u32 i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, writer, NULL) == 0);
	for (u32 round = 0; round < rounds; round++) {
		u32 i = random_below(SLOTS);

		/* Threads may still write to the old space for a while. */
		if (round % 2)
			target_end(&t[i]);
		else
			target_kill(&t[i]);
		target_start(&t[i], FIRST_SLOT + i, 2 + round, check_own_words);
		nic_store(&current[i], t[i].space);
	}
	nic_store(&stop, 1);
	for (u32 i = 0; i < THREADS; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	for (u32 i = 0; i < SLOTS; i++)
		target_end(&t[i]);

	/* When a new space is opened, descriptors of ended ones are closed. */
	target_start(&t[0], 20, 1, check_own_words);
	CHECK_EQUAL(copy(t[0].space, own_words + 1, nic.space, own_words, 8), NIC_COPY_OK);
	CHECK_EQUAL(open_descriptors(), descriptors + 3);
	target_end(&t[0]);
	host_fini(&host);
	CHECK_EQUAL(open_descriptors(), descriptors);
}

/*
 * The program takes our descriptor number for a file of its own while threads copy: nothing is
 * written to that file.
 */
static void vacated(void)
{
	int file = memfd_create("innocent", MFD_CLOEXEC);
	u32 taken = 0;
	pthread_t thread[THREADS];
	struct target t;

	own_words = mmap(NULL, WORDS * sizeof(u64), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	world_init();
	target_start(&t, FIRST_SLOT, 1, check_own_words);
	nic_store(&current[0], t.space);
	for (u32 i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, writer, NULL) == 0);
	for (u32 round = 0; taken < 100; round++) {
		int fd = nic_load(&host.space[FIRST_SLOT].mem.fd), number;

		CHECK_EQUAL(host_vacate(&host, file), 0);
		if (fd < 0) {
			usleep(1);
			continue;
		}
		CHECK_EQUAL(host_vacate(&host, fd), 0);
		/* Unless another thread took the number first. */
		number = fcntl(file, F_DUPFD_CLOEXEC, fd);
		taken += number == fd;
		usleep(round % 8);
		close(number);
	}
	nic_store(&stop, 1);
	for (u32 i = 0; i < THREADS; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	CHECK_EQUAL(lseek(file, 0, SEEK_END), 0);
	target_end(&t);
}

/* ------------------------------------------------------------------ channels */

static int make_channel(u32 channel, u32 generation)
{
	int sock[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) == 0);
	world_channel[channel] = sock[0];
	nic_store(&nic.channel[channel].generation, generation);
	return sock[1];
}

static void destroy_channel(u32 channel)
{
	nic_store(&nic.channel[channel].generation, 0);
	close(world_channel[channel]);
}

/* Number of bytes in the socket. */
static u32 ready(int fd)
{
	char bytes[16];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	return n > 0 ? (u32)n : 0;
}

static void channels(void)
{
	u32 descriptors;
	int fd;

	world_init();
	descriptors = open_descriptors();
	/* No such channel, or not created yet. */
	plat_channel_ready(&nic, WORLD_CHANNELS, true);
	plat_channel_ready(&nic, 5, true);
	CHECK_EQUAL(world_asked, 0);

	for (u32 generation = 1; generation < 5; generation++) {
		fd = make_channel(5, generation);
		for (u32 i = 0; i < 3; i++)
			plat_channel_ready(&nic, 5, true);
		CHECK_EQUAL(ready(fd), 3);
		CHECK_EQUAL(world_asked, generation);
		/* The program closes its end: no signal is raised, and our descriptor is closed. */
		close(fd);
		plat_channel_ready(&nic, 5, true);
		destroy_channel(5);
		CHECK_EQUAL(open_descriptors(), descriptors);
	}

	/* A new generation in the same place, while the old one is still cached. */
	(void)make_channel(6, 1);
	plat_channel_ready(&nic, 6, true);
	destroy_channel(6);
	fd = make_channel(6, 2);
	plat_channel_ready(&nic, 6, true);
	CHECK_EQUAL(ready(fd), 1);
	host_fini(&host);
}

/* A full socket: the call does not block, makes an edge, and the descriptor stays readable. */
static void full_channel(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int fd, epoll;

	world_init();
	fd = make_channel(1, 1);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	CHECK(epoll >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	for (u32 i = 0; i < 20000; i++) {
		plat_channel_ready(&nic, 1, true);
		CHECK_EQUAL(epoll_wait(epoll, &event, 1, 0), 1);
	}
	CHECK(ready(fd) > 0);
	close(epoll);
}

/* Each event makes an edge, although only the first one queues a byte. */
static void edges(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int fd, epoll;

	world_init();
	fd = make_channel(1, 1);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	CHECK(epoll >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	for (u32 i = 0; i < 100000; i++) {
		plat_channel_ready(&nic, 1, !i);
		CHECK_EQUAL(epoll_wait(epoll, &event, 1, 0), 1);
		CHECK_EQUAL(event.events, EPOLLIN);
		CHECK_EQUAL(epoll_wait(epoll, &event, 1, 0), 0);
	}
	CHECK_EQUAL(ready(fd), 1);
	plat_channel_ready(&nic, 1, true);
	CHECK_EQUAL(epoll_wait(epoll, &event, 1, 0), 1);
	CHECK_EQUAL(ready(fd), 1);
	close(epoll);
}

/* Channels that other processes created and destroyed leave no descriptors. */
static void ended_channels(void)
{
	u32 descriptors;

	world_init();
	descriptors = open_descriptors();
	for (u32 i = 0; i < 8; i++) {
		close(make_channel(i, i + 1));
		plat_channel_ready(&nic, i, false);
		destroy_channel(i);
	}
	/* At most that of the last one. */
	CHECK(open_descriptors() <= descriptors + 1);
}

/* A channel that cannot be woken from here is left to the agent. */
static void no_channel(void)
{
	u64 kicks;

	world_init();
	nic_store(&nic.channel[1].generation, 1);
	world_channel[1] = -1;
	nic_store(&nic.hdr->processor_sleeps, NIC_SLEEPS);
	plat_channel_ready(&nic, 1, true);
	CHECK_EQUAL(nic.hdr->channel_due, 1u << 1);
	CHECK(read(host.kick_fd, &kicks, sizeof(kicks)) == sizeof(kicks));
	CHECK_EQUAL(kicks, 1);
}

/* The program has replaced the cached socket: this event is left to the agent, the next is not. */
static void stolen_channel(void)
{
	int fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	world_init();
	fd = make_channel(1, 1);
	plat_channel_ready(&nic, 1, true);
	CHECK_EQUAL(ready(fd), 1);
	CHECK(null >= 0 && dup2(null, nic_load(&host.channel[1].fd)) >= 0);
	plat_channel_ready(&nic, 1, true);
	CHECK_EQUAL(ready(fd), 0);
	CHECK_EQUAL(nic.hdr->channel_due, 1u << 1);
	plat_channel_ready(&nic, 1, true);
	CHECK_EQUAL(ready(fd), 1);
	close(null);
}

/* ------------------------------------------------------------ other functions */

static void kicks(void)
{
	const u64 most = 0xfffffffffffffffe;
	struct pollfd poll_fd;

	world_init();
	poll_fd = (struct pollfd){ .fd = host.kick_fd, .events = POLLIN };
	CHECK_EQUAL(poll(&poll_fd, 1, 0), 0);
	plat_kick(&nic);
	CHECK_EQUAL(poll(&poll_fd, 1, 0), 1);
	/* However large its counter is. */
	CHECK(write(host.kick_fd, &most, sizeof(most)) != 0);
	plat_kick(&nic);
	plat_kick(&nic);
}

static void queue_memory(void)
{
	u64 begin, end;

	world_init();
	begin = nic.off_queue;
	end = begin + nic.queue_bytes;
	CHECK(plat_queue(&nic, begin, nic.queue_bytes) == (u8 *)nic.hdr + begin);
	CHECK(plat_queue(&nic, end - 8, 8) == (u8 *)nic.hdr + end - 8);
	CHECK(plat_queue(&nic, end, 0));
	CHECK(!plat_queue(&nic, begin - 1, 8));
	CHECK(!plat_queue(&nic, 0, 8));
	CHECK(!plat_queue(&nic, end - 7, 8));
	CHECK(!plat_queue(&nic, end + 1, 0));
	CHECK(!plat_queue(&nic, begin, nic.queue_bytes + 1));
	CHECK(!plat_queue(&nic, begin + 8, ~0ull));
	CHECK(!plat_queue(&nic, ~0ull, 8));
	CHECK(!plat_queue(&nic, ~0ull, ~0ull));
}

static void clock_moves(void)
{
	u64 before = plat_clock();

	usleep(2000);
	CHECK(plat_clock() - before >= 2000000);
}

static const struct test_case cases[] = {
	{ "come_and_go", come_and_go },
	{ "vacated", vacated },
	{ "channels", channels },
	{ "full_channel", full_channel },
	{ "edges", edges },
	{ "ended_channels", ended_channels },
	{ "no_channel", no_channel },
	{ "stolen_channel", stolen_channel },
	{ "kicks", kicks },
	{ "queue_memory", queue_memory },
	{ "clock_moves", clock_moves },
};

int main(int argc, char **argv)
{
	return run_cases(cases, ARRAY_SIZE(cases), argc, argv);
}
