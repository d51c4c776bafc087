/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Interface of the tests of invalid arguments: valid objects, tables of invalid values, and
 * checks.
 */
#ifndef INVALID_H
#define INVALID_H

#include "side.h"

/* Valid objects, which are combined with one invalid argument. */
struct bench {
	struct ibv_context *context;
	struct ibv_device_attr limits;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	/* Two pages, all covered by mr. */
	uint8_t *memory;
	size_t length;
	union ibv_gid gid;
	/* Objects of another context, in which handles start at the same number. */
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
	/* errno that the kernel's core may return before it calls the driver; or 0. */
	int early;
};

/* Returns the expected errno: `is` itself if it is wrong->early in the kernel. */
int wanted(const struct wrong *wrong, int is);

#define WRONG_EARLY(_type, _member, _value, _want, _early)                                         \
	{                                                                                          \
		.what = #_member " = " #_value, .at = offsetof(_type, _member),                    \
		.size = sizeof(__typeof__(((_type *)NULL)->_member)), .value = (uint64_t)(_value), \
		.want = (_want), .early = (_early)                                                 \
	}

#define WRONG(_type, _member, _value, _want) WRONG_EARLY(_type, _member, _value, _want, 0)

#define COUNT(_table) (sizeof(_table) / sizeof((_table)[0]))

/* Sets the member of the argument to its invalid value. */
void spoil(void *argument, const struct wrong *wrong);

/* errno of a verb that returns an object: 0 if it made one. */
#define ERRNO_OF(_call) (errno = 0, (_call) ? 0 : errno)

/* Ends the test unless the verb returned `want`. `what` names the argument. */
void judge(const char *verb, const char *what, int is, int want);

/*
 * Called after a family of verbs: checks that bystanders still exchange messages, and that
 * vnetd holds the same objects as before. Prints the number of results since the last call.
 */
void look_around(const char *verbs);

/* The families of verbs. */
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
