/* SPDX-License-Identifier: BSD-2-Clause */
/* The netdevs of this network namespace that run an XDP program of sluice's. */
#ifndef SL_CAPTURE_PORT_H
#define SL_CAPTURE_PORT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_capture_port {
	char name[IF_NAMESIZE];
	uint32_t ifindex;
	uint32_t prog_id; /* of its XDP program */
	bool fabric;	  /* sl_fabric runs there, not sl_edge */
};

/*
 * Look at one netdev. 0; -ENODEV: there is none of that name; -ENOENT: it runs no XDP program;
 * -EBUSY: it runs another's; -EPERM: to look at programs needs CAP_SYS_ADMIN; else -errno.
 */
int sl_capture_port_find(const char *name, struct sl_capture_port *out);

/*
 * Look at all of them. *ports, which the caller frees, gets those that run a program of sluice's.
 * 0 or -errno, as above but -ENODEV, -ENOENT and -EBUSY: those netdevs are left out.
 */
int sl_capture_port_list(struct sl_capture_port **ports, uint32_t *n);

/*
 * Open program prog_id, which sl_capture_port_find() named, and set name, of at least 16 bytes, to
 * the name of its function. Returns a descriptor or -errno.
 */
int sl_capture_program_open(uint32_t prog_id, char name[16]);

#endif
