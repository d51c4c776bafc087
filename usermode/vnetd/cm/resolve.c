// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* rdma_cm bind, address resolution and route resolution. */
#include <errno.h>

#include "inside.h"
#include "daemon.h"

#define DEFAULT_HOPS 64
/* Packet life time, 4.096 µs << n, from which ACK timeouts are derived. */
#define LIFE_TIME 16

/* ----------------------------------------------------------------- binding */

static void use_device(struct cm_id *id, struct device *device, u8 gid_index)
{
	id->path.device = device;
	id->path.sgid_index = gid_index;
}

/* Finds the device that has the address. Returns 0 or the kernel's error. */
static int find_device(struct daemon *daemon, const union cm_address *address,
		       struct device **device, u8 *index)
{
	if (address->any.sa_family != CM_AF_IB)
		return cm_address_local(daemon, address, device, index) ? 0 : -EADDRNOTAVAIL;
	/* Other GIDs are those of IP addresses. Ethernet ports have no AF_IB address. */
	*device = cm_gid_device(daemon, address->ib.gid, index);
	return *device && (*device)->lid && *index == 0 ? 0 : -ENODEV;
}

int cm_bind(struct cm_id *id, const union cm_address *address, const struct client *client)
{
	struct device *device = NULL;
	u8 index = 0;
	int err = 0;

	if (!cm_address_size(address))
		return -EAFNOSUPPORT;
	if (id->state != CM_ID_IDLE)
		return -EINVAL;
	if (!cm_address_is_any(address))
		err = find_device(id->cm->daemon, address, &device, &index);
	if (err)
		return err;
	id->src = *address;
	if (!id->afonly_set)
		id->afonly = address->any.sa_family == AF_INET;
	err = cm_port_take(id, client);
	if (err) {
		memset(&id->src, 0, sizeof(id->src));
		return err;
	}
	if (device)
		use_device(id, device, index);
	id->state = CM_ID_BOUND;
	cm_orphan_write(id);
	return 0;
}

int cm_cmd_bind_ip(const struct cm_call *call)
{
	struct rdma_ucm_bind_ip cmd;
	union cm_address address;
	struct cm_id *id;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (!cm_address_copy(&address, &cmd.addr, sizeof(cmd.addr)))
		return -EINVAL;
	err = cm_call_id(call, cmd.id, &id);
	return err ? err : cm_bind(id, &address, call->client);
}

int cm_cmd_bind(const struct cm_call *call)
{
	struct rdma_ucm_bind cmd;
	union cm_address address;
	struct cm_id *id;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (cmd.reserved || !cmd.addr_size ||
	    !cm_address_copy(&address, &cmd.addr, sizeof(cmd.addr)) ||
	    cmd.addr_size != cm_address_size(&address))
		return -EINVAL;
	err = cm_call_id(call, cmd.id, &id);
	return err ? err : cm_bind(id, &address, call->client);
}

/* ---------------------------------------------------------------- addresses */

/* Binds the id if it is not bound yet, to src or to any address of dst's family. */
static int bind_source(struct cm_id *id, const union cm_address *src, const union cm_address *dst,
		       const struct client *client)
{
	union cm_address any = { .any.sa_family = dst->any.sa_family };
	int err = 0;

	if (id->state == CM_ID_IDLE)
		err = cm_bind(id, src ? src : &any, client);
	else if (id->state != CM_ID_BOUND)
		err = -EINVAL;
	if (!err && id->src.any.sa_family != dst->any.sa_family)
		err = -EINVAL;
	return err;
}

/* Sets the source address if the program has not chosen one; keeps the port. */
static void fill_source(struct cm_id *id, const u8 *gid)
{
	u16 port = cm_address_port(&id->src);
	union cm_address address;

	if (!cm_address_is_any(&id->src))
		return;
	cm_address_of_gid(gid, &address);
	/* The GID stands for no address of this family. */
	if (address.any.sa_family != id->src.any.sa_family)
		return;
	id->src = address;
	cm_address_set_port(&id->src, port);
}

/* The unspecified address as a destination means this host. */
static void loop_back(union cm_address *dst)
{
	u16 port = cm_address_port(dst);
	u16 family = dst->any.sa_family;

	if (!cm_address_is_any(dst))
		return;
	memset(dst, 0, sizeof(*dst));
	dst->any.sa_family = family;
	if (family == AF_INET)
		dst->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		dst->in6.sin6_addr = in6addr_loopback;
	cm_address_set_port(dst, port);
}

/*
 * Finds device, GIDs and source address for id->dst. A local destination is reached by the GID of
 * the device that has the address.
 */
static int find_path(struct cm_id *id)
{
	struct device *first = &id->cm->daemon->device[0]->device, *device;
	struct nic_address at;
	u8 index, gid[16];
	int err;

	if (cm_address_local(id->cm->daemon, &id->dst, &device, &index) &&
	    !cm_neighbour_serves(id, device)) {
		memcpy(id->path.dgid, device->gid[index], sizeof(id->path.dgid));
		cm_address_gid(&id->dst, gid);
		if (!id->path.device)
			use_device(id, device, index);
		fill_source(id, gid);
		return cm_path_complete(&id->path);
	}
	cm_address_gid(&id->dst, id->path.dgid);
	device = id->path.device ? id->path.device : first;
	if (!plat_resolve(&device->nic, id->path.dgid, &at)) {
		plat_report_unknown(&device->nic, id->path.dgid);
		return -EHOSTUNREACH;
	}
	if (!id->path.device)
		use_device(id, device, cm_address_source(device, id->path.dgid));
	fill_source(id, id->path.device->gid[id->path.sgid_index]);
	err = cm_path_complete(&id->path);
	/* The destination's node may exist, but its LID is not known. */
	if (err)
		link_refused(device->host.link.memory, id->path.dgid, LINK_UNKNOWN);
	return err;
}

/* ------------------------------------------------------ addresses of InfiniBand */

/* Finds a local InfiniBand port, on the subnet of `gid` unless that is zero. */
static struct device *find_port(struct daemon *daemon, const u8 *gid)
{
	static const u8 any[16];

	for (u32 i = 0; i < daemon->ndevices; i++) {
		struct device *device = &daemon->device[i]->device;

		if (device->lid &&
		    (!memcmp(gid, any, sizeof(any)) || !memcmp(device->gid[0], gid, sizeof(u64))))
			return device;
	}
	return NULL;
}

static void address_resolved(struct cm_id *id)
{
	id->state = CM_ID_ADDR_RESOLVED;
	cm_orphan_write(id);
	/* An id that connects will not listen. */
	cm_early_refuse(id);
	cm_plain_event(id, CM_EVENT_ADDR_RESOLVED, 0);
}

/* Resolves an AF_IB address. The destination is looked up only when the route is resolved. */
static int resolve_port(struct cm_id *id, const union cm_address *dst)
{
	struct device *device = id->path.device;
	u16 port = cm_address_port(&id->src);

	if (!device)
		device = find_port(id->cm->daemon, dst->ib.gid);
	if (!device || !device->lid)
		return -ENODEV;
	use_device(id, device, 0);
	if (cm_address_is_any(&id->src)) {
		memcpy(id->src.ib.gid, device->gid[0], sizeof(id->src.ib.gid));
		id->src.ib.pkey = dst->ib.pkey;
		cm_address_set_port(&id->src, port);
	}
	id->dst = *dst;
	if (cm_address_is_any(dst))
		memcpy(id->dst.ib.gid, device->gid[0], sizeof(id->dst.ib.gid));
	memcpy(id->path.dgid, id->dst.ib.gid, sizeof(id->path.dgid));
	id->path.hop_limit = DEFAULT_HOPS;
	if (cm_address_is_multicast(&id->dst))
		cm_path_group(&id->path, id->ps, &id->dst, &id->path.port);
	else
		memcpy(id->path.port.gid, id->dst.ib.gid, sizeof(id->path.port.gid));
	address_resolved(id);
	return 0;
}

/* Returns true, having queued ROUTE_ERROR, if the AF_IB destination has no route. */
static bool lacks_route(struct cm_id *id)
{
	if (id->state != CM_ID_ADDR_RESOLVED || id->dst.any.sa_family != CM_AF_IB ||
	    cm_address_is_multicast(&id->dst) || !cm_path_complete(&id->path))
		return false;
	cm_plain_event(id, CM_EVENT_ROUTE_ERROR, -EINVAL);
	return true;
}

/* ------------------------------------------------------------------ resolving */

static int resolve(struct cm_id *id, const union cm_address *src, const union cm_address *dst,
		   const struct client *client)
{
	int err = bind_source(id, src, dst, client);

	if (err)
		return err;
	if (dst->any.sa_family == CM_AF_IB)
		return resolve_port(id, dst);
	id->dst = *dst;
	loop_back(&id->dst);
	id->path.traffic_class = id->tos;
	id->path.hop_limit = DEFAULT_HOPS;
	err = cm_address_is_multicast(&id->dst) ? 0 : find_path(id);
	if (!err && !id->path.device) {
		struct device *first = &id->cm->daemon->device[0]->device;

		cm_address_gid(&id->dst, id->path.dgid);
		use_device(id, first, cm_address_source(first, id->path.dgid));
		fill_source(id, first->gid[id->path.sgid_index]);
	}
	if (!err && cm_address_is_multicast(&id->dst))
		cm_path_group(&id->path, id->ps, &id->dst, &id->path.port);
	if (err)
		cm_plain_event(id, CM_EVENT_ADDR_ERROR, err);
	else
		address_resolved(id);
	return 0;
}

int cm_cmd_resolve_ip(const struct cm_call *call)
{
	struct rdma_ucm_resolve_ip cmd;
	union cm_address src, dst;
	struct cm_id *id;
	bool has_src;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (err)
		return err;
	has_src = cm_address_copy(&src, &cmd.src_addr, sizeof(cmd.src_addr));
	if ((cmd.src_addr.sin6_family && !has_src) ||
	    !cm_address_copy(&dst, &cmd.dst_addr, sizeof(cmd.dst_addr)))
		return -EINVAL;
	err = cm_call_id(call, cmd.id, &id);
	return err ? err : resolve(id, has_src ? &src : NULL, &dst, call->client);
}

int cm_cmd_resolve_addr(const struct cm_call *call)
{
	struct rdma_ucm_resolve_addr cmd;
	union cm_address src, dst;
	struct cm_id *id;
	bool has_src;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (err)
		return err;
	has_src = cm_address_copy(&src, &cmd.src_addr, sizeof(cmd.src_addr));
	if (cmd.reserved || (cmd.src_size && (!has_src || cmd.src_size != cm_address_size(&src))) ||
	    !cmd.dst_size || !cm_address_copy(&dst, &cmd.dst_addr, sizeof(cmd.dst_addr)) ||
	    cmd.dst_size != cm_address_size(&dst))
		return -EINVAL;
	err = cm_call_id(call, cmd.id, &id);
	return err ? err : resolve(id, cmd.src_size ? &src : NULL, &dst, call->client);
}

/* ------------------------------------------------------------------- routes */

int cm_set_route(struct cm_id *id)
{
	if (id->state != CM_ID_ADDR_RESOLVED)
		return -EINVAL;
	id->path.traffic_class = id->tos;
	id->path.life_time = LIFE_TIME;
	if (id->ack_timeout_set && id->ack_timeout)
		id->path.life_time = (u8)(id->ack_timeout - 1);
	id->route = true;
	id->state = CM_ID_ROUTE_RESOLVED;
	cm_plain_event(id, CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

int cm_cmd_resolve_route(const struct cm_call *call)
{
	struct rdma_ucm_resolve_route cmd;
	struct cm_id *id;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (err)
		return err;
	err = cm_call_device_id(call, cmd.id, &id);
	if (err)
		return err;
	return lacks_route(id) ? 0 : cm_set_route(id);
}
