/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The emulated NICs: their creation, reset and identity, injected faults, and the NIC processor,
 * which runs the firmware in the daemon. Functions that return int return 0 or -errno unless their
 * comment says otherwise.
 */
#ifndef VNETD_DEVICES_H
#define VNETD_DEVICES_H

#include "vnetd.h"

struct daemon;
struct nic_device;

/* ---------------------------------------------------------------- device.c */

/* Creates all devices that the options name. */
int devices_init(struct daemon *daemon);
struct device *device_by_minor(struct daemon *daemon, u32 minor);
/* Copies GID `index` and the number of GIDs to the NIC's header. */
void device_set_gid(struct nic_device *made, u32 index);
/* Sets the port's state in the NIC's header. Returns false if it was so already. */
bool device_set_port(struct nic_device *made, bool up);
/* Returns NULL if the NICs' headers and the client table are intact, else what is wrong. */
const char *devices_damage(struct daemon *daemon);
/* Returns NULL, or a reason why parked calls can never complete. */
const char *devices_stuck(struct daemon *daemon);
/* Whether a NIC has exchanged frames with other NICs since its memory was reset. */
bool devices_had_traffic(const struct daemon *daemon);
/*
 * Resets NIC memory while there is no client, so that data that a client left there, by error or
 * malice, cannot affect the next.
 */
void devices_renew(struct daemon *daemon);
/* Sets the fatal flag of all NICs, by which all processes detect that the devices are lost. */
void devices_fatal(struct daemon *daemon);

/* -------------------------------------------------------------- identity.c */

/* Sets the device's GUID, LID, GIDs and their net devices. */
int identity_init(struct nic_device *device);
/* Starts to follow changes of the host's addresses. */
int identity_watch(struct daemon *daemon);

/* ------------------------------------------------------------- processor.c */

int processor_init(struct daemon *daemon);
/* Runs the firmware. Returns the time of the next call; the sleep flags are set until then. */
u64 processor_run(struct daemon *daemon, u64 now);
void processor_awake(struct daemon *daemon);

/* ---------------------------------------------------------------- faults.c */

enum {
	/* enum ibv_event_type */
	DEVICE_EVENT_PORT_ACTIVE = 9,
	DEVICE_EVENT_PORT_ERR = 10,
	DEVICE_EVENT_GID_CHANGE = 18,
};

/*
 * Executes the faults in "device=vnet0,event=qp-fatal:17,event=port-err,rnr=5ms/20ms,reset" one
 * after the other. Returns NULL, or what is wrong with the first that failed.
 */
const char *device_faults(struct daemon *daemon, const char *text);
/* Switches the RNR fault on and off. Returns the time of the next call. */
u64 device_faults_run(struct daemon *daemon, u64 now);
/* Sets the state of the node's ports, and raises the port events. */
void device_port(struct daemon *daemon, bool up);

#endif /* VNETD_DEVICES_H */
