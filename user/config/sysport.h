/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of system ports: every edge port of every node that this node knows of, in ascending
 * order. A port's place in it is its index, which gives its VOQs (bpf/abi/voq.h). Pure.
 */
#ifndef SL_SYSPORT_H
#define SL_SYSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/voq.h"

struct sl_sysport_table {
	uint32_t n;
	uint16_t port[SL_SYSTEM_PORTS_MAX]; /* system ports, ascending */
};

/*
 * Put a port at its place. 0; -EEXIST: it is in the table already; -EINVAL: node or number is 0;
 * -ENOSPC: the table is full.
 */
int sl_sysport_add(struct sl_sysport_table *table, uint16_t system_port);

/* Its index, 0..n - 1, or -ENOENT. */
int sl_sysport_index(const struct sl_sysport_table *table, uint16_t system_port);

/* Its VOQ of class 0; the other classes follow. */
static inline uint16_t sl_sysport_voq(uint32_t index)
{
	return (uint16_t)(index * SL_CLASSES);
}

/*
 * Write the table as bytes: "SLPT", version 1 (1), zero (1), number of ports (2), the ports (2
 * each), all big-endian. Nodes tell each other a SHA-256 of them (docs/PROTOCOL.md
 * section 3). Returns how many bytes are used.
 */
#define SL_SYSPORT_BYTES_MAX (8 + 2 * SL_SYSTEM_PORTS_MAX)
size_t sl_sysport_encode(const struct sl_sysport_table *table, uint8_t bytes[SL_SYSPORT_BYTES_MAX]);

#endif
