/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The uverbs server for other rooms: files of contexts, channels and async events, their calls, and
 * counters. objects.h has what the files of this room have in common, and what cm/, mad/ and
 * netlink/ do with objects.
 *
 * Calls clients and link.
 */
#ifndef VNETD_UVERBS_H
#define VNETD_UVERBS_H

#include "clients/clients.h"
#include "device.h"

int uverbs_device_init(struct device *device);
void uverbs_device_fini(struct device *device);

/* Initialises the uverbs part of an accepted FILE connection. Returns 0 or -errno. */
int uverbs_file_open(struct file *file);
enum call_outcome uverbs_write(struct call *call);
enum call_outcome uverbs_ioctl(struct call *call);
enum call_outcome uverbs_async_read(struct call *call);
/*
 * After an answer of uverbs_async_read() with an event: the event counts as delivered if the answer
 * was sent, otherwise it stays unread.
 */
void uverbs_async_answered(struct file *file, bool sent);
/*
 * Frees what a file of any kind owned, in the order of dependencies. The program has closed its
 * last descriptor, and no call on the file is in progress. CALL_PARK: call again. CALL_DONE: the
 * core destroys the file.
 */
enum call_outcome uverbs_file_close(struct file *file);
/* File of a completion channel, for VNET_MSG_GET_CHANNEL and the firmware; or NULL. */
struct file *uverbs_channel_file(struct device *device, u32 channel, u32 generation);
/* Destroys the objects of a dead client. nic_recover() has run on every device. */
void uverbs_client_dead(struct client *client);
/* Executes VNET_MSG_MAP (mapped regions); *error is 0 or -errno. */
enum call_outcome uverbs_map_call(struct client *client, const struct vnet_msg_map *call,
				  int *error);
/* Moves events from NIC memory (nic_async_take()) into the event files. */
void uverbs_collect_async(struct device *device);
/* Raises an event of the device (element: its port) in all its contexts. */
void uverbs_device_event(struct device *device, u32 event, u64 element);
/*
 * Writes the objects of this device as JSON members, with no comma before or after:
 *   "qps": [{"qpn": 17, "type": "RC", "state": "RTS", "pid": 4711,
 *            "dest_qpn": 18, "dest_gid": "::ffff:192.0.2.1", "dest_lid": 0,
 *            "waits": "rnr", "holder": 0, "queued": 0, "sent_msgs": 0, "sent_bytes": 0,
 *            "send_errors": 0, "rnr_waits": 0, "retries": 0, "got_msgs": 0,
 *            "got_bytes": 0, "dropped": 0}, ...],
 *   "cqs": [{"cqn": 1, "pid": 4711, "entries": 256, "completions": 0,
 *            "errors": 0}, ...],
 *   "srqs": [{"srqn": 1, "pid": 4711, "entries": 16, "limit": 0}, ...],
 *   "wqs": [{"wqn": 19, "pid": 4711, "entries": 16, "state": "RDY"}, ...],
 *   "mrs": [{"key": 256, "kind": "region", "pid": 4711, "addr": 0,
 *            "length": 4096, "access": 7, "mapped": "yes"}, ...]
 * "dest_lid": on InfiniBand the peer's LID, by which frames are routed, else 0; "dest_gid" is
 * empty there unless the peer has a global route. "waits": why the send queue waits ("", rnr,
 * stall, peer, lock, pages, peer pages, turn). "holder": process id of the present
 * owner of one of its locks, 0: none.
 */
void uverbs_status(struct device *device, FILE *out);

/* Reads the device's hw_counters. Returns their number. */
u32 counters_read(const struct device *device, struct counter counters[MOST_COUNTERS]);
/* Sums the counters of all queue pairs, also of destroyed ones. */
struct nic_qp_counters counters_sum(const struct device *device);

#endif /* VNETD_UVERBS_H */
