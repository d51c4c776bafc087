/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The device: its creation and end, the port, user contexts, protection domains, counters,
 * and injected faults. All operations of the InfiniBand core are entered in
 * device.c.
 *
 * Calls all rooms, and no room calls it. Takes RTNL, vnet_devices_lock, vnet_dev.commands and
 * vnet_dev.retired_lock.
 */
#ifndef VNET_IB_DEVICE_H
#define VNET_IB_DEVICE_H

#include "base/base.h"

/* ----------------------------------------------------------------- device.c */

int vnet_newlink(const char *name, struct net_device *netdev);
void vnet_delete_all(void);
int vnet_netdev_event(struct notifier_block *nb, unsigned long event, void *arg);

/* ---------------------------------------------------------------- context.c */

int vnet_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void vnet_dealloc_ucontext(struct ib_ucontext *ibuc);
void vnet_disassociate_ucontext(struct ib_ucontext *ibuc);
int vnet_query_ucontext(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs);
extern const struct uapi_definition vnet_uapi[];

int vnet_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vnet_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

/* ------------------------------------------------------------------ query.c */

int vnet_query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata);
int vnet_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int vnet_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int vnet_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *immutable);
enum rdma_link_layer vnet_link_layer(struct ib_device *ibdev, u32 port);
void vnet_fw_str(struct ib_device *ibdev, char *str);
int vnet_add_gid(const struct ib_gid_attr *attr, void **context);
int vnet_del_gid(const struct ib_gid_attr *attr, void **context);

/* --------------------------------------------------------------- counters.c */

/* Sum of the counters of all queue pairs, past and present. May sleep. */
void vnet_count_qps(struct vnet_dev *dev, struct nic_qp_counters *sum);
/* Call it before the first device is created. */
void vnet_name_stats(void);
struct rdma_hw_stats *vnet_alloc_stats(struct ib_device *ibdev, u32 port);
int vnet_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);

/* -------------------------------------------------------------------- pma.c */

int vnet_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
		     const struct ib_grh *grh, const struct ib_mad *mad, struct ib_mad *answer,
		     size_t *size, u16 *pkey_index);

/* ------------------------------------------------------------------ fault.c */

/* Create the sysfs files of a registered device. They are removed with the device. */
void vnet_fault_create_files(struct vnet_dev *dev);

#endif /* VNET_IB_DEVICE_H */
