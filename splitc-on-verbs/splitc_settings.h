/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The settings of Split-C, from the environment variable SPLITC_SETTINGS. */
#ifndef SPLITC_SETTINGS_H
#define SPLITC_SETTINGS_H

#define SC_MAX_CREDITS 64

struct sc_settings {
	char device[64]; /* "": the first with an active port */
	long port; /* 0: the first active one */
	long gid_index; /* -1: the best one */
	long mapping; /* enum sc_mapping_number */
	long credits; /* outstanding requests to each processor */
	long acks; /* one-way messages per acknowledgement; 0: a quarter of the credits */
	long coalesce; /* bytes of stores that share a message; 0: none do */
	long depth; /* direct: outstanding RDMA operations to each processor */
	long signal; /* work requests per signaled one */
	long timeout; /* timeout of a queue pair: 4.096 us * 2^timeout */
	long retries; /* retry_cnt of a queue pair */
	long copy; /* bulk data up to this many bytes are copied, not registered */
	long regions; /* limit of cached registrations */
	long heap; /* address range for spread memory, in MiB */
};

enum sc_mapping_number { SC_MESSAGES, SC_DIRECT };

extern struct sc_settings sc_settings;

/* NAME=VALUE[,...]. 0, or EINVAL after a message on stderr. */
int sc_settings_read(const char *list);

#endif
