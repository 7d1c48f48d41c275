/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/assembly/reload.h"

#include <errno.h>
#include <string.h>

#include "rdma-bridge/assembly/assembly.h"
#include "rdma-bridge/assembly/own_ports.h"
#include "rdma-bridge/assembly/reachable.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/peering.h"
#include "rdma-bridge/bridge/ports.h"
#include "rdma-bridge/bridge/remote_ports.h"
#include "user/lib/log.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* --- What needs a restart --- */

static bool same_bridge(const struct sl_bridge_settings *a, const struct sl_bridge_settings *b)
{
	return a->workers == b->workers && same_text(a->cores_text, b->cores_text) &&
	       a->realtime == b->realtime && a->poll == b->poll && a->packing == b->packing &&
	       a->pack_delay_us == b->pack_delay_us && a->voq_frames == b->voq_frames &&
	       a->queue_frames == b->queue_frames && a->memory_mib == b->memory_mib &&
	       a->delay_sample == b->delay_sample && same_text(a->control, b->control);
}

/* What differs that needs a restart? NULL: nothing. */
static const char *changed(const struct sl_settings *old, const struct sl_settings *new)
{
	const struct sl_cluster_settings *a = &old->cluster, *b = &new->cluster;

	if (a->node != b->node)
		return "`node`";
	if (!same_text(sl_cluster_find_node(a, a->node)->address,
		       sl_cluster_find_node(b, b->node)->address))
		return "the address of this node";
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
	return NULL;
}

/* --- The change --- */

static void swap_text(char **a, char **b)
{
	char *text = *a;

	*a = *b;
	*b = text;
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
		err = rb_bridge_raise_limits(new);
	}
	if (!err)
		err = rb_own_ports_prepare(b, new, now_ns, &own);
	if (!err && b->join) {
		swap_text(&old->key_file, &new->key_file);
		err = rb_peering_read_keys(b);
		if (err)
			swap_text(&old->key_file, &new->key_file);
	}
	if (!err)
		err = change(b, new, own, now_ns);
	rb_own_ports_close(own);
	sl_settings_free(settings);
	return err;
}
