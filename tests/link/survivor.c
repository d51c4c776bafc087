// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Behaviour of queue pairs whose peer node is killed under traffic. This program kills the
 * node's vnetd, and the program there.
 *
 *   link_survivor PID COMMAND...
 * PID is that of the node's vnetd; COMMAND, such as "vnet run --node B", starts a program
 * there.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other_end.h"
#include "side.h"

#define DEPTH 32u
#define BYTES 512u
/* Time without an answer before an error: 4.096 us * 2^13 * (3 + 1). */
#define TIMEOUT 13
#define RETRIES 3
#define LEAST_NS ((4096ull << TIMEOUT) * (RETRIES + 1))
/* Messages of each stream before the node is killed, and datagrams afterwards. */
#define BEFORE 300u
#define AFTER 200u

/*
 * Five connections: one with a stream of writes, one that is idle until the node is dead, one
 * that only receives, and two unreliable ones.
 */
enum { WRITER, RESTING, WAITER, UC, UD, SIDES };

/* Number of posted and completed requests, and the time of each post. */
struct stream {
	uint32_t posted, done;
	uint64_t when[DEPTH];
};

static struct side sides[SIDES];
static struct stream streams[SIDES];
static struct ibv_ah *way;

static void open_sides(int sock)
{
	struct ibv_context *context = open_device();

	for (int i = 0; i < SIDES; i++) {
		const struct wish wish = {
			.type = i == UC ? IBV_QPT_UC :
				i == UD ? IBV_QPT_UD :
					  IBV_QPT_RC,
			.length = (size_t)2 * DEPTH * BYTES,
			.depth = DEPTH,
			.timeout = TIMEOUT,
			.retry_cnt = RETRIES,
			.context = context,
		};

		side_open(&sides[i], &wish);
		for (uint32_t j = 0; j < DEPTH; j++)
			side_receive(&sides[i], j, (size_t)(DEPTH + j) * BYTES, BYTES);
		side_meet(&sides[i], sock);
	}
}

static void close_sides(void)
{
	struct ibv_context *context = sides[0].context;

	CHECK_EQ(ibv_destroy_ah(way), 0);
	for (int i = 0; i < SIDES; i++)
		side_close(&sides[i]);
	CHECK_EQ(ibv_close_device(context), 0);
}

/* ----------------------------------------------------------------- the victim */

static void victim(int sock)
{
	pid_t self = getpid();
	struct ibv_wc wc;

	open_sides(sock);
	tell(sock, &self, sizeof(self));
	side_post(&sides[WAITER], IBV_WR_SEND, 0, 0, BYTES);
	for (;;) {
		for (int i = UC; i < SIDES; i++)
			if (ibv_poll_cq(sides[i].cq, 1, &wc) == 1)
				side_receive(&sides[i], wc.wr_id,
					     (size_t)(DEPTH + wc.wr_id) * BYTES, BYTES);
		for (int i = 0; i < UC; i++)
			CHECK(ibv_poll_cq(sides[i].cq, 1, &wc) >= 0);
	}
}

static void start_victim(int sock, void *arg)
{
	char *const *argv = arg;
	char *program[] = { argv[0], NULL };

	become_other_end(sock, argv + 2, program);
}

static bool is_there(pid_t pid)
{
	char path[64], text[512], *end;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	end = strrchr(text, ')');
	return end && end[2] != 'Z' && end[2] != 'X';
}

static void kill_node(pid_t agent, pid_t program, pid_t child)
{
	uint64_t since = now_ns();

	CHECK_EQ(kill(agent, SIGKILL), 0);
	CHECK_EQ(kill(program, SIGKILL), 0);
	CHECK(waitpid(child, NULL, 0) == child);
	while (is_there(agent) || is_there(program))
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("the node is not gone");
}

/* -------------------------------------------------------------- the survivor */

static void post(int i)
{
	struct stream *stream = &streams[i];
	struct side *s = &sides[i];
	uint32_t id = stream->posted++;
	struct ibv_sge sge = side_sge(s, (size_t)(id % DEPTH) * BYTES, BYTES);
	struct ibv_send_wr wr = {
		.wr_id = DEPTH + id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = i < WAITER ? IBV_WR_RDMA_WRITE : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (i < WAITER) {
		wr.wr.rdma.remote_addr = s->peer.addr;
		wr.wr.rdma.rkey = s->peer.rkey;
	} else if (i == UD) {
		wr.wr.ud.ah = way;
		wr.wr.ud.remote_qpn = s->peer.qpn;
		wr.wr.ud.remote_qkey = SIDE_QKEY;
	}
	stream->when[id % DEPTH] = now_ns();
	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
}

static void post_all(int i)
{
	while (streams[i].posted - streams[i].done < DEPTH)
		post(i);
}

/* Waits for the next completion of a stream, which must be in order. */
static struct ibv_wc next(int i)
{
	struct ibv_wc wc = side_wait(&sides[i]);

	CHECK_EQ(wc.wr_id, DEPTH + streams[i].done);
	streams[i].done++;
	return wc;
}

static void succeed(int i, uint32_t count)
{
	while (count--) {
		struct ibv_wc wc;

		post_all(i);
		wc = next(i);
		if (wc.status != IBV_WC_SUCCESS)
			FAIL("stream %d: status %d (%s) of message %u", i, (int)wc.status,
			     ibv_wc_status_str(wc.status), streams[i].done);
	}
}

/*
 * Requests that were executed complete with success (if all were, one more is posted). The next
 * one fails when its timeout and retries are used up, and the rest is flushed.
 */
static void expect_failure(int i, const char *what)
{
	struct stream *stream = &streams[i];
	uint64_t since, took;
	struct ibv_wc wc;

	do {
		if (stream->done == stream->posted)
			post(i);
		since = stream->when[stream->done % DEPTH];
		wc = next(i);
	} while (wc.status == IBV_WC_SUCCESS);
	took = now_ns() - since;
	CHECK_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
	note("%s: an error %.0f ms after the request was posted, at least %.0f wanted", what,
	     (double)took / 1e6, (double)LEAST_NS / 1e6);
	CHECK(took >= LEAST_NS);
	while (stream->done < stream->posted)
		CHECK_EQ(next(i).status, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(side_state(&sides[i]), IBV_QPS_ERR);
}

static void make_way(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = sides[UD].peer.gid, .hop_limit = 1 },
	};

	way = ibv_create_ah(sides[UD].pd, &attr);
	CHECK(way);
}

/* A side that only waits has no completion, and its connection is still in RTS. */
static void expect_nothing(int i)
{
	struct ibv_wc wc;

	CHECK_EQ(ibv_poll_cq(sides[i].cq, 1, &wc), 0);
	CHECK_EQ(side_state(&sides[i]), IBV_QPS_RTS);
}

static void survive(pid_t agent, char **argv)
{
	struct helper other;
	pid_t program;

	helper_start(&other, "victim", start_victim, argv);
	open_sides(other.sock);
	hear(other.sock, &program, sizeof(program));
	make_way();
	CHECK_EQ(side_wait(&sides[WAITER]).status, IBV_WC_SUCCESS);
	succeed(UC, BEFORE);
	succeed(UD, BEFORE);
	succeed(WRITER, BEFORE);
	post_all(WRITER);
	kill_node(agent, program, other.pid);
	post_all(RESTING);
	succeed(UC, AFTER);
	succeed(UD, AFTER);
	expect_failure(WRITER, "in the midst of writing");
	CHECK_EQ(streams[RESTING].done, 0);
	expect_failure(RESTING, "after a rest");
	CHECK_EQ(streams[RESTING].posted, DEPTH);
	expect_nothing(WAITER);
	while (streams[UC].done < streams[UC].posted)
		CHECK_EQ(next(UC).status, IBV_WC_SUCCESS);
	while (streams[UD].done < streams[UD].posted)
		CHECK_EQ(next(UD).status, IBV_WC_SUCCESS);
	expect_nothing(UC);
	expect_nothing(UD);
	expect_nothing(WAITER);
	close(other.sock);
	close_sides();
}

int main(int argc, char **argv)
{
	CHECK(argc > 2);
	if (!strcmp(argv[1], "--end"))
		victim(atoi(argv[2]));
	survive(atoi(argv[1]), argv);
	return 0;
}
