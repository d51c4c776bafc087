// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that the daemon notices overwritten NIC memory. It must end and disconnect its clients, and
 * the next daemon must start with fresh memory.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout/memory.h"
#include "../../usermode/platform/host.h"
#include "client.h"

static bool is_over(void *arg)
{
	struct nic_header *hdr = arg;

	return hdr->fatal || (hdr->agent_life & FUTEX_OWNER_DIED);
}

static bool is_new(void *arg)
{
	pid_t pid = vnetd_pid();

	return pid && pid != *(pid_t *)arg;
}

static void scribble(size_t offset, uint32_t value)
{
	struct welcome welcome;
	struct nic_header *hdr;
	pid_t old;
	int sock;

	vnetd_start();
	old = vnetd_pid();
	sock = client_enter(&welcome);
	hdr = mmap(NULL, welcome.msg.memory_size[0], PROT_READ | PROT_WRITE, MAP_SHARED,
		   welcome.fd[0], 0);
	expect(hdr != MAP_FAILED);
	expect(!is_over(hdr));
	*(uint32_t *)((char *)hdr + offset) ^= value;

	/* A new connection makes the daemon check its memory. It may be refused. */
	close(vnetd_connect());
	expect(wait_until(is_over, hdr));
	expect(hung_up(sock));
	vnetd_start();
	expect(wait_until(is_new, &old));
	vnetd_serves();
	munmap(hdr, welcome.msg.memory_size[0]);
	for (uint32_t i = 0; i < welcome.nfds; i++)
		close(welcome.fd[i]);
	close(sock);
	vnetd_kill(SIGTERM);
}

int main(void)
{
	size_t config = offsetof(struct nic_header, config);

	scribble(offsetof(struct nic_header, magic), 1);
	scribble(config + offsetof(struct nic_config, max_qp), 0xffff);
	scribble(offsetof(struct nic_header, off_qp), 0x80000000);
	scribble(offsetof(struct nic_header, off_client), 64);
	scribble(offsetof(struct nic_header, gid), 0xff);
	scribble(offsetof(struct nic_header, agent_life), 0x1);
	scribble(offsetof(struct nic_header, fatal), 1);
	return 0;
}
