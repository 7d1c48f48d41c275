/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/agent/node_release.h"

#include <string.h>

#include "user/config/config.h"
#include "user/ipc/control_client.h"

#define PATIENCE_MS 1000

static json_t *version_of(const char *socket)
{
	char version[SL_CLIENT_VERSION_BYTES];

	return sl_client_version(socket, PATIENCE_MS, version) ? json_null() : json_string(version);
}

static json_t *ask_bridge(const char *socket, const char *command)
{
	char why[256];

	return sl_client_ask("sluice-bridge", socket, json_pack("{s:s}", "command", command),
			     PATIENCE_MS, why, sizeof(why));
}

/* peers NULL: the bridge does not say. */
static json_t *nodes_away(const json_t *peers)
{
	json_t *away = peers ? json_array() : json_null();
	const json_t *row;
	size_t i;

	json_array_foreach(peers, i, row) {
		const char *state = json_string_value(json_object_get(row, "state"));
		const char *why = json_string_value(json_object_get(row, "refused"));

		if (!state || strcmp(state, "up") != 0)
			json_array_append_new(away, json_pack("{s:O, s:s}", "node",
							      json_object_get(row, "node"), "why",
							      why ? why : ""));
	}
	return away;
}

json_t *sl_node_release_ask(const char *path)
{
	const char *bridge = SL_CONFIG_DEFAULT_BRIDGE_CONTROL, *daemon = SL_CONFIG_DEFAULT_SOCKET;
	json_t *version, *row, *fabric = NULL, *peers = NULL;
	struct sl_settings *settings = NULL;
	char error[SL_YAML_ERROR_BYTES];

	if (!sl_settings_load(path, &settings, error)) {
		bridge = settings->cluster.bridge.control;
		daemon = settings->control.socket;
	}
	version = version_of(bridge);
	if (json_is_string(version)) {
		fabric = ask_bridge(bridge, "fabric");
		peers = ask_bridge(bridge, "peers");
	}
	row = json_pack("{s:s, s:o, s:o, s:O?, s:o}", "agent", SL_VERSION, "sluiced",
			version_of(daemon), "bridge", version, "protocol",
			json_object_get(json_array_get(fabric, 0), "protocol"), "away",
			nodes_away(peers));
	json_decref(fabric);
	json_decref(peers);
	sl_settings_free(settings);
	return row;
}
