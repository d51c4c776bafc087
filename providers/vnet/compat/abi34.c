// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asserts that compat/ has the layouts of libibverbs 44 (provider ABI 34). The numbers were printed
 * by a program built against the headers of rdma-core 44.0 on x86-64; aarch64 and the other LP64
 * systems are the same. This file generates no code.
 */
#include <assert.h>

#include <infiniband/driver.h>

#ifdef __LP64__

#define SIZE(_struct, _bytes) static_assert(sizeof(struct _struct) == (_bytes), #_struct)
#define AT(_struct, _member, _offset)                                                              \
	static_assert(offsetof(struct _struct, _member) == (_offset), #_struct "." #_member)
/* The n-th operation. */
#define OP(_name, _n) AT(verbs_context_ops, _name, (_n) * sizeof(void *))

/* infiniband/driver.h: objects */
SIZE(list_node, 16);
AT(list_node, next, 0);
AT(list_node, prev, 8);

SIZE(verbs_mr, 56);
AT(verbs_mr, ibv_mr, 0);
AT(verbs_mr, mr_type, 48);
AT(verbs_mr, access, 52);

SIZE(verbs_dm, 40);
AT(verbs_dm, dm, 0);
AT(verbs_dm, handle, 32);

SIZE(verbs_counters, 16);
AT(verbs_counters, counters, 0);
AT(verbs_counters, handle, 8);

SIZE(verbs_xrcd, 16);
AT(verbs_xrcd, xrcd, 0);
AT(verbs_xrcd, comp_mask, 8);
AT(verbs_xrcd, handle, 12);

SIZE(verbs_qp, 368);
AT(verbs_qp, qp, 0);
AT(verbs_qp, qp_ex, 0);
AT(verbs_qp, comp_mask, 352);
AT(verbs_qp, xrcd, 360);

SIZE(verbs_cq, 288);
AT(verbs_cq, cq, 0);
AT(verbs_cq, cq_ex, 0);

SIZE(verbs_srq, 160);
AT(verbs_srq, srq, 0);
AT(verbs_srq, srq_type, 128);
AT(verbs_srq, xrcd, 136);
AT(verbs_srq, cq, 144);
AT(verbs_srq, srq_num, 152);

/* infiniband/driver.h: devices and contexts */
SIZE(verbs_match_ent, 24);
AT(verbs_match_ent, driver_data, 0);
AT(verbs_match_ent, u, 8);
AT(verbs_match_ent, vendor, 16);
AT(verbs_match_ent, device, 18);
AT(verbs_match_ent, kind, 20);

SIZE(verbs_sysfs_dev, 992);
AT(verbs_sysfs_dev, entry, 0);
AT(verbs_sysfs_dev, provider_data, 16);
AT(verbs_sysfs_dev, match, 24);
AT(verbs_sysfs_dev, flags, 32);
AT(verbs_sysfs_dev, sysfs_name, 36);
AT(verbs_sysfs_dev, sysfs_cdev, 104);
AT(verbs_sysfs_dev, ibdev_name, 112);
AT(verbs_sysfs_dev, ibdev_path, 176);
AT(verbs_sysfs_dev, modalias, 432);
AT(verbs_sysfs_dev, node_guid, 944);
AT(verbs_sysfs_dev, driver_id, 952);
AT(verbs_sysfs_dev, node_type, 956);
AT(verbs_sysfs_dev, ibdev_idx, 960);
AT(verbs_sysfs_dev, num_ports, 964);
AT(verbs_sysfs_dev, abi_ver, 968);
AT(verbs_sysfs_dev, time_created, 976);

SIZE(verbs_device_ops, 72);
AT(verbs_device_ops, name, 0);
AT(verbs_device_ops, match_min_abi_version, 8);
AT(verbs_device_ops, match_max_abi_version, 12);
AT(verbs_device_ops, match_table, 16);
AT(verbs_device_ops, static_providers, 24);
AT(verbs_device_ops, match_device, 32);
AT(verbs_device_ops, alloc_context, 40);
AT(verbs_device_ops, import_context, 48);
AT(verbs_device_ops, alloc_device, 56);
AT(verbs_device_ops, uninit_device, 64);

SIZE(verbs_device, 712);
AT(verbs_device, device, 0);
AT(verbs_device, ops, 664);
AT(verbs_device, refcount, 672);
AT(verbs_device, entry, 680);
AT(verbs_device, sysfs, 696);
AT(verbs_device, core_support, 704);

SIZE(verbs_context, 648);
AT(verbs_context, query_port, 0);
AT(verbs_context, priv, 208);
AT(verbs_context, sz, 312);
AT(verbs_context, context, 320);

/* infiniband/driver.h: operations */
SIZE(verbs_context_ops, 608);
OP(advise_mr, 0);
OP(alloc_dm, 1);
OP(alloc_mw, 2);
OP(alloc_parent_domain, 4);
OP(alloc_pd, 5);
OP(alloc_td, 6);
OP(async_event, 7);
OP(attach_counters_point_flow, 8);
OP(attach_mcast, 9);
OP(bind_mw, 10);
OP(close_xrcd, 11);
OP(cq_event, 12);
OP(create_ah, 13);
OP(create_counters, 14);
OP(create_cq, 15);
OP(create_cq_ex, 16);
OP(create_flow, 17);
OP(create_qp, 19);
OP(create_qp_ex, 20);
OP(create_rwq_ind_table, 21);
OP(create_srq, 22);
OP(create_srq_ex, 23);
OP(create_wq, 24);
OP(dealloc_mw, 25);
OP(dealloc_pd, 26);
OP(dealloc_td, 27);
OP(dereg_mr, 28);
OP(destroy_ah, 29);
OP(destroy_counters, 30);
OP(destroy_cq, 31);
OP(destroy_flow, 32);
OP(destroy_qp, 34);
OP(destroy_rwq_ind_table, 35);
OP(destroy_srq, 36);
OP(destroy_wq, 37);
OP(detach_mcast, 38);
OP(free_context, 39);
OP(free_dm, 40);
OP(get_srq_num, 41);
OP(import_dm, 42);
OP(import_mr, 43);
OP(import_pd, 44);
OP(modify_cq, 45);
OP(modify_qp, 47);
OP(modify_qp_rate_limit, 48);
OP(modify_srq, 49);
OP(modify_wq, 50);
OP(open_qp, 51);
OP(open_xrcd, 52);
OP(poll_cq, 53);
OP(post_recv, 54);
OP(post_send, 55);
OP(post_srq_ops, 56);
OP(post_srq_recv, 57);
OP(query_device_ex, 58);
OP(query_port, 60);
OP(query_qp, 61);
OP(query_qp_data_in_order, 62);
OP(query_rt_values, 63);
OP(query_srq, 64);
OP(read_counters, 65);
OP(reg_dm_mr, 66);
OP(reg_dmabuf_mr, 67);
OP(reg_mr, 68);
OP(req_notify_cq, 69);
OP(rereg_mr, 70);
OP(resize_cq, 71);
OP(unimport_dm, 73);
OP(unimport_mr, 74);
OP(unimport_pd, 75);

/* infiniband/cmd_ioctl.h */
SIZE(ibv_command_buffer, 56);
AT(ibv_command_buffer, next, 0);
AT(ibv_command_buffer, next_attr, 8);
AT(ibv_command_buffer, last_attr, 16);
AT(ibv_command_buffer, uhw_in_idx, 24);
AT(ibv_command_buffer, uhw_out_idx, 25);
AT(ibv_command_buffer, uhw_in_headroom_dwords, 26);
AT(ibv_command_buffer, uhw_out_headroom_dwords, 27);
AT(ibv_command_buffer, hdr, 32);

/* infiniband/kern-abi.h */
SIZE(ibv_get_context, 16);
AT(ibv_get_context, core_payload, 8);
SIZE(ibv_query_port, 24);
AT(ibv_query_port, core_payload, 8);
SIZE(ibv_alloc_pd, 16);
AT(ibv_alloc_pd, core_payload, 8);
SIZE(ibv_reg_mr, 48);
AT(ibv_reg_mr, core_payload, 8);
SIZE(ibv_rereg_mr, 56);
AT(ibv_rereg_mr, core_payload, 8);
SIZE(ibv_alloc_mw, 24);
AT(ibv_alloc_mw, core_payload, 8);
SIZE(ibv_resize_cq, 24);
AT(ibv_resize_cq, core_payload, 8);
SIZE(ibv_create_srq, 40);
AT(ibv_create_srq, core_payload, 8);
SIZE(ibv_create_xsrq, 56);
AT(ibv_create_xsrq, core_payload, 8);
SIZE(ibv_modify_srq, 24);
AT(ibv_modify_srq, core_payload, 8);
SIZE(ibv_query_srq, 24);
AT(ibv_query_srq, core_payload, 8);
SIZE(ibv_open_xrcd, 24);
AT(ibv_open_xrcd, core_payload, 8);
SIZE(ibv_open_qp, 40);
AT(ibv_open_qp, core_payload, 8);
SIZE(ibv_query_qp, 24);
AT(ibv_query_qp, core_payload, 8);
SIZE(ibv_modify_qp, 120);
AT(ibv_modify_qp, core_payload, 8);
SIZE(ibv_create_cq_ex, 56);
AT(ibv_create_cq_ex, core_payload, 24);
SIZE(ibv_modify_cq, 40);
AT(ibv_modify_cq, core_payload, 24);
SIZE(ibv_create_qp_ex, 88);
AT(ibv_create_qp_ex, core_payload, 24);
SIZE(ibv_modify_qp_ex, 144);
AT(ibv_modify_qp_ex, core_payload, 24);
SIZE(ibv_create_wq, 64);
AT(ibv_create_wq, core_payload, 24);
SIZE(ibv_modify_wq, 48);
AT(ibv_modify_wq, core_payload, 24);

#endif /* __LP64__ */
