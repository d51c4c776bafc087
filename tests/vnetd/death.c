// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of the death of clients, in all ways, and of the daemon. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/memory.h"
#include "../../usermode/platform/host.h"
#include "client.h"

static int control;
static struct nic_header *hdr;
static struct host_client *table;

static void map_nic(struct welcome *welcome)
{
	hdr = mmap(NULL, welcome->msg.memory_size[0], PROT_READ | PROT_WRITE, MAP_SHARED,
		   welcome->fd[0], 0);
	expect(hdr != MAP_FAILED);
	table = (void *)((char *)hdr + hdr->off_client);
}

static int get_space(uint32_t space, int *fd)
{
	struct vnet_msg_get msg = {
		.msg = { .type = VNET_MSG_GET_SPACE, .length = sizeof(msg) },
		.number = space,
	};

	return request(control, &msg, sizeof(msg), NULL, fd);
}

static bool is_unreachable(void *arg)
{
	uint32_t space = *(uint32_t *)arg;
	int fd = -1;
	int error = get_space(space, &fd);

	if (fd >= 0)
		close(fd);
	return error == ESRCH;
}

/* A child process that is a client, and waits until it is told to go on. */
struct child {
	pid_t pid;
	int pipe;
	struct welcome welcome;
};

static void child_start(struct child *child, void (*then)(int control_sock))
{
	int up[2], down[2];

	expect(pipe2(up, O_CLOEXEC) == 0 && pipe2(down, O_CLOEXEC) == 0);
	child->pid = fork();
	expect(child->pid >= 0);
	if (child->pid == 0) {
		struct welcome welcome;
		int sock = client_enter(&welcome);
		char byte;

		expect(write(up[1], &welcome, sizeof(welcome)) == sizeof(welcome));
		close(down[1]);
		if (read(down[0], &byte, 1) == 1 && then)
			then(sock);
		pause();
		_exit(1);
	}
	expect(read(up[0], &child->welcome, sizeof(child->welcome)) == sizeof(child->welcome));
	close(up[0]);
	close(up[1]);
	close(down[0]);
	child->pipe = down[1];
}

static void child_go(struct child *child)
{
	expect(write(child->pipe, "x", 1) == 1);
}

static void child_end(struct child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	expect(waitpid(child->pid, &status, 0) == child->pid);
	close(child->pipe);
}

static uint32_t *slot_of(uint32_t space)
{
	return &table[host_space_slot(space)].space;
}

static void a_peer_is_reached(void)
{
	static char here[] = "hello";
	struct child child;
	char text[sizeof(here)];
	int fd = -1;

	strcpy(here, "HELLO");
	child_start(&child, NULL);
	strcpy(here, "other");
	expect(get_space(child.welcome.msg.space, &fd) == 0);
	expect(fd >= 0);
	/* The descriptor must read the child's copy of the page. */
	expect(pread(fd, text, sizeof(text), (off_t)(uintptr_t)here) == sizeof(text));
	expect(!strcmp(text, "HELLO"));
	expect(*slot_of(child.welcome.msg.space) == child.welcome.msg.space);
	child_end(&child);
	expect(pread(fd, text, sizeof(text), (off_t)(uintptr_t)here) == 0);
	close(fd);
}

static void a_killed_client_leaves_no_lock(void)
{
	struct child child;
	uint32_t space, owner;
	struct nic_cq *cq = (void *)((char *)hdr + hdr->off_cq);
	struct nic_srq *srq = (void *)((char *)hdr + hdr->off_srq);

	child_start(&child, NULL);
	space = child.welcome.msg.space;
	owner = child.welcome.msg.owner;
	/* As if the client had died inside the firmware. */
	cq[100].lock = owner;
	srq[5].rq.lock = owner;
	hdr->atomic_lock[3] = owner;
	child_end(&child);
	expect(wait_until(is_unreachable, &space));
	expect(*slot_of(space) == 0);
	expect(cq[100].lock == 0 && srq[5].rq.lock == 0 && hdr->atomic_lock[3] == 0);
}

static void then_exec(int sock)
{
	execlp("sleep", "sleep", "1000", NULL);
	_exit(127);
}

static void an_exec_is_a_death(void)
{
	struct child child;
	uint32_t space;

	child_start(&child, then_exec);
	space = child.welcome.msg.space;
	child_go(&child);
	expect(wait_until(is_unreachable, &space));
	expect(*slot_of(space) == 0);
	expect(kill(child.pid, 0) == 0);
	child_end(&child);
}

static void then_close(int sock)
{
	close(sock);
}

static void closing_descriptors_is_not(void)
{
	struct child child;
	uint32_t space;

	child_start(&child, then_close);
	space = child.welcome.msg.space;
	child_go(&child);
	/* Longer than the daemon's check for dead processes takes. */
	for (int i = 0; i < 30; i++) {
		usleep(50000);
		expect(!is_unreachable(&space));
	}
	child_end(&child);
	expect(wait_until(is_unreachable, &space));
}

static void then_leave(int sock)
{
	expect(request_plain(sock, VNET_MSG_LEAVE, NULL) == 0);
	kill(getpid(), SIGSTOP);
	expect(request_plain(sock, VNET_MSG_STAY, NULL) == 0);
	kill(getpid(), SIGSTOP);
}

static void wait_for_stop(pid_t pid)
{
	int status;

	expect(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
}

static void leaving_ends_at_once_and_staying_undoes_it(void)
{
	struct child child;
	uint32_t space;

	child_start(&child, then_leave);
	space = child.welcome.msg.space;
	child_go(&child);
	wait_for_stop(child.pid);
	expect(is_unreachable(&space));
	expect(*slot_of(space) == 0);
	kill(child.pid, SIGCONT);
	wait_for_stop(child.pid);
	expect(!is_unreachable(&space));
	expect(*slot_of(space) == space);
	child_end(&child);
	expect(wait_until(is_unreachable, &space));
}

/* A client that copies has its send queue locked. */
static void leaving_waits_for_copies_under_way(void)
{
	struct nic_qp *qp = (void *)((char *)hdr + hdr->off_qp);
	struct child child;
	int status;

	child_start(&child, then_leave);
	*(u64 *)(void *)((char *)hdr + hdr->off_made) = 0xff;
	qp[4].sq_lock = 1000;
	child_go(&child);
	usleep(30000);
	expect(waitpid(child.pid, &status, WUNTRACED | WNOHANG) == 0);
	qp[4].sq_lock = 0;
	wait_for_stop(child.pid);
	child_end(&child);
}

/* A client was stopped while it copied, so its send queue stays locked. */
static void leaving_waits_not_for_ever(void)
{
	struct nic_qp *qp = (void *)((char *)hdr + hdr->off_qp);
	struct child child;

	child_start(&child, then_leave);
	qp[4].sq_lock = 1000;
	child_go(&child);
	wait_for_stop(child.pid);
	expect(*slot_of(child.welcome.msg.space) == 0);
	qp[4].sq_lock = 0;
	child_end(&child);
}

/* More clients than there are slots. */
static void slots_are_used_again(void)
{
	for (int i = 0; i < 2500; i++) {
		struct welcome welcome;
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			client_enter(&welcome);
			_exit(0);
		}
		expect(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static bool has_died(void *arg)
{
	return __atomic_load_n(&hdr->agent_life, __ATOMIC_ACQUIRE) & FUTEX_OWNER_DIED;
}

static void the_daemon_dies(int signal)
{
	struct vnet_msg_opened opened;
	struct welcome welcome;
	int file;

	vnetd_start();
	control = client_enter(&welcome);
	map_nic(&welcome);
	file = client_open(VNET_UVERBS_FIRST_MINOR, &opened);
	expect(hdr->agent_life == (u32)vnetd_pid());
	expect(hdr->fatal == 0);
	vnetd_kill(signal);
	expect(wait_until(has_died, NULL));
	expect(signal == SIGKILL || hdr->fatal);
	expect(hung_up(file) && hung_up(control));
	close(file);
	close(control);
}

int main(void)
{
	struct welcome welcome;

	vnetd_start();
	control = client_enter(&welcome);
	map_nic(&welcome);

	a_peer_is_reached();
	a_killed_client_leaves_no_lock();
	an_exec_is_a_death();
	closing_descriptors_is_not();
	leaving_ends_at_once_and_staying_undoes_it();
	leaving_waits_for_copies_under_way();
	leaving_waits_not_for_ever();
	slots_are_used_again();
	vnetd_kill(SIGTERM);
	the_daemon_dies(SIGKILL);
	the_daemon_dies(SIGTERM);
	return 0;
}
