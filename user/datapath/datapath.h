/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One generation of the fast path: the BPF object loaded with its maps, the ports it is attached
 * to, the pins that outlive the process.
 *
 * A daemon that starts, or changes its engine, builds a new generation beside the running one,
 * fills it, and then replaces the program on each port in one step: packets see the old tables or
 * the new ones, none is lost. Counters are one pinned set that all generations share.
 *
 *   open -> tx_add each port -> (fib and mirror fill the tables) -> attach each port -> publish ->
 *   close
 *
 * Failures are logged here, with what was tried and what would be right; callers only decide.
 * One thread owns a generation.
 */
#ifndef SL_DATAPATH_H
#define SL_DATAPATH_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/limit.h"
#include "user/fib/fib.h"
#include "user/datapath/xdp.h"

struct sl_datapath;

struct sl_datapath_params {
	const char *object_path; /* sluice.bpf.o */
	/* Own elements (bpf/abi/own_element.h) in one object. NULL, or no such file: none. */
	const char *elements_path;
	/* e.g. /sys/fs/bpf/sluice; NULL: pin nothing, trace no driver (lookups, tests) */
	const char *pin_dir;
	/* Engine, seed, ...; seed 0: that of the pinned generation, else random. */
	struct sl_config config;
	/*
	 * The running generation, which this one will replace and whose counters and seed it takes
	 * over. Borrowed; or NULL.
	 */
	const struct sl_datapath *previous;
	/* sizes; 0 means the default of bpf/abi/forwarding.h */
	uint32_t n_nexthop, n_adj, n_group;
	uint32_t n_fib4, n_fib6; /* routes */
	/*
	 * In a cluster (config.n_voqs > 0): the highest number of an edge port of this node. If the
	 * previous generation or the pins have the same sizes, this generation uses their sl_voq,
	 * sl_backlog, sl_xsk, sl_ring, sl_express and sl_system_ports, so that a bridge which has
	 * them open goes on. The daemon fills sl_system_ports, sl_dscp and sl_fabric again before
	 * it attaches.
	 */
	uint32_t n_ports;
};

/*
 * Load, reuse the counters that an earlier daemon or iproute2 pinned, mmap the tables, write the
 * pins beside the published ones. The running generation does not change.
 *
 * 0; -ENOENT: no object file; -EINVAL: not sluice's object; -EPERM: a capability is missing; else
 * what the kernel said.
 */
int sl_datapath_open(const struct sl_datapath_params *params, struct sl_datapath **out);
/*
 * Load its programs with other own elements, or with none (params.elements_path), on the same maps,
 * and write the pins beside the published ones. Attaching puts them on a port in place of the
 * former ones. 0, or -errno: nothing has changed; logged.
 */
int sl_datapath_take_elements(struct sl_datapath *dp, const char *elements_path);
/* Let go of it; what is attached and published stays and goes on forwarding. NULL is fine. */
void sl_datapath_close(struct sl_datapath *dp);

/*
 * The tables to hand to sl_fib_create; borrowed until sl_datapath_close. With the kernel engine,
 * which reads none, they are those of the lpm engine, so that every engine shows routes alike.
 */
const struct sl_fib_tables *sl_datapath_tables(const struct sl_datapath *dp);
/* In a cluster, the highest number that an edge port of this node may have. */
uint32_t sl_datapath_ports(const struct sl_datapath *dp);
/* As it was loaded, with the seed in use. */
const struct sl_config *sl_datapath_config(const struct sl_datapath *dp);
int sl_datapath_prog_fd(const struct sl_datapath *dp);
/* Behind the path of sluiced's control socket: where sluice-elements writes own elements. */
#define SL_ELEMENTS_SUFFIX ".elements"
/* sl_own_set of its programs; of those that it would have with this file; 0: none. */
uint32_t sl_datapath_own_set(const struct sl_datapath *dp);
uint32_t sl_datapath_own_set_of(const char *elements_path);
/* Frames of more than one buffer can be forwarded (program sl_edge_frags). */
bool sl_datapath_frags(const struct sl_datapath *dp);
int sl_datapath_map_fd(const struct sl_datapath *dp, const char *name); /* or -ENOENT */

/*
 * Let XDP transmit on a netdev (sl_tx), frames of several buffers too (sl_tx_buffers) or not; or no
 * more. Both may be repeated. 0 or -errno.
 */
int sl_datapath_tx_add(struct sl_datapath *dp, uint32_t ifindex, bool buffers);
int sl_datapath_tx_del(struct sl_datapath *dp, uint32_t ifindex);

/*
 * Exact flows of an earlier generation whose map has another size: put those that are not in this
 * one's. Once before the programs are attached, and once after the pins are published, for flows
 * that came meanwhile. 0 or -errno.
 */
int sl_datapath_take_flows(struct sl_datapath *dp);
/* sl_exact_puts (exact_flows.h), borrowed; NULL: there are no exact flows. */
uint64_t *sl_datapath_exact_puts(const struct sl_datapath *dp);

/* Where packets of rules that name a chain go (sl_chain_tx); 0: nowhere. 0 or -errno. */
int sl_datapath_chain_port(struct sl_datapath *dp, uint32_t ifindex);

/*
 * Say how XDP treats packets that enter at an L3 interface (sl_port; sl_vlan if vlan is not NULL).
 * -EEXIST: another interface has the element of sl_port; packets that enter at this one punt.
 */
int sl_datapath_port_set(struct sl_datapath *dp, const struct sl_port *port,
			 const struct sl_vlan_key *vlan);
/* Change the rule list of an L3 interface (sl_port.filter), if it has an element. 0 or -errno. */
int sl_datapath_port_filter(struct sl_datapath *dp, uint32_t l3_ifindex, uint8_t filter);
/* Say whether flows that enter at it have reserved rates (SL_PORT_RESERVES), likewise. */
int sl_datapath_port_reserves(struct sl_datapath *dp, uint32_t l3_ifindex, bool reserves);
bool sl_datapath_reserves(const struct sl_datapath *dp); /* May flows have reserved rates? */
void sl_datapath_port_clear(struct sl_datapath *dp, uint32_t l3_ifindex,
			    const struct sl_vlan_key *vlan);

/*
 * Put this generation on a netdev. It replaces, in one step, an older program of ours or one that
 * iproute2 attached, but not a foreign one. `want` SL_XDP_NONE lets it choose the mode: that of a
 * program of ours which is attached, else native, else generic. *mode says which it became.
 * `bound`: the netdev keeps VLAN tags beside the frame (vlan_tags.h), so the program is one that is
 * bound to it, and the mode is native; `want` is not generic.
 *
 * 0; -EBUSY: another program is there; -ENODEV; -EOPNOTSUPP and others: the driver refuses (`want`
 * native).
 */
int sl_datapath_attach(struct sl_datapath *dp, uint32_t ifindex, enum sl_xdp_mode want, bool bound,
		       enum sl_xdp_mode *mode);
/* The netdev has gone: let go of the program that was bound to it. */
void sl_datapath_port_gone(struct sl_datapath *dp, uint32_t ifindex);
/* Take a program of ours off; no other. 0 also when none is attached. */
int sl_datapath_detach(struct sl_datapath *dp, uint32_t ifindex);
/* True if the program on the netdev is this generation's. */
bool sl_datapath_attached(const struct sl_datapath *dp, uint32_t ifindex);

/*
 * A sign of life, after which every generation's fast path goes on for limit_s seconds; 0: for
 * ever. 0 or -errno.
 */
int sl_datapath_beat(struct sl_datapath *dp, uint32_t limit_s);
/* The last sign of life, also of an earlier daemon. beat_ns 0: there was none. */
int sl_datapath_heartbeat(const struct sl_datapath *dp, struct sl_heartbeat *out);

/*
 * So many packets a second of each class (enum sl_limit_class) does the kernel get from each
 * processor; 0: all. 0 or -errno.
 */
int sl_datapath_limit(struct sl_datapath *dp, const uint32_t rate_pps[SL_LIMITS]);

/*
 * Make this generation the pinned one, in one step: a reader of pin_dir finds either the complete
 * old set or the complete new one. Removes the old set, and the maps of the same names that
 * iproute2 pinned.
 */
int sl_datapath_publish(struct sl_datapath *dp);

#endif
