/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The link of each NIC as the daemon has it: grouped by who implements what. */
#ifndef VNETD_LINK_H
#define VNETD_LINK_H

#include "../platform/link.h"
#include "daemon.h"

/* ------------------------------------------------------------------- link.c */

/* Before the NIC is made: a socket and an address of its own, if it can be had. */
int link_open(struct nic_device *device);
/* What the NIC needs for it. */
void link_configure(const struct nic_device *device, struct nic_config *config);
/* With its memory made: let frames come. */
int link_start(struct nic_device *device);
/* NIC memory was made as new. */
void link_renew(struct nic_device *device);
/* Take the socket back from clients that poll no more: when to come back. */
u64 link_run(struct daemon *daemon, u64 now);
/* Frames that have arrived are taken, unless a client does that. */
void link_look(struct nic_device *device);

/* -------------------------------------------------------------- link_place.c */

/* Tell others of the same user where our GIDs are; and no longer. */
void link_tell(struct nic_device *device);
void link_untell(struct daemon *daemon);
/* One GID of it, that comes or goes while the node is told of. */
void link_tell_gid(const struct nic_device *made, const u8 *gid);
void link_untell_gid(const struct nic_device *made, const u8 *gid);
/* Peers that the options name. */
int link_peers(struct daemon *daemon);
/*
 * Nobody else is told of by this GID (-EEXIST), and we are, at the address in text,
 * until link_untell() if the GID is the device's.
 */
int link_place_claim(struct daemon *daemon, const u8 *gid, const char *text);
/* Is it at that address? */
bool link_place_is(const struct daemon *daemon, const u8 *gid, const char *text);
/* The folder in which it is told; peers that the options name go there. */
int link_place_init(struct daemon *daemon);

/* --------------------------------------------------------------- link_keys.c */

/* Those that the options name. */
int link_keys_init(struct daemon *daemon);
/* From now on, these. */
void link_keys_use(struct daemon *daemon, const struct link_keys *keys);
/* Read the key files (names with commas between): 0, or failed(). */
int link_keys_read(struct daemon *daemon, const char *files, struct link_keys *keys);
/* Read them again, and use what is there from now on. */
void link_keys_again(struct daemon *daemon);

/* ----------------------------------------------------------- link_settings.c */

/*
 * Change settings as text says, all or none; frames: how many endpoint frames a NIC
 * is made with, NULL where it is made already. NULL, or what is wrong (a text that
 * lasts until the next call).
 */
const char *link_settings_parse(struct nic_settings *to, u32 *frames, const char *text);
void link_settings_put(const struct nic_settings *from, u32 frames, FILE *out);

/* ------------------------------------------------------------- link_faults.c */

/*
 * "loss=1%,duplicate=1%,reorder=5%,corrupt=0.1%,delay=1ms,jitter=100us,
 * rate=1gbit,down,up,seed=7,direction=out" onto what is set already; "off": none.
 * What comes after "peer=ADDRESS" is for the frames of that peer, which then has these
 * alone; until "off" is the last of them. All, or none where something is wrong.
 * NULL, or what is wrong (a text that lasts until the next call).
 */
const char *link_faults_parse(struct link_faults *all, struct link_faulty_peers *peers,
			      const char *text);
/* Has a place in the list of peers; the address 0 marks those that nobody has. */
bool link_is_somebody(const u8 ip[16]);
/* Those that the options name. */
int link_faults_init(struct daemon *daemon);
void link_faults_set(struct link_memory *link, const struct link_faults *all,
		     const struct link_faulty_peers *peers);

/* Microseconds, from "5ms", "20us", "1s". */
bool link_parse_time(const char *text, u32 *us);

/* ----------------------------------------------------------- device_faults.c */

enum {
	/* enum ibv_event_type */
	DEVICE_EVENT_PORT_ACTIVE = 9,
	DEVICE_EVENT_PORT_ERR = 10,
	DEVICE_EVENT_GID_CHANGE = 18,
};

/*
 * "device=vnet0,event=qp-fatal:17,event=port-err,rnr=5ms/20ms,reset": done at once,
 * one after the other. NULL, or what is wrong with the first that could not be.
 */
const char *device_faults(struct daemon *daemon, const char *text);
/* Begins and ends storms; answers when to be called next. */
u64 device_faults_run(struct daemon *daemon, u64 now);
/* The node's ports go up or down, and programs hear of it. */
void device_port(struct daemon *daemon, bool up);

/* ------------------------------------------------------------ link_command.c */

/* What `vnet fault` and `vnet key` ask: a descriptor with JSON, or -errno. */
int link_command(struct daemon *daemon, const char *text);
/* "link": {...} of a device. */
void link_status(const struct nic_device *device, FILE *out);

#endif /* VNETD_LINK_H */
