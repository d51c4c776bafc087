// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Compares the names of endpoints. */
#include <string.h>

#include "am_core.h"

int AM_NameEqual(en_t a, en_t b)
{
	return a.incarnation == b.incarnation && a.endpoint == b.endpoint &&
	       !memcmp(a.gid, b.gid, sizeof(a.gid));
}
