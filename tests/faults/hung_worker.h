/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Processes that do as they are told, on memory of a slow file or on ordinary memory. The
 * one who tells them waits for an answer only so long: a process that waits for a page
 * does not answer, and no signal ends it.
 */
#ifndef HUNG_WORKER_H
#define HUNG_WORKER_H

#include "side.h"
#include "slow_file.h"

#define WORKER_SIDES 8
/* Seconds for what must not wait for the page: a call to post; anything else. */
#define POST_TIME 5
#define OTHER_TIME 10
/* Bytes of each side's buffer, as many as of the slow file. */
#define HUNG_PAGES 16
#define HUNG_LENGTH ((size_t)HUNG_PAGES * SLOW_PAGE)

enum order_kind {
	/* A side over the slow file, mapped with `flags`; 0: over ordinary memory. */
	ORDER_OPEN,
	ORDER_CONNECT,
	/* wr_id, offset and length of the request; ibv_post_send() answers with `value`. */
	ORDER_POST,
	ORDER_RECEIVE,
	/* The next completion, if one comes in `seconds`. */
	ORDER_WAIT,
	/* All of the buffer, or a page of it. */
	ORDER_FILL,
	ORDER_LOOK,
	/* A command whose response, input, or range, is on the page at `offset`: 0 or errno. */
	ORDER_RESPONSE,
	ORDER_INPUT,
	ORDER_ADVISE,
	/* Memory is mapped, registered and unmapped. */
	ORDER_REMAP,
	ORDER_STOP,
};

struct order {
	enum order_kind kind;
	unsigned int side;
	int flags;
	bool on_demand;
	struct address address;
	enum ibv_wr_opcode opcode;
	uint64_t wr_id;
	size_t offset;
	size_t length;
	unsigned int seconds;
	uint32_t mark;
};

struct answer {
	struct address address;
	int64_t value;
	bool completed;
	struct ibv_wc wc;
	uint8_t page[SLOW_PAGE];
};

struct worker {
	struct helper h;
	const char *name;
};

void worker_start(struct worker *w, const char *name, const struct slow_file *file);
/* Its sides are closed, and it ends. */
void worker_stop(struct worker *w);
/* It may take as long as it likes; worker_answer() is to follow. */
void worker_tell(const struct worker *w, const struct order *o);
/* Dies when none comes in so many seconds. */
const struct answer *worker_answer(const struct worker *w, const char *what, unsigned int seconds);
/* Both. */
const struct answer *worker_ask(const struct worker *w, const char *what, const struct order *o,
				unsigned int seconds);

/* A side of each, connected. */
void workers_connect(const struct worker *a, const struct order *open_a, const struct worker *b,
		     const struct order *open_b);
/* Its next completion is of this request, and a success. */
void worker_completes(const struct worker *w, unsigned int side, uint64_t wr_id);
/* There is none yet. */
void worker_is_silent(const struct worker *w, unsigned int side);

#endif /* HUNG_WORKER_H */
