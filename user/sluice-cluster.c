/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice-cluster: brings the configuration of a cluster from etcd to this node. The daemons read a
 * file, as ever; without this program they go on with it.
 */
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "user/agent/agent.h"
#include "user/ipc/control_socket.h"
#include "user/lib/answer.h"
#include "user/lib/log.h"
#include "user/lib/notify.h"

#define EXIT_CONFIG 2

struct options {
	const char *settings_path;
	bool once, verbose;
};

static const char usage[] =
	"Usage: sluice-cluster [OPTION]...\n"
	"Keep this node's configuration equal to the version that is current in etcd, and have the\n"
	"daemons take it. See sluice cluster apply.\n"
	"\n"
	"  -s, --settings FILE   how to reach etcd (default " SL_ETCD_DEFAULT_SETTINGS ")\n"
	"  -1, --once            write the configuration once, ask no daemon, and exit\n"
	"  -v, --verbose         log at level debug\n"
	"      --log FORM        how to log: text (default), or json, an object a line\n"
	"  -h, --help            this text\n"
	"  -V, --version         the version\n"
	"\n"
	"It stays in the foreground and logs to standard error. SIGHUP tries a version again that a\n"
	"daemon has refused. See sluice-cluster(8).\n";

static int answered(void)
{
	return sl_answer_flush("sluice-cluster") ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	enum { OPT_LOG = 256 };
	static const struct option longs[] = {
		{ "settings", required_argument, NULL, 's' },
		{ "once", no_argument, NULL, '1' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "log", required_argument, NULL, OPT_LOG },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*o = (struct options){ .settings_path = SL_ETCD_DEFAULT_SETTINGS };
	while ((c = getopt_long(argc, argv, "s:1vhV", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			o->settings_path = optarg;
			break;
		case '1':
			o->once = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case OPT_LOG:
			if (!sl_log_set_form(optarg))
				break;
			fprintf(stderr, "sluice-cluster: --log \"%s\": write text or json\n",
				optarg);
			return -EINVAL;
		case 'h':
			fputs(usage, stdout);
			exit(answered());
		case 'V':
			puts("sluice-cluster " SL_VERSION);
			exit(answered());
		default:
			return -EINVAL;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "sluice-cluster: unexpected argument \"%s\"\n", argv[optind]);
		return -EINVAL;
	}
	return 0;
}

static int load_settings(const struct options *o, struct sl_etcd_settings **out)
{
	char error[SL_YAML_ERROR_BYTES];
	int err = sl_etcd_settings_load(o->settings_path, out, error);

	if (err) {
		sl_error("%s", error);
		return err;
	}
	if ((*out)->node)
		return 0;
	sl_error("%s:1: \"node\" is missing: write \"node: ...\", the id of this node",
		 o->settings_path);
	return -EINVAL;
}

static void show_status(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	(void)request;
	sl_ctl_put(answer, sl_agent_status(ctx));
}

static const struct sl_ctl_command commands[] = {
	{ "status", false, show_status },
	{ NULL, false, NULL },
};

/* True: end. */
static bool handle_signal(int fd, struct sl_agent *agent)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo != SIGHUP)
		return true;
	sl_notify_reloading();
	sl_agent_retry(agent);
	sl_notify("READY=1");
	return false;
}

struct server {
	struct sl_agent *agent;
	struct sl_ctl *ctl;
	time_t ticked;
};

static void serve_control(void *arg)
{
	struct server *server = arg;
	const time_t now = time(NULL);

	sl_ctl_poll(server->ctl, server->agent);
	if (now != server->ticked) {
		server->ticked = now;
		sl_ctl_tick(server->ctl);
	}
}

static int run(struct sl_agent *agent, struct sl_ctl *ctl)
{
	struct server server = { .agent = agent, .ctl = ctl, .ticked = time(NULL) };
	sigset_t signals;
	int fds[2];

	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fds[0] = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	fds[1] = sl_ctl_fd(ctl);
	if (fds[0] < 0)
		return -errno;
	/* etcd may be away: nothing waits for it. */
	sl_notify("READY=1");
	sl_agent_serve(agent, fds[1], serve_control, &server);
	while (!handle_signal(fds[0], agent)) {
		sl_agent_wait(agent, fds, 2);
		serve_control(&server);
	}
	sl_agent_serve(agent, -1, NULL, NULL);
	close(fds[0]);
	return 0;
}

static int serve(const struct sl_etcd_settings *settings, const struct options *o)
{
	struct sl_agent *agent = NULL;
	struct sl_ctl *ctl = NULL;
	int err = sl_agent_open(settings, &agent);

	if (!err && o->once) {
		err = sl_agent_fetch(agent);
		goto out;
	}
	if (err)
		goto out;
	err = sl_ctl_open(settings->control, 0660, NULL, commands, &ctl);
	if (err)
		sl_error("cannot open the control socket \"%s\": %s", settings->control,
			 strerror(-err));
	else
		err = run(agent, ctl);
out:
	sl_ctl_close(ctl);
	sl_agent_close(agent);
	return err;
}

int main(int argc, char **argv)
{
	struct sl_etcd_settings *settings = NULL;
	struct options options;
	int err;

	sl_log_set_prefix("sluice-cluster: ");
	if (parse_options(argc, argv, &options)) {
		fputs("Try 'sluice-cluster --help'.\n", stderr);
		return EXIT_CONFIG;
	}
	if (options.verbose)
		sl_log_set_level(SL_LOG_DEBUG);
	err = load_settings(&options, &settings);
	if (err) {
		sl_etcd_settings_free(settings);
		return EXIT_CONFIG;
	}
	signal(SIGPIPE, SIG_IGN);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	err = serve(settings, &options);
	curl_global_cleanup();
	sl_etcd_settings_free(settings);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
