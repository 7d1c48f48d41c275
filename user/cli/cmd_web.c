/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice web: what `sluice show` shows, as a page for a browser. It changes nothing. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "user/cli/cmd.h"
#include "user/config/config_cluster.h"
#include "user/ipc/control_client.h"
#include "user/web/web_page.h"
#include "user/web/web_server.h"

#define ADDRESS_DEFAULT "9180" /* of this host only */

struct web {
	const struct sl_cmd_options *options;
	char why[256];
};

static const struct list {
	const char *name, *command;
	bool of_bridge, is_object;
} lists[] = {
	{ "status", "status", false, true },	  { "ports", "show", false, false },
	{ "counters", "show", false, false },	  { "drops", "show", false, false },
	{ "system-ports", "show", false, false }, { "peers", "peers", true, false },
	{ "voqs", "voqs", true, false },	  { "egress-queues", "egress-queues", true, false },
	{ "fabric", "fabric", true, true },	  { "delay", "delay", true, false },
	{ "busy", "busy", true, false },	  { "cc", "cc", true, false },
};

/* The only row of an answer, or all of them; takes the reference. */
static json_t *unpacked(json_t *rows, bool is_object)
{
	json_t *row;

	if (!rows || !is_object)
		return rows;
	row = json_incref(json_array_get(rows, 0));
	json_decref(rows);
	return row;
}

static json_t *ask(struct web *w, const char *command, const char *what)
{
	return sl_client_ask("sluiced", w->options->socket_path,
			     json_pack("{s:s, s:s*}", "command", command, "what", what),
			     w->options->patience_ms, w->why, sizeof(w->why));
}

/* sluiced knows whether there is a bridge, and where; without it, a bridge runs on. */
static json_t *ask_bridge(struct web *w, const char *command)
{
	const char *path = w->options->bridge_path;
	json_t *cluster = NULL, *rows;

	if (!path && sl_client_listens(w->options->socket_path)) {
		cluster = ask(w, "show", "cluster");
		if (!cluster)
			return NULL;
		path = sl_cmd_text(json_array_get(cluster, 0), "bridge");
	}
	rows = sl_client_ask("sluice-bridge",
			     path && *path ? path : SL_CONFIG_DEFAULT_BRIDGE_CONTROL,
			     json_pack("{s:s}", "command", command), w->options->patience_ms,
			     w->why, sizeof(w->why));
	json_decref(cluster);
	return rows;
}

static json_t *list_of(void *arg, const char *name, const char **why)
{
	const struct list *list = NULL;
	struct web *w = arg;
	json_t *rows;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (strcmp(lists[i].name, name) == 0)
			list = &lists[i];
	if (!list)
		return NULL;
	*why = w->why;
	snprintf(w->why, sizeof(w->why), "no answer");
	rows = list->of_bridge ? ask_bridge(w, list->command) : ask(w, list->command, list->name);
	return unpacked(rows, list->is_object);
}

int sl_cmd_web(const struct sl_cmd_options *options, int argc, char **argv)
{
	const char *address = argc > 0 ? argv[0] : ADDRESS_DEFAULT;
	struct sl_web_server *server = NULL;
	struct web w = { .options = options };
	sigset_t signals;
	int err, fd;

	if (argc > 1) {
		fprintf(stderr, "sluice: web: \"%s\" is one argument too many\n", argv[1]);
		return SL_EXIT_USAGE;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	err = sl_web_server_open(address, sl_web_page, list_of, &w, &server);
	if (err == -EINVAL) {
		fprintf(stderr,
			"sluice: web: \"%s\" is not where to listen: write PORT, ADDRESS:PORT or "
			"[ADDRESS]:PORT\n",
			address);
		return SL_EXIT_USAGE;
	}
	fd = err ? -1 : signalfd(-1, &signals, SFD_CLOEXEC);
	if (!err && fd < 0)
		err = -errno;
	if (!err) {
		fprintf(stderr, "sluice: web: listening at %s%s\n",
			strchr(address, ':') ? "" : "127.0.0.1:", address);
		err = sl_web_server_run(server, fd);
	}
	if (err)
		fprintf(stderr, "sluice: web: cannot listen at \"%s\": %s\n", address,
			strerror(-err));
	if (fd >= 0)
		close(fd);
	sl_web_server_close(server);
	return err ? SL_EXIT_FAILED : SL_EXIT_OK;
}
