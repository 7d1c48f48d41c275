/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The XDP program bpf/fabric.bpf.c on the fabric's netdev. Drivers of adapters reset their queues
 * when a program comes or goes, so it outlives us: the next bridge replaces it in one step.
 */
#ifndef RB_FABRIC_XDP_H
#define RB_FABRIC_XDP_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/arrival.h"

struct rb_fabric_xdp;

struct rb_fabric_xdp_config {
	uint32_t ifindex;
	const uint8_t *address; /* 16 bytes */
	const char *pin;	/* of the link; NULL: the program goes with us */
	uint32_t queues, workers, first_qpn;
	bool express; /* take express messages apart; the next three are for that alone */
	uint8_t node; /* our id */
	uint32_t qkey;
	uint32_t sample; /* record one frame of so many that are redirected; 0: none */
};

/*
 * Load the program for our address and the queue pairs of our workers, which have first_qpn and the
 * numbers after it, and attach it: native, else generic; or in place of a former bridge's, if that
 * is pinned. 0, -EBUSY if another program is attached, else -errno of the kernel.
 */
int rb_fabric_xdp_open(const struct rb_fabric_xdp_config *config, struct rb_fabric_xdp **out);
/* A program that is pinned stays and gives every frame to the kernel. NULL is fine. */
void rb_fabric_xdp_close(struct rb_fabric_xdp *xdp);
/* 0; else why the link is not pinned, so that the program goes with us: -errno. */
int rb_fabric_xdp_pin_error(const struct rb_fabric_xdp *xdp);
/* 0; else why samples end with the redirect, not when the port's driver has the frame: -errno. */
int rb_fabric_xdp_sent_error(const struct rb_fabric_xdp *xdp);
/* The XSKMAP. Key: receive queue (below `queues`) * workers + worker. */
int rb_fabric_xdp_map(const struct rb_fabric_xdp *xdp);
bool rb_fabric_xdp_is_native(const struct rb_fabric_xdp *xdp);

/* The program's maps in memory, while it is open; NULL without express. Element node * workers +
 * worker, and by port number. */
struct sl_arrivals *rb_fabric_xdp_arrivals(const struct rb_fabric_xdp *xdp);
struct sl_arrival_port *rb_fabric_xdp_ports(const struct rb_fabric_xdp *xdp);
/* By sl_taken_key. */
const struct sl_passed *rb_fabric_xdp_taken(const struct rb_fabric_xdp *xdp);
/* By worker; NULL if nothing is recorded. */
struct sl_samples *rb_fabric_xdp_samples(const struct rb_fabric_xdp *xdp);
/* The driver has no room for metadata: messages come without numbers, and none is taken apart. */
bool rb_fabric_xdp_lacks_meta(const struct rb_fabric_xdp *xdp);

#endif
