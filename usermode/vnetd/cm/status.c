// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* rdma_cm ids as JSON, for `vnet status`. */
#include <arpa/inet.h>

#include "inside.h"

static void put_address(FILE *out, const char *name, const union cm_address *address)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (address->any.sa_family == AF_INET)
		inet_ntop(AF_INET, &address->in.sin_addr, text, sizeof(text));
	else if (address->any.sa_family == AF_INET6)
		inet_ntop(AF_INET6, &address->in6.sin6_addr, text, sizeof(text));
	else if (address->any.sa_family == CM_AF_IB && !cm_address_is_any(address))
		inet_ntop(AF_INET6, address->ib.gid, text, sizeof(text));
	fprintf(out, ", \"%s\": \"%s\", \"%s_port\": %u", name, text, name,
		cm_address_port(address));
}

static const char *space_name(u16 ps)
{
	switch (ps) {
	case RDMA_PS_TCP:
		return "TCP";
	case RDMA_PS_UDP:
		return "UDP";
	case RDMA_PS_IPOIB:
		return "IPoIB";
	default:
		return "IB";
	}
}

static void put_id(FILE *out, const struct cm_id *id)
{
	static const char *const states[] = {
		[CM_ID_IDLE] = "idle",
		[CM_ID_BOUND] = "bound",
		[CM_ID_ADDR_RESOLVED] = "address resolved",
		[CM_ID_ROUTE_RESOLVED] = "route resolved",
		[CM_ID_CONNECT] = "connect",
		[CM_ID_DISCONNECT] = "disconnect",
		[CM_ID_LISTEN] = "listen",
	};

	fprintf(out, "{\"id\": %u, \"pid\": %d, \"ps\": \"%s\", \"state\": \"%s\"", id->handle,
		id->pid, space_name(id->ps), states[id->state]);
	put_address(out, "src", &id->src);
	put_address(out, "dst", &id->dst);
	fprintf(out, ", \"qpn\": %u}", id->qpn);
}

void cm_status(struct daemon *daemon, FILE *out)
{
	const struct cm *cm = daemon->cm;
	const char *separator = "";

	fputs("\"cm_ids\": [", out);
	for (u32 i = 0; i < cm->capacity; i++) {
		if (!cm->id[i])
			continue;
		fprintf(out, "%s\n ", separator);
		put_id(out, cm->id[i]);
		separator = ",";
	}
	putc(']', out);
}
