/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/assembly/reload.h"

#include <errno.h>
#include <string.h>

#include "rdma-bridge/assembly/assembly.h"
#include "rdma-bridge/assembly/own_ports.h"
#include "rdma-bridge/assembly/reachable.h"
#include "rdma-bridge/bridge/fabric.h"
#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/peering.h"
#include "rdma-bridge/bridge/ports.h"
#include "rdma-bridge/bridge/remote_ports.h"
#include "rdma-bridge/bridge/voq_maps.h"
#include "user/lib/log.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* --- What needs a restart --- */

/* Packet memory, threads, rings, and what is told to peers as they come. */
static const char *changed_bridge(const struct sl_bridge_settings *a,
				  const struct sl_bridge_settings *b)
{
	if (a->workers != b->workers)
		return "`bridge: workers`";
	if (!same_text(a->cores_text, b->cores_text))
		return "`bridge: cores`";
	if (a->realtime != b->realtime)
		return "`bridge: realtime`";
	if (a->memory_mib != b->memory_mib)
		return "`bridge: memory_mib`";
	if (a->delay_sample != b->delay_sample)
		return "`bridge: delay_sample`";
	return same_text(a->control, b->control) ? NULL : "`bridge: control`";
}

static const char *changed_fabric(const struct sl_cluster_settings *a,
				  const struct sl_cluster_settings *b)
{
	if (!same_text(a->device, b->device))
		return "`fabric: device`";
	if (a->transport != b->transport)
		return "`fabric: transport`";
	if (a->express != b->express)
		return "`fabric: express`";
	if (a->express_check != b->express_check)
		return "`fabric: express_check`";
	if (a->fabric_dscp != b->fabric_dscp)
		return "`fabric: dscp`";
	return a->service_level == b->service_level ? NULL : "`fabric: service_level`";
}

/* What differs that needs a restart? NULL: nothing. */
static const char *changed(const struct sl_settings *old, const struct sl_settings *new)
{
	const struct sl_cluster_settings *a = &old->cluster, *b = &new->cluster;
	const char *what;

	if (a->node != b->node)
		return "`node`";
	if (!same_text(sl_cluster_find_node(a, a->node)->address,
		       sl_cluster_find_node(b, b->node)->address))
		return "the address of this node";
	what = changed_fabric(a, b);
	if (!what && a->liveness_ms != b->liveness_ms)
		what = "`liveness_ms`";
	if (!what && a->clock_error_us != b->clock_error_us)
		what = "`clock_error_us`";
	if (!what && a->reserve != b->reserve)
		what = "`reserve`";
	if (!what)
		what = changed_bridge(&a->bridge, &b->bridge);
	if (!what && !same_text(a->socket, b->socket))
		what = "`socket`";
	if (!what && !same_text(old->pin_dir, new->pin_dir))
		what = "`pin_dir`";
	return what;
}

/* --- The change --- */

static void swap_text(char **a, char **b)
{
	char *text = *a;

	*a = *b;
	*b = text;
}

/* What the fabric carries: controllers are judged by it, so it changes before they are. */
static void swap_rate(struct sl_cluster_settings *a, struct sl_cluster_settings *b)
{
	const struct sl_rate rate = a->fabric_rate;

	a->fabric_rate = b->fabric_rate;
	b->fabric_rate = rate;
	swap_text(&a->fabric_rate_text, &b->fabric_rate_text);
}

/* How frames are packed and how long they may wait, from now on. queue_frames is in the ports. */
static void take_values(struct rb_bridge *b, const struct sl_bridge_settings *new)
{
	struct sl_bridge_settings *old = &b->settings->cluster.bridge;

	if (old->voq_frames != new->voq_frames)
		rb_bridge_limit_voqs(b, old->voq_frames, new->voq_frames);
	old->poll = new->poll;
	old->packing = new->packing;
	old->pack_delay_us = new->pack_delay_us;
	old->voq_frames = new->voq_frames;
	old->queue_frames = new->queue_frames;
	for (uint32_t i = 0; i < b->n_lanes; i++) {
		rb_worker_set_packing(b->lanes[i].worker, new->packing,
				      new->pack_delay_us * 1000ULL);
		rb_worker_set_fabric(b->lanes[i].worker, rb_fabric_speed_Bps(b));
	}
}

/* Keep the nodes of the new settings, from which the ports of this node borrow. */
static void take_nodes(struct sl_cluster_settings *old, struct sl_cluster_settings *new)
{
	const struct sl_yaml_list list = old->nodes;

	old->nodes = new->nodes;
	new->nodes = list;
	old->table = new->table;
}

/* The kernel's packets for a port that has queues now, and had none, go by them. */
static void take_from_kernel(struct rb_bridge *b)
{
	for (uint32_t i = 0; i < b->n_ports; i++)
		if (b->ports[i].edge && !b->ports[i].withdrawn &&
		    !rb_bridge_is_taken_from_kernel(b, &b->ports[i]))
			rb_bridge_take_from_kernel(b, &b->ports[i]);
}

/* All that may fail has been done, but for memory for nodes that come. */
static int change(struct rb_bridge *b, struct sl_cluster_settings *new, struct rb_own_ports *own,
		  uint64_t now_ns)
{
	int err, controllers_err;

	rb_bridge_halt(b);
	take_values(b, &new->bridge);
	rb_own_ports_apply(b, own, now_ns);
	err = rb_reachable_change(b, new, now_ns);
	take_nodes(&b->settings->cluster, new);
	take_from_kernel(b);
	/* Also of ports that stay as they are: how many sources they have may be new. */
	controllers_err = rb_bridge_set_controllers(b, now_ns);
	rb_bridge_release(b);
	if (!err)
		err = controllers_err;
	return err || !b->join ? err : rb_peering_table_changed(b);
}

/* Most of it is in force: to say that nothing has changed would be wrong. */
static int broken_off(int err)
{
	sl_error("reload: %s: the new configuration is in force, but for nodes, ports and "
		 "controllers for which there was no room: reload again when there is, or go back "
		 "to the former one",
		 strerror(-err));
	return -ENOTRECOVERABLE;
}

int rb_bridge_reload(struct rb_bridge *b, struct sl_settings *settings, uint64_t now_ns)
{
	struct sl_cluster_settings *old = &b->settings->cluster, *new = &settings->cluster;
	const char *what = changed(b->settings, settings);
	struct rb_own_ports *own = NULL;
	int err = 0;

	if (what) {
		sl_error("reload: %s changed, which takes a restart of sluice-bridge", what);
		err = -EINVAL;
	} else if (!rb_reachable_fit(b, new) || !rb_bridge_memory_fits(b, new)) {
		err = -ENOSPC;
	} else {
		err = rb_bridge_raise_limits(new, &b->fabric);
	}
	swap_rate(old, new);
	if (!err)
		err = rb_own_ports_prepare(b, new, now_ns, &own);
	if (!err && b->join) {
		swap_text(&old->key_file, &new->key_file);
		err = rb_peering_read_keys(b);
		if (err)
			swap_text(&old->key_file, &new->key_file);
	}
	if (err)
		swap_rate(old, new);
	else if ((err = change(b, new, own, now_ns)) != 0)
		err = broken_off(err);
	rb_own_ports_close(own);
	sl_settings_free(settings);
	return err;
}
