// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Traffic of all kinds, checked, until it is killed. Says when it flows. */
#include <unistd.h>

#include "../faults/bystanders.h"

#define PAIRS 1

int main(void)
{
	static struct bystanders b[PAIRS];

	for (int i = 0; i < PAIRS; i++)
		bystanders_start(&b[i]);
	note("flows");
	for (;;)
		pause();
}
