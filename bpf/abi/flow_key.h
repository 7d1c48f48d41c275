/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A flow by its five values, as the key of maps: exact flows and reserved flows. */
#ifndef SL_FLOW_KEY_H
#define SL_FLOW_KEY_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

/* A flow of IPv4 or IPv6 with a protocol that has ports. */
struct sl_flow_key {
	__be32 source[4]; /* an IPv4 address in the first word, the others 0 */
	__be32 destination[4];
	__be16 source_port;
	__be16 destination_port;
	__u8 protocol;
	__u8 version; /* 4 or 6 */
	__u8 pad[2];  /* 0 */
};
SL_ASSERT_SIZE(struct sl_flow_key, 40);

#endif
