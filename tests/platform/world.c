// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct nic nic;
struct host host;
int world_channel[WORLD_CHANNELS];
int world_asked;

/* ---------------------------------------------------------------------- cases */

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc < 2;
}

void skip(const char *reason)
{
	printf("SKIP: %s\n", reason);
	fflush(stdout);
	_exit(77);
}

static int run_case(const struct test_case *test)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		CHECK_EQUAL(host_guard_init(), 0);
		test->run();
		fflush(stdout);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return 77;
	printf("%s %s\n", status ? "FAILED" : "ok", test->name);
	if (WIFSIGNALED(status))
		printf("  by signal %d\n", WTERMSIG(status));
	return status ? 1 : 0;
}

int run_cases(const struct test_case *cases, size_t n, int argc, char **argv)
{
	size_t ran = 0, skipped = 0, failed = 0;

	for (size_t i = 0; i < n; i++) {
		int ret;

		if (!is_wanted(cases[i].name, argc, argv))
			continue;
		ret = run_case(&cases[i]);
		ran++;
		skipped += ret == 77;
		failed += ret == 1;
	}
	if (failed || !ran)
		return 1;
	return skipped == ran ? 77 : 0;
}

/* ---------------------------------------------------------------- the world */

u8 *shared_memory(size_t length)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* The state that vnetd has of its clients. vnetd has one thread, these tests have more. */
static pthread_mutex_t agent_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	u32 space;
	int mem;
} agent[WORLD_CLIENTS];

static int get_space(struct host *h, u32 space)
{
	u32 slot = host_space_slot(space);
	int fd = -1;

	__atomic_fetch_add(&world_asked, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&agent_lock);
	if (agent[slot].space == space)
		fd = fcntl(agent[slot].mem, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&agent_lock);
	return fd;
}

static int get_channel(struct host *h, u32 channel, u32 generation)
{
	__atomic_fetch_add(&world_asked, 1, __ATOMIC_RELAXED);
	return fcntl(world_channel[channel], F_DUPFD_CLOEXEC, 0);
}

static u32 make_space(u32 slot, u32 generation)
{
	return generation << HOST_SPACE_SLOT_BITS | slot;
}

/* What vnetd does when a process connects, or (space 0) has ended. */
static void announce(u32 slot, u32 space, pid_t pid)
{
	nic_store(&host.client[slot].pid, (u32)pid);
	nic_store_release(&host.client[slot].space, space);
}

void world_init(void)
{
	static const size_t max = 1 << 20;
	u8 *memory = shared_memory(max);

	nic.hdr = (struct nic_header *)memory;
	nic.hdr->config.max_client = WORLD_CLIENTS;
	memory += sizeof(struct nic_header);
	host.client = (struct host_client *)memory;
	memory += WORLD_CLIENTS * sizeof(struct host_client);
	nic.mr = (struct nic_mr *)memory;
	nic.max_mr = WORLD_MRS;
	nic.mr[CHECKED_MR].flags = NIC_MR_CHECK_PAGES;
	memory += WORLD_MRS * sizeof(struct nic_mr);
	nic.channel = (struct nic_channel *)memory;
	nic.max_channel = WORLD_CHANNELS;
	nic.off_queue = max - WORLD_QUEUE;
	nic.queue_bytes = WORLD_QUEUE;
	nic.self = 2;
	nic.space = make_space(1, 1);

	host.kick_fd = eventfd(0, EFD_CLOEXEC);
	host.get_space = get_space;
	host.get_channel = get_channel;
	announce(1, nic.space, getpid());
	CHECK_EQUAL(host_init(&host, &nic), 0);
	CHECK_EQUAL(host_guard_init(), 0);
}

void refuse_process_vm(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

u32 open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	u32 n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* ----------------------------------------------------------- other processes */

/* What the preload library does in a forked child. */
static void become_client(u32 slot, u32 space)
{
	host_fini(&host);
	nic.space = space;
	nic.self = slot + 1;
	announce(slot, space, getpid());
	CHECK_EQUAL(host_init(&host, &nic), 0);
	CHECK_EQUAL(host_guard_init(), 0);
}

void target_start(struct target *t, u32 slot, u32 generation, void (*act)(struct target *self))
{
	char path[64];
	int sock[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) == 0);
	t->slot = slot;
	t->space = make_space(slot, generation);
	fflush(stdout);
	t->pid = fork();
	CHECK(t->pid >= 0);
	if (t->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		t->pid = getpid();
		t->sock = sock[1];
		close(sock[0]);
		become_client(slot, t->space);
		target_tell(t, 'r');
		act(t);
		_exit(0);
	}
	t->sock = sock[0];
	close(sock[1]);
	CHECK_EQUAL(target_hear(t), 'r');
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)t->pid);
	pthread_mutex_lock(&agent_lock);
	agent[slot].mem = open(path, O_RDWR | O_CLOEXEC);
	agent[slot].space = t->space;
	pthread_mutex_unlock(&agent_lock);
	CHECK(agent[slot].mem >= 0);
}

void target_tell(const struct target *t, char what)
{
	CHECK(send(t->sock, &what, 1, MSG_NOSIGNAL) == 1);
}

char target_hear(const struct target *t)
{
	char what;

	CHECK(recv(t->sock, &what, 1, 0) == 1);
	return what;
}

static int reap(const struct target *t)
{
	int status;

	CHECK(waitpid(t->pid, &status, 0) == t->pid);
	return status;
}

void target_notice(struct target *t)
{
	announce(t->slot, 0, 0);
	pthread_mutex_lock(&agent_lock);
	agent[t->slot].space = 0;
	close(agent[t->slot].mem);
	pthread_mutex_unlock(&agent_lock);
	close(t->sock);
}

void target_end(struct target *t)
{
	target_tell(t, 'e');
	CHECK_EQUAL(reap(t), 0);
	target_notice(t);
}

void target_kill_unnoticed(struct target *t)
{
	CHECK(kill(t->pid, SIGKILL) == 0);
	(void)reap(t);
}

void target_kill(struct target *t)
{
	target_kill_unnoticed(t);
	target_notice(t);
}

void idle_target(struct target *self)
{
	CHECK_EQUAL(target_hear(self), 'e');
}

/* -------------------------------------------------------------------- memory */

u8 *fenced_memory(size_t length, bool fence_after)
{
	size_t pages = (length + PAGE - 1) / PAGE * PAGE;
	u8 *p = mmap(NULL, pages + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	p += PAGE;
	CHECK(mprotect(p, pages, PROT_READ | PROT_WRITE) == 0);
	return fence_after ? p + pages - length : p;
}

/* Adjacent bytes differ, and so do bytes a page apart. */
static u8 pattern(size_t i, u8 seed)
{
	return (u8)(seed + i * 7 + (i >> 8) * 31);
}

void fill(u8 *p, size_t length, u8 seed)
{
	for (size_t i = 0; i < length; i++)
		p[i] = pattern(i, seed);
}

bool is_filled(const u8 *p, size_t length, u8 seed)
{
	for (size_t i = 0; i < length; i++)
		if (p[i] != pattern(i, seed))
			return false;
	return true;
}

bool is_all(const u8 *p, size_t length, u8 value)
{
	for (size_t i = 0; i < length; i++)
		if (p[i] != value)
			return false;
	return true;
}

void wait_a_bit(u32 turns)
{
	if (turns < 2000)
		plat_relax();
	else
		sched_yield();
}

u32 random_below(u32 n)
{
	static u32 state = 12345;

	state = state * 1664525u + 1013904223u;
	return (u32)(((u64)state * n) >> 32);
}

enum nic_copy_result copy_in(u32 mr, u32 dst_space, const void *dst, u32 src_space, const void *src,
			     u64 length)
{
	const struct nic_piece to = {
		.addr = (u64)dst, .length = length, .space = dst_space, .mr = mr
	};
	const struct nic_piece from = {
		.addr = (u64)src, .length = length, .space = src_space, .mr = mr
	};

	return plat_copy(&nic, &to, 1, &from, 1, length);
}

enum nic_copy_result copy(u32 dst_space, const void *dst, u32 src_space, const void *src,
			  u64 length)
{
	return copy_in(0, dst_space, dst, src_space, src, length);
}
