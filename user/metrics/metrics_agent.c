/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/metrics/metrics_agent.h"

#include <string.h>

#include "user/metrics/metrics_format.h"

static void put(FILE *f, const char *name, const char *type, const char *help, json_int_t value)
{
	sl_metrics_put_head(f, name, type, help);
	fprintf(f, "sluice_%s %" JSON_INTEGER_FORMAT "\n", name, value);
}

static json_int_t number(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

void sl_metrics_put_agent(FILE *f, const json_t *agent)
{
	const json_t *etcd = json_object_get(agent, "etcd");

	if (!agent)
		return;
	put(f, "config_version", "gauge", "Version of the configuration in the file; 0: of none.",
	    number(agent, "version"));
	put(f, "config_current_version", "gauge", "Version that is current in etcd, as heard last.",
	    number(agent, "current"));
	put(f, "config_in_force", "gauge", "1: both daemons have in force what is in the file.",
	    strcmp(sl_metrics_member(agent, "state"), "in-force") == 0);
	put(f, "config_refused_version", "gauge", "Version that this node refuses; 0: none.",
	    number(json_object_get(agent, "refused"), "version"));
	put(f, "config_drained", "gauge", "1: this node is drained.",
	    json_object_get(agent, "drain") != NULL);
	put(f, "config_at_rest", "gauge", "1: it is, and only control traffic uses its ports.",
	    json_is_true(json_object_get(json_object_get(agent, "drain"), "at_rest")));
	put(f, "config_etcd_reached", "gauge", "1: etcd answers.",
	    json_is_true(json_object_get(etcd, "reached")));
	put(f, "config_etcd_away_seconds", "gauge", "For how long it has not.",
	    number(etcd, "away_s"));
	put(f, "config_etcd_failures_total", "counter", "Looks at etcd that failed.",
	    number(etcd, "failures"));
}
