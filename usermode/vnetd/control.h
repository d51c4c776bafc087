/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the rooms below the servers pass on to all of them. control.c, which calls all rooms,
 * implements it, so that clients/ includes no server.
 */
#ifndef VNETD_CONTROL_H
#define VNETD_CONTROL_H

#include "loop/loop.h"

struct client;
struct conn;
struct file;
struct vnet_msg;

/*
 * Handles one message. CALL_PARK: the caller passes the same message again later. CALL_DONE: the
 * connection may have been closed.
 */
enum call_outcome control_message(struct conn *conn, const struct vnet_msg *msg);

/*
 * Frees what a file owned, by the server of its kind. CALL_PARK: call again. CALL_DONE: the caller
 * destroys the file.
 */
enum call_outcome control_file_close(struct file *file);
/* The socket of a file has room again: see file_want_room(). */
void control_file_room(struct file *file);
/* Destroys the objects of a dead client. nic_recover() has run on every device. */
void control_client_dead(struct client *client);

#endif /* VNETD_CONTROL_H */
