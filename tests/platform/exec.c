// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process executes another program during RDMA writes, by a direct system call. The new
 * program maps memory at the same address, and no byte of it may change.
 *
 * exec [CASE...]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

#define LENGTH (16 * PAGE)

static u8 *area;

/* ------------------------------------------------------------ the new program */

static int executed(const char *address, const char *sock)
{
	struct target self = { .sock = atoi(sock) };
	void *want = (void *)strtoul(address, NULL, 16);
	u8 *p = mmap(want, LENGTH, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	/* The address is in use this time. */
	if (p != want) {
		target_tell(&self, 's');
		return 0;
	}
	memset(p, 0, LENGTH);
	target_tell(&self, 'x');
	idle_target(&self);
	return is_all(p, LENGTH, 0) ? 0 : 1;
}

static void exec_when_told(struct target *self)
{
	char address[32], sock[16];
	char *const argv[] = { "exec", "executed", address, sock, NULL };

	snprintf(address, sizeof(address), "%lx", (unsigned long)area);
	snprintf(sock, sizeof(sock), "%d", self->sock);
	CHECK(fcntl(self->sock, F_SETFD, 0) == 0);
	CHECK_EQUAL(target_hear(self), 'g');
	syscall(SYS_execve, "/proc/self/exe", argv, environ);
	_exit(1);
}

/* ------------------------------------------------------------------ the writer */

static long long microseconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ll + ts.tv_nsec / 1000;
}

/* All lengths, and so all methods, at least twice, for this time. Returns how many arrived. */
static u32 write_for(const struct target *t, long long us)
{
	static const u32 length[] = { 2, 8, 9, 4096, LENGTH };
	static u8 from[LENGTH];
	long long end = microseconds() + us;
	u32 arrived = 0;

	memset(from, 0xff, sizeof(from));
	for (u32 i = 0; i < 2 * ARRAY_SIZE(length) || microseconds() < end; i++) {
		enum nic_copy_result result =
			copy(t->space, area, nic.space, from, length[i % ARRAY_SIZE(length)]);

		CHECK(result == NIC_COPY_OK || result == NIC_COPY_DST_GONE);
		arrived += result == NIC_COPY_OK;
	}
	return arrived;
}

static bool hears(const struct target *t)
{
	struct timeval none = { .tv_usec = 1 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(t->sock, &set);
	return select(t->sock + 1, &set, NULL, NULL, &none) > 0;
}

static bool one_exec(u32 generation)
{
	struct target t;
	bool same_address;

	target_start(&t, 2, generation, exec_when_told);
	CHECK(write_for(&t, 500) > 0);
	target_tell(&t, 'g');
	while (!hears(&t))
		write_for(&t, 100);
	same_address = target_hear(&t) == 'x';
	CHECK_EQUAL(write_for(&t, 2000), 0);
	if (!same_address)
		target_kill(&t);
	else
		target_end(&t);
	return same_address;
}

static void never_written_again(void)
{
	u32 same = 0;

	for (u32 generation = 1; generation <= 60; generation++)
		same += one_exec(generation);
	if (!same)
		skip("the address was never free in the new program");
}

static void by_vm(void)
{
	world_init();
	if (!host.process_vm)
		skip("the system refuses process_vm_writev()");
	never_written_again();
	CHECK(host.space[2].token);
}

static void refused(void)
{
	world_init();
	refuse_process_vm();
	host_fini(&host);
	CHECK_EQUAL(host_init(&host, &nic), 0);
	never_written_again();
}

static const struct test_case cases[] = {
	{ "by_vm", by_vm },
	{ "refused", refused },
};

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "executed") == 0)
		return executed(argv[2], argv[3]);
	area = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	return run_cases(cases, ARRAY_SIZE(cases), argc, argv);
}
