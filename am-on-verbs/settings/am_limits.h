/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Limits of messages and connections. Some of them are bounds of settings, too. */
#ifndef AM_LIMITS_H
#define AM_LIMITS_H

#define AM_MAX_WORDS 16 /* of a message */
#define AM_MAX_MEDIUM 4096 /* bytes of a medium message */
#define AM_MAX_LONG (1 << 20) /* bytes of a bulk transfer */
#define AM_MAX_CREDITS 64 /* of a connection */

#endif
