/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Prints a device's link as text. */
#ifndef STATUS_LINK_H
#define STATUS_LINK_H

#include <stdio.h>

#include "json.h"

/* Prints the link, or why the device has none. */
void link_print(FILE *out, const struct json *device);
/* Prints the settings of its transport; nothing if the device has no link. */
void link_print_settings(FILE *out, const struct json *device);

#endif /* STATUS_LINK_H */
