/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* redirect(): the path to use for a path that the program gives. */
#ifndef REDIRECT_H
#define REDIRECT_H

#include "base/result.h"
#include "calls/paths.h"

/*
 * Returns the path itself unless it is the device's. The buffer for another path is allocated in
 * the calling function's frame, and only if it is needed, because programs may call from small
 * stacks.
 */
#define redirect(path)                                                                             \
	(likely(!paths_candidate(path)) ? (path) : paths_redirect(path, __builtin_alloca(PATH_MAX)))

#endif /* REDIRECT_H */
