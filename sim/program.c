// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Simulated programs as coroutines: one runs until something takes time. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "process.h"

#define STACK_BYTES (256u << 10)

struct coroutine {
	ucontext_t context;
	void *stack;
	struct coroutine *next;
};

static struct {
	ucontext_t loop;
	struct process *running;
	/* Stacks that are not in use. */
	struct coroutine *spare;
	struct coroutine *all;
} state;

static void begin(void)
{
	struct process *p = state.running;

	p->program(p, p->arg);
	p->ended = true;
	/* To the loop, for good. */
	for (;;)
		coroutine_pause();
}

static struct coroutine *coroutine_new(void)
{
	struct coroutine *c = state.spare;

	if (c) {
		state.spare = c->next;
#ifdef __SANITIZE_ADDRESS__
		/* Who was killed has left his frames on it. */
		__asan_unpoison_memory_region(c->stack, STACK_BYTES);
#endif
		return c;
	}
	c = calloc(1, sizeof(*c));
	if (c)
		c->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!c || c->stack == MAP_FAILED) {
		fputs("vnet-sim: no memory for programs\n", stderr);
		abort();
	}
	return c;
}

void coroutine_start(struct process *p)
{
	struct coroutine *c = coroutine_new();

	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK_BYTES;
	c->context.uc_link = NULL;
	makecontext(&c->context, begin, 0);
	c->next = state.all;
	state.all = c;
	p->coroutine = c;
}

void coroutine_run(struct process *p)
{
	struct process *before = state.running;

	state.running = p;
	swapcontext(&state.loop, &p->coroutine->context);
	state.running = before;
}

void coroutine_pause(void)
{
	swapcontext(&state.running->coroutine->context, &state.loop);
}

struct process *coroutine_running(void)
{
	return state.running;
}

void coroutine_end_all(void)
{
	struct coroutine *c;

	while (state.all) {
		c = state.all;
		state.all = c->next;
		c->next = state.spare;
		state.spare = c;
	}
}
