/* SPDX-License-Identifier: BSD-2-Clause */
/* How an XDP program runs on a netdev, and what it must see there. */
#ifndef SL_XDP_MODE_H
#define SL_XDP_MODE_H

enum sl_xdp_mode {
	SL_XDP_NONE,	/* on a netdev: no program is attached; in the configuration: any mode */
	SL_XDP_NATIVE,	/* in the driver */
	SL_XDP_GENERIC, /* in the kernel's receive path, after the driver */
};

/* A port where XDP cannot see VLAN tags, and would take tagged frames for untagged ones: */
enum sl_hidden_tags {
	SL_HIDDEN_TAGS_REFUSE, /* stays with the kernel */
	SL_HIDDEN_TAGS_IGNORE, /* is attached all the same: no tagged frame comes here */
};

#endif
