/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/agent/node_traffic.h"

#include <stdio.h>
#include <string.h>

#include "user/config/config.h"
#include "user/ipc/control_client.h"
#include "user/lib/clock.h"

#define PATIENCE_MS 1000
#define NS_PER_S    1000000000ULL

/* --- What the samples tell --- */

/* Packets a second, rounded up: one packet is not none. */
static json_int_t pps(uint64_t before, uint64_t now, uint64_t ns)
{
	return now <= before ? 0 : (json_int_t)(((now - before) * NS_PER_S + ns - 1) / ns);
}

json_t *sl_node_traffic_take(struct sl_node_traffic *t, const struct sl_traffic_sample *s)
{
	const struct sl_traffic_sample *last = &t->last;
	const uint64_t ns = last->ns && s->ns > last->ns ? s->ns - last->ns : 1;
	const bool first = !last->ns;
	json_t *ports = json_array(), *row;

	/* A counter that starts over hides what was before. */
	if (first || s->in != last->in || s->out != last->out || s->kernel != last->kernel)
		t->moved_ns = s->ns;
	for (uint32_t i = 0; !first && i < t->n_ports; i++) {
		const json_int_t rx = pps(last->rx[i], s->rx[i], ns);
		const json_int_t tx = pps(last->tx[i], s->tx[i], ns);

		if (rx || tx)
			json_array_append_new(ports,
					      json_pack("{s:s, s:I, s:I}", "port", t->ports[i],
							"rx_pps", rx, "tx_pps", tx));
	}
	row = json_pack("{s:b, s:I, s:I, s:I, s:o}", "at_rest",
			s->ns - t->moved_ns >= SL_TRAFFIC_REST_NS, "in_pps",
			first ? 0 : pps(last->in, s->in, ns), "out_pps",
			first ? 0 : pps(last->out, s->out, ns), "kernel_pps",
			first ? 0 : pps(last->kernel, s->kernel, ns), "ports", ports);
	/* At rest, control traffic comes and goes, and is no news. */
	if (json_is_true(json_object_get(row, "at_rest")))
		json_array_clear(ports);
	t->last = *s;
	return row;
}

/* --- Counters --- */

static json_t *ask(const char *name, const char *socket, json_t *request, char *why, size_t bytes)
{
	return sl_client_ask(name, socket, request, PATIENCE_MS, why, bytes);
}

static uint64_t frames(const json_t *status, const char *counter)
{
	const json_t *row = json_object_get(json_object_get(status, "frames"), counter);

	return (uint64_t)json_integer_value(json_object_get(row, "packets"));
}

/* What the fast path sends on: to ports of this node, and to those of others. */
static bool read_daemon(const struct sl_node_traffic *t, struct sl_traffic_sample *s, char *why,
			size_t bytes)
{
	json_t *rows =
		ask("sluiced", t->daemon,
		    json_pack("{s:s, s:s}", "command", "show", "what", "counters"), why, bytes);
	const bool answered = rows;
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		const char *kind = json_string_value(json_object_get(row, "kind"));
		const char *name = json_string_value(json_object_get(row, "name"));
		const bool forward = name && strcmp(name, "forward") == 0;

		if (!kind || !name || strcmp(kind, "stage") != 0 ||
		    (!forward && strcmp(name, "voq") != 0))
			continue;
		s->in += (uint64_t)json_integer_value(json_object_get(row, "packets"));
		if (forward)
			s->out += (uint64_t)json_integer_value(json_object_get(row, "packets"));
	}
	json_decref(rows);
	return answered;
}

/* What came by the fabric for ports of this node, and what waits in their queues of its own. */
static bool read_bridge(const struct sl_node_traffic *t, struct sl_traffic_sample *s, char *why,
			size_t bytes)
{
	json_t *status = ask("sluice-bridge", t->bridge, json_pack("{s:s}", "command", "status"),
			     why, bytes);
	json_t *fabric = status ? ask("sluice-bridge", t->bridge,
				      json_pack("{s:s}", "command", "fabric"), why, bytes)
				: NULL;
	const bool answered = status && fabric;

	s->out += frames(json_array_get(status, 0), "egress");
	s->out += (uint64_t)json_integer_value(
		json_object_get(json_array_get(fabric, 0), "express_frames_received"));
	json_decref(status);
	json_decref(fabric);
	return answered;
}

/* *own: what this node's kernel sent by queues of its ports, which the bridge counts, too. */
static void read_netdevs(const struct sl_node_traffic *t, struct sl_traffic_sample *s,
			 uint64_t *own)
{
	FILE *file = fopen("/proc/self/net/dev", "re");
	unsigned long long rx, tx;
	char line[512], name[IF_NAMESIZE];

	*own = 0;
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " %15[^: ]: %*u %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &rx,
			   &tx) != 3)
			continue;
		if (strncmp(name, "slkernel", 8) == 0)
			*own += tx;
		for (uint32_t i = 0; i < t->n_ports; i++) {
			if (strcmp(name, t->ports[i]) != 0)
				continue;
			s->rx[i] = rx;
			s->tx[i] = tx;
		}
	}
	if (file)
		fclose(file);
}

/* ForwDatagrams, the 6th of the numbers behind the names of the first protocol */
static uint64_t read_forwarded4(void)
{
	FILE *file = fopen("/proc/self/net/snmp", "re");
	unsigned long long n = 0;
	char line[1024];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Ip: %*u %*u %*u %*u %*u %llu", &n) == 1)
			break;
	if (file)
		fclose(file);
	return n;
}

static uint64_t read_forwarded6(void)
{
	FILE *file = fopen("/proc/self/net/snmp6", "re");
	unsigned long long n = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Ip6OutForwDatagrams %llu", &n) == 1)
			break;
	if (file)
		fclose(file);
	return n;
}

static bool read_sample(const struct sl_node_traffic *t, struct sl_traffic_sample *s, char *why,
			size_t bytes)
{
	uint64_t own;

	*s = (struct sl_traffic_sample){ .ns = sl_now_ns() };
	if (!read_daemon(t, s, why, bytes) || !read_bridge(t, s, why, bytes))
		return false;
	read_netdevs(t, s, &own);
	s->out = s->out > own ? s->out - own : 0;
	s->kernel = read_forwarded4() + read_forwarded6();
	return true;
}

/* Those that sluiced follows; -1: it does not say, or has not read them all. */
static json_int_t read_routes(const struct sl_node_traffic *t)
{
	char why[256];
	json_t *rows = ask("sluiced", t->daemon, json_pack("{s:s}", "command", "status"), why,
			   sizeof(why));
	const json_t *mirror = json_object_get(json_array_get(rows, 0), "mirror");
	json_int_t n = -1;

	if (json_is_true(json_object_get(mirror, "synced")))
		n = json_integer_value(json_object_get(mirror, "ipv4_routes")) +
		    json_integer_value(json_object_get(mirror, "ipv6_routes"));
	json_decref(rows);
	return n;
}

/* --- The node --- */

static void read_file(struct sl_node_traffic *t, const char *path, uint64_t sum)
{
	struct sl_settings *settings = NULL;
	char error[SL_YAML_ERROR_BYTES];
	const struct sl_cluster_node *node = NULL;

	t->sum = sum;
	t->n_ports = 0;
	t->last.ns = 0;
	if (!sl_settings_load(path, &settings, error))
		node = sl_cluster_find_node(&settings->cluster, settings->cluster.node);
	t->drained = node && node->drain;
	for (uint32_t i = 0; node && i < node->ports.n && i < SL_TRAFFIC_PORTS; i++)
		snprintf(t->ports[t->n_ports++], IF_NAMESIZE, "%s", sl_cluster_port(node, i)->name);
	if (node) {
		snprintf(t->bridge, sizeof(t->bridge), "%s", settings->cluster.bridge.control);
		snprintf(t->daemon, sizeof(t->daemon), "%s", settings->control.socket);
	}
	sl_settings_free(settings);
}

bool sl_node_traffic_look(struct sl_node_traffic *t, const char *path, uint64_t sum)
{
	struct sl_traffic_sample sample;
	json_t *row = NULL;
	char why[256];
	bool news;

	if (t->sum != sum)
		read_file(t, path, sum);
	else if (!t->drained || sl_now_ns() - t->looked_ns < SL_TRAFFIC_EVERY_NS)
		return false;
	t->looked_ns = sl_now_ns();
	if (t->drained && read_sample(t, &sample, why, sizeof(why))) {
		row = sl_node_traffic_take(t, &sample);
		json_object_set_new(row, "routes", json_integer(read_routes(t)));
	} else if (t->drained) {
		row = json_pack("{s:b, s:s}", "at_rest", 0, "why", why);
		t->last.ns = 0;
	}
	news = !row != !t->row || (row && !json_equal(row, t->row));
	json_decref(t->row);
	t->row = row;
	return news;
}

void sl_node_traffic_fini(struct sl_node_traffic *t)
{
	json_decref(t->row);
	t->row = NULL;
}
