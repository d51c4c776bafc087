// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Devices: created by "rdma link add", removed with their net devices. */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/vmalloc.h>
#include <linux/wait_bit.h>
#include <net/addrconf.h>

#include "device.h"
#include "doorbells/doorbells.h"
#include "link/link.h"
#include "memory/memory.h"
#include "verbs/verbs.h"

/* All devices. The module's exit removes them. */
static LIST_HEAD(vnet_devices);
static DEFINE_MUTEX(vnet_devices_lock);
/* Devices that have not been freed yet. The module's exit waits for them. */
static atomic_t vnet_live = ATOMIC_INIT(0);

static unsigned int vnet_frames = VNET_MAX_FRAMES;
module_param_named(frames, vnet_frames, uint, 0644);
MODULE_PARM_DESC(frames, "endpoint frames of devices that are made from now on (default: 256)");

static const struct nic_config vnet_config = {
	.max_qp = VNET_MAX_QP,
	.max_cq = VNET_MAX_CQ,
	.max_srq = VNET_MAX_SRQ,
	.max_mr = VNET_MAX_MR,
	/* One channel for each CQ. */
	.max_channel = VNET_MAX_CQ,
	.max_client = 1,
	.max_row = VNET_MAX_ROWS,
	/* Rings are separate allocations, named by their addresses. */
	.queue_bytes = PAGE_SIZE,
	.stall_ns = VNET_STALL_NS,
};

/* -------------------------------------------------------------- NIC memory */

static void vnet_view_init(struct vnet_dev *dev, struct vnet_view *view, u32 space, bool is_task)
{
	*view = dev->agent;
	view->may_sleep = is_task;
	view->may_send = is_task;
	view->nic.space = space;
	view->nic.host = view;
}

static int vnet_nic_make(struct vnet_dev *dev, const struct net *net)
{
	struct nic *nic = &dev->agent.nic;
	struct nic_config config = vnet_config;
	enum nic_result result;
	u32 i;

	config.max_frame = clamp_t(u32, READ_ONCE(vnet_frames), 1, VNET_MOST_FRAMES);
	dev->memory_size = nic_memory_size(&config);
	dev->memory = vzalloc(dev->memory_size);
	dev->mr = vcalloc(VNET_MAX_MR, sizeof(*dev->mr));
	dev->dm_room = vnet_dm_room_make();
	if (!dev->memory || !dev->mr || !dev->dm_room)
		return -ENOMEM;
	result = nic_format(dev->memory, dev->memory_size, &config);
	if (result == NIC_OK)
		result = nic_attach(nic, dev->memory, dev->memory_size);
	if (WARN_ON(result != NIC_OK))
		return -EINVAL;
	/* No lock owner can die, so all owners use one ID. */
	nic->self = 1;
	nic->direct = true;
	nic->fetches = (const u32 *)&dev->on_demand.counter;
	dev->agent.dev = dev;
	vnet_view_init(dev, &dev->kernel, VNET_SPACE_KERNEL, false);
	vnet_view_init(dev, &dev->agent, NIC_SPACE_POINTER, true);
	for (i = 0; i < VNET_MAX_CQ; i++)
		nic_channel_create(nic, i, 1);
	return vnet_link_make(dev, net);
}

static int vnet_make_numbers(struct vnet_dev *dev)
{
	/* Initialize all of them in any case, as vnet_dealloc() ends all. Returns 0 or -ENOMEM. */
	return vnet_numbers_init(&dev->qps, VNET_FIRST_QP, VNET_MAX_QP) |
	       vnet_numbers_init(&dev->cqs, 1, VNET_MAX_CQ) |
	       vnet_numbers_init(&dev->srqs, 1, VNET_MAX_SRQ) |
	       vnet_numbers_init(&dev->mrs, 1, VNET_MAX_MR) |
	       vnet_numbers_init(&dev->pds, 1, VNET_MAX_PD) |
	       vnet_numbers_init(&dev->xrcds, 1, VNET_MAX_XRCD) |
	       vnet_numbers_init(&dev->tables, 1, VNET_MAX_TABLES + 1) |
	       vnet_numbers_init(&dev->flows, 0, NIC_MAX_FLOWS) |
	       vnet_numbers_init(&dev->flow_counters, 0, NIC_MAX_FLOW_COUNTERS) |
	       vnet_numbers_init(&dev->spaces, VNET_SPACE_FIRST_USER, 1 << 16);
}

/* Free the device, also one that is partly constructed. No other thread uses it any more. */
static void vnet_dealloc(struct ib_device *ibdev)
{
	struct vnet_dev *dev = to_vdev(ibdev);

	mutex_lock(&vnet_devices_lock);
	list_del_init(&dev->list);
	mutex_unlock(&vnet_devices_lock);
	/*
	 * Receivers kick the processor, so they end first. The processor sends frames without
	 * them.
	 */
	vnet_link_stop(dev);
	vnet_processor_stop(dev);
	vnet_link_end(dev);
	vnet_numbers_fini(&dev->spaces);
	vnet_numbers_fini(&dev->flow_counters);
	vnet_numbers_fini(&dev->flows);
	vnet_numbers_fini(&dev->tables);
	vnet_numbers_fini(&dev->xrcds);
	vnet_numbers_fini(&dev->pds);
	vnet_numbers_fini(&dev->mrs);
	vnet_numbers_fini(&dev->srqs);
	vnet_numbers_fini(&dev->cqs);
	vnet_numbers_fini(&dev->qps);
	vnet_dm_room_end(dev->dm_room);
	vfree(dev->mr);
	vfree(dev->memory);
	netdev_put(dev->netdev, &dev->netdev_tracker);
	if (atomic_dec_and_test(&vnet_live))
		wake_up_var(&vnet_live);
}

/* --------------------------------------------------------------- the device */

static const struct ib_device_ops vnet_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = VNET_UVERBS_ABI_VERSION,
	.device_group = &vnet_link_group,

	.add_gid = vnet_add_gid,
	.advise_mr = vnet_advise_mr,
	.alloc_dm = vnet_alloc_dm,
	.alloc_hw_port_stats = vnet_alloc_stats,
	.alloc_mr = vnet_alloc_mr,
	.alloc_mw = vnet_alloc_mw,
	.alloc_pd = vnet_alloc_pd,
	.alloc_ucontext = vnet_alloc_ucontext,
	.alloc_xrcd = vnet_alloc_xrcd,
	.attach_mcast = vnet_attach_mcast,
	.create_ah = vnet_create_ah,
	.create_counters = vnet_create_counters,
	.create_cq = vnet_create_cq,
	.create_flow = vnet_create_flow,
	.create_qp = vnet_create_qp,
	.create_rwq_ind_table = vnet_create_table,
	.create_srq = vnet_create_srq,
	.create_user_ah = vnet_create_ah,
	.create_wq = vnet_create_wq,
	.dealloc_dm = vnet_dealloc_dm,
	.dealloc_driver = vnet_dealloc,
	.dealloc_mw = vnet_dealloc_mw,
	.dealloc_pd = vnet_dealloc_pd,
	.dealloc_ucontext = vnet_dealloc_ucontext,
	.dealloc_xrcd = vnet_dealloc_xrcd,
	.del_gid = vnet_del_gid,
	.dereg_mr = vnet_dereg_mr,
	.destroy_ah = vnet_destroy_ah,
	.destroy_counters = vnet_destroy_counters,
	.destroy_cq = vnet_destroy_cq,
	.destroy_flow = vnet_destroy_flow,
	.destroy_qp = vnet_destroy_qp,
	.destroy_rwq_ind_table = vnet_destroy_table,
	.destroy_srq = vnet_destroy_srq,
	.destroy_wq = vnet_destroy_wq,
	.detach_mcast = vnet_detach_mcast,
	.disassociate_ucontext = vnet_disassociate_ucontext,
	.get_dev_fw_str = vnet_fw_str,
	.get_dma_mr = vnet_get_dma_mr,
	.get_hw_stats = vnet_get_stats,
	.get_link_layer = vnet_link_layer,
	.get_port_immutable = vnet_port_immutable,
	.map_mr_sg = vnet_map_mr_sg,
	.mmap = vnet_mmap,
	.mmap_free = vnet_mmap_free,
	.modify_cq = vnet_modify_cq,
	.modify_qp = vnet_modify_qp,
	.modify_srq = vnet_modify_srq,
	.modify_wq = vnet_modify_wq,
	.poll_cq = vnet_poll_cq,
	.post_recv = vnet_post_recv,
	.post_send = vnet_post_send,
	.post_srq_recv = vnet_post_srq_recv,
	.process_mad = vnet_process_mad,
	.query_ah = vnet_query_ah,
	.query_device = vnet_query_device,
	.query_pkey = vnet_query_pkey,
	.query_port = vnet_query_port,
	.query_qp = vnet_query_qp,
	.query_srq = vnet_query_srq,
	.query_ucontext = vnet_query_ucontext,
	.read_counters = vnet_read_counters,
	.reg_dm_mr = vnet_reg_dm_mr,
	.reg_user_mr = vnet_reg_user_mr,
	.reg_user_mr_dmabuf = vnet_reg_dmabuf_mr,
	.rereg_user_mr = vnet_rereg_user_mr,
	.req_notify_cq = vnet_req_notify_cq,
	.resize_cq = vnet_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, vnet_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_counters, vnet_flow_counters, ibcounters),
	INIT_RDMA_OBJ_SIZE(ib_cq, vnet_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, vnet_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, vnet_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, vnet_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_rwq_ind_table, vnet_table, ibtable),
	INIT_RDMA_OBJ_SIZE(ib_srq, vnet_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, vnet_ucontext, ibuc),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, vnet_xrcd, ibxrcd),
};

static bool vnet_netdev_up(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev);
}

static void vnet_describe_device(struct vnet_dev *dev, struct net_device *netdev)
{
	struct ib_device *ibdev = &dev->ibdev;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->local_dma_lkey = 0;
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, netdev->dev_addr);
	strscpy(ibdev->node_desc, "vnet: a virtual interface NIC", sizeof(ibdev->node_desc));
	ibdev->uverbs_cmd_mask |=
		BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) | BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
		BIT_ULL(IB_USER_VERBS_CMD_POST_SRQ_RECV) | BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	ibdev->driver_def = vnet_uapi;
	dev->agent.nic.hdr->port_up = vnet_netdev_up(netdev);
}

static int vnet_register(struct vnet_dev *dev, const char *name, struct net_device *netdev)
{
	int err;

	vnet_describe_device(dev, netdev);
	err = ib_device_set_netdev(&dev->ibdev, netdev, 1);
	if (err)
		return err;
	/* The device is in the network namespace of its net device. */
	write_pnet(&dev->ibdev.coredev.rdma_net, dev_net(netdev));
	vnet_link_fit(dev);
	err = vnet_processor_start(dev);
	if (err)
		return err;
	/* No DMA device: the core passes kernel virtual addresses. */
	return ib_register_device(&dev->ibdev, name, NULL);
}

/* Make netdev the device's own. Returns false if it has a vnet device already. */
static bool vnet_claim_netdev(struct vnet_dev *dev, struct net_device *netdev)
{
	struct vnet_dev *other;

	mutex_lock(&vnet_devices_lock);
	list_for_each_entry(other, &vnet_devices, list)
	{
		if (other->netdev == netdev) {
			mutex_unlock(&vnet_devices_lock);
			return false;
		}
	}
	dev->netdev = netdev;
	/* The core drops its own reference before the link has ended. */
	netdev_hold(netdev, &dev->netdev_tracker, GFP_KERNEL);
	list_add_tail(&dev->list, &vnet_devices);
	mutex_unlock(&vnet_devices_lock);
	return true;
}

/* Update the port's state, and raise an event if it has changed. The caller holds RTNL. */
static void vnet_port_changed(struct vnet_dev *dev)
{
	struct nic_header *hdr = dev->agent.nic.hdr;
	bool up = vnet_netdev_up(dev->netdev);
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	ASSERT_RTNL();
	if (nic_xchg(&hdr->port_up, up) == up)
		return;
	if (!up)
		WRITE_ONCE(dev->downs, dev->downs + 1);
	ib_dispatch_event(&event);
}

/*
 * Complete the set-up of a registered device. The net device may have changed or gone before the
 * notifier could find the device. The device itself may be gone by now.
 */
static void vnet_complete(struct vnet_dev *dev)
{
	if (!ib_device_try_get(&dev->ibdev))
		return;
	vnet_fault_create_files(dev);
	rtnl_lock();
	vnet_port_changed(dev);
	vnet_link_fit(dev);
	if (dev->netdev->reg_state != NETREG_REGISTERED)
		ib_unregister_device_queued(&dev->ibdev);
	rtnl_unlock();
	ib_device_put(&dev->ibdev);
}

int vnet_newlink(const char *name, struct net_device *netdev)
{
	struct vnet_dev *dev;
	int err;

	if (netdev->flags & IFF_LOOPBACK || netdev->type != ARPHRD_ETHER)
		return -EINVAL;
	dev = ib_alloc_device(vnet_dev, ibdev);
	if (!dev)
		return -ENOMEM;
	/* From here on, ib_dealloc_device() cleans up, by vnet_dealloc(). */
	atomic_inc(&vnet_live);
	ib_set_device_ops(&dev->ibdev, &vnet_ops);
	INIT_LIST_HEAD(&dev->list);
	mutex_init(&dev->commands);
	mutex_init(&dev->retired_lock);
	INIT_LIST_HEAD(&dev->doors);
	mutex_init(&dev->doors_lock);
	err = vnet_make_numbers(dev) ?: vnet_nic_make(dev, dev_net(netdev));
	if (err)
		goto err_free;
	err = -EEXIST;
	if (!vnet_claim_netdev(dev, netdev))
		goto err_free;
	/* A registered device can be removed by others at any time. */
	get_device(&dev->ibdev.dev);
	err = vnet_register(dev, name, netdev);
	if (!err)
		vnet_complete(dev);
	put_device(&dev->ibdev.dev);
	if (err)
		goto err_free;
	return 0;

err_free:
	ib_dealloc_device(&dev->ibdev);
	return err;
}

void vnet_delete_all(void)
{
	struct vnet_dev *dev;

	mutex_lock(&vnet_devices_lock);
	while (!list_empty(&vnet_devices)) {
		dev = list_first_entry(&vnet_devices, struct vnet_dev, list);
		list_del_init(&dev->list);
		/*
		 * Take the reference under the lock: the device may be going with its net
		 * device.
		 */
		get_device(&dev->ibdev.dev);
		mutex_unlock(&vnet_devices_lock);
		ib_unregister_device(&dev->ibdev);
		put_device(&dev->ibdev.dev);
		mutex_lock(&vnet_devices_lock);
	}
	mutex_unlock(&vnet_devices_lock);
	wait_var_event(&vnet_live, !atomic_read(&vnet_live));
	/*
	 * The task that freed the last device, such as a worker of the core, may still execute
	 * code of this module. It has left when it has slept or is in user mode.
	 */
	synchronize_rcu_tasks();
}

/* --------------------------------------------------------------- net device */

int vnet_netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct vnet_dev *dev, *found = NULL;

	mutex_lock(&vnet_devices_lock);
	list_for_each_entry(dev, &vnet_devices, list)
	{
		if (dev->netdev == netdev && ib_device_try_get(&dev->ibdev)) {
			found = dev;
			break;
		}
	}
	mutex_unlock(&vnet_devices_lock);
	if (!found)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(&found->ibdev);
		break;
	case NETDEV_CHANGEMTU:
	case NETDEV_FEAT_CHANGE:
		vnet_link_fit(found);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		vnet_port_changed(found);
		break;
	}
	ib_device_put(&found->ibdev);
	return NOTIFY_DONE;
}
