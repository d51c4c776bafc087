// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Runs the bystanders' traffic until the process is killed. Prints "flows" at the start. After
 * each SIGUSR1, prints it again when the traffic has continued; the program ends if it does not
 * continue.
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
			/*
			 * The first check consumes earlier rounds, the second waits for a new
			 * one.
			 */
			bystanders_check(&b[i]);
			bystanders_check(&b[i]);
		}
	}
}
