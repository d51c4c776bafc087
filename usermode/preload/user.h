/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The program's memory, which may be anything: from there and to there as the kernel copies. */
#ifndef USER_H
#define USER_H

#include <errno.h>

#include "session.h"

/* 0 or -EFAULT. */
static inline int user_copy(void *dst, const void *src, size_t length)
{
	return host_guarded_copy(dst, src, length) == NIC_COPY_OK ? 0 : -EFAULT;
}

#endif /* USER_H */
