/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Prints the daemon's status as tables. */
#ifndef STATUS_TABLE_H
#define STATUS_TABLE_H

#include <stdio.h>

#include "json.h"

struct table_options {
	/* Limit of rows of a long list; 0: none. */
	size_t rows;
	/* Seconds since `before`, for rates. */
	double elapsed;
};

/* before: an earlier status, for rates; or NULL. */
void table_print(FILE *out, const struct json *status, const struct json *before,
		 const struct table_options *options);

#endif /* STATUS_TABLE_H */
