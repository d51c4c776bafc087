/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Worker processes that execute orders, on memory of a slow file or on ordinary memory. The
 * test process waits for each answer with a time limit: a worker that waits for a page does not
 * answer, and no signal ends it.
 */
#ifndef HUNG_WORKER_H
#define HUNG_WORKER_H

#include "side.h"
#include "slow_file.h"

#define WORKER_SIDES 8
/* Time limits in seconds of calls that must not wait for the page: posting, and all others. */
#define POST_TIME 5
#define OTHER_TIME 10
/* Size of each side's buffer, and of the slow file. */
#define HUNG_PAGES 40
#define HUNG_LENGTH ((size_t)HUNG_PAGES * SLOW_PAGE)

enum order_kind {
	/*
	 * Opens a side whose buffer is a mapping of the slow file with `flags`; 0: ordinary
	 * memory.
	 */
	ORDER_OPEN,
	ORDER_CONNECT,
	/*
	 * Posts a request with opcode, wr_id, offset and length; `value` is ibv_post_send()'s
	 * result.
	 */
	ORDER_POST,
	ORDER_RECEIVE,
	/* Polls for a completion for up to `seconds`. */
	ORDER_WAIT,
	/* Fills the range, or returns the page at `offset`. */
	ORDER_FILL,
	ORDER_LOOK,
	/*
	 * A command whose response, input, or range is on the page at `offset`; `value` is 0 or
	 * errno.
	 */
	ORDER_RESPONSE,
	ORDER_INPUT,
	ORDER_ADVISE,
	/* Maps, registers, deregisters and unmaps memory. */
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
/* Closes all sides of the worker, and waits for its end. */
void worker_stop(struct worker *w);
/* Sends an order without waiting; worker_answer() must follow. */
void worker_tell(const struct worker *w, const struct order *o);
/* Ends the test if no answer comes in `seconds`. Returns static memory. */
const struct answer *worker_answer(const struct worker *w, const char *what, unsigned int seconds);
/* worker_tell(), then worker_answer(). */
const struct answer *worker_ask(const struct worker *w, const char *what, const struct order *o,
				unsigned int seconds);

/* Opens one side in each worker, and connects the two. */
void workers_connect(const struct worker *a, const struct order *open_a, const struct worker *b,
		     const struct order *open_b);
/* Checks that the next completion is a successful one of request `wr_id`. */
void worker_completes(const struct worker *w, unsigned int side, uint64_t wr_id);
/* Checks that there is no completion yet. */
void worker_is_silent(const struct worker *w, unsigned int side);

#endif /* HUNG_WORKER_H */
