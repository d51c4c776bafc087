/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A device's link as text. */
#ifndef STATUS_LINK_H
#define STATUS_LINK_H

#include <stdio.h>

#include "json.h"

/* Or why the device has none. */
void link_print(FILE *out, const struct json *device);
/* What is set of its transport; nothing where the device has no link. */
void link_print_settings(FILE *out, const struct json *device);

#endif /* STATUS_LINK_H */
