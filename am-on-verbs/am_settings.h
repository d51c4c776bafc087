/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What can be set: by AM_SetOption(), and by AM_SETTINGS in the environment. */
#ifndef AM_SETTINGS_H
#define AM_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum { AM_WIRED_BY_HAND, AM_WIRED_BY_CM };

struct am_settings {
	char device[64]; /* "": the first that has an active port */
	long port; /* 0: the first that is active */
	long gid_index; /* -1: the best */
	long mapping; /* 1 to 4 */
	long credits; /* requests outstanding per connection; 0: as expected by the endpoint */
	long ack_unit; /* requests without a reply that one acknowledgement answers */
	long rnr; /* v4: 1: receiver-not-ready in place of credits */
	long receives; /* v4: receive buffers of a bundle */
	long signal; /* v4: one send of so many asks for a completion */
	long connect_timeout; /* ms until an endpoint counts as unreachable */
	long keepalive; /* ms of silence after which a request's destination is probed */
	long timeout; /* verbs' timeout of a queue pair: 4.096 us * 2^timeout */
	long retries; /* verbs' retry count */
	long copy; /* bytes of bulk up to which copying beats registration */
	long regions; /* registrations that are kept */
	long copies; /* buffers for bulk to be copied into where none can be kept */
	long wiring; /* how endpoints connect */
	char address[64]; /* of the port, for rdma_cm; "": what its GID is */
	long imm64; /* v4: use vnetdv's 64-bit immediate where the device has it */
};

extern struct am_settings am_settings;

/* NAME=VALUE[,...]. 0, or EINVAL after a message on stderr. */
int am_settings_read(const char *list);
int am_settings_set(const char *name, const char *value);

#endif
