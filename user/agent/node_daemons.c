/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/agent/node_daemons.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/config/config.h"
#include "user/ipc/control_client.h"
#include "user/lib/clock.h"

#define PATIENCE_MS 5000
#define LOOK_NS	    10000000L /* between two questions whether a reload has ended */

struct side {
	const char *name;
	char socket[128];
};

/* Where they listen, by the configuration in the file; where they would without one. */
static void find_sockets(const char *path, struct side *bridge, struct side *daemon)
{
	struct sl_settings *settings = NULL;
	char error[SL_YAML_ERROR_BYTES];

	*bridge = (struct side){ .name = "sluice-bridge" };
	*daemon = (struct side){ .name = "sluiced" };
	sl_settings_load(path, &settings, error);
	snprintf(bridge->socket, sizeof(bridge->socket), "%s",
		 settings ? settings->cluster.bridge.control : SL_CONFIG_DEFAULT_BRIDGE_CONTROL);
	snprintf(daemon->socket, sizeof(daemon->socket), "%s",
		 settings ? settings->control.socket : SL_CONFIG_DEFAULT_SOCKET);
	sl_settings_free(settings);
}

/* The row of `configuration` or `reload`, a new reference; NULL: *away, or it does not answer. */
static json_t *ask(const struct side *side, const char *command, bool *away,
		   char why[SL_DAEMON_WHY_BYTES])
{
	json_t *rows, *row;

	*away = !sl_client_listens(side->socket);
	if (*away)
		return NULL;
	rows = sl_client_ask(side->name, side->socket, json_pack("{s:s}", "command", command),
			     PATIENCE_MS, why, SL_DAEMON_WHY_BYTES);
	row = json_incref(json_array_get(rows, 0));
	json_decref(rows);
	return row;
}

static bool has_sum(const json_t *row, uint64_t sum)
{
	const char *text = json_string_value(json_object_get(row, "sum"));

	return text && strtoull(text, NULL, 16) == sum;
}

static enum sl_daemon_state state_of(const struct side *side, uint64_t sum)
{
	char why[SL_DAEMON_WHY_BYTES];
	enum sl_daemon_state state;
	bool away;
	json_t *row = ask(side, "configuration", &away, why);

	if (row)
		state = has_sum(row, sum) ? SL_DAEMON_HAS_IT : SL_DAEMON_OTHER;
	else
		state = away ? SL_DAEMON_AWAY : SL_DAEMON_SILENT;
	json_decref(row);
	return state;
}

struct sl_node_daemons sl_node_daemons_ask(const char *path, uint64_t sum)
{
	struct side bridge, daemon;

	find_sockets(path, &bridge, &daemon);
	return (struct sl_node_daemons){ .bridge = state_of(&bridge, sum),
					 .daemon = state_of(&daemon, sum) };
}

/* Has the reload ended that was the next one after `before`? 1: with this text; -EINVAL: refused.
 */
static int outcome(const json_t *row, json_int_t before, uint64_t sum,
		   char why[SL_DAEMON_WHY_BYTES], const char *name)
{
	const char *refused = json_string_value(json_object_get(row, "refused"));

	if (json_integer_value(json_object_get(row, "reloads")) <= before)
		return 0;
	if (has_sum(row, sum))
		return 1;
	if (!refused)
		return 0; /* another one had begun before ours */
	snprintf(why, SL_DAEMON_WHY_BYTES, "%s: %s", name, refused);
	return -EINVAL;
}

/* Let one reload. 1: it has it; 0: it does not run; else as the caller's caller returns. */
static int reload(const struct side *side, uint64_t sum, void (*meanwhile)(void *arg), void *arg,
		  char why[SL_DAEMON_WHY_BYTES])
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	const uint64_t end_ns = sl_now_ns() + SL_DAEMON_RELOAD_S * 1000000000ULL;
	bool away = false;
	json_t *row = ask(side, "configuration", &away, why);
	json_int_t before;
	int err = 0;

	if (row && has_sum(row, sum)) {
		json_decref(row);
		return 1;
	}
	json_decref(row);
	row = away ? NULL : ask(side, "reload", &away, why);
	if (!row)
		return away ? 0 : -ETIMEDOUT;
	before = json_integer_value(json_object_get(row, "reloads"));
	while (!err && sl_now_ns() < end_ns) {
		json_decref(row);
		nanosleep(&pause, NULL);
		if (meanwhile)
			meanwhile(arg);
		row = ask(side, "configuration", &away, why);
		if (away)
			return 0; /* it has died, or moved its socket: the next look tells */
		if (row)
			err = outcome(row, before, sum, why, side->name);
	}
	json_decref(row);
	if (!err)
		snprintf(why, SL_DAEMON_WHY_BYTES, "%s has not ended its reload within %d s",
			 side->name, SL_DAEMON_RELOAD_S);
	return err ? err : -ETIMEDOUT;
}

int sl_node_daemons_reload(const char *path, uint64_t sum, void (*meanwhile)(void *arg), void *arg,
			   bool *took, char why[SL_DAEMON_WHY_BYTES])
{
	struct side bridge, daemon;
	int err;

	find_sockets(path, &bridge, &daemon);
	why[0] = '\0';
	err = reload(&bridge, sum, meanwhile, arg, why);
	*took = err == 1;
	if (err >= 0)
		err = reload(&daemon, sum, meanwhile, arg, why);
	return err < 0 ? err : 0;
}
