/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Invalid arguments: what every family of verbs finds ready, how its tables say
 * what is wrong, and how an answer is judged.
 */
#ifndef INVALID_H
#define INVALID_H

#include "side.h"

/* Valid objects, to be combined with one that is not. */
struct bench {
	struct ibv_context *context;
	struct ibv_device_attr limits;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	/* Two pages, all of which mr covers. */
	uint8_t *memory;
	size_t length;
	union ibv_gid gid;
	/* The same of another context, where handles count from the same number. */
	struct side other;
};

extern struct bench bench;

/* One member of an argument, the value that makes it invalid, and the errno. */
struct wrong {
	const char *what;
	size_t at;
	size_t size;
	uint64_t value;
	int want;
	/* In the kernel, what may be said before the device is asked; or 0. */
	int early;
};

/* The errno that is right, as close to `is` as may be. */
int wanted(const struct wrong *wrong, int is);

#define WRONG_EARLY(_type, _member, _value, _want, _early)                                         \
	{                                                                                          \
		.what = #_member " = " #_value, .at = offsetof(_type, _member),                    \
		.size = sizeof(__typeof__(((_type *)NULL)->_member)), .value = (uint64_t)(_value), \
		.want = (_want), .early = (_early)                                                 \
	}

#define WRONG(_type, _member, _value, _want) WRONG_EARLY(_type, _member, _value, _want, 0)

#define COUNT(_table) (sizeof(_table) / sizeof((_table)[0]))

/* Make the argument wrong in this way. */
void spoil(void *argument, const struct wrong *wrong);

/* errno of a verb that returns an object: 0 if it made one. */
#define ERRNO_OF(_call) (errno = 0, (_call) ? 0 : errno)

/* Dies unless the verb answered so. `what` names the argument. */
void judge(const char *verb, const char *what, int is, int want);

/*
 * A verb was asked everything that it must refuse: whoever is beside it exchanges
 * messages, and the daemon holds what it held at the last look. Prints how many
 * answers were judged since then.
 */
void look_around(const char *verbs);

/* The families, one for each file. */
void invalid_device(void);
void invalid_domains(void);
void invalid_memory(void);
void invalid_windows(void);
void invalid_cqs(void);
void invalid_srqs(void);
void invalid_qps(void);
void invalid_changes(void);
void invalid_xrc(void);
void invalid_groups(void);
void invalid_frames(void);
void invalid_posts(void);
void invalid_builders(void);

#endif /* INVALID_H */
