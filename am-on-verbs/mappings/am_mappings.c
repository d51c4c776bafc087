// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The table of mappings. */
#include "am_mappings.h"

const struct am_mapping *am_mapping(unsigned int number)
{
	static const struct am_mapping *const mappings[] = { NULL, &am_mapping_v1, &am_mapping_v2,
							     &am_mapping_v3, &am_mapping_v4 };

	return number < sizeof(mappings) / sizeof(mappings[0]) ? mappings[number] : NULL;
}
