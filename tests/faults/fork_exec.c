// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests fork, exec, daemon(), dup2 and close_range in programs that have the device open. The
 * parent's device continues to work, unrelated files are not touched, and memory of a process
 * that calls exec during RDMA writes is not written after the exec.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "side.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

static void expect_status(pid_t pid, int want)
{
	int status;

	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, want);
}

/* Uses sends, RDMA reads and completion events of a pair of queue pairs. */
static void exercise(struct side s[2])
{
	static uint32_t mark;
	struct ibv_cq *cq;
	void *context;

	for (int i = 0; i < 20; i++) {
		size_t length = i % 2 ? 16 : 20000;

		CHECK_EQ(ibv_req_notify_cq(s[1].cq, 0), 0);
		fill(s[0].buffer, length, ++mark);
		side_receive(&s[1], 1, 0, length);
		side_post(&s[0], IBV_WR_SEND, 2, 0, length);
		(void)side_expect(&s[0], 2, IBV_WC_SUCCESS);
		CHECK_EQ(ibv_get_cq_event(s[1].channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		(void)side_expect(&s[1], 1, IBV_WC_SUCCESS);
		CHECK(is_filled(s[1].buffer, length, mark));
		side_post(&s[0], IBV_WR_RDMA_READ, 3, 0, length);
		(void)side_expect(&s[0], 3, IBV_WC_SUCCESS);
	}
	CHECK_EQ(side_state(&s[0]), IBV_QPS_RTS);
}

static const struct wish with_events = { .events = true };

/* Opens, uses and closes a pair. */
static void use_device_anew(void)
{
	struct side s[2];

	pair_open(s, &with_events);
	exercise(s);
	pair_close(s);
}

/* --------------------------------------------------------- children of a user */

static void child_ends(struct side s[2])
{
}

static void child_closes_all(struct side s[2])
{
	CHECK_EQ(close_range(3, ~0u, 0), 0);
}

static void child_closes_all_behind(struct side s[2])
{
	CHECK_EQ(syscall(SYS_close_range, 3, ~0u, 0), 0);
}

static void child_execs(struct side s[2])
{
	execl("/bin/true", "true", NULL);
	FAIL("exec failed");
}

static void child_execs_user(struct side s[2])
{
	execl("/proc/self/exe", "fork_exec", "use", NULL);
	FAIL("exec failed");
}

static void child_uses_device(struct side s[2])
{
	use_device_anew();
}

/* The child uses the parent's queue pairs. This may fail, but must not crash. */
static void child_uses_parents(struct side s[2])
{
	struct ibv_device_attr attr;
	struct ibv_wc wc;

	(void)side_try_post(&s[0], IBV_WR_SEND, 99, 0, 64, IBV_SEND_SIGNALED);
	(void)ibv_poll_cq(s[0].cq, 1, &wc);
	CHECK_EQ(ibv_query_device(s[0].context, &attr), 0);
}

static void (*const children[])(struct side s[2]) = {
	child_ends,       child_closes_all,  child_closes_all_behind, child_execs,
	child_execs_user, child_uses_device, child_uses_parents,
};

static void fork_children(void)
{
	struct side s[2];
	pid_t pid;

	CHECK_EQ(ibv_fork_init(), 0);
	for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
		note("child %zu", i);
		/* child_uses_parents, the last one, makes the pair unusable. */
		pair_open(s, &with_events);
		exercise(s);
		pid = fork();
		if (!pid) {
			children[i](s);
			_exit(0);
		}
		if (children[i] != child_uses_parents)
			exercise(s);
		expect_status(pid, 0);
		if (children[i] != child_uses_parents)
			exercise(s);
		pair_close(s);
	}
	use_device_anew();
}

/* Runs in a new program: ibv_fork_init() must be called before memory is registered. */
static void fork_children_anew(void)
{
	execl("/proc/self/exe", "fork_exec", "children", NULL);
	FAIL("exec failed");
}

/* A child of vfork() that calls exec does not end the session of its parent. */
static void vfork_and_exec(void)
{
	char *const argv[] = { (char *)"true", NULL };
	char question[128];
	pid_t pid = vfork();

	/* NOLINTBEGIN(clang-analyzer-unix.Vfork) */
	if (pid == 0) {
		execv("/bin/true", argv);
		_exit(1);
	}
	/* NOLINTEND(clang-analyzer-unix.Vfork) */
	CHECK(pid > 0);
	expect_status(pid, 0);
	snprintf(question, sizeof(question),
		 ".clients | map(select(.state == \"alive\" and .pid == %d)) | length",
		 (int)getpid());
	await_status(question, "1");
}

/* posix_spawn(), system() and vfork(): the child shares the parent's memory until its exec. */
static void spawn_children(void)
{
	char *const argv[] = { (char *)"fork_exec", (char *)"use", NULL };
	struct side s[2];
	pid_t pid;

	pair_open(s, &with_events);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
		exercise(s);
		expect_status(pid, 0);
		exercise(s);
		CHECK_EQ(system("exit 0"), 0);
		exercise(s);
		vfork_and_exec();
		exercise(s);
	}
	/* An exec that fails changes nothing. */
	execl("/nonexistent", "nonexistent", NULL);
	exercise(s);
	execl("/etc/passwd", "passwd", NULL);
	exercise(s);
	pair_close(s);
}

/* ------------------------------------------------------------------- daemonise */

/* The parent opens the device and exits; the child destroys the objects. */
static void inherited_by_daemon(int sock)
{
	pid_t pid, parent = getpid();
	char question[128];
	struct side s[2];

	pair_open(s, &with_events);
	exercise(s);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		_exit(0);
	setsid();
	snprintf(question, sizeof(question),
		 ".clients | map(select(.state == \"alive\" and .pid == %d)) | length",
		 (int)parent);
	await_status(question, "0");
	pair_close(s);
	use_device_anew();
	tell(sock, "k", 1);
}

static void opened_by_daemon(int sock)
{
	CHECK_EQ(daemon(0, 1), 0);
	use_device_anew();
	tell(sock, "k", 1);
}

static void daemonise(void (*how)(int sock))
{
	int pair[2];
	pid_t pid;
	char byte;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	if (!pid) {
		how(pair[1]);
		_exit(0);
	}
	expect_status(pid, 0);
	hear(pair[0], &byte, 1);
	close(pair[0]);
	close(pair[1]);
}

/* ---------------------------------------------------------------- descriptors */

#define MANY 1100

static int innocent_file(void)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/innocent", getenv("VNET_TEST_DIR"));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "innocent", 8), 8);
	return fd;
}

static void check_innocent(int fd)
{
	char text[16];
	struct stat st;

	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_size, 8);
	CHECK_EQ(pread(fd, text, sizeof(text), 0), 8);
	CHECK(!memcmp(text, "innocent", 8));
}

static bool is_used_by(const struct side s[2], int fd)
{
	for (int i = 0; i < 2; i++)
		if (fd == s[i].context->cmd_fd || fd == s[i].context->async_fd ||
		    fd == s[i].channel->fd)
			return true;
	return false;
}

/*
 * The program uses all descriptor numbers except those that verbs gave to it. These include the
 * preload library's own descriptors.
 */
static void dup_over_everything(void)
{
	struct side s[2];
	int file;

	pair_open(s, &with_events);
	exercise(s);
	file = innocent_file();
	for (int fd = 3; fd < MANY; fd++)
		if (fd != file && !is_used_by(s, fd))
			CHECK_EQ(dup2(file, fd), fd);
	exercise(s);
	check_innocent(file);
	CHECK_EQ(close_range((unsigned int)MANY, ~0u, 0), 0);
	exercise(s);
	for (int fd = 3; fd < MANY; fd++)
		if (fd != file && !is_used_by(s, fd))
			CHECK_EQ(close(fd), 0);
	exercise(s);
	pair_close(s);
	check_innocent(file);
	close(file);
	use_device_anew();
}

/* The program replaces descriptors of the device. This closes them, and has no other effect. */
static void dup_over_device(void)
{
	struct ibv_device_attr attr;
	struct side s[2];
	int file;

	pair_open(s, &with_events);
	exercise(s);
	file = innocent_file();
	CHECK_EQ(dup2(file, s[0].channel->fd), s[0].channel->fd);
	exercise(s);
	CHECK_EQ(dup2(s[1].context->cmd_fd, s[0].context->async_fd), s[0].context->async_fd);
	CHECK_EQ(ibv_query_device(s[1].context, &attr), 0);
	exercise(s);
	check_innocent(file);
	pair_close(s);
	check_innocent(file);
	close(file);
}

/* System calls that bypass the preload library also close the library's own descriptors. */
static void close_behind(bool reuse)
{
	struct side s[2];
	struct ibv_wc wc;
	int file = -1;

	pair_open(s, &with_events);
	exercise(s);
	CHECK_EQ(syscall(SYS_close_range, 3, ~0u, 0), 0);
	if (reuse) {
		file = innocent_file();
		for (int fd = 3; fd < MANY; fd++)
			if (fd != file)
				CHECK_EQ(syscall(SYS_dup3, file, fd, 0), fd);
	}
	/* These calls may fail, but must not crash or write to other files. */
	for (int i = 0; i < 100; i++) {
		(void)side_try_post(&s[0], IBV_WR_RDMA_WRITE, 1, 0, 4096, IBV_SEND_SIGNALED);
		(void)side_try_post(&s[0], IBV_WR_SEND, 1, 0, 4096, IBV_SEND_SIGNALED);
		(void)ibv_poll_cq(s[0].cq, 1, &wc);
		(void)ibv_poll_cq(s[1].cq, 1, &wc);
		sched_yield();
	}
	if (reuse)
		check_innocent(file);
}

/* Peer of write_behind(). The writer holds a descriptor of the peer's memory. */
static void echo_peer(int sock, void *arg)
{
	struct side s;
	char byte;

	side_open(&s, NULL);
	side_meet(&s, sock);
	hear(sock, &byte, 1);
	side_close(&s);
}

static void write_behind(void)
{
	struct helper peer;
	struct ibv_wc wc;
	struct side s;
	int file;

	helper_start(&peer, "peer", echo_peer, NULL);
	side_open(&s, &with_events);
	side_meet(&s, peer.sock);
	for (int i = 0; i < 10; i++) {
		side_post(&s, IBV_WR_RDMA_WRITE, 1, 0, i % 2 ? 8 : 4096);
		(void)side_expect(&s, 1, IBV_WC_SUCCESS);
	}
	file = innocent_file();
	for (int fd = 3; fd < MANY; fd++)
		if (fd != file && fd != peer.sock)
			CHECK_EQ(syscall(SYS_dup3, file, fd, 0), fd);
	for (int i = 0; i < 200; i++) {
		(void)side_try_post(&s, IBV_WR_RDMA_WRITE, 1, 0, i % 2 ? 8 : 4096,
				    IBV_SEND_SIGNALED);
		(void)side_try_post(&s, IBV_WR_SEND, 1, 0, 4096, IBV_SEND_SIGNALED);
		(void)ibv_poll_cq(s.cq, 1, &wc);
	}
	check_innocent(file);
	tell(peer.sock, "k", 1);
	helper_join(&peer);
}

static void in_child(void (*body)(void))
{
	pid_t pid = fork();

	if (!pid) {
		body();
		_exit(0);
	}
	expect_status(pid, 0);
	use_device_anew();
}

static void close_behind_only(void)
{
	close_behind(false);
}

static void close_behind_and_reuse(void)
{
	close_behind(true);
}

/* ----------------------------------------------------- exec under RDMA writes */

#define TARGET ((uint8_t *)0x6f0000000000)
#define TARGET_SIZE (16 * 4096)
#define WATCH_NS 150000000ull

static uint8_t *map_target(void)
{
	uint8_t *target = mmap(TARGET, TARGET_SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(target == TARGET);
	return target;
}

/* The program after the exec: the same addresses are memory of the new program. */
static int watch_target(void)
{
	uint8_t *target = map_target();
	uint64_t since = now_ns();

	memset(target, 0x77, TARGET_SIZE);
	do {
		for (size_t i = 0; i < TARGET_SIZE; i++)
			if (__atomic_load_n(&target[i], __ATOMIC_RELAXED) != 0x77)
				FAIL("byte %zu was written after exec", i);
	} while (!is_past(since, WATCH_NS));
	return 0;
}

enum how_to_exec { BY_LIBRARY, BY_SYSTEM_CALL, BY_THREAD };

struct target_plan {
	enum how_to_exec how;
};

static void *exec_in_thread(void *arg)
{
	execl("/proc/self/exe", "fork_exec", "watch", NULL);
	return NULL;
}

static void exec_watcher(enum how_to_exec how)
{
	char *const argv[] = { (char *)"fork_exec", (char *)"watch", NULL };
	pthread_t thread;

	switch (how) {
	case BY_LIBRARY:
		execv("/proc/self/exe", argv);
		break;
	case BY_SYSTEM_CALL:
		syscall(SYS_execve, "/proc/self/exe", argv, environ);
		break;
	case BY_THREAD:
		CHECK_EQ(pthread_create(&thread, NULL, exec_in_thread, NULL), 0);
		pthread_join(thread, NULL);
		break;
	}
	FAIL("exec failed");
}

static void target_body(int sock, void *arg)
{
	const struct target_plan *plan = arg;
	struct side s;
	struct ibv_mr *mr;
	uint32_t rkey;

	side_open(&s, NULL);
	mr = MADE(ibv_reg_mr(s.pd, map_target(), TARGET_SIZE, SIDE_ACCESS));
	side_meet(&s, sock);
	rkey = mr->rkey;
	tell(sock, &rkey, sizeof(rkey));
	/* Wait until RDMA writes arrive. */
	while (!__atomic_load_n(TARGET + TARGET_SIZE - 1, __ATOMIC_RELAXED))
		sched_yield();
	exec_watcher(plan->how);
}

/* Posts RDMA writes of several sizes until one fails, because the target has called exec. */
static void exec_under_writes(enum how_to_exec how)
{
	struct target_plan plan = { .how = how };
	static const size_t sizes[] = { TARGET_SIZE, 8, 4096, 1, 30000 };
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	struct helper target;
	struct side s;

	helper_start(&target, "target", target_body, &plan);
	side_open(&s, &(struct wish){ .length = TARGET_SIZE, .timeout = 10, .retry_cnt = 3 });
	side_meet(&s, target.sock);
	hear(target.sock, &s.peer.rkey, sizeof(s.peer.rkey));
	s.peer.addr = (uintptr_t)TARGET;
	memset(s.buffer, 0xee, TARGET_SIZE);
	for (size_t i = 0; wc.status == IBV_WC_SUCCESS; i++) {
		size_t size = sizes[i % 5];

		side_post(&s, IBV_WR_RDMA_WRITE, 1, TARGET_SIZE - size, size);
		wc = side_wait(&s);
	}
	CHECK_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
	/* Requests of a queue pair that is connected again must not write either. */
	side_to_reset(&s);
	side_to_init(&s);
	side_connect(&s, &s.peer);
	side_post(&s, IBV_WR_RDMA_WRITE, 2, 0, TARGET_SIZE);
	(void)side_expect(&s, 2, IBV_WC_RETRY_EXC_ERR);
	helper_join(&target);
	side_close(&s);
}

/* ------------------------------------------------------------------------ main */

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "watch"))
		return watch_target();
	if (argc == 2 && !strcmp(argv[1], "use")) {
		use_device_anew();
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "children")) {
		fork_children();
		return 0;
	}
	CHECK(sysconf(_SC_OPEN_MAX) > MANY);
	for (unsigned int i = 0; i < rounds(2, 30); i++) {
		note("exec under RDMA writes");
		exec_under_writes(BY_LIBRARY);
		exec_under_writes(BY_SYSTEM_CALL);
		exec_under_writes(BY_THREAD);
	}
	note("daemons");
	daemonise(opened_by_daemon);
	daemonise(inherited_by_daemon);
	note("duplicates over descriptors");
	in_child(dup_over_everything);
	in_child(dup_over_device);
	note("descriptors closed behind the library's back");
	in_child(close_behind_only);
	in_child(close_behind_and_reuse);
	in_child(write_behind);
	note("children");
	in_child(fork_children_anew);
	in_child(spawn_children);
	return 0;
}
