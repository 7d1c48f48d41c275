/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trial of an object, in a process of its own that may use memory and processor time, and
 * nothing else: it is loaded, its own test and el_exercise run, and it is unloaded. Whatever it
 * does there is contained: a crash, an endless loop, a system call.
 */
#ifndef EL_TRIAL_H
#define EL_TRIAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "elements/install/signature.h"

struct el_trial {
	pid_t pid; /* 0: none runs */
	int pidfd; /* owned; readable when it is over */
	int said;  /* owned: what the process says */
	uint64_t deadline_ns;
};

/*
 * Start `program EL_TRIAL_OPTION` for the object in fd, which must stay open until it is over. 0 or
 * -errno.
 */
int el_trial_start(struct el_trial *trial, const char *program, int fd);
/* Is it over? Then *err is 0, or -EINVAL with the reason in why. Does not wait. */
bool el_trial_over(struct el_trial *trial, int *err, char why[EL_WHY_BYTES]);
/* End it, if it runs. */
void el_trial_stop(struct el_trial *trial);

#endif
