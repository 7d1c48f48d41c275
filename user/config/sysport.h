/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of system ports: every edge port of every node that this node knows of, in ascending
 * order. Each port has an index of its own on this node, which gives its VOQs (bpf/abi/voq.h): that
 * stays while other ports come and go. Pure.
 */
#ifndef SL_SYSPORT_H
#define SL_SYSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/voq.h"

struct sl_sysport_table {
	uint32_t n;
	uint16_t port[SL_SYSTEM_PORTS_MAX];  /* system ports, ascending */
	uint16_t index[SL_SYSTEM_PORTS_MAX]; /* of each; without sl_sysport_keep its place */
};

/*
 * Put a port at its place. 0; -EEXIST: it is in the table already; -EINVAL: node or number is 0;
 * -ENOSPC: the table is full.
 */
int sl_sysport_add(struct sl_sysport_table *table, uint16_t system_port);

/* Its index, 0..SL_SYSTEM_PORTS_MAX - 1, or -ENOENT. */
int sl_sysport_index(const struct sl_sysport_table *table, uint16_t system_port);
/* The port with this index; 0: there is none. */
uint16_t sl_sysport_of_index(const struct sl_sysport_table *table, uint32_t index);

/*
 * Let ports keep their indices. held: by index, the port that has it; 0: none. in_use: by index,
 * may frames of a port that has gone still wait there? Ports that hold none get the lowest that are
 * free, those in use last, and last of all those of ports that go now.
 */
void sl_sysport_keep(struct sl_sysport_table *table, const uint16_t held[SL_SYSTEM_PORTS_MAX],
		     const bool in_use[SL_SYSTEM_PORTS_MAX]);

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
