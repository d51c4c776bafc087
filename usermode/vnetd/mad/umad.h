/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Files of management datagrams, as /dev/infiniband/umad* are (the kernel's
 * user_mad.rst): between this folder's files. Only ports of InfiniBand have them.
 */
#ifndef MAD_UMAD_H
#define MAD_UMAD_H

#include <rdma/ib_user_mad.h>

#include "../daemon.h"
#include "mad.h"

/* As many as the kernel lets a file have. */
#define UMAD_AGENTS 32

/* Who asks for a class of datagrams, or answers for it. */
struct umad_agent {
	bool used;
	/* Queue pair 0 or 1. */
	u32 qpn;
	/* 0: it sends only. */
	u8 class, version;
	/* Requests that come for it, by method. */
	u64 methods[2];
	/* Of a vendor's class; else 0. */
	u32 oui;
	/* Of the transaction numbers of what it asks, the upper half: nobody else has that. */
	u32 tid_high;
};

struct umad_file {
	struct file *file;
	struct umad_file *next;
	/* Headers tell of partitions. */
	bool pkeys;
	bool registered;
	u32 nrequests;
	struct umad_agent agent[UMAD_AGENTS];
};

/* The older form is the first part of the other. */
static inline u32 umad_header_size(const struct umad_file *file)
{
	return file->pkeys ? (u32)sizeof(struct ib_user_mad_hdr) :
			     (u32)sizeof(struct ib_user_mad_hdr_old);
}

/* ------------------------------------------------------------------- file.c */

/* Who has registered for what came: its file and number. NULL: nobody. */
struct umad_file *umad_find(const struct device *device, const struct mad *mad, u32 *agent);
/* For the program to read: the datagram's first bytes. false: it has not read others yet. */
bool umad_give(struct umad_file *file, const struct ib_user_mad_hdr *hdr, const struct mad *mad,
	       u32 length);

/* ------------------------------------------------------------------ route.c */

/*
 * On its way; an answer is waited for if the header says so. 0; -ENOMEM; -EINVAL: for an
 * answer to a transaction of that number is waited already.
 */
int umad_send(struct umad_file *file, const struct ib_user_mad_hdr *hdr, const struct mad *mad);
/* Nobody waits for an answer any more: to this agent, or to any of the file's (UMAD_AGENTS). */
void umad_forget(struct umad_file *file, u32 agent);
/* One has come to this port, from there. */
void umad_arrive(struct device *device, u16 from, const struct mad *mad);

/* ---------------------------------------------------- subnet.c, performance.c */

/* What the port answers by itself. @answer is the request, and becomes the answer, with its status. */
void subnet_answer(const struct device *device, struct mad *answer);
void performance_answer(struct device *device, struct mad *answer);

/* Where their attributes are, and the version of their classes. */
enum { UMAD_DATA = 64, UMAD_CLASS_VERSION = 1 };

/* MAD_STATUS of those. */
enum umad_status {
	UMAD_STATUS_BAD_VERSION = 0x04,
	UMAD_STATUS_NO_METHOD = 0x08,
	UMAD_STATUS_NO_ATTRIBUTE = 0x0c,
	UMAD_STATUS_BAD_VALUE = 0x1c,
	/* In directed routes: it is on its way back. */
	UMAD_STATUS_DIRECTION = 0x8000,
};

#endif /* MAD_UMAD_H */
