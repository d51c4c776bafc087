// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The table of wirings. */
#include "am_wirings.h"

const struct am_wiring *am_wiring(unsigned int number)
{
	static const struct am_wiring *const wirings[] = { &am_wiring_hand, &am_wiring_cm };

	return number < sizeof(wirings) / sizeof(wirings[0]) ? wirings[number] : NULL;
}
