// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Converts between IP addresses and GIDs. */
#include "am_address.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "settings/am_settings.h"

static const uint8_t v4mapped[12] = { [10] = 0xff, [11] = 0xff };

static void put_v4(const uint8_t *gid, in_port_t port, struct sockaddr_storage *to)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = port };

	memcpy(&in.sin_addr, gid + sizeof(v4mapped), sizeof(in.sin_addr));
	memcpy(to, &in, sizeof(in));
}

static void put_v6(const uint8_t *gid, in_port_t port, const struct sockaddr_storage *from,
		   struct sockaddr_storage *to)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = port }, own;

	memcpy(&in6.sin6_addr, gid, sizeof(in6.sin6_addr));
	memcpy(&own, from, sizeof(own));
	if (own.sin6_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr))
		in6.sin6_scope_id = own.sin6_scope_id;
	memcpy(to, &in6, sizeof(in6));
}

void am_address_of_gid(const uint8_t *gid, in_port_t port, const struct sockaddr_storage *from,
		       struct sockaddr_storage *to)
{
	memset(to, 0, sizeof(*to));
	if (memcmp(gid, v4mapped, sizeof(v4mapped)) != 0)
		put_v6(gid, port, from, to);
	else
		put_v4(gid, port, to);
}

void am_address_to_gid(const struct sockaddr *address, uint8_t *gid)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (address->sa_family == AF_INET6) {
		memcpy(&in6, address, sizeof(in6));
		memcpy(gid, &in6.sin6_addr, sizeof(in6.sin6_addr));
		return;
	}
	memcpy(&in, address, sizeof(in));
	memcpy(gid, v4mapped, sizeof(v4mapped));
	memcpy(gid + sizeof(v4mapped), &in.sin_addr, sizeof(in.sin_addr));
}

void am_address_of(const struct sockaddr *address, struct sockaddr_storage *copy)
{
	struct sockaddr_in6 in6;

	memset(copy, 0, sizeof(*copy));
	if (address->sa_family != AF_INET6) {
		memcpy(copy, address, sizeof(struct sockaddr_in));
		((struct sockaddr_in *)copy)->sin_port = 0;
		return;
	}
	memcpy(&in6, address, sizeof(in6));
	in6.sin6_port = 0;
	memcpy(copy, &in6, sizeof(in6));
}

int am_address_own(const struct am_device *device, struct sockaddr_storage *address)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *info;
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC };

	if (!am_settings.address[0]) {
		am_address_of_gid(device->gid.raw, 0, &none, address);
		return 0;
	}
	if (getaddrinfo(am_settings.address, NULL, &hints, &info))
		return EINVAL;
	am_address_of(info->ai_addr, address);
	freeaddrinfo(info);
	return 0;
}
