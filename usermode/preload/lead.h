/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* lead(): the path to use for a path that the program gives. */
#ifndef LEAD_H
#define LEAD_H

#include "paths.h"
#include "result.h"

/*
 * Returns the path itself unless it is the device's. The buffer for another path is allocated in
 * the calling function's frame, and only if it is needed, because programs may call from small
 * stacks.
 */
#define lead(path)                                                                                 \
	(likely(!paths_candidate(path)) ? (path) : paths_lead(path, __builtin_alloca(PATH_MAX)))

#endif /* LEAD_H */
