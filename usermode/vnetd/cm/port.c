// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rdma_cm ports: allocation and sharing per port space, and look-up of listeners. A port is free
 * when its last id is destroyed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "uverbs/process.h"
#include "inside.h"

/* Range of ports that are chosen automatically. */
#define FIRST_PORT 32768u
#define LAST_PORT 60999u
/* Lower ports need CAP_NET_BIND_SERVICE, if the sysctl cannot be read. */
#define FIRST_FREE_PORT 1024u

/* ------------------------------------------------------------ service ids */

static u64 sid_of(const struct cm_address_ib *ib)
{
	u64 sid = 0;

	for (u32 i = 0; i < sizeof(ib->sid); i++)
		sid = sid << 8 | (u8)(ib->sid[i] & ib->sid_mask[i]);
	return sid;
}

u64 cm_service_id(const struct cm_id *id, const union cm_address *address)
{
	if (address->any.sa_family == CM_AF_IB)
		return sid_of(&address->ib);
	return (u64)id->ps << 16 | cm_address_port(address);
}

/*
 * Returns the port space that an AF_IB service id belongs to, as far as its mask determines it,
 * and completes the service id in the address. Returns 0 if the id may not use any.
 */
static u16 ib_port_space(const struct cm_id *id, union cm_address *address)
{
	static const u16 spaces[] = { RDMA_PS_IB, RDMA_PS_TCP, RDMA_PS_UDP };
	struct cm_address_ib *ib = &address->ib;
	u64 mask = 0, sid = sid_of(ib), whole;

	for (u32 i = 0; i < sizeof(ib->sid_mask); i++)
		mask = mask << 8 | ib->sid_mask[i];
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		whole = (u64)spaces[i] << 16;
		if ((id->ps != RDMA_PS_IB && id->ps != spaces[i]) ||
		    sid >> 16 != (whole & mask) >> 16)
			continue;
		for (u32 b = 0; b < 6; b++)
			ib->sid[b] = (u8)(whole >> (56 - 8 * b));
		cm_address_set_port(address, cm_address_port(address));
		return spaces[i];
	}
	return 0;
}

/* --------------------------------------------------------------- allocation */

/* Whether two ids may share a port: 0, or the kernel's error. */
static int share(const struct cm_id *id, const struct cm_id *other)
{
	if (other->state != CM_ID_LISTEN && id->reuseaddr && other->reuseaddr)
		return 0;
	if (id->afonly && other->afonly && id->src.any.sa_family != other->src.any.sa_family)
		return 0;
	if (cm_address_is_any(&id->src) || cm_address_is_any(&other->src))
		return -EADDRNOTAVAIL;
	return cm_address_same(&id->src, &other->src) ? -EADDRINUSE : 0;
}

static int check(const struct cm_id *id, u16 space, u16 port)
{
	const struct cm_id *other;
	int err = 0;

	for (other = id->cm->bound; other && !err; other = other->next_bound)
		if (other != id && other->port_space == space &&
		    cm_address_port(&other->src) == port)
			err = share(id, other);
	return err;
}

static bool in_use(const struct cm *cm, u16 space, u16 port)
{
	const struct cm_id *other;

	for (other = cm->bound; other; other = other->next_bound)
		if (other->port_space == space && cm_address_port(&other->src) == port)
			return true;
	return false;
}

static int choose(struct cm_id *id, u16 space)
{
	struct cm *cm = id->cm;
	u32 count = LAST_PORT - FIRST_PORT + 1;

	if (!cm->last_port) {
		if (getrandom(&cm->last_port, sizeof(cm->last_port), GRND_NONBLOCK) < 0)
			cm->last_port = 1;
		cm->last_port = (u16)(FIRST_PORT + cm->last_port % count);
	}
	for (u32 i = 0; i < count; i++) {
		cm->last_port = (u16)(cm->last_port == LAST_PORT ? FIRST_PORT : cm->last_port + 1u);
		if (!in_use(cm, space, cm->last_port)) {
			cm_address_set_port(&id->src, cm->last_port);
			return 0;
		}
	}
	return -EADDRNOTAVAIL;
}

/* Lowest unprivileged port, by the sysctl that the kernel's rdma_cm uses, too. */
static u32 first_free(void)
{
	FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
	u32 port;

	if (!file || fscanf(file, "%u", &port) != 1)
		port = FIRST_FREE_PORT;
	if (file)
		fclose(file);
	return port;
}

int cm_port_take(struct cm_id *id, const struct client *client)
{
	u16 port, space = id->ps;
	int err;

	if (id->src.any.sa_family == CM_AF_IB)
		space = ib_port_space(id, &id->src);
	if (!space)
		return -EPROTONOSUPPORT;
	port = cm_address_port(&id->src);
	if (port && port < first_free() && !uv_process_capable(client, CAP_NET_BIND_SERVICE))
		return -EACCES;
	err = port ? check(id, space, port) : choose(id, space);
	if (err)
		return err;
	id->port_space = space;
	id->has_port = true;
	id->next_bound = id->cm->bound;
	id->cm->bound = id;
	return 0;
}

void cm_port_give_back(struct cm_id *id)
{
	struct cm_id **place = &id->cm->bound;

	if (!id->has_port)
		return;
	while (*place != id)
		place = &(*place)->next_bound;
	*place = id->next_bound;
	id->has_port = false;
}

/* Of ids that share an address by REUSEADDR, only one may listen. */
int cm_port_may_listen(const struct cm_id *id)
{
	struct cm_id strict = *id;
	const struct cm_id *other;
	int err = 0;

	if (!id->reuseaddr)
		return 0;
	strict.reuseaddr = false;
	for (other = id->cm->bound; other && !err; other = other->next_bound)
		if (other != id && other->port_space == id->port_space &&
		    cm_address_port(&other->src) == cm_address_port(&id->src))
			err = share(&strict, other);
	return err;
}

/* ---------------------------------------------------------------- listeners */

static bool listens_on(const struct cm_id *id, const union cm_address *address,
		       const struct device *device)
{
	if (id->path.device && id->path.device != device)
		return false;
	/*
	 * An AF_IB listener's address means its device, which is checked above. An IP listener does
	 * not match an AF_IB destination.
	 */
	if (!address || id->src.any.sa_family == CM_AF_IB)
		return true;
	if (address->any.sa_family == CM_AF_IB)
		return false;
	if (cm_address_is_any(&id->src))
		return !id->afonly || id->src.any.sa_family == address->any.sa_family;
	return cm_address_same(&id->src, address);
}

struct cm_id *cm_port_owner(struct cm *cm, enum cm_id_state state, u64 service_id,
			    const union cm_address *address, const struct device *device)
{
	u16 port = (u16)service_id;
	struct cm_id *id;

	for (id = cm->bound; id; id = id->next_bound)
		if (id->state == state && (u64)id->port_space == service_id >> 16 &&
		    cm_address_port(&id->src) == port && listens_on(id, address, device))
			return id;
	return NULL;
}
