/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of the controllers on this machine. */
#ifndef CC_SIM_COST_H
#define CC_SIM_COST_H

#include "cc/cc.h"

/* Print the processor time of each controller with n sources, 1..CC_SOURCES_MAX, at T = 1 ms. */
void sim_cost(uint16_t n);

#endif
