/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge/takers.h"

#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/port/netdev.h"
#include "user/lib/clock.h"
#include "user/lib/errand.h"
#include "user/lib/log.h"
#include "user/rtnl/xdp_features.h"

#define ORDER_INTERVAL_NS 10000000000ULL

/* What is asked of a netdev, and the answer. */
struct taker {
	uint16_t system_port; /* 0: the fabric's netdev */
	char netdev[IF_NAMESIZE];
	uint32_t ifindex;
	bool takes;	  /* its driver takes frames that XDP redirects to it */
	bool keeps_order; /* of those and of ours; answered if `order` */
};

struct rb_takers {
	struct sl_errand errand;
	uint64_t order_ns; /* when it is asked again whether netdevs keep order */
	bool order;
	uint32_t n;
	struct taker taker[1 + 256];
};

/* --- Asking --- */

/* Does the netdev take frames that XDP redirects to it? A kernel that cannot say has none. */
static bool takes_frames(struct sl_xdp_features *features, uint32_t ifindex)
{
	struct sl_xdp_takes takes;

	return features && sl_xdp_features_takes(features, ifindex, &takes) == 0 && takes.frames;
}

static void ask(void *context)
{
	struct rb_takers *t = context;
	struct sl_xdp_features *features = NULL;

	if (sl_xdp_features_open(&features))
		features = NULL;
	for (uint32_t i = 0; i < t->n; i++) {
		struct taker *taker = &t->taker[i];

		taker->takes = takes_frames(features, taker->ifindex);
		if (t->order)
			taker->keeps_order = rb_netdev_keeps_order(taker->netdev);
	}
	if (features)
		sl_xdp_features_close(features);
}

static void add(struct rb_takers *t, uint16_t system_port, const char *netdev, uint32_t ifindex)
{
	struct taker *taker = &t->taker[t->n++];

	*taker = (struct taker){ .system_port = system_port, .ifindex = ifindex };
	strncpy(taker->netdev, netdev, sizeof(taker->netdev) - 1);
}

void rb_takers_begin(struct rb_bridge *b)
{
	struct rb_takers *t = b->takers;
	bool any = b->lanes[0].express;

	for (uint32_t i = 0; i < b->n_ports; i++)
		any |= rb_bridge_may_pass(b, &b->ports[i]);
	if (!any || (t && sl_errand_is_begun(&t->errand)))
		return;
	if (!t)
		t = b->takers = calloc(1, sizeof(*t));
	if (!t)
		return;
	t->order = sl_now_ns() >= t->order_ns;
	if (t->order)
		t->order_ns = sl_now_ns() + ORDER_INTERVAL_NS;
	t->n = 0;
	if (sl_cluster_has_fabric(&b->settings->cluster))
		add(t, 0, b->settings->cluster.device, b->fabric.ifindex);
	for (uint32_t i = 0; i < b->n_ports; i++)
		if (b->ports[i].edge)
			add(t, b->ports[i].system_port, b->ports[i].settings->name,
			    b->ports[i].ifindex);
	sl_errand_begin(&t->errand, ask, t);
}

/* --- Answers --- */

/* Where the configuration says `always`, a netdev that lets no frame past the bridge is news. */
static void say_what_cannot(struct rb_bridge *b)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	static const char text[] = "%s: `express: always`, but %s: its frames go by the bridge";
	static const char tso[] = "it has TSO on, with which they could overtake the bridge's "
				  "(ethtool -K DEV tso off)";
	static const char driver[] = "its driver takes no frames from XDP";

	if (cluster->express == SL_EXPRESS_ALWAYS && !b->fabric_takes && !b->fabric_said)
		sl_warning(text, cluster->device, b->fabric_keeps_order ? driver : tso);
	b->fabric_said = !b->fabric_takes;
	for (uint32_t i = 0; i < b->n_ports; i++) {
		struct rb_bridge_port *port = &b->ports[i];

		if (!port->edge)
			continue;
		if (port->settings->express == SL_EXPRESS_ALWAYS && !port->takes && !port->said)
			sl_warning(text, port->settings->name, port->keeps_order ? driver : tso);
		port->said = !port->takes;
	}
}

/* The lanes run meanwhile, and read whether it takes frames. */
static void take_over(struct rb_bridge *b, const struct taker *taker, bool order)
{
	for (uint32_t i = 0; i < b->n_ports; i++) {
		struct rb_bridge_port *port = &b->ports[i];

		if (port->system_port != taker->system_port || port->ifindex != taker->ifindex)
			continue;
		if (order)
			port->keeps_order = taker->keeps_order;
		__atomic_store_n(&port->takes,
				 rb_bridge_may_pass(b, port) && port->keeps_order && taker->takes,
				 __ATOMIC_RELAXED);
	}
	if (taker->system_port)
		return;
	if (order)
		b->fabric_keeps_order = taker->keeps_order;
	__atomic_store_n(&b->fabric_takes, b->fabric_keeps_order && taker->takes, __ATOMIC_RELAXED);
}

void rb_takers_end(struct rb_bridge *b)
{
	struct rb_takers *t = b->takers;

	if (!t || !sl_errand_is_begun(&t->errand) || !sl_errand_is_done(&t->errand))
		return;
	sl_errand_end(&t->errand);
	for (uint32_t i = 0; i < t->n; i++)
		take_over(b, &t->taker[i], t->order);
	say_what_cannot(b);
}

void rb_takers_forget(struct rb_bridge *b)
{
	if (b->takers)
		b->takers->order_ns = 0;
}

void rb_takers_close(struct rb_takers *t)
{
	if (!t)
		return;
	sl_errand_end(&t->errand);
	free(t);
}
