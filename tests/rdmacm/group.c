// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends to or receives from a multicast group with plain verbs.
 *
 * `group receive|send|leave MESSAGES [DEVICE]`: the receiver attaches a queue pair, prints a line,
 * and ends when it has all messages. A duplicate is an error. "send" waits for its completions;
 * "leave" destroys its queue pair as soon as all messages are posted.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QKEY 0x11223344
#define GROUP_QPN 0xffffff
#define GRH 40
#define SIZE 1000
#define DEPTH 512

static const union ibv_gid group = { .raw = { 0xff, 0x12, [14] = 0x55, [15] = 0xaa } };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static char (*slot)[GRH + SIZE];

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

/* Without a name, opens the first device. */
static void open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL), **device = devices;

	must(devices, "devices");
	while (name && *device && strcmp(ibv_get_device_name(*device), name) != 0)
		device++;
	must(*device && (context = ibv_open_device(*device)), "a device");
	ibv_free_device_list(devices);
}

static void make(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .sq_sig_all = 1 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };

	slot = calloc(DEPTH, sizeof(*slot));
	must(slot && (pd = ibv_alloc_pd(context)), "a domain");
	cq = ibv_create_cq(context, 2 * DEPTH, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, slot, DEPTH * sizeof(*slot), IBV_ACCESS_LOCAL_WRITE);
	must(cq && mr, "a queue and memory");
	init.send_cq = init.recv_cq = cq;
	init.cap = (struct ibv_qp_cap){ DEPTH, DEPTH, 1, 1, 0 };
	must((qp = ibv_create_qp(pd, &init)), "a queue pair");
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
	     "INIT");
	attr.qp_state = IBV_QPS_RTR;
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

static struct ibv_wc await(void)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (!n);
	must(n == 1, "ibv_poll_cq");
	if (wc.status == IBV_WC_SUCCESS)
		return wc;
	fprintf(stderr, "group: %s\n", ibv_wc_status_str(wc.status));
	exit(1);
}

static struct ibv_sge part(unsigned int i, unsigned int length)
{
	return (struct ibv_sge){ (uintptr_t)slot[i], length, mr->lkey };
}

static void post_receive(unsigned int i)
{
	struct ibv_sge sge = part(i, GRH + SIZE);
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

static void judge(const struct ibv_wc *wc, bool *got, unsigned int messages)
{
	const struct ibv_grh *grh = (const void *)slot[wc->wr_id];
	const char *data = slot[wc->wr_id] + GRH;
	bool right = wc->imm_data < messages && wc->byte_len == GRH + SIZE &&
		     wc->wc_flags & IBV_WC_GRH && !memcmp(&grh->dgid, &group, 16) &&
		     data[0] == (char)wc->imm_data && data[SIZE - 1] == (char)wc->imm_data;

	if (right && !got[wc->imm_data]) {
		got[wc->imm_data] = true;
		return;
	}
	fprintf(stderr, "group: message %u is %s\n", wc->imm_data, right ? "here twice" : "wrong");
	exit(1);
}

static void receive(unsigned int messages)
{
	bool *got = calloc(messages, sizeof(*got));
	struct ibv_wc wc;

	must(got, "memory");
	for (unsigned int i = 0; i < DEPTH; i++)
		post_receive(i);
	must(!ibv_attach_mcast(qp, &group, 0), "ibv_attach_mcast");
	puts("receiving data transfers");
	for (unsigned int i = 0; i < messages; i++) {
		wc = await();
		judge(&wc, got, messages);
		post_receive((unsigned int)wc.wr_id);
	}
	must(!ibv_detach_mcast(qp, &group, 0), "ibv_detach_mcast");
	free(got);
}

static void send_all(unsigned int messages, bool leaves)
{
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh = { .dgid = group } };
	struct ibv_ah *ah = ibv_create_ah(pd, &to);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM, .num_sge = 1 }, *bad;
	struct ibv_sge sge;
	unsigned int at;

	must(!leaves || messages <= DEPTH, "as many places");
	must(ah, "ibv_create_ah");
	wr.sg_list = &sge;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = GROUP_QPN;
	wr.wr.ud.remote_qkey = QKEY;
	for (unsigned int i = 0; i < messages; i++) {
		at = leaves ? i : 0;
		sge = part(at, SIZE);
		wr.imm_data = i;
		memset(slot[at], (int)i, SIZE);
		must(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
		if (!leaves)
			(void)await();
	}
	ibv_destroy_ah(ah);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	unsigned int messages = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;

	if (!messages) {
		fputs("usage: group receive|send|leave MESSAGES [DEVICE]\n", stderr);
		return 2;
	}
	open_device(argv[3]);
	make();
	if (!strcmp(what, "receive"))
		receive(messages);
	else
		send_all(messages, !strcmp(what, "leave"));
	must(!ibv_destroy_qp(qp) && !ibv_dereg_mr(mr) && !ibv_destroy_cq(cq) &&
		     !ibv_dealloc_pd(pd) && !ibv_close_device(context),
	     "the end");
	free(slot);
	puts("return status 0");
	return 0;
}
