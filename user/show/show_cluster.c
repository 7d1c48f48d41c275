/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cluster as this node's daemon knows it. The bridge shows what it knows on its own control
 * socket.
 */
#include "user/show/json_values.h"
#include "user/show/show.h"
#include "user/text/prefix.h"

static const struct sl_cluster *cluster_of(const struct sl_router *router,
					   struct sl_ctl_answer *answer)
{
	const struct sl_cluster *cluster = sl_router_cluster(router);

	if (!cluster)
		sl_ctl_fail(answer, "this node is in no cluster: %s has no `cluster:`",
			    sl_router_settings(router)->file_name);
	return cluster;
}

void sl_show_cluster(const struct sl_router *router, struct sl_ctl_answer *answer)
{
	const struct sl_cluster_settings *settings = &sl_router_settings(router)->cluster;

	if (!cluster_of(router, answer))
		return;
	sl_ctl_put(answer,
		   json_pack("{s:i, s:i, s:s?, s:s?, s:s, s:i, s:s}", "node", (int)settings->node,
			     "nodes", (int)settings->nodes.n, "address",
			     sl_cluster_find_node(settings, settings->node)->address, "device",
			     settings->device, "transport",
			     sl_cluster_has_fabric(settings)
				     ? sl_transport_name(settings->transport)
				     : "none",
			     "liveness_ms", (int)settings->liveness_ms, "bridge",
			     settings->bridge.control));
}

/* How many routes and neighbours this node refused, by reason. */
static json_t *refused_json(const struct sl_system_port_view *view)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < SL_REMOTE_REFUSAL_COUNT; i++)
		json_object_set_new(object, sl_remote_refusal_name(i),
				    json_integer(view->refused_by[i]));
	return object;
}

static json_t *first_refused_json(const struct sl_system_port_view *view)
{
	char text[SL_PREFIX_STRLEN];

	if (!view->n_refused)
		return json_null();
	return json_sprintf("%s %s", sl_prefix_format(&view->refused_prefix, text),
			    sl_remote_refusal_name(view->refused_why));
}

static json_t *system_port_json(const struct sl_system_port_view *view)
{
	const bool known = view->mtu_bytes != 0;

	return json_pack(
		"{s:o, s:i, s:i, s:b, s:s, s:o, s:s, s:o, s:o, s:o, s:s, s:o, s:o}", "port",
		json_sprintf("n%dp%d", view->system_port >> 8, view->system_port & 0xff), "node",
		view->system_port >> 8, "number", view->system_port & 0xff, "local", view->local,
		"netdev", view->netdev, "dev", view->dev[0] ? json_string(view->dev) : json_null(),
		"state", sl_system_port_state_name(view->state), "mac",
		known ? sl_json_mac(view->mac) : json_null(), "mtu_bytes",
		known ? json_integer(view->mtu_bytes) : json_null(), "rate",
		view->rate.per_s ? json_integer((json_int_t)view->rate.per_s) : json_null(), "unit",
		view->rate.frames ? "frames" : "bytes", "refused", refused_json(view),
		"refused_first", first_refused_json(view));
}

static void put_system_port(void *ctx, const struct sl_system_port_view *view)
{
	sl_ctl_put(ctx, system_port_json(view));
}

static void append_system_port(void *ctx, const struct sl_system_port_view *view)
{
	json_array_append_new(ctx, system_port_json(view));
}

void sl_show_system_ports(const struct sl_router *router, struct sl_ctl_answer *answer)
{
	const struct sl_cluster *cluster = cluster_of(router, answer);

	if (cluster)
		sl_cluster_each_system_port(cluster, put_system_port, answer);
}

json_t *sl_system_ports_json(const struct sl_router *router)
{
	const struct sl_cluster *cluster = sl_router_cluster(router);
	json_t *rows = cluster ? json_array() : NULL;

	if (rows)
		sl_cluster_each_system_port(cluster, append_system_port, rows);
	return rows;
}
