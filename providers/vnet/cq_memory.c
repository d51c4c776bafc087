// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Emulates completion queues in NIC memory, to measure the time of polling them.
 *
 * VIA devices had their completion queues there, because a DMA into host memory took longest of
 * all. The processor then reads across the bus, uncached, whether there is a completion or not.
 * Today's adapters write completions into host memory, and polling an empty CQ hits the cache.
 *
 * Each read of an entry takes a number of ns more. Writes to the device are posted, and do not
 * delay the processor. Without the setting, other functions poll, and their path is not affected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vnet.h"

/*
 * A round trip over PCI Express: a read of 64 bytes between a Haswell server and an adapter,
 * median, by R. Neugebauer et al., "Understanding PCIe performance for end host networking",
 * SIGCOMM 2018. The paper on VIA (PCI, 33 MHz) reports 2 us for its whole event notification.
 */
#define BUS_READ_NS 550u
#define MOST_NS 1000000u

uint32_t vnet_cq_read_ns_asked(void)
{
	const char *value = getenv("VNET_CQ_MEMORY");
	unsigned int ns = BUS_READ_NS;
	int end = 0;

	if (!value || !strcmp(value, "host"))
		return 0;
	if (!strcmp(value, "nic"))
		return ns;
	if (sscanf(value, "nic:%7u%n", &ns, &end) == 1 && !value[end] && ns <= MOST_NS)
		return ns;
	fprintf(stderr, "vnet: VNET_CQ_MEMORY is '%s', but wants host, nic or nic:NS\n", value);
	return 0;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Delay the thread for this number of consecutive reads. */
static void read_across_bus(const struct vnet_cq *cq, int times)
{
	uint64_t end = now() + (uint64_t)times * to_vctx(cq->vcq.cq.context)->cq_read_ns;

	while (now() < end)
		;
}

/*
 * Delay for the reads after the first one: one for each further entry found, and one for the
 * missing entry that ended the poll.
 */
static void delay_further_reads(const struct vnet_cq *cq, int found, int num_entries)
{
	int looks = found < num_entries ? found + 1 : found;

	if (looks > 1)
		read_across_bus(cq, looks - 1);
}

static int poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	int n;

	read_across_bus(to_vcq(ibcq), 1);
	n = vnet_poll_cq(ibcq, num_entries, wc);
	delay_further_reads(to_vcq(ibcq), n, num_entries);
	return n;
}

int vnet_cq_poll_imm64_in_nic(struct ibv_cq *ibcq, int num_entries, struct vnetdv_wc *wc)
{
	int n;

	read_across_bus(to_vcq(ibcq), 1);
	n = vnet_poll_imm64(ibcq, num_entries, wc);
	delay_further_reads(to_vcq(ibcq), n, num_entries);
	return n;
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	const struct vnet_cq *cq = to_vcq_ex(ibcq);

	read_across_bus(cq, 1);
	return cq->start_poll(ibcq, attr);
}

static int next_poll(struct ibv_cq_ex *ibcq)
{
	const struct vnet_cq *cq = to_vcq_ex(ibcq);

	read_across_bus(cq, 1);
	return cq->next_poll(ibcq);
}

void vnet_cq_set_in_nic(struct vnet_cq *cq)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	cq->start_poll = ex->start_poll;
	cq->next_poll = ex->next_poll;
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
}

void vnet_context_set_in_nic(struct vnet_context *ctx)
{
	static const struct verbs_context_ops ops = { .poll_cq = poll_cq };

	verbs_set_ops(&ctx->ibv_ctx, &ops);
}
