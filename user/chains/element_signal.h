/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice element signal: ask a router by a packet for a chain. */
#ifndef SL_ELEMENT_SIGNAL_H
#define SL_ELEMENT_SIGNAL_H

#include "user/cli/cmd.h"

/* argv[0] is the address to which the signal goes. Returns an exit status. */
int sl_element_signal(const struct sl_cmd_options *options, int argc, char **argv);

#endif
