// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbells for an agent without a gate, such as the kernel driver. Its firmware runs outside of
 * this process. A doorbell is a system call, or a store to a page that the NIC processor reads.
 * These functions take the place of the gate's, so that posting is the same for both.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vnet.h"

/* Ways to ring, as VNET_DOORBELL selects them for measurements. */
enum doorbell_way {
	/* ioctl() on the doorbell descriptor: the default, and the cheapest. */
	WAY_TRAP,
	/* The uverbs command for posting. */
	WAY_WRITE,
	/* A page that the NIC processor reads. */
	WAY_PAGE,
};

static enum doorbell_way asked_for(void)
{
	const char *value = getenv("VNET_DOORBELL");

	if (value && !strcmp(value, "write"))
		return WAY_WRITE;
	if (value && !strcmp(value, "page"))
		return WAY_PAGE;
	return WAY_TRAP;
}

/* The result of posting does not depend on the doorbell's, so errno is preserved. */
static void trap(__u64 cookie, unsigned int what, uint32_t num)
{
	const struct vnet_context *ctx = (const struct vnet_context *)(uintptr_t)cookie;
	int saved = errno;

	ioctl(ctx->doorbell_fd, what, (unsigned long)num);
	errno = saved;
}

static void trap_send(__u64 cookie, uint32_t qpn)
{
	trap(cookie, VNET_DOORBELL_SEND, qpn);
}

static void trap_recv(__u64 cookie, uint32_t num, int is_srq)
{
	trap(cookie, is_srq ? VNET_DOORBELL_SRQ_RECV : VNET_DOORBELL_RECV, num);
}

static void trap_cq(__u64 cookie, uint32_t cqn)
{
	trap(cookie, VNET_DOORBELL_CQ, cqn);
}

static void trap_tag(__u64 cookie, uint32_t srqn)
{
	trap(cookie, VNET_DOORBELL_TAG, srqn);
}

/*
 * The read-modify-write operations are full barriers. Either the NIC processor sees the bits in its
 * last look before it sleeps, or this thread sees that it must be woken.
 */
static void page_send(__u64 cookie, uint32_t qpn)
{
	const struct vnet_context *ctx = (const struct vnet_context *)(uintptr_t)cookie;
	struct vnet_doorbell_page *page = ctx->doorbell_page;
	uint32_t bit = qpn % (VNET_DOORBELL_WORDS * 64), word = bit / 64;

	__atomic_fetch_or(&page->word[word], 1ull << (bit % 64), __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&page->summary[word / 64], 1ull << (word % 64), __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&page->need_wakeup, __ATOMIC_SEQ_CST))
		trap(cookie, VNET_DOORBELL_WAKE, 0);
}

static void *map_page(const struct vnet_context *ctx, uint64_t offset)
{
	void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
			  ctx->ibv_ctx.context.cmd_fd, (off_t)offset);

	return page == MAP_FAILED ? NULL : page;
}

void vnet_doorbell_init(struct vnet_context *ctx, const struct vnet_alloc_ucontext_resp *resp)
{
	enum doorbell_way way = asked_for();

	ctx->doorbell_fd = resp->caps & VNET_UCONTEXT_CAP_DOORBELL_FD ? resp->doorbell_fd : -1;
	if (resp->gate || ctx->doorbell_fd < 0 || way == WAY_WRITE)
		return;
	ctx->gate_cookie = (uintptr_t)ctx;
	ctx->gate.send_doorbell = trap_send;
	ctx->gate.recv_doorbell = trap_recv;
	ctx->gate.cq_doorbell = trap_cq;
	ctx->gate.tag_doorbell = trap_tag;
	if (way != WAY_PAGE || !(resp->caps & VNET_UCONTEXT_CAP_DOORBELL_PAGE))
		return;
	ctx->doorbell_page = map_page(ctx, resp->doorbell_page);
	if (ctx->doorbell_page)
		ctx->gate.send_doorbell = page_send;
}

void vnet_doorbell_fini(struct vnet_context *ctx)
{
	if (ctx->doorbell_page)
		munmap(ctx->doorbell_page, (size_t)sysconf(_SC_PAGESIZE));
	if (ctx->doorbell_fd >= 0)
		close(ctx->doorbell_fd);
}
