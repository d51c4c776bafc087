// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the status as JSON, also with arbitrary contents of NIC memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel.h"

static char *status(void)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	uverbs_status(&kernel.device, out);
	fclose(out);
	return text;
}

/* Checks that brackets and braces match, strings are closed, and no comma precedes a bracket. */
static void check_json(const char *text)
{
	char open[64] = "";
	int depth = 0;
	bool string = false;
	char last = 0;

	for (; *text; text++) {
		if (*text == '"')
			string = !string;
		if (string || *text == ' ' || *text == '\n')
			continue;
		if (*text == '{' || *text == '[')
			open[depth++] = *text;
		if (*text == '}' || *text == ']') {
			assert_true(depth > 0 && last != ',');
			assert_int_equal(open[--depth], *text == '}' ? '{' : '[');
		}
		last = *text;
	}
	assert_int_equal(depth, 0);
	assert_false(string);
	assert_int_not_equal(last, ',');
}

static void expect(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no %s in\n%s", what, text);
}

static void nothing(void **state)
{
	char *text = status();

	check_json(text);
	expect(text, "\"qps\": []");
	expect(text, "\"mrs\": []");
	free(text);
}

static void everything(void **state)
{
	static u8 memory[64];
	u32 pd = make_pd(), cq = make_cq(16, -1), srq = make_srq(pd), key;
	u32 qp = make_qp(IB_UVERBS_QPT_RC, pd, cq, srq);
	struct nic *nic = &kernel.device.nic;
	struct nic_qp *frame = &nic->qp[qp_of(qp)->params.qpn & nic->qp_index_mask];
	struct host_client clients[8] = { [STRANGER - 1] = { .pid = 4711 } };
	char *text, what[64];

	kernel.device.host.client = clients;
	make_qp(IB_UVERBS_QPT_UD, pd, cq, -1);
	make_mr(pd, memory, sizeof(memory), 1, &key);
	make_mw(pd, 1, NULL);
	frame->state = NIC_QPS_RTS;
	frame->wait = NIC_WAIT_RNR;
	frame->attr.dest_qpn = 99;
	memcpy(frame->attr.dgid, (u8[16]){ [10] = 0xff, 0xff, 192, 0, 2, 1 }, 16);
	frame->counters.sent_msgs = 12345;
	frame->sq_lock = STRANGER;
	text = status();
	check_json(text);
	expect(text, "\"state\": \"RTS\"");
	expect(text, "\"dest_qpn\": 99, \"dest_gid\": \"::ffff:192.0.2.1\", \"dest_lid\": 0");
	expect(text, "\"waits\": \"rnr\", \"holder\": 4711");
	expect(text, "\"sent_msgs\": 12345");
	expect(text, "\"type\": \"UD\"");
	expect(text, "\"kind\": \"window1\"");
	snprintf(what, sizeof(what), "\"key\": %u, \"kind\": \"region\", \"pid\": %d", key,
		 (int)getpid());
	expect(text, what);
	free(text);
	/* On an InfiniBand port, without a global route and with one. */
	kernel.device.lid = 7;
	frame->attr.dlid = 18;
	text = status();
	check_json(text);
	expect(text, "\"dest_qpn\": 99, \"dest_gid\": \"\", \"dest_lid\": 18");
	free(text);
	frame->attr.is_global = 1;
	text = status();
	expect(text, "\"dest_qpn\": 99, \"dest_gid\": \"::ffff:192.0.2.1\", \"dest_lid\": 18");
	free(text);
	kernel.device.lid = 0;
	frame->sq_lock = 0;
	kernel.device.host.client = NULL;
}

static void garbage(void **state)
{
	u32 pd = make_pd(), cq = make_cq(16, -1);
	u32 handle = make_qp(IB_UVERBS_QPT_RC, pd, cq, -1);
	struct nic *nic = &kernel.device.nic;
	struct uv_qp *qp = qp_of(handle);
	struct nic_qp *frame = &nic->qp[qp->params.qpn & nic->qp_index_mask], saved = *frame;
	struct vnet_ring *ring = (void *)((u8 *)kernel.device.memory + qp->sq->offset);
	char *text;

	srand(1);
	for (u32 i = 0; i < 1000; i++) {
		for (u32 k = 0; k < sizeof(*frame); k++)
			((u8 *)frame)[k] = (u8)rand();
		/* The number must be right, so that the firmware finds the queue pair. */
		frame->qpn = qp->params.qpn;
		ring->prod = (u32)rand();
		text = status();
		check_json(text);
		free(text);
	}
	*frame = saved;
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(nothing), TEST(everything), TEST(garbage) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
