/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An errand: work that may wait for the kernel, done in a thread of its own, so that a packet loop
 * goes on meanwhile. The thread takes no signals, and has neither the core nor the priority of the
 * loop that began it.
 */
#ifndef SL_ERRAND_H
#define SL_ERRAND_H

#include <pthread.h>
#include <stdbool.h>

/* All zero: there is none. */
struct sl_errand {
	void (*work)(void *context);
	void *context;
	pthread_t thread;
	bool begun, has_thread;
	bool done; /* atomic */
};

/*
 * Begin work(context). It has the context for itself until it is done. Where no thread can be made,
 * the work is done when this returns.
 */
void sl_errand_begin(struct sl_errand *errand, void (*work)(void *context), void *context);
/* Has one begun that has not been ended? */
bool sl_errand_is_begun(const struct sl_errand *errand);
/* Is the one that began last done? From now on the caller sees all that its work wrote. */
bool sl_errand_is_done(const struct sl_errand *errand);
/* Wait until it is done. Nothing to do where none has begun, or where it has been ended. */
void sl_errand_end(struct sl_errand *errand);

#endif
