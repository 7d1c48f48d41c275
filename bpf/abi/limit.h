/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How many packets a second the kernel gets that only it can answer, by classes.
 */
#ifndef SL_LIMIT_H
#define SL_LIMIT_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

enum sl_limit_class {
	SL_LIMIT_TTL,	   /* punted as ttl */
	SL_LIMIT_NO_ROUTE, /* punted as no-route */
	/* Punted as local, and neither of a connection, nor for a bound socket, nor of a control
	 * protocol. Three classes, so that a flood of one does not starve the others: */
	SL_LIMIT_TCP,
	SL_LIMIT_UDP,
	SL_LIMIT_OTHER,
	SL_LIMITS
};

/* A class that was silent may send the packets of a second at once. */
#define SL_LIMIT_BURST_NS 1000000000ULL

/* Map sl_limit, per CPU, an element for each class. All zero: no limit. */
struct sl_limit {
	__u64 interval_ns; /* between two packets; 0: no limit. The daemon writes it. */
	__u64 due_ns;	   /* when the next one is due, by CLOCK_MONOTONIC. XDP writes it. */
};
SL_ASSERT_SIZE(struct sl_limit, 16);

#endif
