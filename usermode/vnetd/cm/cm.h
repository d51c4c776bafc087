/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The connection manager (rdma_cm) for other rooms. inside.h has what the files of this room have in
 * common.
 *
 * Calls clients, link and uverbs, and mad, with which it shares queue pair 1.
 */
#ifndef VNETD_CM_H
#define VNETD_CM_H

#include "clients/clients.h"
#include "device.h"
#include "mad/mad.h"

struct cm;

int cm_init(struct daemon *daemon);
/* Initialises the rdma_cm part of an accepted FILE connection. Returns 0 or -errno. */
int cm_file_open(struct file *file);
void cm_file_close(struct file *file);
/* Memory of struct vnet_cm_orphans, which programs read after the daemon's death. */
int cm_orphans_fd(const struct daemon *daemon);
enum call_outcome cm_write(struct call *call);
/* The program has read all bytes from its socket: sends one if events are unread. */
void cm_file_resignal(struct file *file);
/* Creates queue pair 1 again after NIC memory was reset. */
void cm_renew(struct daemon *daemon);
/* Delivers messages and handles timeouts. Returns the time of the next call. */
u64 cm_run(struct daemon *daemon, u64 now);
/* The NIC with this GID refuses frames of the device, or is refused: ends requests to it. */
void cm_refused(struct cm *cm, const struct device *device, const u8 *gid);
/* Sends a MAD between two InfiniBand ports. */
void cm_qp1_send_lid(struct cm *cm, struct device *device, u16 lid, const struct mad *mad);
/*
 * "cm_ids": [{"id": 0, "pid": 4711, "ps": "TCP", "state": "listen", "src": "0.0.0.0",
 *             "src_port": 7471, "dst": "", "dst_port": 0, "qpn": 0}, ...]
 */
void cm_status(struct daemon *daemon, FILE *out);

#endif /* VNETD_CM_H */
