/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice-bridge: carries frames between the edge ports of this node and those of the others, and
 * into the queues of this node's own.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rdma-bridge/assembly/assembly.h"
#include "rdma-bridge/assembly/reload.h"
#include "rdma-bridge/bridge/fabric.h"
#include "rdma-bridge/bridge/housekeeping.h"
#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/ports.h"
#include "rdma-bridge/views/views.h"
#include "user/config/check_host.h"
#include "user/ipc/reloads.h"
#include "user/lib/answer.h"
#include "user/lib/clock.h"
#include "user/lib/cpu_claim.h"
#include "user/lib/errand.h"
#include "user/lib/log.h"
#include "user/lib/notify.h"
#include "user/lib/unix_address.h"

#define EXIT_CONFIG	2
#define FABRIC_RETRY_NS 20000000L /* between two looks for a fabric that is gone */

struct options {
	const char *config_path;
	bool verbose;
};

static volatile sig_atomic_t stop, reload;

static const char usage[] =
	"Usage: sluice-bridge [OPTION]...\n"
	"Carry frames between the edge ports of this node and those of the other nodes of a cluster,\n"
	"and through the queues of those that have a rate, queues or a controller.\n"
	"\n"
	"  -c, --config FILE   configuration (default " SL_CONFIG_DEFAULT_PATH ")\n"
	"  -v, --verbose       log at level debug, whatever the configuration says\n"
	"      --log FORM      how to log: text (default), or json, an object a line\n"
	"  -h, --help          this text\n"
	"  -V, --version       the version\n"
	"\n"
	"It stays in the foreground and logs to standard error. SIGHUP reloads the configuration.\n"
	"See sluice-bridge(8) and sluice.yaml(5).\n";

static void on_signal(int signal)
{
	if (signal == SIGHUP)
		reload = 1;
	else
		stop = 1;
}

/* The exit status after --help and --version. */
static int answered(void)
{
	return sl_answer_flush("sluice-bridge") ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	enum { OPT_LOG = 256 };
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },  { "verbose", no_argument, NULL, 'v' },
		{ "log", required_argument, NULL, OPT_LOG }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },	     { NULL, 0, NULL, 0 },
	};
	int c;

	*o = (struct options){ .config_path = SL_CONFIG_DEFAULT_PATH };
	while ((c = getopt_long(argc, argv, "c:vhV", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->config_path = optarg;
			break;
		case 'v':
			o->verbose = true;
			break;
		case OPT_LOG:
			if (!sl_log_set_form(optarg))
				break;
			fprintf(stderr, "sluice-bridge: --log \"%s\": write text or json\n",
				optarg);
			return -EINVAL;
		case 'h':
			fputs(usage, stdout);
			exit(answered());
		case 'V':
			puts("sluice-bridge " SL_VERSION);
			exit(answered());
		default:
			return -EINVAL;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "sluice-bridge: unexpected argument \"%s\"\n", argv[optind]);
		return -EINVAL;
	}
	return 0;
}

static int load_settings(const struct options *o, struct sl_settings **out)
{
	char error[SL_YAML_ERROR_BYTES], warning[SL_YAML_ERROR_BYTES];
	int err = sl_settings_load(o->config_path, out, error);

	if (err) {
		sl_error("%s", error);
		return err;
	}
	if ((*out)->cluster.node == 0) {
		sl_error("%s: there is no `cluster:`, and no port has a rate, queues or a "
			 "controller; such a router needs no bridge",
			 o->config_path);
		sl_settings_free(*out);
		*out = NULL;
		return -EINVAL;
	}
	sl_log_set_level(o->verbose ? SL_LOG_DEBUG : (*out)->log_level);
	if (sl_doubt_cluster(*out, warning))
		sl_warning("%s", warning);
	return 0;
}

/* --- Reload --- */

/* Another configuration, on its way from the file to the bridge. */
struct reading {
	const struct options *options;
	struct sl_settings *settings; /* owned, until the bridge takes them */
	int err;
	struct sl_errand errand;
};

/* For a large cluster that takes tens of milliseconds. */
static void read_configuration(void *context)
{
	struct reading *r = context;

	r->err = load_settings(r->options, &r->settings);
	if (!r->err)
		rb_bridge_ask_netdevs(&r->settings->cluster);
}

static void conclude_reload(const struct options *o, int err, uint64_t sum)
{
	if (err)
		sl_reloads_refused();
	else
		sl_reloads_took(sum);
	if (err == -ENOTRECOVERABLE)
		sl_error("reload broken off; see the line above");
	else if (err)
		sl_error("reload refused; the former configuration stays in force");
	else
		sl_info("configuration \"%s\" reloaded", o->config_path);
	sl_notify("READY=1");
}

/* Begin a reload if a signal asks for it, and take over what has been read. */
static void serve_reload(struct reading *r, struct rb_bridge *bridge)
{
	uint64_t sum;
	int err;

	if (reload && !sl_errand_is_begun(&r->errand)) {
		reload = 0;
		sl_notify_reloading();
		sl_reloads_begin();
		sl_errand_begin(&r->errand, read_configuration, r);
	}
	if (!sl_errand_is_begun(&r->errand) || !sl_errand_is_done(&r->errand))
		return;
	sl_errand_end(&r->errand);
	err = r->err;
	sum = err ? 0 : r->settings->sum;
	if (!err)
		err = rb_bridge_reload(bridge, r->settings, sl_now_ns());
	r->settings = NULL;
	conclude_reload(r->options, err, sum);
}

/* --- Running --- */

/* Run until a signal, or until the fabric's netdev or RDMA device is gone. */
static void run(struct rb_bridge *bridge, struct rb_views *views, const struct options *o)
{
	struct reading reading = { .options = o };
	uint64_t views_ns = 0;

	while (!stop && !bridge->lost) {
		uint64_t now = rb_bridge_round(bridge);

		serve_reload(&reading, bridge);

		if (rb_lane_is_due(&bridge->lanes[0], views_ns, bridge->worked, now)) {
			views_ns = now + RB_BRIDGE_TICK_NS;
			rb_views_poll(views, bridge, now);
		}
	}
	sl_errand_end(&reading.errand);
	sl_settings_free(reading.settings);
}

/*
 * Does another bridge use these sockets? It would lose its program on the fabric to this one, long
 * before the ports of TCP or the queues of AF_XDP, which nobody shares, end this one.
 */
static bool another_runs(const struct sl_cluster_settings *cluster)
{
	const char *const paths[] = { cluster->socket, cluster->bridge.control };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (sl_unix_is_taken(paths[i])) {
			sl_error("another sluice-bridge listens at \"%s\"", paths[i]);
			return true;
		}
	return false;
}

/*
 * Open a bridge, run it, close it. 0: a signal stopped it; -ENODEV: the fabric's device is gone;
 * -EIO: it could not start, which has been logged.
 */
static int live(struct sl_settings *settings, const struct options *o)
{
	struct rb_bridge *bridge = NULL;
	struct rb_views *views = NULL;
	int err = another_runs(&settings->cluster) ? -EIO : rb_bridge_open(settings, &bridge);

	if (err)
		return -EIO;
	err = rb_views_open(settings->cluster.bridge.control, &views);
	if (err) {
		sl_error("cannot listen at \"%s\": %s", settings->cluster.bridge.control,
			 strerror(-err));
		err = -EIO;
		goto out;
	}
	rb_watch(bridge->lanes[0].all_fd, rb_views_fd(views), NULL);
	sl_notify("READY=1");
	run(bridge, views, o);
	if (bridge->lost)
		err = -ENODEV;
out:
	rb_views_close(views);
	rb_bridge_close(bridge);
	return err;
}

static void wait_for_fabric(const struct sl_settings *settings)
{
	const struct timespec pause = { .tv_nsec = FABRIC_RETRY_NS };

	while (!stop && !rb_fabric_is_there(settings))
		nanosleep(&pause, NULL);
	if (!stop)
		sl_info("fabric: %s is there again", settings->cluster.device);
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct sl_settings *settings = NULL;
	struct options options;
	int err;

	sl_log_set_prefix("sluice-bridge: ");
	if (parse_options(argc, argv, &options)) {
		fputs("Try 'sluice-bridge --help'.\n", stderr);
		return EXIT_CONFIG;
	}
	err = load_settings(&options, &settings);
	if (err) /* systemd makes no other start after EXIT_CONFIG */
		return err == -ENOMEM ? EXIT_FAILURE : EXIT_CONFIG;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	sl_reloads_started(settings->sum);
	sl_cpu_claim(settings->cluster.bridge.realtime);
	while ((err = live(settings, &options)) == -ENODEV && !stop)
		wait_for_fabric(settings);
	sl_settings_free(settings);
	return err && !stop ? EXIT_FAILURE : EXIT_SUCCESS;
}
