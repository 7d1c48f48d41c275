/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In place of the kernel and of the relay's socket: functions that the linker puts where bridges
 * and daemons call the others (tests/build.mk has the list). A daemon is told apart by the
 * descriptors and handles that it was given, which are those of its node.
 */
#ifndef NO_KERNEL_H
#define NO_KERNEL_H

#include <time.h>

#include "tests/rehearsal/rehearsed_state.h"

/* What the clock says from now on. */
void no_kernel_set_clock(uint64_t now_ns);
/* The next sl_cluster_open is that of this node. */
void no_kernel_opens(struct rehearsed_node *node);
/* Calls of this address lead to nobody, as those of a machine that is off; or they do again. */
void no_kernel_set_off(uint8_t id, bool off);

/* A queue of messages: in, and out (0: there is none). */
void no_kernel_put(struct rehearsed_relay *relay, const uint8_t *bytes, size_t n_bytes);
size_t no_kernel_take(struct rehearsed_relay *relay, uint8_t bytes[SL_RELAY_MAX_BYTES]);

struct no_kernel_counts {
	uint64_t calls; /* TCP connections that bridges began */
};
void no_kernel_counts(struct no_kernel_counts *out);

/* The real clock. */
uint64_t no_kernel_real_ns(clockid_t clock);

#endif
