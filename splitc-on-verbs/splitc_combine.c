// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reductions and scans. */
#include <stdlib.h>
#include <string.h>

#include "splitc_collect.h"
#include "splitc_core.h"

static const size_t size_of[SPLITC_NUM_TYPES] = {
	[SPLITC_INT] = sizeof(int),     [SPLITC_UINT] = sizeof(unsigned int),
	[SPLITC_LONG] = sizeof(long),   [SPLITC_ULONG] = sizeof(unsigned long),
	[SPLITC_FLOAT] = sizeof(float), [SPLITC_DOUBLE] = sizeof(double),
};

/*
 * Combines @n values into @to. @left are those of the lower processor. @calc: the type used
 * for arithmetic.
 */
#define EACH(type, expression)                                                                     \
	for (size_t i = 0; i < n; i++) {                                                           \
		type a = left[i], b = right[i];                                                    \
                                                                                                   \
		to[i] = (expression);                                                              \
	}                                                                                          \
	break

#define ARITHMETIC(type, calc)                                                                     \
	case SPLITC_ADD:                                                                           \
		EACH(type, (type)((calc)a + (calc)b));                                             \
	case SPLITC_MUL:                                                                           \
		EACH(type, (type)((calc)a * (calc)b));                                             \
	case SPLITC_MIN:                                                                           \
		EACH(type, b < a ? b : a);                                                         \
	case SPLITC_MAX:                                                                           \
		EACH(type, b > a ? b : a);

#define LOGIC(type)                                                                                \
	case SPLITC_AND:                                                                           \
		EACH(type, a &b);                                                                  \
	case SPLITC_OR:                                                                            \
		EACH(type, a | b);                                                                 \
	case SPLITC_XOR:                                                                           \
		EACH(type, a ^ b);

#define COMBINE(name, type, calc, logic)                                                           \
	static void combine_##name(enum splitc_op op, type *to, const type *left,                  \
				   const type *right, size_t n)                                    \
	{                                                                                          \
		switch (op) {                                                                      \
			ARITHMETIC(type, calc)                                                     \
			logic default : break;                                                     \
		}                                                                                  \
	}

/* Arithmetic in the unsigned type, so that signed integers wrap around. */
COMBINE(int, int, unsigned int, LOGIC(int))
COMBINE(uint, unsigned int, unsigned int, LOGIC(unsigned int))
COMBINE(long, long, unsigned long, LOGIC(long))
COMBINE(ulong, unsigned long, unsigned long, LOGIC(unsigned long))
COMBINE(float, float, float, )
COMBINE(double, double, double, )

static void combine(enum splitc_type type, enum splitc_op op, void *to, const void *left,
		    const void *right, size_t n)
{
	switch (type) {
	case SPLITC_INT:
		combine_int(op, to, left, right, n);
		break;
	case SPLITC_UINT:
		combine_uint(op, to, left, right, n);
		break;
	case SPLITC_LONG:
		combine_long(op, to, left, right, n);
		break;
	case SPLITC_ULONG:
		combine_ulong(op, to, left, right, n);
		break;
	case SPLITC_FLOAT:
		combine_float(op, to, left, right, n);
		break;
	default:
		combine_double(op, to, left, right, n);
	}
}

static void check(enum splitc_type type, enum splitc_op op)
{
	if ((unsigned int)type >= SPLITC_NUM_TYPES || (unsigned int)op >= SPLITC_NUM_OPS ||
	    (op >= SPLITC_AND && (type == SPLITC_FLOAT || type == SPLITC_DOUBLE)))
		sc_fail("there is no reduction %d of type %d", (int)op, (int)type);
}

/* A temporary buffer, on the stack if it is small. */
struct room {
	double few[32];
	void *at;
};

static void *get_room(struct room *room, size_t n)
{
	room->at = n <= sizeof(room->few) ? room->few : malloc(n);
	if (!room->at)
		sc_fail("no memory for %zu bytes of a reduction", n);
	return room->at;
}

static void free_room(struct room *room)
{
	if (room->at != room->few)
		free(room->at);
}

/*
 * Reduces by a binomial tree: this processor combines its values with those of more and
 * more higher processors, then sends them to a lower one.
 */
static void reduce(enum splitc_type type, enum splitc_op op, void *values, size_t count)
{
	size_t n = count * size_of[type];
	struct room room;
	void *other = get_room(&room, n);

	for (int step = 1; step < splitc_procs; step *= 2) {
		if (splitc_my_proc & step) {
			sc_collect_send(splitc_my_proc - step, values, n);
			break;
		}
		if (splitc_my_proc + step >= splitc_procs)
			continue;
		sc_collect_receive(splitc_my_proc + step, other, n);
		combine(type, op, values, values, other, count);
	}
	free_room(&room);
}

void splitc_all_reduce_to_one(enum splitc_type type, enum splitc_op op, void *values, size_t count)
{
	size_t n;
	struct room room;
	void *mine;

	check(type, op);
	sc_collect_begin();
	n = count * size_of[type];
	/* The values of other processors must not change, so combine in a copy. */
	mine = get_room(&room, n);
	memcpy(mine, values, n);
	reduce(type, op, mine, count);
	if (splitc_my_proc == 0)
		memcpy(values, mine, n);
	free_room(&room);
}

void splitc_all_reduce_to_all(enum splitc_type type, enum splitc_op op, void *values, size_t count)
{
	check(type, op);
	sc_collect_begin();
	reduce(type, op, values, count);
	splitc_all_bcast_bulk(0, values, count * size_of[type]);
}

/*
 * After each step, this processor has the result of twice as many processors, with the
 * lower ones' values on the left.
 */
void splitc_all_scan(enum splitc_type type, enum splitc_op op, void *values, size_t count)
{
	size_t n;
	struct room room;
	void *other;

	check(type, op);
	sc_collect_begin();
	n = count * size_of[type];
	other = get_room(&room, n);
	for (int step = 1; step < splitc_procs; step *= 2) {
		if (splitc_my_proc + step < splitc_procs)
			sc_collect_send(splitc_my_proc + step, values, n);
		if (splitc_my_proc < step)
			continue;
		sc_collect_receive(splitc_my_proc - step, other, n);
		combine(type, op, values, other, values, count);
	}
	free_room(&room);
}
