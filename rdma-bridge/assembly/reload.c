/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/assembly/reload.h"

#include <errno.h>
#include <string.h>

#include "rdma-bridge/assembly/assembly.h"
#include "rdma-bridge/assembly/reachable.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/peering.h"
#include "user/lib/log.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* --- What needs a restart --- */

static bool same_queue(const struct sl_queue_settings *a, const struct sl_queue_settings *b)
{
	return a->weight == b->weight && a->frames == b->frames &&
	       a->policy_plus1 == b->policy_plus1 && a->flows == b->flows &&
	       same_text(a->parameters, b->parameters);
}

/* Of a port of this node: is everything that the bridge reads of it the same? */
static bool same_port(const struct sl_cluster_port *a, const struct sl_cluster_port *b)
{
	bool same = a->number == b->number && same_text(a->name, b->name) && a->mode == b->mode &&
		    a->rate.per_s == b->rate.per_s && a->rate.frames == b->rate.frames &&
		    a->burst_us == b->burst_us && a->scheduler == b->scheduler &&
		    a->controller == b->controller && same_text(a->parameters, b->parameters) &&
		    a->transmit == b->transmit && a->express == b->express;

	for (uint32_t c = 0; c < SL_CLASSES && same; c++)
		same = same_queue(&a->queue[c], &b->queue[c]);
	return same;
}

static bool same_bridge(const struct sl_bridge_settings *a, const struct sl_bridge_settings *b)
{
	return a->workers == b->workers && same_text(a->cores_text, b->cores_text) &&
	       a->realtime == b->realtime && a->poll == b->poll && a->packing == b->packing &&
	       a->pack_delay_us == b->pack_delay_us && a->voq_frames == b->voq_frames &&
	       a->queue_frames == b->queue_frames && a->memory_mib == b->memory_mib &&
	       a->delay_sample == b->delay_sample && same_text(a->control, b->control);
}

/* This node, as both configurations have it: what differs that needs a restart? NULL: nothing. */
static const char *changed_self(const struct sl_cluster_node *a, const struct sl_cluster_node *b)
{
	if (!same_text(a->address, b->address))
		return "the address of this node";
	if (a->ports.n != b->ports.n)
		return "the ports of this node";
	for (uint32_t p = 0; p < a->ports.n; p++)
		if (!same_port(sl_cluster_port(a, p), sl_cluster_port(b, p)))
			return "a port of this node";
	return NULL;
}

static const char *changed(const struct sl_settings *old, const struct sl_settings *new)
{
	const struct sl_cluster_settings *a = &old->cluster, *b = &new->cluster;

	if (a->node != b->node)
		return "`node`";
	if (!same_text(a->device, b->device) || a->transport != b->transport ||
	    a->express != b->express || a->express_check != b->express_check ||
	    a->fabric_dscp != b->fabric_dscp || a->service_level != b->service_level ||
	    a->fabric_rate.per_s != b->fabric_rate.per_s)
		return "`fabric`";
	if (a->liveness_ms != b->liveness_ms)
		return "`liveness_ms`";
	if (a->reserve != b->reserve)
		return "`reserve`";
	if (!same_bridge(&a->bridge, &b->bridge))
		return "`bridge`";
	if (!same_text(a->socket, b->socket))
		return "`socket`";
	if (!same_text(old->pin_dir, new->pin_dir))
		return "`pin_dir`";
	return changed_self(sl_cluster_find_node(a, a->node), sl_cluster_find_node(b, b->node));
}

/* --- The change --- */

static void swap_text(char **a, char **b)
{
	char *text = *a;

	*a = *b;
	*b = text;
}

/*
 * The nodes of the new settings become those of the old ones, but for this node, whose ports the
 * bridge has borrowed.
 */
static void take_nodes(struct sl_cluster_settings *old, struct sl_cluster_settings *new)
{
	struct sl_cluster_node *nodes = new->nodes.items, *former = old->nodes.items;
	const struct sl_yaml_list list = old->nodes;

	for (uint32_t i = 0; i < new->nodes.n; i++)
		for (uint32_t k = 0; k < old->nodes.n; k++)
			if (nodes[i].id == old->node && former[k].id == old->node) {
				const struct sl_cluster_node self = former[k];

				former[k] = nodes[i];
				nodes[i] = self;
			}
	old->nodes = new->nodes;
	new->nodes = list;
	old->table = new->table;
}

int rb_bridge_reload(struct rb_bridge *b, struct sl_settings *settings, uint64_t now_ns)
{
	struct sl_cluster_settings *old = &b->settings->cluster, *new = &settings->cluster;
	const char *what = changed(b->settings, settings);
	int err = 0;

	if (what) {
		sl_error("reload: %s changed, which takes a restart of sluice-bridge", what);
		err = -EINVAL;
	} else if (!b->join) {
		sl_info("reload: nothing changed");
	} else if (!rb_reachable_fit(b, new)) {
		err = -ENOSPC;
	} else {
		err = rb_bridge_raise_limits(new);
	}
	if (err || !b->join)
		goto out;
	swap_text(&old->key_file, &new->key_file);
	err = rb_peering_read_keys(b);
	if (err) {
		swap_text(&old->key_file, &new->key_file);
		goto out;
	}
	rb_bridge_halt(b);
	err = rb_reachable_change(b, new, now_ns);
	take_nodes(old, new);
	rb_bridge_release(b);
	if (!err)
		err = rb_peering_table_changed(b);
out:
	sl_settings_free(settings);
	return err;
}
