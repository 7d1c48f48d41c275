/* SPDX-License-Identifier: BSD-2-Clause */
#include "netns-lab/lookup/kernel_routes.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "netns-lab/lookup/route_batch.h"

struct kernel_routes {
	struct route_batch *batch; /* owned */
	uint32_t ifindex;	   /* of the link that all routes use */
};

static const char setup[] = "set -e\n"
			    "ip link set lo up\n"
			    "ip link add sl_oracle type veth peer name sl_oracle_peer\n"
			    "ip link set sl_oracle up\n"
			    "ip link set sl_oracle_peer up\n"
			    "ip addr add 10.254.255.1/16 dev sl_oracle\n"
			    "echo 1 >/proc/sys/net/ipv4/ip_forward\n"
			    "echo 1 >/proc/sys/net/ipv6/conf/all/forwarding\n";

int kernel_routes_open(struct kernel_routes **out)
{
	struct kernel_routes *k = calloc(1, sizeof(*k));
	int rc = 0;

	if (!k)
		return -ENOMEM;
	if (unshare(CLONE_NEWNET))
		rc = -errno;
	else if (system(setup))
		rc = -EIO;
	if (!rc)
		rc = route_batch_open(&k->batch);
	if (rc) {
		kernel_routes_close(k);
		return rc;
	}
	k->ifindex = if_nametoindex("sl_oracle");
	*out = k;
	return 0;
}

void kernel_routes_close(struct kernel_routes *k)
{
	if (!k)
		return;
	route_batch_close(k->batch);
	free(k);
}

int kernel_routes_set(struct kernel_routes *k, const struct sl_prefix *prefix, uint32_t nexthop)
{
	const uint8_t last = (uint8_t)(nexthop + 1);
	struct route_via via = { .ifindex = k->ifindex, .gateway = { 10, 254, 0, last } };

	if (prefix->family == AF_INET6)
		via = (struct route_via){ .ifindex = k->ifindex,
					  .gateway = { 0xfe, 0x80, [15] = last } };
	return route_batch_set(k->batch, prefix, &via);
}

int kernel_routes_delete(struct kernel_routes *k, const struct sl_prefix *prefix)
{
	return route_batch_delete(k->batch, prefix);
}

int kernel_routes_flush(struct kernel_routes *k)
{
	return route_batch_flush(k->batch);
}

int kernel_routes_get(struct kernel_routes *k, uint8_t family, const uint8_t *addr,
		      uint32_t *nexthop)
{
	uint8_t gateway[16];
	int rc = route_batch_lookup(k->batch, family, addr, gateway);

	if (!rc)
		*nexthop = gateway[sl_addr_bits(family) / 8 - 1] - 1u;
	return rc;
}
