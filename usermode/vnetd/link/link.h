/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The links of the NICs to other nodes: sockets, keys, the GID directory, settings and injected
 * faults. Functions that return int return 0 or -errno unless their comment says otherwise.
 */
#ifndef VNETD_LINK_H
#define VNETD_LINK_H

#include <stdio.h>

#include "../../platform/link.h"
#include "vnetd.h"

struct daemon;
struct device;
struct nic_device;

/* ------------------------------------------------------------------ link.c */

/*
 * Opens the link's socket and memory, before NIC memory is created. Without an address for the
 * socket, the NIC has no link (nic_device.link_problem).
 */
int link_open(struct nic_device *device);
/* Sets the sizes of the NIC's tables that the link needs. */
void link_configure(const struct nic_device *device, struct nic_config *config);
/* Starts to receive frames, after NIC memory was created. */
int link_start(struct nic_device *device);
/* Resets the link's state after NIC memory was reset. */
void link_renew(struct nic_device *device);
/* Takes the socket back when clients no longer poll it. Returns the time of the next call. */
u64 link_run(struct daemon *daemon, u64 now);
/* Receives frames, unless a client polls or the epoll set reports them. */
void link_receive_now(struct nic_device *device);
/* Whether --listen with this list would give the NIC another address than it has. */
bool link_listen_differs(struct nic_device *device, const char *list);

/* --------------------------------------------------------- gid_directory.c */

/* Adds and removes the entries of all our GIDs in the user's GID directory. */
void link_publish_gids(struct nic_device *device);
void link_withdraw_gids(struct daemon *daemon);
/* Adds and removes the entry of one GID while the node runs. */
void link_publish_gid(const struct nic_device *made, const u8 *gid);
void link_withdraw_gid(const struct nic_device *made, const u8 *gid);
/* Adds the entries of --peers. */
int link_peers(struct daemon *daemon);
/* Whether --peers with this list would add or change an entry. */
bool link_peers_differ(struct daemon *daemon, const char *list);
/*
 * Claims a GID exclusively for the address in `text`. Returns 0, -EEXIST if another node has it,
 * or failed(). link_withdraw_gids() removes the entry if the GID is one of the device's.
 */
int link_gid_claim(struct daemon *daemon, const u8 *gid, const char *text);
/* Whether the directory says that this GID is at the address in `text`. */
bool link_gid_is_at(const struct daemon *daemon, const u8 *gid, const char *text);
/*
 * Creates the GID directory, removes the entries of killed daemons, and adds those of --peers.
 */
int link_gid_dir_init(struct daemon *daemon);

/* ------------------------------------------------------------------ keys.c */

/* Reads the keys of --key. */
int link_keys_init(struct daemon *daemon);
/* Replaces the keys in use. */
void link_keys_use(struct daemon *daemon, const struct link_keys *keys);
/* Reads key files (comma-separated names). Returns 0 or failed(). */
int link_keys_read(struct daemon *daemon, const char *files, struct link_keys *keys);
/* Reads the key files again, and uses their present keys. */
void link_keys_reload(struct daemon *daemon);
/* Whether a node that starts with --key and these files would have other keys. */
bool link_keys_differ(struct daemon *daemon, const char *files);

/* -------------------------------------------------------------- settings.c */

/*
 * Applies the settings in `text`, all or none. `frames`: number of endpoint frames, which can be
 * set only before the NIC is created; NULL afterwards. Returns NULL, or what is wrong (valid
 * until the next call).
 */
const char *link_settings_parse(struct nic_settings *to, u32 *frames, const char *text);
/* Whether a setting in `text` has another value in `now`, or in the number of endpoint frames. */
bool link_settings_differ(const struct nic_settings *now, u32 frames, const char *text);
void link_settings_put(const struct nic_settings *from, u32 frames, FILE *out);

/* ---------------------------------------------------------------- faults.c */

/*
 * Parses "loss=1%,duplicate=1%,reorder=5%,corrupt=0.1%,delay=1ms,jitter=100us,
 * rate=1gbit,down,up,seed=7,direction=out", on top of the faults that are set; "off" removes
 * them. Items after "peer=ADDRESS" set the faults of that peer only; they replace the general
 * ones for it, until "off" is its last item. Applies all items, or none if one is wrong. Returns
 * NULL, or what is wrong (valid until the next call).
 */
const char *link_faults_parse(struct link_faults *all, struct link_faulty_peers *peers,
			      const char *text);
/* Whether this entry of the list of peers is in use: address 0 marks unused entries. */
bool link_peer_in_use(const u8 ip[16]);
/* Whether a node that starts with --fault and this list would have other faults. */
bool link_faults_differ(const struct daemon *daemon, const char *text);
/* Parses --fault. */
int link_faults_init(struct daemon *daemon);
void link_faults_set(struct link_memory *link, const struct link_faults *all,
		     const struct link_faulty_peers *peers);

/* Parses a time such as "5ms", "20us" or "1s" into microseconds. */
bool link_parse_time(const char *text, u32 *us);

/* --------------------------------------------------------- peer_discovery.c */

/* Contacts other NICs before multicast or Ethernet frames are used. */
void discover_peers(struct device *device);

#endif /* VNETD_LINK_H */
