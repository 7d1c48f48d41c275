/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice web: what `sluice show` shows, of this node and others, as a page for a browser. It
 * changes nothing. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "user/cli/cmd.h"
#include "user/config/config_cluster.h"
#include "user/ipc/control_client.h"
#include "user/lib/clock.h"
#include "user/web/web_lists.h"
#include "user/web/web_nodes.h"
#include "user/web/web_page.h"
#include "user/web/web_server.h"
#include "user/web/web_token.h"

#define ADDRESS_DEFAULT "9180" /* of this host only */

#define NODE	 "node" /* the list of all lists */
#define ROUND_MS 2000	/* between two events */
#define TICK_MS	 250

struct web {
	const struct sl_cmd_options *options;
	const char *address, *token; /* token NULL: none */
	struct sl_web_server *server;
	struct sl_web_nodes *nodes;
	char token_text[SL_WEB_TOKEN_MAX + 1];
	char why[256];
};

static const char usage[] =
	"Usage: sluice [OPTION]... web [-t FILE] [-n ADDRESS:PORT]... [[ADDRESS:]PORT]\n\n"
	"Serve a page that shows this node and others to browsers, until SIGINT or SIGTERM.\n\n"
	"  -t, --token-file FILE    browsers and other nodes need the token in this file; a must\n"
	"                           where other hosts reach the address\n"
	"  -n, --node ADDRESS:PORT  show the node whose `sluice web` listens there, too; with -t, it\n"
	"                           has the same token\n"
	"  -h, --help               this text\n\n"
	"Without an address, only this host reaches it; the port is 9180 unless given.\n";

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

/* NULL: it cannot be had, and w->why says why. */
static json_t *rows_of(struct web *w, const struct sl_web_list *list)
{
	json_t *rows;

	snprintf(w->why, sizeof(w->why), "no answer");
	rows = list->of_bridge ? ask_bridge(w, list->command) : ask(w, list->command, list->name);
	return unpacked(rows, list->is_object);
}

/* All lists of this node, for `sluice web` of another one. */
static json_t *node_of(struct web *w)
{
	json_t *node = json_object();

	for (size_t i = 0; i < SL_WEB_LISTS; i++)
		json_object_set_new(node, sl_web_lists[i].name,
				    rows_of(w, &sl_web_lists[i]) ?: json_string(w->why));
	return node;
}

static json_t *list_of(void *arg, const char *name, const char **why)
{
	struct web *w = arg;

	*why = w->why;
	if (strcmp(name, NODE) == 0)
		return node_of(w);
	for (size_t i = 0; i < SL_WEB_LISTS; i++)
		if (strcmp(sl_web_lists[i].name, name) == 0)
			return rows_of(w, &sl_web_lists[i]);
	*why = NULL;
	return NULL;
}

static int publish(struct web *w, uint64_t now_ms)
{
	json_t *nodes = json_pack("[{s:n, s:o}]", "from", "lists", node_of(w));
	int err;

	sl_web_nodes_put(w->nodes, now_ms, nodes);
	err = sl_web_server_publish(w->server, nodes);
	json_decref(nodes);
	return err;
}

/* Nobody is asked unless a browser watches. */
static int serve(struct web *w, int stop_fd)
{
	struct pollfd fds[2 + SL_WEB_NODES_MAX] = {
		{ .fd = sl_web_server_fd(w->server), .events = POLLIN },
		{ .fd = stop_fd, .events = POLLIN },
	};
	uint64_t next_ms = 0;

	while (!fds[1].revents) {
		const uint32_t n = 2 + sl_web_nodes_fds(w->nodes, fds + 2);
		uint64_t now_ms;

		if (poll(fds, n, TICK_MS) < 0 && errno != EINTR)
			return -errno;
		now_ms = sl_now_ns() / 1000000;
		sl_web_server_step(w->server);
		sl_web_nodes_step(w->nodes, now_ms);
		if (!sl_web_server_watched(w->server) || now_ms < next_ms)
			continue;
		next_ms = now_ms + ROUND_MS;
		if (publish(w, now_ms))
			return -ENOMEM;
		sl_web_nodes_ask(w->nodes, now_ms);
	}
	return 0;
}

static int add_node(struct web *w, const char *address)
{
	int err = sl_web_nodes_add(w->nodes, address);

	if (err == -EINVAL)
		fprintf(stderr,
			"sluice: web: -n: \"%s\" is not where another node listens: write "
			"ADDRESS:PORT or [ADDRESS]:PORT\n",
			address);
	else if (err)
		fprintf(stderr, "sluice: web: -n: more than %d nodes\n", SL_WEB_NODES_MAX);
	return err ? SL_EXIT_USAGE : -1;
}

static int read_token(struct web *w, const char *path)
{
	int err = sl_web_token_read(path, w->token_text);

	w->token = w->token_text;
	if (!err)
		return -1;
	fprintf(stderr, "sluice: web: -t: %s: %s\n", path,
		err == -EINVAL ? "a token is one line of 16 to 128 letters, digits, - and _: write "
				 "it with \"openssl rand -hex 16\""
		: err == -EACCES ? "others can read it: chmod 600"
				 : strerror(-err));
	return SL_EXIT_USAGE;
}

/* Returns an exit status, or -1 to go on. */
static int parse(struct web *w, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "token-file", required_argument, NULL, 't' },
		{ "node", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option, status = -1;

	optind = 0;
	while (status < 0 && (option = getopt_long(argc, argv, "+t:n:h", longs, NULL)) != -1) {
		switch (option) {
		case 't':
			status = read_token(w, optarg);
			break;
		case 'n':
			status = add_node(w, optarg);
			break;
		default:
			status = sl_cmd_other_option(option, usage, "web");
		}
	}
	if (status < 0 && argc - optind > 1) {
		fprintf(stderr, "sluice: web: \"%s\" is one argument too many\n", argv[optind + 1]);
		status = SL_EXIT_USAGE;
	}
	if (status < 0 && optind < argc)
		w->address = argv[optind];
	return status;
}

static int run(struct web *w)
{
	sigset_t signals;
	int err, fd = -1;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	err = sl_web_server_open(w->address, sl_web_page, w->token, list_of, w, &w->server);
	if (err == -EINVAL) {
		fprintf(stderr,
			"sluice: web: \"%s\" is not where to listen: write PORT, ADDRESS:PORT or "
			"[ADDRESS]:PORT\n",
			w->address);
		return SL_EXIT_USAGE;
	}
	if (err == -EPERM) {
		fprintf(stderr,
			"sluice: web: other hosts would reach \"%s\": give a token by "
			"--token-file, or listen at 127.0.0.1 or [::1]\n",
			w->address);
		return SL_EXIT_USAGE;
	}
	if (!err) {
		fd = signalfd(-1, &signals, SFD_CLOEXEC);
		err = fd < 0 ? -errno : 0;
	}
	if (!err) {
		fprintf(stderr, "sluice: web: listening at %s%s\n",
			strchr(w->address, ':') ? "" : "127.0.0.1:", w->address);
		err = serve(w, fd);
	}
	if (err)
		fprintf(stderr, "sluice: web: cannot listen at \"%s\": %s\n", w->address,
			strerror(-err));
	if (fd >= 0)
		close(fd);
	sl_web_server_close(w->server);
	return err ? SL_EXIT_FAILED : SL_EXIT_OK;
}

int sl_cmd_web(const struct sl_cmd_options *options, int argc, char **argv)
{
	struct web w = { .options = options, .address = ADDRESS_DEFAULT };
	int status;

	if (sl_web_nodes_create(w.token_text, &w.nodes))
		return SL_EXIT_FAILED;
	/* getopt wants a name before the arguments; the command's is there */
	status = parse(&w, argc + 1, argv - 1);
	if (status < 0)
		status = run(&w);
	sl_web_nodes_destroy(w.nodes);
	return status;
}
