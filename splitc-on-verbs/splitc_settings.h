/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What can be set, by SPLITC_SETTINGS in the environment. */
#ifndef SPLITC_SETTINGS_H
#define SPLITC_SETTINGS_H

#define SC_MAX_CREDITS 64

struct sc_settings {
	char device[64]; /* "": the first that has an active port */
	long port; /* 0: the first that is active */
	long gid_index; /* -1: the best */
	long mapping; /* enum sc_mapping_number */
	long credits; /* requests outstanding to each processor */
	long acks; /* stores that one acknowledgement answers; 0: a quarter of the credits */
	long coalesce; /* bytes of stores that may share a message; 0: none do */
	long depth; /* direct: RDMA operations outstanding to each processor */
	long signal; /* direct: one of so many asks for a completion */
	long timeout; /* verbs' timeout of a queue pair: 4.096 us * 2^timeout */
	long retries; /* verbs' retry count */
	long copy; /* bytes of bulk up to which copying beats registration */
	long regions; /* registrations that are kept */
	long heap; /* MiB of addresses for spread memory */
};

enum sc_mapping_number { SC_MESSAGES, SC_DIRECT };

extern struct sc_settings sc_settings;

/* NAME=VALUE[,...]. 0, or EINVAL after a message on stderr. */
int sc_settings_read(const char *list);

#endif
