// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traffic of all kinds, checked, until it is killed. Says when it flows; and when it is
 * told SIGUSR1, once it has gone on since, or ends if it does not.
 */
#include <signal.h>

#include "../faults/bystanders.h"

#define PAIRS 1

int main(void)
{
	static struct bystanders b[PAIRS];
	sigset_t asked;
	int signal;

	sigemptyset(&asked);
	sigaddset(&asked, SIGUSR1);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &asked, NULL), 0);
	for (int i = 0; i < PAIRS; i++)
		bystanders_start(&b[i]);
	for (;;) {
		note("flows");
		CHECK_EQ(sigwait(&asked, &signal), 0);
		for (int i = 0; i < PAIRS; i++) {
			/* What has been until now; and what comes. */
			bystanders_check(&b[i]);
			bystanders_check(&b[i]);
		}
	}
}
