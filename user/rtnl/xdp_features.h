/* SPDX-License-Identifier: BSD-2-Clause */
/* The XDP features of a netdev's driver, by the generic netlink family "netdev" (Linux 6.3). */
#ifndef SL_XDP_FEATURES_H
#define SL_XDP_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

struct sl_xdp_features;

/* 0; -EOPNOTSUPP: this kernel does not have the family; else -errno. */
int sl_xdp_features_open(struct sl_xdp_features **out);
void sl_xdp_features_close(struct sl_xdp_features *f); /* NULL is fine */

/* What a driver takes of the frames that XDP redirects to it. */
struct sl_xdp_takes {
	bool frames;
	bool buffers; /* also frames of several buffers */
};

/*
 * This may change: many drivers take frames only while a program is attached, a veth only while its
 * peer has one or GRO. 0, or -ENODEV and other -errno.
 */
int sl_xdp_features_takes(struct sl_xdp_features *f, uint32_t ifindex, struct sl_xdp_takes *out);
/* Does the driver tell a program that is bound to the netdev which VLAN tag it took off? (6.8) */
bool sl_xdp_features_tells_tag(struct sl_xdp_features *f, uint32_t ifindex);

#endif
