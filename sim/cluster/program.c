// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Coroutines of simulated programs. */
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "cluster/process.h"

#define STACK_BYTES (256u << 10)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* Sanitizers follow swapcontext(), but not _longjmp() between stacks. */
#define SWITCHES_BY_CONTEXT 1
#else
#define SWITCHES_BY_CONTEXT 0
#endif

struct coroutine {
	/*
	 * `context` starts the coroutine; _longjmp() to `place` resumes it, without the system
	 * call for the signal mask that swapcontext() makes.
	 */
	ucontext_t context;
	jmp_buf place;
	bool begun;
	void *stack;
	struct coroutine *next;
};

static struct {
	ucontext_t context;
	jmp_buf place;
	struct process *running;
	/* Unused coroutines, with their stacks. */
	struct coroutine *spare;
	struct coroutine *all;
} state;

static void begin(void)
{
	struct process *p = state.running;

	p->program(p, p->arg);
	p->ended = true;
	/* Never return: a context without uc_link would end the thread. */
	for (;;)
		coroutine_pause();
}

static struct coroutine *coroutine_new(void)
{
	struct coroutine *c = state.spare;

	if (c) {
		state.spare = c->next;
#ifdef __SANITIZE_ADDRESS__
		/* The last coroutine may not have returned: its stack frames are poisoned. */
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
	c->begun = false;
	makecontext(&c->context, begin, 0);
	c->next = state.all;
	state.all = c;
	p->coroutine = c;
}

/* Run the coroutine until it pauses. */
static void enter(struct coroutine *c)
{
	if (SWITCHES_BY_CONTEXT || !c->begun) {
		c->begun = true;
		swapcontext(&state.context, &c->context);
	} else {
		_longjmp(c->place, 1);
	}
}

void coroutine_run(struct process *p)
{
	struct process *before = state.running;

	state.running = p;
	if (SWITCHES_BY_CONTEXT || !_setjmp(state.place))
		enter(p->coroutine);
	state.running = before;
}

void coroutine_pause(void)
{
	struct coroutine *c = state.running->coroutine;

	if (SWITCHES_BY_CONTEXT)
		swapcontext(&c->context, &state.context);
	else if (!_setjmp(c->place))
		_longjmp(state.place, 1);
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
