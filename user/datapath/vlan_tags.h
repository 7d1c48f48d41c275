/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where does XDP find the VLAN tags of the frames that enter at a netdev? A router that does not
 * see a tag forwards the frame as an untagged one, and no VLAN is apart from another any more.
 *
 * - NICs take tags off on receive if their offload says so (ethtool's rx-vlan-hw-parse and
 *   rx-vlan-stag-hw-parse, together `rxvlan`). We switch the offloads off, and back on when the
 *   fast path leaves.
 * - A sender on a veth leaves the tag to its device, which hands the frame over with the tag beside
 *   it, whatever the receiver's offloads are.
 * - A netdev on top of another (macvlan, bridge, bond) gets its frames after the kernel has taken
 *   the outer tag off.
 */
#ifndef SL_VLAN_TAGS_H
#define SL_VLAN_TAGS_H

#include <stdbool.h>
#include <stdint.h>

enum sl_vlan_tags {
	SL_TAGS_IN_FRAME, /* every program sees them */
	SL_TAGS_BESIDE,	  /* a program that is bound to the netdev may ask its driver, if that tells
			   */
	SL_TAGS_OUT_OF_SIGHT, /* no XDP program can see them */
};

/*
 * Switch the offloads of a netdev off, note which ones were on in record_fd, the map
 * sl_offload, and find out where its tags are then. `why` (static) says it if they are
 * not in the frame. 0 or -errno.
 */
int sl_vlan_tags_settle(int record_fd, uint32_t ifindex, enum sl_vlan_tags *tags, const char **why);
/* Has the netdev this driver, as `ethtool -i` shows it? */
bool sl_netdev_has_driver(uint32_t ifindex, const char *driver);
/* Has someone switched an offload on again that sl_vlan_tags_settle switched off? */
bool sl_vlan_tags_disturbed(int record_fd, uint32_t ifindex);
/* Switch on what sl_vlan_tags_settle switched off, also that of an earlier process. */
void sl_vlan_tags_restore(int record_fd, uint32_t ifindex);

#endif
