/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An element that crashes, or does not end, ends its process: the service manager starts another.
 * The guard says which element it was, and writes that into the store, so that the next process
 * does not run it.
 */
#ifndef EL_CRASH_GUARD_H
#define EL_CRASH_GUARD_H

#include "elements/worker/chain_process.h"

/* Watch over the process until it ends; once. 0 or -errno. */
int el_crash_guard_open(struct el_process *process);

#endif
