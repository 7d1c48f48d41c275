/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet loop's claim to the processor. */
#ifndef SL_CPU_CLAIM_H
#define SL_CPU_CLAIM_H

#include <stdint.h>

/*
 * Get the processor before other programs, often and for a short time: a frame waits as long as
 * another program may keep the processor. Kernels before 6.12 give all programs slices of one
 * length. All threads that are made later inherit this, but those of errands. `realtime`: the
 * priority of SCHED_RR, 0: none. What cannot be had is logged.
 */
void sl_cpu_claim(uint32_t realtime);

#endif
