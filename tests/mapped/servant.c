// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "servant.h"

#include <unistd.h>

enum order_kind {
	ORDER_WRITE,
	ORDER_READ,
	ORDER_READ_BYTES,
	ORDER_ADD,
	ORDER_ADDS,
	ORDER_SEND,
	ORDER_RESET,
	ORDER_END,
};

struct order {
	enum order_kind kind;
	uint32_t mark;
	uint32_t rkey;
	uint64_t addr;
	uint64_t length;
	uint64_t value;
};

struct answer {
	enum ibv_wc_status status;
	bool right;
	uint64_t old;
};

static const struct wish wish = { .length = SERVANT_ROOM + 4096 };

static enum ibv_wc_status execute(struct side *s, const struct order *o)
{
	static const enum ibv_wr_opcode opcode[] = {
		[ORDER_WRITE] = IBV_WR_RDMA_WRITE,
		[ORDER_READ] = IBV_WR_RDMA_READ,
		[ORDER_READ_BYTES] = IBV_WR_RDMA_READ,
		[ORDER_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[ORDER_SEND] = IBV_WR_SEND,
	};
	/* The same offset in the page as at the other end, or another one. */
	size_t at = o->mark % 3 ? o->mark % 64 : o->addr % 4096;
	struct ibv_sge sge = side_sge(s, o->kind == ORDER_ADD ? 0 : at, o->length);
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode[o->kind],
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (o->kind == ORDER_ADD) {
		wr.wr.atomic.remote_addr = o->addr;
		wr.wr.atomic.rkey = o->rkey;
		wr.wr.atomic.compare_add = o->value;
	} else {
		wr.wr.rdma.remote_addr = o->addr;
		wr.wr.rdma.rkey = o->rkey;
	}
	if (o->kind == ORDER_WRITE || o->kind == ORDER_SEND)
		fill(s->buffer + at, o->length, o->mark);
	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
	return side_wait(s).status;
}

static bool is_right(const struct side *s, const struct order *o)
{
	const uint8_t *data = s->buffer + (o->mark % 3 ? o->mark % 64 : o->addr % 4096);

	if (o->kind == ORDER_READ)
		return is_filled(data, o->length, o->mark);
	for (uint64_t i = 0; o->kind == ORDER_READ_BYTES && i < o->length; i++)
		if (data[i] != (uint8_t)o->value)
			return false;
	return true;
}

static void execute_adds(struct side *s, const struct order *o)
{
	struct order add = *o;

	add.kind = ORDER_ADD;
	add.length = sizeof(uint64_t);
	for (uint64_t i = 0; i < o->length; i++)
		CHECK_EQ(execute(s, &add), IBV_WC_SUCCESS);
}

static void serve(int sock, void *arg)
{
	struct answer answer;
	struct order order;
	struct side s;

	(void)arg;
	side_open(&s, &wish);
	side_meet(&s, sock);
	for (;;) {
		hear(sock, &order, sizeof(order));
		if (order.kind == ORDER_END)
			break;
		memset(&answer, 0, sizeof(answer));
		if (order.kind == ORDER_RESET) {
			CHECK(side_try_anew(&s, &s.peer));
		} else if (order.kind == ORDER_ADDS) {
			execute_adds(&s, &order);
		} else {
			answer.status = execute(&s, &order);
			answer.right = is_right(&s, &order);
			memcpy(&answer.old, s.buffer, sizeof(answer.old));
		}
		tell(sock, &answer, sizeof(answer));
	}
	side_close(&s);
}

void servant_start(struct servant *v)
{
	helper_start(&v->helper, "servant", serve, NULL);
	side_open(&v->side, &wish);
	side_meet(&v->side, v->helper.sock);
}

static struct answer command(struct servant *v, const struct order *order)
{
	struct answer answer = { .status = IBV_WC_SUCCESS };

	tell(v->helper.sock, order, sizeof(*order));
	if (order->kind != ORDER_END)
		hear(v->helper.sock, &answer, sizeof(answer));
	return answer;
}

/* After an error the queue pairs are in the error state: start anew. */
static enum ibv_wc_status recover(struct servant *v, enum ibv_wc_status status)
{
	if (status == IBV_WC_SUCCESS)
		return status;
	CHECK(side_try_anew(&v->side, &v->side.peer));
	(void)command(v, &(struct order){ .kind = ORDER_RESET });
	return status;
}

void servant_end(struct servant *v)
{
	(void)command(v, &(struct order){ .kind = ORDER_END });
	helper_join(&v->helper);
	side_close(&v->side);
}

enum ibv_wc_status servant_write(struct servant *v, void *to, const struct ibv_mr *mr,
				 size_t length, uint32_t mark)
{
	struct order order = { .kind = ORDER_WRITE,
			       .addr = (uintptr_t)to,
			       .rkey = mr->rkey,
			       .length = length,
			       .mark = mark };

	return recover(v, command(v, &order).status);
}

static enum ibv_wc_status read_and_compare(struct servant *v, struct order *order)
{
	struct answer answer = command(v, order);

	CHECK(answer.status != IBV_WC_SUCCESS || answer.right);
	return recover(v, answer.status);
}

enum ibv_wc_status servant_read(struct servant *v, const void *from, const struct ibv_mr *mr,
				size_t length, uint32_t mark)
{
	struct order order = { .kind = ORDER_READ,
			       .addr = (uintptr_t)from,
			       .rkey = mr->rkey,
			       .length = length,
			       .mark = mark };

	return read_and_compare(v, &order);
}

enum ibv_wc_status servant_read_bytes(struct servant *v, const void *from, const struct ibv_mr *mr,
				      size_t length, uint8_t byte)
{
	struct order order = { .kind = ORDER_READ_BYTES,
			       .addr = (uintptr_t)from,
			       .rkey = mr->rkey,
			       .length = length,
			       .value = byte };

	return read_and_compare(v, &order);
}

uint64_t servant_add(struct servant *v, void *word, const struct ibv_mr *mr, uint64_t value)
{
	struct order order = { .kind = ORDER_ADD,
			       .addr = (uintptr_t)word,
			       .rkey = mr->rkey,
			       .length = sizeof(value),
			       .value = value };
	struct answer answer = command(v, &order);

	CHECK_EQ(answer.status, IBV_WC_SUCCESS);
	return answer.old;
}

void servant_begin_adds(struct servant *v, void *word, const struct ibv_mr *mr, unsigned int count)
{
	struct order order = { .kind = ORDER_ADDS,
			       .addr = (uintptr_t)word,
			       .rkey = mr->rkey,
			       .length = count,
			       .value = 1 };

	tell(v->helper.sock, &order, sizeof(order));
}

void servant_end_adds(struct servant *v)
{
	struct answer answer;

	hear(v->helper.sock, &answer, sizeof(answer));
}

enum ibv_wc_status servant_send(struct servant *v, size_t length, uint32_t mark)
{
	struct order order = { .kind = ORDER_SEND, .length = length, .mark = mark };

	return recover(v, command(v, &order).status);
}

long long servant_calls(const struct servant *v)
{
	char question[128];

	snprintf(question, sizeof(question), ".clients[] | select(.pid == %d) | .bytes_called",
		 (int)v->helper.pid);
	return strtoll(ask_status(question), NULL, 10);
}

bool is_mapped(const void *address)
{
	unsigned long start, end, at = (uintptr_t)address;
	FILE *maps = fopen("/proc/self/maps", "re");
	bool found = false;
	char line[512];

	CHECK(maps);
	while (!found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx", &start, &end) == 2 && at >= start && at < end &&
			strstr(line, "/memfd:vnet-memory");
	CHECK_EQ(fclose(maps), 0);
	return found;
}
