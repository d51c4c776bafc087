// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Numbers of queue pairs, SRQs and memory regions are unpredictable and not reused soon. The
 * argument "print" only prints some of each in hexadecimal, to compare two devices.
 */
#include <fcntl.h>

#include "check.h"
#include "side.h"

#define MANY 64
/* Objects that are created and destroyed before the first number may be used again. */
#define AFTER 500

struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	char memory[64];
};

/* A kind of object that has a number. */
struct kind {
	const char *name;
	/* Bits from here on are the random ones: above the index and, in a key, the tag. */
	unsigned int shift;
	void *(*make)(struct device *d, uint32_t *number);
	void (*end)(void *object);
};

static void *make_qp(struct device *d, uint32_t *number)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = d->cq, .recv_cq = d->cq, .cap = { 1, 1, 1, 1, 0 }
	};
	struct ibv_qp *qp = MADE(ibv_create_qp(d->pd, &attr));

	*number = qp->qp_num;
	return qp;
}

static void end_qp(void *object)
{
	CHECK_EQ(ibv_destroy_qp(object), 0);
}

static void *make_mr(struct device *d, uint32_t *number)
{
	struct ibv_mr *mr =
		MADE(ibv_reg_mr(d->pd, d->memory, sizeof(d->memory), IBV_ACCESS_LOCAL_WRITE));

	*number = mr->rkey;
	return mr;
}

static void end_mr(void *object)
{
	CHECK_EQ(ibv_dereg_mr(object), 0);
}

static void *make_srq(struct device *d, uint32_t *number)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 1, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = d->pd,
		.cq = d->cq,
	};
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	static struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;

	if (!xrcd)
		xrcd = MADE(ibv_open_xrcd(d->context, &domain));
	attr.xrcd = xrcd;
	srq = MADE(ibv_create_srq_ex(d->context, &attr));
	CHECK_EQ(ibv_get_srq_num(srq, number), 0);
	return srq;
}

static void end_srq(void *object)
{
	CHECK_EQ(ibv_destroy_srq(object), 0);
}

static const struct kind kinds[] = {
	{ "queue pair", 14, make_qp, end_qp },
	{ "memory region", 24, make_mr, end_mr },
	{ "shared receive queue", 10, make_srq, end_srq },
};

/* ------------------------------------------------------------------- checks */

/* Numbers have no constant step, no constant bit, and rarely the last one's upper bits. */
static void check_order(const struct kind *kind, const uint32_t number[MANY])
{
	unsigned int steady = 0, equal = 0;
	uint32_t ones = 0, zeros = 0;

	for (int i = 0; i < MANY; i++) {
		ones |= number[i];
		zeros |= ~number[i];
		if (i > 0)
			equal += number[i] >> kind->shift == number[i - 1] >> kind->shift;
		if (i > 1)
			steady += number[i] - number[i - 1] == number[i - 1] - number[i - 2];
	}
	/* There are at least 7 upper bits, so some are equal by chance. */
	if (steady > 1 || equal > MANY / 8)
		FAIL("%s: %u times the same step, %u times the same upper bits", kind->name, steady,
		     equal);
	/* The probability that one of 24 bits is the same in all is below 2^-57. */
	if ((ones & zeros & 0xffffff) != 0xffffff)
		FAIL("%s: bits %#x are always the same", kind->name, ~(ones & zeros) & 0xffffff);
}

static void check_return(const struct kind *kind, struct device *d)
{
	uint32_t first, number;

	kind->end(kind->make(d, &first));
	for (int i = 0; i < AFTER; i++) {
		kind->end(kind->make(d, &number));
		if (number == first)
			FAIL("%s %#x is there again after %d others", kind->name, first, i);
	}
}

static void make_many(const struct kind *kind, struct device *d, uint32_t number[MANY])
{
	void *object[MANY];

	for (int i = 0; i < MANY; i++)
		object[i] = kind->make(d, &number[i]);
	for (int i = 0; i < MANY; i++)
		kind->end(object[i]);
}

int main(int argc, char **argv)
{
	struct device d = { .context = open_device() };
	bool print = argc > 1 && strcmp(argv[1], "print") == 0;
	uint32_t number[MANY];

	d.pd = MADE(ibv_alloc_pd(d.context));
	d.cq = MADE(ibv_create_cq(d.context, 16, NULL, NULL, 0));
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		make_many(&kinds[k], &d, number);
		for (int i = 0; print && i < MANY; i++)
			printf("%zu %08x\n", k, number[i]);
		if (print)
			continue;
		check_order(&kinds[k], number);
		check_return(&kinds[k], &d);
	}
	return 0;
}
