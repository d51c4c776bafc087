/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The settings of the library, from AM_SetOption() and the variable AM_SETTINGS.
 *
 * This room calls no other; Split-C uses its parser (am_setting.h), too. It takes no lock: settings
 * change only until AM_Init() returns, and all threads read them afterwards.
 */
#ifndef AM_SETTINGS_H
#define AM_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum { AM_WIRED_BY_HAND, AM_WIRED_BY_CM };

struct am_settings {
	char device[64]; /* "": the first with an active port */
	long port; /* 0: the first active one */
	long gid_index; /* -1: the best one */
	long mapping; /* 1 to 4 */
	/* outstanding requests per connection; 0: from AM_SetExpectedResources(), or 8 */
	long credits;
	long ack_unit; /* requests without a reply that share one acknowledgement */
	long rnr; /* v4: 1: a fixed number of receive buffers, and RNR NAKs instead of credits */
	long receives; /* v4: receive buffers of a bundle, if @rnr */
	long signal; /* v4: work requests per signaled one */
	long connect_timeout; /* ms until an endpoint counts as unreachable */
	long keepalive; /* ms without a message until a peer with outstanding requests is probed */
	long timeout; /* timeout of a queue pair: 4.096 us * 2^timeout */
	long retries; /* retry_cnt of a queue pair */
	long copy; /* bulk transfers up to this many bytes are copied, not registered */
	long regions; /* limit of cached registrations */
	long copies; /* limit of copy buffers, used where registrations cannot be cached */
	long wiring; /* AM_WIRED_BY_... */
	char address[64]; /* IP address for rdma_cm; "": from the port's GID */
	long imm64; /* v4: use 64-bit immediates (vnetdv) if the device has them */
};

extern struct am_settings am_settings;

/* NAME=VALUE[,...]. 0, or EINVAL after a message on stderr. */
int am_settings_read(const char *list);
int am_settings_set(const char *name, const char *value);

#endif
