// SPDX-License-Identifier: GPL-2.0-only
// The first process of a pod, which holds its namespaces: it waits, and ends with SIGTERM. It has no children.
#include <signal.h>
#include <stdlib.h>

int main(void)
{
	sigset_t ending;
	int number;

	sigemptyset(&ending);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGINT);
	// Process 1 of a namespace gets no signal that it neither handles nor waits for.
	if (sigprocmask(SIG_BLOCK, &ending, NULL) || sigwait(&ending, &number))
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
