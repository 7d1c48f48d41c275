/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains that signals set up, configure and tear down while the worker serves. */
#ifndef EL_SIGNALLED_CHAINS_H
#define EL_SIGNALLED_CHAINS_H

#include "elements/worker/chain_process.h"

/* Are the keys in the file right? path NULL: yes. 0 or -errno; logged. */
int el_signalled_check(const char *path);
/* Read the keys and listen, if there is a path for them. 0 or -errno; logged. */
int el_signalled_open(struct el_process *p);
/* Listen no more, before el_process_close. Without el_signalled_open, too. */
void el_signalled_close(struct el_process *p);
/* Take the signals that wait, a bounded number. */
void el_signalled_poll(struct el_process *p);
/*
 * Read the keys again, and then the chains (el_process_reload). Those that their key may not have
 * any more end. 0 or -errno; logged; then nothing has changed.
 */
int el_signalled_reload(struct el_process *p);

#endif
