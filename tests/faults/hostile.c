// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests a hostile client: random bytes in its rings, doorbells and indices, and in uverbs
 * commands. The traffic of bystanders continues, no unregistered memory is written, and vnetd
 * continues to serve.
 *
 *   hostile rings|commands
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bystanders.h"
#include "nicmap.h"

static struct bystanders bystanders;

/* A side that is connected to the hostile process, and grants it remote access. */
static struct guarded neighbour;
static struct address neighbour_address;
/* Socket: the hostile process's end, and the test's. */
static int line_to_neighbour[2];

static bool toss(unsigned int one_in)
{
	return !random_below(one_in);
}

/* -------------------------------------------------------------------- rings */

struct rings {
	struct nic_map map;
	/*
	 * Two sides that are connected to each other, and one that is connected to the
	 * neighbour.
	 */
	struct side s[3];
	struct ibv_mr *read_only;
};

static uint32_t any_key(const struct rings *r)
{
	if (toss(2))
		return r->s[random_below(2)].mr->lkey;
	switch (random_below(6)) {
	case 0:
		return r->s[0].mr->lkey;
	case 1:
		return r->s[1].mr->rkey;
	case 2:
		return neighbour_address.rkey;
	case 3:
		return r->read_only->lkey;
	case 4:
		return r->s[0].mr->lkey ^ 1u << random_below(32);
	default:
		/* The key of an existing region, with other bits above the tag. */
		return r->s[random_below(2)].mr->rkey ^ random_below(1u << 16) << NIC_KEY_TAG_BITS;
	}
}

static uint64_t any_address(const struct rings *r)
{
	static const uint64_t corners[] = { 0,          1,         4096, UINT64_MAX, UINT64_MAX - 7,
					    1ull << 47, 1ull << 63 };
	uint64_t at;

	if (toss(2))
		return (uintptr_t)r->s[random_below(2)].buffer + random_below(4096);
	switch (random_below(4)) {
	case 0:
		return corners[random_below(7)];
	case 1:
		at = neighbour_address.addr;
		break;
	case 2:
		at = (uintptr_t)r->map.base;
		break;
	default:
		at = (uintptr_t)r->s[random_below(3)].buffer;
		break;
	}
	/* Around the start or the end of the buffer. */
	return at + (toss(2) ? 65536 : 0) + random_below(256) - 128;
}

static uint32_t any_length(void)
{
	static const uint32_t corners[] = { 0,    1,     7,     8,        80,        81,
					    4096, 65536, 65537, 1u << 31, UINT32_MAX };

	return toss(3) ? corners[random_below(11)] : random_below(toss(4) ? 70000 : 200);
}

static struct nic_qp *own_qp(struct rings *r)
{
	return nic_map_qp(&r->map, r->s[random_below(3)].qp->qp_num);
}

/* Posts a WQE that is partly valid, so that it may be executed. */
static void put_send_wqe(struct rings *r)
{
	struct nic_qp *qp = own_qp(r);
	struct vnet_ring *ring = (struct vnet_ring *)(void *)(r->map.base + qp->sq_ring);
	uint32_t slot = ring->prod & qp->sq_mask;
	uint8_t *at = (uint8_t *)(ring + 1) + ((size_t)slot << qp->sq_shift);
	struct vnet_send_wqe wqe = {
		.wr_id = random_number(),
		.opcode = (uint8_t)(toss(8) ? random_number() : random_below(10)),
		.flags = (uint8_t)random_number(),
		.num_sge = (uint8_t)(toss(8) ? random_number() : random_below(5)),
		.imm = any_key(r),
		.inline_len = any_length(),
	};
	struct vnet_sge *sge = (struct vnet_sge *)(void *)(at + VNET_WQE_HDR_SIZE);

	wqe.rdma.remote_addr = any_address(r);
	wqe.rdma.rkey = any_key(r);
	if (toss(8))
		random_bytes(&wqe.rdma, sizeof(wqe.rdma));
	memcpy(at, &wqe, sizeof(wqe));
	for (unsigned int i = 0;
	     i < 4 && (i + 1) * sizeof(*sge) + VNET_WQE_HDR_SIZE <= 1u << qp->sq_shift; i++)
		sge[i] = (struct vnet_sge){ any_address(r), any_length(), any_key(r) };
	__atomic_store_n(&ring->prod, ring->prod + 1, __ATOMIC_RELEASE);
	r->map.gate->send_doorbell(r->map.cookie, qp->qpn);
}

static void put_recv_wqe(struct rings *r)
{
	struct nic_qp *qp = own_qp(r);
	struct vnet_ring *ring = (struct vnet_ring *)(void *)(r->map.base + qp->rq.ring);
	uint8_t *at = (uint8_t *)(ring + 1) + ((size_t)(ring->prod & qp->rq.mask) << qp->rq.shift);
	struct vnet_recv_wqe wqe = { .wr_id = 5, .num_sge = random_below(toss(8) ? 1000 : 4) };
	struct vnet_sge sge = { any_address(r), any_length(), any_key(r) };

	memcpy(at, &wqe, sizeof(wqe));
	memcpy(at + sizeof(wqe), &sge, sizeof(sge));
	__atomic_store_n(&ring->prod, ring->prod + 1, __ATOMIC_RELEASE);
}

static void scribble(uint8_t *at, size_t length)
{
	size_t n = 1 + random_below(64);

	at += random_below((uint32_t)length);
	random_bytes(at, n);
}

static void scribble_rings(struct rings *r)
{
	struct nic_qp *qp = own_qp(r);
	struct nic_cq *cq = &nic_map_cqs(&r->map)[qp->send_cqn - 1];

	switch (random_below(4)) {
	case 0:
		scribble(r->map.base + qp->sq_ring, VNET_RING_HDR_SIZE - 64);
		break;
	case 1:
		scribble(r->map.base + qp->rq.ring, VNET_RING_HDR_SIZE - 64);
		break;
	case 2:
		scribble(r->map.base + cq->ring, VNET_RING_HDR_SIZE - 64);
		break;
	default:
		scribble(r->map.base + qp->sq_ring + VNET_RING_HDR_SIZE, 4096);
		scribble(r->map.base + qp->rq.ring + VNET_RING_HDR_SIZE, 1024);
		break;
	}
}

static uint32_t any_qpn(struct rings *r)
{
	switch (random_below(3)) {
	case 0:
		return r->s[random_below(3)].qp->qp_num;
	case 1:
		/* A number near one of its own. */
		return r->s[0].qp->qp_num - random_below(16);
	default:
		return (uint32_t)random_number();
	}
}

static void ring_doorbells(struct rings *r)
{
	const struct vnet_gate *gate = r->map.gate;
	uint64_t cookie = r->map.cookie;

	switch (random_below(5)) {
	case 0:
		gate->send_doorbell(cookie, any_qpn(r));
		break;
	case 1:
		gate->recv_doorbell(cookie, any_qpn(r), (int)random_below(2));
		break;
	case 2:
		gate->idle(cookie, (uint32_t)random_number());
		break;
	case 3:
		if (toss(10))
			gate->recv_fault(cookie, any_qpn(r));
		break;
	default:
		(void)gate->copy(cookie, (void *)(uintptr_t)random_number(), r->s[0].buffer, 80);
		break;
	}
}

static void connect_rings(struct rings *r)
{
	struct address a[2] = { side_address(&r->s[0]), side_address(&r->s[1]) };

	for (int i = 0; i < 3; i++)
		(void)side_try_anew(&r->s[i], i < 2 ? &a[1 - i] : &neighbour_address);
}

static void rings_open(struct rings *r)
{
	/* Low retry limits, so that failures come soon. */
	struct wish wish = { .timeout = 1, .retry_cnt = 1, .rnr_retry = 1, .max_inline = 256 };
	struct address mine;

	for (int i = 0; i < 3; i++)
		side_open(&r->s[i], &wish);
	r->read_only = MADE(ibv_reg_mr(r->s[0].pd, r->s[0].buffer, r->s[0].length, 0));
	nic_map_find(&r->map);
	mine = side_address(&r->s[2]);
	tell(line_to_neighbour[0], &mine, sizeof(mine));
	connect_rings(r);
}

static void hostile_rings(unsigned int operations)
{
	struct rings r = { 0 };
	struct ibv_wc wc;

	rings_open(&r);
	for (unsigned int i = 0; i < operations; i++) {
		switch (random_below(6)) {
		case 0:
			put_recv_wqe(&r);
			break;
		case 1:
			if (toss(4))
				scribble_rings(&r);
			break;
		case 2:
			ring_doorbells(&r);
			break;
		case 3:
			(void)ibv_poll_cq(r.s[random_below(3)].cq, 1, &wc);
			break;
		default:
			put_send_wqe(&r);
			break;
		}
		if (i % 16 == 15)
			connect_rings(&r);
	}
}

/* ----------------------------------------------------------------- commands */

/* Often a small number, which may be a valid handle or size. */
static uint64_t any_word(void)
{
	switch (random_below(6)) {
	case 0:
		return random_number();
	case 1:
		return 1ull << random_below(64);
	case 2:
		return UINT32_MAX - random_below(4);
	default:
		return random_below(12);
	}
}

static uint8_t playground[65536];

static uint64_t any_user_address(void)
{
	return toss(4) ? any_word() : (uintptr_t)playground + random_below(32768);
}

static void write_command(int fd)
{
	uint8_t command[4096];
	uint32_t length = 8 + 4 * random_below(toss(20) ? 1000 : 40), words = length / 4;
	struct ib_uverbs_cmd_hdr hdr = { .command = random_below(60) };
	uint64_t word;

	/*
	 * Extended commands have a header of 16 more bytes, and count words of 8 bytes behind
	 * it.
	 */
	if (toss(3)) {
		/* The kernel's core may leak a reference to the work queue in this command. */
		if (in_kernel() && hdr.command == IB_USER_VERBS_EX_CMD_MODIFY_WQ)
			return;
		hdr.command |= IB_USER_VERBS_CMD_FLAG_EXTENDED;
		words = length > 24 ? (length - 24) / 8 : 0;
	}
	hdr.in_words = (uint16_t)(toss(8) ? random_number() : words);
	hdr.out_words = (uint16_t)(toss(8) ? random_number() : random_below(64));
	for (uint32_t at = 8; at < length; at += sizeof(word)) {
		word = any_word();
		memcpy(command + at, &word, sizeof(word));
	}
	word = any_user_address();
	memcpy(command + 8, &word, sizeof(word));
	memcpy(command, &hdr, sizeof(hdr));
	if (toss(20))
		length = random_below(sizeof(command));
	(void)!write(fd, command, length);
}

static void ioctl_command(int fd)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[32];
	} command = { 0 };
	uint16_t attrs = (uint16_t)random_below(toss(10) ? 33 : 10);

	command.hdr.object_id = (uint16_t)random_below(18);
	command.hdr.method_id = (uint16_t)(random_below(10) | (toss(8) ? 1u << 12 : 0));
	/* The core of Linux 6.1 leaks a reference to the task in this method. */
	if (in_kernel() && command.hdr.object_id == UVERBS_OBJECT_DEVICE &&
	    command.hdr.method_id == UVERBS_METHOD_GET_CONTEXT)
		return;
	command.hdr.num_attrs = (uint16_t)(toss(20) ? random_number() : attrs);
	command.hdr.length =
		(uint16_t)(toss(20) ? random_number() :
				      sizeof(command.hdr) + attrs * sizeof(command.attr[0]));
	if (toss(30))
		random_bytes(&command.hdr.reserved1, 8);
	for (uint16_t i = 0; i < attrs; i++) {
		struct ib_uverbs_attr *attr = &command.attr[i];

		attr->attr_id = (uint16_t)(random_below(16) | (toss(6) ? 1u << 12 : 0));
		attr->len = (uint16_t)(toss(8) ? random_number() : 8 * random_below(16));
		attr->flags = (uint16_t)(toss(8) ? random_number() : UVERBS_ATTR_F_MANDATORY);
		attr->data = toss(2) ? any_word() : any_user_address();
	}
	(void)ioctl(fd, RDMA_VERBS_IOCTL, &command);
}

static void other_calls(int fd)
{
	void *map;

	switch (random_below(4)) {
	case 0:
		map = mmap(NULL, any_word(), PROT_READ, MAP_SHARED, fd,
			   (off_t)(any_word() & ~4095ull));
		if (map != MAP_FAILED)
			munmap(map, 4096);
		break;
	case 1:
		(void)ioctl(fd, (unsigned long)random_number(), playground);
		break;
	case 2:
		(void)!read(fd, playground, 64);
		break;
	default:
		/* A program must not send on this descriptor, but it can. */
		(void)send(fd, playground, random_below(4096), MSG_DONTWAIT);
		break;
	}
}

static void hostile_commands(unsigned int operations)
{
	int fd = open_raw_device();

	random_bytes(playground, sizeof(playground));
	if (!toss(8))
		CHECK_EQ(raw_get_context(fd, NULL, NULL), 0);
	for (unsigned int i = 0; i < operations; i++) {
		if (toss(30))
			other_calls(fd);
		else if (toss(2))
			ioctl_command(fd);
		else
			write_command(fd);
	}
}

/* -------------------------------------------------------------------- rounds */

/* Reconnects the neighbour after an error, and posts receives again. */
static void tend_neighbour(void)
{
	struct side *s = &neighbour.s;
	struct ibv_wc wc;

	while (ibv_poll_cq(s->cq, 1, &wc) == 1)
		;
	if (!s->peer.qpn) {
		if (recv(line_to_neighbour[1], &s->peer, sizeof(s->peer), MSG_DONTWAIT) !=
		    sizeof(s->peer))
			return;
	} else if (side_state(s) != IBV_QPS_ERR) {
		return;
	}
	if (!side_try_anew(s, &s->peer))
		return;
	for (int i = 0; i < 32; i++)
		side_receive(s, 1, 0, 4096);
}

/* Runs the hostile process. It may crash, which the return value tells, but must end in time. */
static bool run_hostile(void (*body)(unsigned int operations), unsigned int operations,
			void (*meanwhile)(void))
{
	uint64_t since = now_ns(), seed = random_number();
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		set_role("hostile");
		continue_random(seed);
		body(operations);
		_exit(0);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		meanwhile();
		bystanders_check(&bystanders);
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("the hostile process (seed %#llx) hangs", (unsigned long long)seed);
	}
	bystanders_check(&bystanders);
	/* A failed CHECK of the hostile process is an error of the test. */
	CHECK(!WIFEXITED(status) || !WEXITSTATUS(status));
	return WIFSIGNALED(status);
}

static bool run_beside_neighbour(void)
{
	bool crashed;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line_to_neighbour), 0);
	guarded_open(&neighbour, NULL);
	neighbour_address = side_address(&neighbour.s);
	crashed = run_hostile(hostile_rings, 2000, tend_neighbour);
	guarded_close(&neighbour);
	close(line_to_neighbour[0]);
	close(line_to_neighbour[1]);
	return crashed;
}

static void nothing(void)
{
}

int main(int argc, char **argv)
{
	unsigned int crashed = 0, n = rounds(20, in_kernel() ? 500 : 2000);
	bool commands = argc == 2 && !strcmp(argv[1], "commands");

	if (!commands && (argc != 2 || strcmp(argv[1], "rings") != 0))
		FAIL("usage: hostile rings|commands");
	seed_random();
	bystanders_start(&bystanders);
	for (unsigned int i = 0; i < n; i++)
		crashed += commands ? run_hostile(hostile_commands, 3000, nothing) :
				      run_beside_neighbour();
	bystanders_stop(&bystanders);
	note("%u hostile processes, of which %u crashed", n, crashed);
	return 0;
}
