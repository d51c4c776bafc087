// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Resolves GIDs to socket addresses. The nodes of a user publish their GIDs in a folder, with a
 * symbolic link for each GID, so one system call reads it. A GID that is not in the folder and
 * contains an IP address is at that address.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "link.h"
#include "address/address.h"
#include "raw.h"

static const char digits[] = "0123456789abcdef";

static void to_hex(const u8 *bytes, u32 n, char *text)
{
	for (u32 i = 0; i < n; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * n] = '\0';
}

static int digit(char c)
{
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

static bool from_hex(const char *text, u8 *bytes, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		int high = digit(text[2 * i]);
		int low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (u8)(high << 4 | low);
	}
	return true;
}

void link_gid_name(const u8 *gid, char name[LINK_GID_NAME])
{
	to_hex(gid, 16, name);
}

void link_gid_text(const u8 *gid, char text[LINK_GID_TEXT])
{
	u16 lid = nic_gid_lid(gid);

	text[0] = '\0';
	if (lid)
		snprintf(text, LINK_GID_TEXT, "LID %u", lid);
	else
		(void)inet_ntop(AF_INET6, gid, text, LINK_GID_TEXT);
}

bool link_gid_parse(const char *name, u8 *gid)
{
	return strlen(name) == LINK_GID_NAME - 1 && from_hex(name, gid, 16);
}

void link_address_text(const struct nic_address *address, char text[LINK_ADDRESS_TEXT])
{
	to_hex(address->bytes, sizeof(address->bytes), text);
}

bool link_is_loopback(const union link_address *address)
{
	if (address->any.sa_family == AF_INET)
		return address->in.sin_addr.s_addr == 0 ||
		       ((const u8 *)&address->in.sin_addr)[0] == 127;
	return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr);
}

/* Look the GID up in the folder. */
static bool look_up(const struct link_memory *memory, const u8 *gid, union link_address *to)
{
	char path[sizeof(memory->gids) + 1 + LINK_GID_NAME];
	char text[LINK_ADDRESS_TEXT] = "";
	size_t n = strnlen(memory->gids, sizeof(memory->gids));
	long length;

	if (!n || n == sizeof(memory->gids))
		return false;
	memcpy(path, memory->gids, n);
	path[n] = '/';
	link_gid_name(gid, path + n + 1);
	length = raw_syscall(SYS_readlinkat, AT_FDCWD, (long)path, (long)text, sizeof(text), 0, 0);
	return length == sizeof(text) - 1 && from_hex(text, to->nic.bytes, sizeof(to->nic.bytes)) &&
	       (to->any.sa_family == AF_INET || to->any.sa_family == AF_INET6);
}

/* The machine's own addresses belong to the node at 127.0.0.1. */
static bool is_machine(const struct link_memory *memory, const u8 *gid)
{
	for (u32 i = 0; i < memory->nmachine && i < NIC_MAX_GIDS; i++)
		if (!memcmp(memory->machine[i], gid, 16))
			return true;
	return false;
}

/* Derive the address from the GID itself. */
static bool take_apart(const struct link_memory *memory, const u8 *gid, union link_address *to)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const u8 nothing[12];
	u16 port = htons((u16)nic_load(&memory->port));

	memset(to, 0, sizeof(*to));
	if (!memcmp(gid, mapped, sizeof(mapped))) {
		to->in.sin_family = AF_INET;
		to->in.sin_port = port;
		memcpy(&to->in.sin_addr, gid + 12, 4);
		if (is_machine(memory, gid))
			to->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return gid[12] != 0 && gid[12] < 224;
	}
	if (is_machine(memory, gid) && memory->own.any.sa_family == AF_INET) {
		to->in.sin_family = AF_INET;
		to->in.sin_port = port;
		to->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return true;
	}
	to->in6.sin6_family = AF_INET6;
	to->in6.sin6_port = port;
	memcpy(&to->in6.sin6_addr, gid, 16);
	/* Link-local, multicast and unspecified addresses cannot be reached. */
	return gid[0] != 0xfe && gid[0] != 0xff &&
	       (memcmp(gid, nothing, sizeof(nothing)) != 0 || gid[15] == 1);
}

/*
 * Find the address of the GID. Returns false if there is none, or if it is not of our socket's
 * address family.
 */
static bool find_place(const struct link_memory *memory, const u8 *gid, union link_address *to)
{
	memset(to, 0, sizeof(*to));
	return (look_up(memory, gid, to) || take_apart(memory, gid, to)) &&
	       to->any.sa_family == memory->own.any.sa_family;
}

bool plat_resolve(struct nic *nic, const u8 *gid, struct nic_address *to)
{
	const struct host *host = nic->host;
	const struct link_memory *memory = host->link.memory;
	union link_address address;

	if (nic_load(&host->link.fd) < 0 || !find_place(memory, gid, &address))
		return false;
	if (unlikely(!link_has_key(memory, &address))) {
		link_refused(host->link.memory, gid, LINK_NO_KEY);
		return false;
	}
	*to = address.nic;
	return true;
}

/* -------------------------------------------------------------------- refusals */

/* Longest wait for another thread that is telling the user. */
#define REPORT_NS 100000000ull

void link_refused(struct link_memory *memory, const u8 *gid, enum link_refusal_reason why)
{
	struct link_refusal *refusal = &memory->refusal;

	memcpy(refusal->gid, gid, sizeof(refusal->gid));
	nic_store(&refusal->why, why);
	/* Release: pairs with the acquire in link_report_refusals(). */
	(void)__atomic_fetch_add(&refusal->count, 1, __ATOMIC_RELEASE);
}

void link_report_new(struct host *host)
{
	const struct link_refusal *refusal = &host->link.memory->refusal;
	u32 count = nic_load_acquire(&refusal->count);
	u64 end;

	if (nic_xchg(&host->link.refusals_told, count) != count) {
		host->refused(host, refusal->gid, nic_load(&refusal->why));
	} else {
		/* Limited, because a signal handler may have interrupted the other thread. */
		end = plat_clock() + REPORT_NS;
		while (nic_load_acquire(&host->link.refusals_said) != count && plat_clock() < end)
			(void)raw_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	nic_store_release(&host->link.refusals_said, count);
}

/*
 * The protocol has one reason only, so the peer's value is ignored: a peer cannot cause other
 * messages.
 */
void plat_report_refused(struct nic *nic, const u8 *gid, u32 why)
{
	const struct host *host = nic->host;

	(void)why;
	link_refused(host->link.memory, gid, LINK_OTHER_KEY);
}

/* If only the key was missing, plat_resolve() has recorded that. */
void plat_report_unknown(struct nic *nic, const u8 *gid)
{
	static const u8 none[16];
	const struct host *host = nic->host;
	union link_address address;

	if (nic_load(&host->link.fd) >= 0 && memcmp(gid, none, sizeof(none)) != 0 &&
	    !find_place(host->link.memory, gid, &address))
		link_refused(host->link.memory, gid, LINK_UNKNOWN);
}
