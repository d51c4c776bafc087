// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests on-demand paging. Memory that is mapped only after its registration, implicit regions,
 * advice, secret memory, fork, and regions that end while their pages change.
 *
 *   on_demand processes|threads    where the peer lives
 *   on_demand hoard                use as many windows as one user may have, until the
 *                                  end of the standard input
 *   on_demand little               what must work meanwhile for another user
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"

#define PAGE 4096u
#define ACCESS (SIDE_ACCESS | IBV_ACCESS_ON_DEMAND)

static struct side here;

static uint8_t *reserve(size_t length, int protection)
{
	uint8_t *at = mmap(NULL, length, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

/* Transfers between local memory and the peer's buffer. Reconnects after an error. */
static enum ibv_wc_status transfer(enum ibv_wr_opcode opcode, const uint8_t *at, uint32_t length,
				   uint32_t key)
{
	struct ibv_sge sge = { .addr = (uintptr_t)at, .length = length, .lkey = key };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = here.peer.addr,
					       .rkey = here.peer.rkey } };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	CHECK_EQ(ibv_post_send(here.qp, &wr, &bad), 0);
	wc = side_wait(&here);
	if (wc.status != IBV_WC_SUCCESS)
		peer_anew(&here);
	return wc.status;
}

/* Addresses are registered while they are inaccessible. */
static void comes_later(void)
{
	static const uint32_t lengths[] = { 8, 64, PAGE, 3 * PAGE };
	uint8_t *at = reserve(4 * PAGE, PROT_NONE);
	struct ibv_mr *mr = MADE(ibv_reg_mr(here.pd, at, 4 * PAGE, ACCESS));

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		CHECK_EQ(mprotect(at, 4 * PAGE, PROT_NONE), 0);
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, lengths[i], mr->lkey), IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, at, lengths[i], mr->lkey),
			 IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(mprotect(at, 4 * PAGE, PROT_READ), 0);
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, lengths[i], mr->lkey), IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, at, lengths[i], mr->lkey), IBV_WC_SUCCESS);
		CHECK_EQ(mprotect(at, 4 * PAGE, PROT_READ | PROT_WRITE), 0);
		peer_set(0, lengths[i], (uint8_t)(i + 1));
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, lengths[i], mr->lkey), IBV_WC_SUCCESS);
		CHECK_EQ(at[lengths[i] - 1], i + 1);
	}
	/* If other memory is mapped at the addresses, the region uses that memory. */
	CHECK(mmap(at, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == at);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, PAGE, mr->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(at[PAGE - 1], 4);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, 4 * PAGE);
}

static void is_everything(void)
{
	struct ibv_mr *mr = MADE(ibv_reg_mr(here.pd, NULL, SIZE_MAX, ACCESS));
	uint8_t *at = reserve(PAGE, PROT_READ | PROT_WRITE);
	uint8_t on_stack[200] = { 0 };
	struct ibv_sge sge;

	peer_set(0, PAGE, 0x5a);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, PAGE, mr->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(at[PAGE - 1], 0x5a);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, on_stack, sizeof(on_stack), mr->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(on_stack[sizeof(on_stack) - 1], 0x5a);
	sge = (struct ibv_sge){ .addr = (uintptr_t)at, .length = PAGE, .lkey = mr->lkey };
	CHECK_EQ(ibv_advise_mr(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 0);
	munmap(at, PAGE);
	CHECK_EQ(ibv_advise_mr(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH,
			       &sge, 1),
		 EFAULT);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, PAGE, mr->lkey), IBV_WC_LOC_PROT_ERR);
	/* Addresses at which nothing can be mapped. */
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, (const uint8_t *)~0xfffull, 64, mr->lkey),
		 IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, NULL, 64, mr->lkey), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* Copy on write after fork: the device uses the parent's pages. */
static void forks(void)
{
	uint8_t *at = reserve(PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = MADE(ibv_reg_mr(here.pd, at, PAGE, ACCESS));
	int go[2], status;
	pid_t child;
	char byte;

	memset(at, 1, PAGE);
	CHECK_EQ(pipe(go), 0);
	child = fork();
	if (!child) {
		close(go[1]);
		_exit(read(go[0], &byte, 1) == 0 && at[0] == 1 && at[PAGE - 1] == 1 ? 0 : 1);
	}
	CHECK(child > 0);
	peer_set(0, PAGE, 2);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, PAGE, mr->lkey), IBV_WC_SUCCESS);
	CHECK(at[0] == 2 && at[PAGE - 1] == 2);
	close(go[0]);
	close(go[1]);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, PAGE);
}

/* ------------------------------------------------------------------- advice */

static int advise(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  const uint8_t *at, uint32_t length, uint32_t key)
{
	struct ibv_sge sge = { .addr = (uintptr_t)at, .length = length, .lkey = key };

	return ibv_advise_mr(pd, advice, flags, &sge, 1);
}

static const enum ibv_advise_mr_advice advices[] = {
	IBV_ADVISE_MR_ADVICE_PREFETCH,
	IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
	IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
};

#define ADVICES (sizeof(advices) / sizeof(advices[0]))
#define FLUSH IBV_ADVISE_MR_FLAG_FLUSH

/* Errors of the key or of the arguments are returned with and without FLUSH. */
static void advice_to_nobody(struct ibv_mr *mr, uint8_t *at)
{
	struct ibv_mr *pinned = ibv_reg_mr(here.pd, at, PAGE, SIDE_ACCESS);
	struct ibv_mr *to_read = ibv_reg_mr(here.pd, at, PAGE, IBV_ACCESS_ON_DEMAND);
	struct ibv_pd *pd = ibv_alloc_pd(here.context);

	CHECK(pinned && to_read && pd);
	for (uint32_t flags = 0; flags <= FLUSH; flags += FLUSH) {
		for (size_t i = 0; i < ADVICES; i++) {
			CHECK_EQ(advise(here.pd, advices[i], flags, at, PAGE, mr->lkey + 1),
				 ENOENT);
			CHECK_EQ(advise(here.pd, advices[i], flags, at, PAGE, 0), ENOENT);
			CHECK_EQ(advise(here.pd, advices[i], flags, at, PAGE, ~0u), ENOENT);
			CHECK_EQ(advise(here.pd, advices[i], flags, at, PAGE, pinned->lkey),
				 ENOENT);
			CHECK_EQ(advise(pd, advices[i], flags, at, PAGE, mr->lkey), EPERM);
			CHECK_EQ(advise(here.pd, advices[i], flags, at, PAGE, to_read->lkey),
				 advices[i] == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ? EPERM : 0);
		}
		CHECK_EQ(advise(here.pd, (enum ibv_advise_mr_advice)3, flags, at, PAGE, mr->lkey),
			 EOPNOTSUPP);
	}
	CHECK_EQ(advise(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, FLUSH << 1, at, PAGE, mr->lkey),
		 EINVAL);
	CHECK_EQ(ibv_dereg_mr(pinned), 0);
	CHECK_EQ(ibv_dereg_mr(to_read), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/* Advice with FLUSH returns EFAULT for inaccessible pages; without FLUSH it returns 0. */
static void is_advised(void)
{
	uint8_t *at = reserve(4 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = MADE(ibv_reg_mr(here.pd, at, 4 * PAGE, ACCESS));

	advice_to_nobody(mr, at);
	for (uint32_t flags = 0; flags <= FLUSH; flags += FLUSH) {
		for (size_t i = 0; i < ADVICES; i++) {
			int bad = flags && i != 2 ? EFAULT : 0;

			CHECK_EQ(madvise(at, 4 * PAGE, MADV_DONTNEED), 0);
			CHECK_EQ(advise(here.pd, advices[i], flags, at, 4 * PAGE, mr->lkey), 0);
			CHECK_EQ(advise(here.pd, advices[i], flags, at + 7, PAGE, mr->lkey), 0);
			CHECK_EQ(advise(here.pd, advices[i], flags, at, 0, mr->lkey), 0);
			CHECK_EQ(advise(here.pd, advices[i], flags, at, 4 * PAGE + 1, mr->lkey),
				 flags ? EFAULT : 0);
			CHECK_EQ(advise(here.pd, advices[i], flags, at - 1, PAGE, mr->lkey),
				 flags ? EFAULT : 0);
			CHECK_EQ(mprotect(at + PAGE, PAGE, PROT_NONE), 0);
			CHECK_EQ(advise(here.pd, advices[i], flags, at, 4 * PAGE, mr->lkey), bad);
			CHECK_EQ(mprotect(at + PAGE, PAGE, PROT_READ), 0);
			CHECK_EQ(advise(here.pd, advices[i], flags, at, 4 * PAGE, mr->lkey),
				 i == 1 ? bad : 0);
			CHECK_EQ(mprotect(at + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
			peer_set(0, 4 * PAGE, (uint8_t)(10 + i));
			CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, 4 * PAGE, mr->lkey),
				 IBV_WC_SUCCESS);
			CHECK(at[0] == 10 + i && at[4 * PAGE - 1] == 10 + i);
		}
	}
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, 4 * PAGE);
}

/* Memory of memfd_secret(2) is not in the kernel's direct map, so the driver must refuse it. */
static void is_secret(void)
{
	int file = (int)syscall(SYS_memfd_secret, 0);
	struct ibv_mr *mr;
	uint8_t *at;

	if (file < 0) {
		note("no memfd_secret(2) here: %s", strerror(errno));
		return;
	}
	CHECK_EQ(ftruncate(file, 2 * PAGE), 0);
	at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(at != MAP_FAILED);
	mr = MADE(ibv_reg_mr(here.pd, at, 2 * PAGE, ACCESS));
	/* One page is present, the other is not. */
	memset(at, 1, PAGE);
	CHECK_EQ(advise(here.pd, advices[2], FLUSH, at, 2 * PAGE, mr->lkey), 0);
	for (size_t i = 0; i < 2; i++)
		CHECK_EQ(advise(here.pd, advices[i], FLUSH, at, 2 * PAGE, mr->lkey), EFAULT);
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at + i * PAGE, PAGE, mr->lkey),
			 IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, at + i * PAGE, PAGE, mr->lkey),
			 IBV_WC_LOC_PROT_ERR);
	}
	CHECK(at[0] == 1 && at[PAGE - 1] == 1 && at[2 * PAGE - 1] == 0);
	CHECK(mmap(at, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == at);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, 2 * PAGE, mr->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, 2 * PAGE);
	close(file);
	note("secret memory stays so");
}

/* ------------------------------------------------------------ limits of windows */

/* The driver's table of a region has windows of this size. Each window in use takes one page. */
#define WINDOW (2u << 20)

static uint8_t *reserve_much(size_t length)
{
	uint8_t *at = mmap(NULL, length, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(at != MAP_FAILED);
	CHECK_EQ(madvise(at, length, MADV_NOHUGEPAGE), 0);
	return at;
}

/* More windows than the limit for the whole machine. */
static size_t too_many_windows(void)
{
	return (size_t)sysconf(_SC_PHYS_PAGES) / 32 + 256;
}

/*
 * Prefetches the first page of each window, which is the zero page and takes no memory. Returns
 * 0 or errno.
 */
static int look_at_windows(const struct ibv_mr *mr, const uint8_t *at, size_t windows)
{
	struct ibv_sge sge[64];
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < windows && !err; i++) {
		sge[n++] = (struct ibv_sge){ .addr = (uintptr_t)at + i * WINDOW,
					     .length = PAGE,
					     .lkey = mr->lkey };
		if (n < sizeof(sge) / sizeof(sge[0]) && i + 1 < windows)
			continue;
		err = ibv_advise_mr(mr->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH,
				    sge, (uint32_t)n);
		n = 0;
	}
	return err;
}

static uint64_t counted(const char *name)
{
	return device_counter(here.context, name);
}

static void await_count(const char *name)
{
	uint64_t since = now_ns();

	while (!counted(name))
		CHECK(!is_past(since, 10000000000ull));
}

/* However many windows another user has, this process loses none of its own. */
static void has_room(void)
{
	const size_t windows = 1000;
	uint8_t *at = reserve_much(windows * WINDOW);
	struct ibv_mr *mr = MADE(ibv_reg_mr(here.pd, NULL, SIZE_MAX, ACCESS));
	uint64_t yields = counted("odp_yields");

	CHECK_EQ(look_at_windows(mr, at, windows), 0);
	for (size_t i = 0; i < windows; i += 10)
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at + i * WINDOW, PAGE, mr->lkey),
			 IBV_WC_SUCCESS);
	CHECK_EQ(counted("odp_yields"), yields);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, windows * WINDOW);
}

/* A user at the limit gets further windows, and loses others of its own, in any region. */
static void gives_way_to_itself(void)
{
	size_t windows = too_many_windows(), others = 64;
	uint8_t *at = reserve_much(windows * WINDOW), *there = reserve_much(others * WINDOW);
	struct ibv_mr *mr = ibv_reg_mr(here.pd, NULL, SIZE_MAX, ACCESS);
	struct ibv_mr *other = ibv_reg_mr(here.pd, there, others * WINDOW, ACCESS);

	CHECK(mr && other);
	CHECK_EQ(look_at_windows(mr, at, windows), 0);
	await_count("odp_yields");
	for (size_t i = 0; i < others; i++) {
		there[i * WINDOW] = (uint8_t)(i + 1);
		CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, there + i * WINDOW, PAGE, other->lkey),
			 IBV_WC_SUCCESS);
		CHECK_EQ(*peer_look(0, 1), i + 1);
	}
	await_count("odp_waits");
	for (size_t i = 0; i < windows; i += windows / 8)
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at + i * WINDOW, PAGE, mr->lkey),
			 IBV_WC_SUCCESS);
	note("%zu windows, in turn", windows + others);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dereg_mr(other), 0);
	munmap(at, windows * WINDOW);
	munmap(there, others * WINDOW);
}

/* Uses the windows until standard input is closed. */
static void hoard(void)
{
	size_t windows = too_many_windows();
	uint8_t *at = reserve_much(windows * WINDOW);
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = MADE(ibv_reg_mr(pd, NULL, SIZE_MAX, ACCESS));
	char byte;
	int err;

	err = look_at_windows(mr, at, windows);
	CHECK(err == 0 || err == ENOMEM);
	note("hoards");
	CHECK_EQ(read(STDIN_FILENO, &byte, 1), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}

static bool is_there(uint8_t *at)
{
	unsigned char there;

	CHECK_EQ(mincore(at, PAGE, &there), 0);
	return there & 1;
}

/*
 * A transfer at the end of a range that is being prefetched. Returns true if the transfer was
 * served before the rest of the prefetch.
 */
static bool overtakes_advice(const struct ibv_mr *mr, uint8_t *at, uint32_t length)
{
	CHECK_EQ(madvise(at, length, MADV_DONTNEED), 0);
	CHECK_EQ(advise(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, at, length, mr->lkey), 0);
	CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, at + length - PAGE, 8, mr->lkey), IBV_WC_SUCCESS);
	return !is_there(at + length - 2 * WINDOW);
}

/*
 * A transfer while there is more advice than is served at a time. Returns true if the transfer
 * was served first.
 */
static bool takes_the_place_of_advice(uint8_t *at, uint8_t *other)
{
	struct ibv_mr *mr = MADE(ibv_reg_mr(here.pd, NULL, SIZE_MAX, ACCESS));
	const uint32_t length = 300 * WINDOW;
	bool first;

	CHECK_EQ(madvise(at, 500 * WINDOW, MADV_DONTNEED), 0);
	for (unsigned int i = 0; i < 40; i++)
		CHECK_EQ(advise(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, at + i * 5 * WINDOW,
				length, mr->lkey),
			 0);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, other, PAGE, mr->lkey), IBV_WC_SUCCESS);
	first = !is_there(at + length);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	return first;
}

static void is_served_before_advice(void)
{
	const uint32_t length = 1u << 30;
	uint8_t *at = reserve_much(length), *other = reserve(PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = MADE(ibv_reg_mr(here.pd, NULL, SIZE_MAX, ACCESS));
	unsigned int i;

	/* Retry: the prefetch may be complete before this process runs again. */
	for (i = 0; !overtakes_advice(mr, at, length); i++)
		CHECK(i < 5);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	for (i = 0; !takes_the_place_of_advice(at, other); i++)
		CHECK(i < 5);
	munmap(at, length);
	munmap(other, PAGE);
}

/* Pages that were swapped out come back. (Without swap space, none are.) */
static void is_swapped(void)
{
	const size_t length = 3 * WINDOW;
	uint8_t *at = reserve_much(length);
	struct ibv_mr *mr = MADE(ibv_reg_mr(here.pd, at, length, ACCESS));
	unsigned int gone = 0;

	for (size_t i = 0; i < length; i += PAGE)
		at[i] = (uint8_t)(i / PAGE % 251);
	CHECK_EQ(advise(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, FLUSH, at, (uint32_t)length,
			mr->lkey),
		 0);
	CHECK_EQ(madvise(at, length, MADV_PAGEOUT), 0);
	for (size_t i = 0; i < length; i += PAGE)
		gone += !is_there(at + i);
	for (size_t i = 0; i < length; i += 17 * PAGE) {
		CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, at + i, PAGE, mr->lkey), IBV_WC_SUCCESS);
		CHECK_EQ(*peer_look(0, 1), i / PAGE % 251);
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at + i, PAGE, mr->lkey), IBV_WC_SUCCESS);
	}
	for (size_t i = 0; i < length; i += PAGE)
		CHECK_EQ(at[i], i / PAGE % 251);
	note("%u of %zu pages come back from elsewhere", gone, length / PAGE);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, length);
}

/* So many windows without pages that a guest could not store a table for each. */
static void is_advised_of_nothing(void)
{
	const size_t piece = 2ull << 30, pieces = 36;
	uint8_t *at = mmap(NULL, pieces * piece, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(here.pd, NULL, SIZE_MAX, ACCESS);
	uint8_t *other = reserve(PAGE, PROT_READ | PROT_WRITE);

	CHECK(at != MAP_FAILED && mr);
	for (size_t i = 0; i < pieces; i++)
		CHECK_EQ(advise(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, FLUSH,
				at + i * piece, (uint32_t)piece, mr->lkey),
			 0);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, other, PAGE, mr->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, pieces * piece);
	munmap(other, PAGE);
}

/* ibv_rereg_mr(): pinned, on demand again, and at another address. */
static void is_made_anew(void)
{
	uint8_t *at = reserve(2 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = MADE(ibv_reg_mr(here.pd, at, PAGE, ACCESS));
	static const int access[] = { ACCESS, SIDE_ACCESS, ACCESS };

	for (size_t i = 0; i < sizeof(access) / sizeof(access[0]); i++) {
		peer_set(0, PAGE, (uint8_t)(20 + i));
		CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access[i]), 0);
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, PAGE, mr->lkey), IBV_WC_SUCCESS);
		CHECK_EQ(at[PAGE - 1], 20 + i);
	}
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, at + PAGE, PAGE, 0), 0);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, PAGE, mr->lkey), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at + PAGE, PAGE, mr->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(at[2 * PAGE - 1], 22);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, 2 * PAGE);
}

/* --------------------------------------------------------- pages come and go */

static bool traffic_over;

/* Forks again and again, so that all pages become copy-on-write. */
static void *fork_on(void *arg)
{
	unsigned int *forked = arg;
	pid_t child;

	while (!__atomic_load_n(&traffic_over, __ATOMIC_ACQUIRE)) {
		child = fork();
		if (!child)
			_exit(0);
		CHECK(child > 0);
		CHECK_EQ(waitpid(child, NULL, 0), child);
		(*forked)++;
	}
	return NULL;
}

static void forks_under_traffic(void)
{
	uint8_t *at = reserve(8 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = MADE(ibv_reg_mr(here.pd, at, 8 * PAGE, ACCESS));
	unsigned int i, forked = 0, most = rounds(200, 5000);
	pthread_t thread;

	traffic_over = false;
	CHECK_EQ(pthread_create(&thread, NULL, fork_on, &forked), 0);
	for (i = 0; i < most; i++) {
		uint32_t length = 1 + (i * 2999) % (8 * PAGE);

		memset(at, (int)(i | 1), length);
		CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, at, length, mr->lkey), IBV_WC_SUCCESS);
		memset(at, 0, length);
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, length, mr->lkey), IBV_WC_SUCCESS);
		CHECK(at[0] == (uint8_t)(i | 1) && at[length / 2] == (uint8_t)(i | 1) &&
		      at[length - 1] == (uint8_t)(i | 1));
	}
	__atomic_store_n(&traffic_over, true, __ATOMIC_RELEASE);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	note("%u forks under %u transfers", forked, 2 * most);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, 8 * PAGE);
}

/* --------------------------------------------------------- regions come and go */

#define WINDOWS 4
#define REGIONS 20

static bool changes_over;

struct changed {
	uint8_t *at;
	struct ibv_mr *mr;
	unsigned int times;
};

/* Maps new memory over the range again and again. */
static void *replace_memory(void *arg)
{
	struct changed *c = arg;

	while (!__atomic_load_n(&changes_over, __ATOMIC_ACQUIRE)) {
		CHECK(mmap(c->at, WINDOWS * WINDOW, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == c->at);
		c->times++;
	}
	return NULL;
}

/* Deregisters more regions than are served at a time while they still wait for pages. */
static void end_regions(uint8_t *at)
{
	struct ibv_mr *mr[REGIONS];
	int i;

	for (i = 0; i < REGIONS; i++) {
		mr[i] = MADE(ibv_reg_mr(here.pd, at, WINDOWS * WINDOW, ACCESS));
		CHECK_EQ(advise(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, FLUSH, at, PAGE,
				mr[i]->lkey),
			 0);
	}
	for (i = 0; i < REGIONS * WINDOWS; i++)
		CHECK_EQ(advise(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0,
				at + (size_t)(i / REGIONS) * WINDOW, 16 * PAGE,
				mr[i % REGIONS]->lkey),
			 0);
	while (--i >= REGIONS * WINDOWS - REGIONS)
		CHECK_EQ(ibv_dereg_mr(mr[i % REGIONS]), 0);
}

static void ends_while_it_changes(void)
{
	struct changed c = { .at = reserve(WINDOWS * WINDOW, PROT_READ | PROT_WRITE) };
	unsigned int i, most = rounds(10, 1000);
	pthread_t thread;

	changes_over = false;
	CHECK_EQ(pthread_create(&thread, NULL, replace_memory, &c), 0);
	for (i = 0; i < most; i++)
		end_regions(c.at);
	__atomic_store_n(&changes_over, true, __ATOMIC_RELEASE);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	note("%u regions end under %u changes", most * REGIONS, c.times);
	munmap(c.at, WINDOWS * WINDOW);
}

/* The advised range may be within the region or not, because another thread moves the region. */
static void *advise_on(void *arg)
{
	struct changed *c = arg;

	while (!__atomic_load_n(&changes_over, __ATOMIC_ACQUIRE)) {
		int err = advise(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, FLUSH, c->at, WINDOW,
				 c->mr->lkey);

		CHECK(err == 0 || err == EFAULT);
		__atomic_fetch_add(&c->times, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void is_advised_while_it_changes(void)
{
	struct changed c = { .at = reserve(2 * WINDOW, PROT_READ | PROT_WRITE) };
	unsigned int i, most = rounds(200, 10000);
	pthread_t thread;

	c.mr = MADE(ibv_reg_mr(here.pd, c.at, WINDOW, ACCESS));
	changes_over = false;
	CHECK_EQ(pthread_create(&thread, NULL, advise_on, &c), 0);
	/* The last change moves the region back to where it began. */
	for (i = 1;
	     i <= most || i % 2 == 0 || __atomic_load_n(&c.times, __ATOMIC_RELAXED) < most / 10;
	     i++)
		CHECK_EQ(ibv_rereg_mr(c.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      c.at + i % 2 * WINDOW, WINDOW, 0),
			 0);
	__atomic_store_n(&changes_over, true, __ATOMIC_RELEASE);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	note("advised %u times under %u changes", c.times, i - 1);
	CHECK_EQ(advise(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, FLUSH, c.at, WINDOW,
			c.mr->lkey),
		 0);
	CHECK_EQ(ibv_dereg_mr(c.mr), 0);
	munmap(c.at, 2 * WINDOW);
}

static void check_capabilities(struct ibv_context *context)
{
	struct ibv_device_attr_ex attr;
	uint32_t rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
		      IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;

	CHECK_EQ(ibv_query_device_ex(context, NULL, &attr), 0);
	/* Bits of newer headers: atomic write, and flush if the device supports it. */
	rc |= 1 << 7 | (attr.device_cap_flags_ex & 1ull << 38 ? 1 << 6 : 0);
	CHECK_EQ(attr.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	CHECK_EQ(attr.odp_caps.per_transport_caps.rc_odp_caps, rc);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		FAIL("usage: on_demand processes|threads|hoard|little");
	if (!strcmp(argv[1], "hoard")) {
		hoard();
		return 0;
	}
	peer_start(!strcmp(argv[1], "processes"));
	peer_open(&here, &(struct wish){ .on_demand = true });
	check_capabilities(here.context);
	comes_later();
	is_everything();
	if (!strcmp(argv[1], "little")) {
		has_room();
		goto done;
	}
	forks();
	is_advised();
	is_made_anew();
	forks_under_traffic();
	if (in_kernel()) {
		is_secret();
		is_advised_of_nothing();
		is_served_before_advice();
		is_swapped();
		gives_way_to_itself();
	}
	ends_while_it_changes();
	is_advised_while_it_changes();
done:
	peer_close(&here);
	peer_stop();
	return 0;
}
