/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where a path of the program's leads. */
#ifndef LEAD_H
#define LEAD_H

#include "paths.h"
#include "result.h"

/*
 * Where a path of the program's leads: mostly where it says. The room for
 * another path is the calling function's, and only taken where it is needed,
 * because programs call us on small stacks.
 */
#define lead(path)                                                                                 \
	(likely(!paths_candidate(path)) ? (path) : paths_lead(path, __builtin_alloca(PATH_MAX)))

#endif /* LEAD_H */
