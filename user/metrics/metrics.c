/* SPDX-License-Identifier: BSD-2-Clause */
/* The only file of the daemon that includes libmicrohttpd. */
#include "user/metrics/metrics.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/config/config.h"
#include "user/ipc/control_client.h"
#include "user/text/listen_address.h"
#include "user/metrics/metrics_text.h"
#include "user/show/show.h"

struct sl_metrics {
	struct sl_router *const *router; /* borrowed until close */
	struct MHD_Daemon *http;	 /* owned; with its listening socket */
	int fd;				 /* borrowed from http */
};

/*
 * A daemon that runs answers within a round of its loop. For one that hangs, sluiced waits so long,
 * once in each answer.
 */
#define PATIENCE_MS 500

static json_t *ask(const char *daemon, const char *path, const char *command)
{
	char why[128]; /* not shown here: `sluice show peers` and `sluice flow` say it */

	return sl_client_ask(daemon, path, json_pack("{s:s}", "command", command), PATIENCE_MS, why,
			     sizeof(why));
}

/* --- The cluster --- */

static json_t *ask_bridge(const char *path, const char *command)
{
	return ask("sluice-bridge", path, command);
}

/* The last row of `cc` holds the totals; move it to a list of its own. */
static void split_totals(struct sl_metrics_cluster *cluster)
{
	const size_t n = json_array_size(cluster->rows[SL_METRICS_CC]);

	if (n == 0)
		return;
	cluster->rows[SL_METRICS_CC_TOTALS] = json_array();
	json_array_append(cluster->rows[SL_METRICS_CC_TOTALS],
			  json_array_get(cluster->rows[SL_METRICS_CC], n - 1));
	json_array_remove(cluster->rows[SL_METRICS_CC], n - 1);
}

static bool cluster_rows(const struct sl_router *router, struct sl_metrics_cluster *out)
{
	static const char *const commands[SL_METRICS_LISTS] = {
		[SL_METRICS_BRIDGE] = "status",	       [SL_METRICS_FABRIC] = "fabric",
		[SL_METRICS_PEERS] = "peers",	       [SL_METRICS_VOQS] = "voqs",
		[SL_METRICS_EGRESS] = "egress-queues", [SL_METRICS_CC] = "cc",
		[SL_METRICS_DELAY] = "delay",	       [SL_METRICS_BUSY] = "busy",
	};
	const char *path = sl_router_settings(router)->cluster.bridge.control;

	memset(out, 0, sizeof(*out));
	if (!sl_router_cluster(router))
		return false;
	out->rows[SL_METRICS_SYSTEM_PORTS] = sl_system_ports_json(router);
	out->rows[SL_METRICS_RESERVE_PORTS] = sl_reserve_ports_json(router);
	out->rows[SL_METRICS_BRIDGE] = ask_bridge(path, commands[SL_METRICS_BRIDGE]);
	for (int i = SL_METRICS_BRIDGE + 1; i < SL_METRICS_LISTS; i++)
		if (commands[i] && out->rows[SL_METRICS_BRIDGE])
			out->rows[i] = ask_bridge(path, commands[i]);
	split_totals(out);
	return true;
}

/* --- Elements --- */

static bool any_chain(const json_t *filters)
{
	const json_t *row;
	size_t i;

	json_array_foreach(filters, i, row)
		if (json_is_string(json_object_get(row, "chain")))
			return true;
	return false;
}

static void element_rows(const json_t *filters, struct sl_metrics_elements *out)
{
	static const char *const commands[SL_METRICS_ELEMENTS_LISTS] = {
		[SL_METRICS_WORKER] = "status",	   [SL_METRICS_FLOWS] = "flows",
		[SL_METRICS_ELEMENT] = "elements", [SL_METRICS_CLASSES] = "classes",
		[SL_METRICS_SIGNALS] = "signals",
	};
	bool answers = true;

	*out = (struct sl_metrics_elements){ .wanted = any_chain(filters) };
	for (int i = 0; answers && i < SL_METRICS_ELEMENTS_LISTS; i++) {
		out->rows[i] =
			ask("sluice-elements", SL_CONFIG_DEFAULT_ELEMENTS_CONTROL, commands[i]);
		answers = out->rows[i];
	}
}

/* --- Answers --- */

static char *metrics(const struct sl_router *router)
{
	json_t *status = sl_status_json(router), *ports = sl_ports_json(router);
	json_t *counters = NULL, *reasons = NULL, *filters = sl_filters_json(router);
	struct sl_metrics_cluster cluster;
	const bool clustered = cluster_rows(router, &cluster);
	struct sl_metrics_elements elements;
	struct sl_counters values;
	json_t *agent = ask("sluice-cluster", SL_CONFIG_DEFAULT_AGENT_CONTROL, "status");
	char *text;

	if (!sl_router_counters(router, &values)) {
		counters = sl_counter_rows(&values);
		reasons = sl_counter_reason_rows(&values);
	}
	element_rows(filters, &elements);
	text = sl_metrics_text(status, ports, counters, reasons, filters, &elements,
			       clustered ? &cluster : NULL, json_array_get(agent, 0));
	json_decref(agent);
	json_decref(status);
	json_decref(ports);
	json_decref(counters);
	json_decref(reasons);
	json_decref(filters);
	for (int i = 0; i < SL_METRICS_LISTS; i++)
		json_decref(cluster.rows[i]);
	for (int i = 0; i < SL_METRICS_ELEMENTS_LISTS; i++)
		json_decref(elements.rows[i]);
	return text;
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status, char *text,
			      bool owned, const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), text, owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response) {
		if (owned)
			free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *body,
				  size_t *body_bytes, void **state)
{
	static char only_get[] = "GET or HEAD\n", elsewhere[] = "see /metrics\n",
		    no_memory[] = "not enough memory\n";
	static const char plain[] = "text/plain; charset=utf-8";
	const struct sl_metrics *m = arg;
	char *text;

	(void)version, (void)body, (void)state;
	*body_bytes = 0;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, only_get, false, plain);
	if (strcmp(url, "/metrics") != 0)
		return answer(connection, MHD_HTTP_NOT_FOUND, elsewhere, false, plain);
	text = metrics(*m->router);
	if (!text)
		return answer(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, no_memory, false, plain);
	return answer(connection, MHD_HTTP_OK, text, true,
		      "text/plain; version=0.0.4; charset=utf-8");
}

/* --- Open and close --- */

int sl_metrics_open(const char *address, struct sl_router *const *router, struct sl_metrics **out)
{
	struct sl_metrics *m = calloc(1, sizeof(*m));
	const union MHD_DaemonInfo *info;
	int fd;

	*out = NULL;
	if (!m)
		return -ENOMEM;
	m->router = router;
	fd = sl_listen_open(address, SL_METRICS_CLIENTS_MAX);
	if (fd < 0) {
		free(m);
		return fd;
	}
	m->http = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, m, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)SL_METRICS_CLIENTS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)SL_METRICS_PATIENCE_S, MHD_OPTION_END);
	if (!m->http) {
		close(fd);
		free(m);
		return -ENOMEM;
	}
	info = MHD_get_daemon_info(m->http, MHD_DAEMON_INFO_EPOLL_FD);
	m->fd = info ? info->epoll_fd : -1;
	*out = m;
	return 0;
}

void sl_metrics_close(struct sl_metrics *m)
{
	if (!m)
		return;
	MHD_stop_daemon(m->http);
	free(m);
}

int sl_metrics_fd(const struct sl_metrics *m)
{
	return m->fd;
}

void sl_metrics_poll(struct sl_metrics *m)
{
	MHD_run(m->http);
}
