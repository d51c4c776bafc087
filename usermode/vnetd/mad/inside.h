/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal interface of umad files, which act as /dev/infiniband/umad* (the kernel's
 * user_mad.rst). Only InfiniBand ports have them.
 */
#ifndef MAD_INSIDE_H
#define MAD_INSIDE_H

#include <rdma/ib_user_mad.h>

#include "daemon.h"
#include "mad.h"

/* The kernel's limit of agents per file. */
#define UMAD_AGENTS 32

/* A registered agent, which sends and receives MADs of a class. */
struct umad_agent {
	bool used;
	/* Queue pair 0 or 1. */
	u32 qpn;
	/* Class 0: the agent receives no requests. */
	u8 class, version;
	/* Methods of requests that the agent receives. */
	u64 methods[2];
	/* OUI of a vendor class; else 0. */
	u32 oui;
	/* Upper half of transaction ids of its requests; unique. */
	u32 tid_high;
};

struct umad_file {
	struct file *file;
	struct umad_file *next;
	/* Headers contain a P_Key index. */
	bool pkeys;
	bool registered;
	u32 nrequests;
	struct umad_agent agent[UMAD_AGENTS];
};

/* The old header is the first part of the new one. */
static inline u32 umad_header_size(const struct umad_file *file)
{
	return file->pkeys ? (u32)sizeof(struct ib_user_mad_hdr) :
			     (u32)sizeof(struct ib_user_mad_hdr_old);
}

/* ------------------------------------------------------------------- file.c */

/* Finds the agent that has registered for a MAD, and its file. Returns NULL if there is none. */
struct umad_file *umad_find(const struct device *device, const struct mad *mad, u32 *agent);
/* Queues the first `length` bytes of a MAD for the program. Returns false if its socket is full. */
bool umad_give(struct umad_file *file, const struct ib_user_mad_hdr *hdr, const struct mad *mad,
	       u32 length);

/* ------------------------------------------------------------------ route.c */

/*
 * Sends a MAD. If the header has a timeout, awaits an answer. Returns 0; -ENOMEM; -EINVAL: a
 * request with this transaction id already awaits an answer.
 */
int umad_send(struct umad_file *file, const struct ib_user_mad_hdr *hdr, const struct mad *mad);
/* Drops pending requests of an agent, or of all agents of the file (UMAD_AGENTS). */
void umad_forget(struct umad_file *file, u32 agent);

/* ---------------------------------------------------- subnet.c, performance.c */

/*
 * The port's own answers. @answer contains the request, and is overwritten with the answer and
 * its status.
 */
void subnet_answer(const struct device *device, struct mad *answer);
void performance_answer(struct device *device, struct mad *answer);

/* Offset of the attributes of these classes, and their version. */
enum { UMAD_DATA = 64, UMAD_CLASS_VERSION = 1 };

/* Values of MAD_STATUS in these classes. */
enum umad_status {
	UMAD_STATUS_BAD_VERSION = 0x04,
	UMAD_STATUS_NO_METHOD = 0x08,
	UMAD_STATUS_NO_ATTRIBUTE = 0x0c,
	UMAD_STATUS_BAD_VALUE = 0x1c,
	/* Direction bit of directed-route SMPs. */
	UMAD_STATUS_DIRECTION = 0x8000,
};

#endif /* MAD_INSIDE_H */
