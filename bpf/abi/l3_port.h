/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How the fast path treats packets by the interface that they enter at.
 */
#ifndef SL_L3_PORT_H
#define SL_L3_PORT_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

#define SL_PORTS_MAX 1024 /* elements of sl_port, sl_port_drops, sl_vlan, sl_offload, sl_tx */

#define SL_PORT_FORWARD4  (1u << 0) /* the kernel forwards IPv4 that enters here */
#define SL_PORT_FORWARD6  (1u << 1) /* the same for IPv6 */
#define SL_PORT_RP_STRICT (1u << 2) /* IPv4 rp_filter 1: the source is reachable through here */
#define SL_PORT_RP_LOOSE  (1u << 3) /* IPv4 rp_filter 2: the source is reachable */
/* give all IPv4 to the kernel (policy rules, a member of a bridge, a bond or a VRF) */
#define SL_PORT_PUNT4 (1u << 4)
#define SL_PORT_PUNT6 (1u << 5) /* the same for IPv6 */
/* the kernel may send ICMP redirects from here: punt packets that leave where they came in */
#define SL_PORT_REDIRECT4 (1u << 6)
#define SL_PORT_REDIRECT6 (1u << 7) /* the same for IPv6 */
/* give all IPv4 to the kernel: IPsec policies could apply to forwarded packets */
#define SL_PORT_XFRM4 (1u << 8)
#define SL_PORT_XFRM6 (1u << 9) /* the same for IPv6 */
/* give all IPv4 to the kernel: netfilter has rules for forwarded packets */
#define SL_PORT_NETFILTER4 (1u << 10)
#define SL_PORT_NETFILTER6 (1u << 11) /* the same for IPv6 */
/*
 * Packets may come without a TCP or UDP checksum, from a veth or a TAP, with a note of the kernel's
 * which of them do, and where it belongs. XDP completes what leaves without that note.
 */
#define SL_PORT_PARTIAL (1u << 12)
/* IPv4 route_localnet: 127/8 is an address like others, if the kernel says so */
#define SL_PORT_LOCALNET4 (1u << 13)
/* IPv4 flows that differ only in protocol or ports take the same member of a group */
#define SL_PORT_HASH_L3_4 (1u << 14)
#define SL_PORT_HASH_L3_6 (1u << 15) /* the same for IPv6 */
/* the same in generic mode, where what XDP redirects to a netdev keeps the note */
#define SL_PORT_NOTED (1u << 16)
/* flows that enter here have reserved rates; beside the mirror's flags, and not its */
#define SL_PORT_RESERVES_BIT 17
#define SL_PORT_RESERVES     (1u << SL_PORT_RESERVES_BIT)
/* Packets come out of chains of elements here, which exact flows have judged where they entered. */
#define SL_PORT_CHAINED (1u << 18)

/*
 * Map sl_port: how XDP treats packets that enter at an L3 interface (a port or a VLAN on it).
 * Element ifindex & (SL_PORTS_MAX - 1). `ifindex` names the interface that owns the element; the
 * daemon refuses to attach an interface whose element another one owns.
 */
struct sl_port {
	__u32 ifindex; /* 0: free */
	__u32 flags;   /* SL_PORT_* */
	__u8 mac[6];   /* unicast frames for any other address are not ours */
	/* in a cluster: of the port, or of the port below the VLAN, 1..255; 0: none */
	__u8 number;
	__u8 filter; /* rule list plus 1 (classifier.h); 0: none */
};
SL_ASSERT_SIZE(struct sl_port, 16);

/*
 * Map sl_port_drops: struct sl_counter of the frames that entered by a netdev and that sl_edge has
 * dropped. Element ifindex & (SL_PORTS_MAX - 1) of the netdev itself, whatever VLAN the frames are
 * of; never reset, so an ifindex that is SL_PORTS_MAX higher goes on with what was there. The sum
 * is that of sl_drops, but for the reasons that tracepoints count when a driver refuses a frame.
 */

/* Map sl_vlan: (port, tags) of a received frame -> L3 ifindex, a key of sl_port. */
struct sl_vlan_key {
	__u32 port_ifindex;
	__be16 tpid[2]; /* outer first; 0 where there is no tag */
	__be16 vid[2];	/* VLAN id only, without priority and DEI */
};
SL_ASSERT_SIZE(struct sl_vlan_key, 12);

/*
 * Map sl_offload: ifindex -> SL_OFFLOAD_*, the VLAN offloads of that port which the daemon has
 * switched off, and switches on again when it takes the fast path off. No program reads it; as a
 * pin it outlives the daemon.
 */
#define SL_OFFLOAD_CTAG (1u << 0) /* rx-vlan-hw-parse: of 802.1Q */
#define SL_OFFLOAD_STAG (1u << 1) /* rx-vlan-stag-hw-parse: of 802.1ad */

#endif
