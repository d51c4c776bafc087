/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Copies from and to the program's memory, which may be invalid. */
#ifndef USER_H
#define USER_H

#include <errno.h>

#include "session/session.h"

/* Returns 0, or -EFAULT like copy_from_user(). */
static inline int user_copy(void *dst, const void *src, size_t length)
{
	return host_guarded_copy(dst, src, length) == NIC_COPY_OK ? 0 : -EFAULT;
}

#endif /* USER_H */
