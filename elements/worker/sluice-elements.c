/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice-elements: sends the packets of rules that name a chain through its elements, and back to
 * the router. Its end costs the packets that are in it; the router goes on.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements/worker/element_views.h"
#include "user/config/config.h"
#include "user/lib/answer.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"
#include "user/lib/notify.h"

#define EXIT_CONFIG    2
#define CHAINS_DEFAULT "/etc/sluice/chains"
#define IDLE_MS	       1000 /* then silent clients are dropped */
#define SENDING_MS     1    /* between two looks for chunks that have been sent */

struct options {
	const char *chains, *control;
	bool check;
};

static volatile sig_atomic_t stop, reload;

static const char usage[] =
	"Usage: sluice-elements [OPTION]...\n"
	"Send the packets of rules that name a chain through its elements.\n"
	"\n"
	"  -c, --chains FILE    the chains (default " CHAINS_DEFAULT ")\n"
	"      --control PATH   control socket (default " SL_CONFIG_DEFAULT_ELEMENTS_CONTROL ")\n"
	"      --check          read the chains, say whether they are right, and end\n"
	"  -v, --verbose        log at level debug\n"
	"      --log FORM       how to log: text (default), or json, an object a line\n"
	"  -h, --help           this text\n"
	"  -V, --version        the version\n"
	"\n"
	"It stays in the foreground and logs to standard error; SIGHUP reads the chains again.\n"
	"See sluice-elements(8).\n";

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
	return sl_answer_flush("sluice-elements") ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	enum { OPT_LOG = 256, OPT_CONTROL, OPT_CHECK };
	static const struct option longs[] = {
		{ "chains", required_argument, NULL, 'c' },
		{ "control", required_argument, NULL, OPT_CONTROL },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "verbose", no_argument, NULL, 'v' },
		{ "log", required_argument, NULL, OPT_LOG },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*o = (struct options){ .chains = CHAINS_DEFAULT,
			       .control = SL_CONFIG_DEFAULT_ELEMENTS_CONTROL };
	while ((c = getopt_long(argc, argv, "c:vhV", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->chains = optarg;
			break;
		case OPT_CONTROL:
			o->control = optarg;
			break;
		case OPT_CHECK:
			o->check = true;
			break;
		case 'v':
			sl_log_set_level(SL_LOG_DEBUG);
			break;
		case OPT_LOG:
			if (!sl_log_set_form(optarg))
				break;
			fprintf(stderr, "sluice-elements: --log \"%s\": write text or json\n",
				optarg);
			return -EINVAL;
		case 'h':
			fputs(usage, stdout);
			exit(answered());
		case 'V':
			puts("sluice-elements " SL_VERSION);
			exit(answered());
		default:
			return -EINVAL;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "sluice-elements: unexpected argument \"%s\"\n", argv[optind]);
		return -EINVAL;
	}
	return 0;
}

/* Wait for frames, a question, or a chunk that has been sent. */
static void wait_for_work(struct el_process *p, struct el_views *views)
{
	struct pollfd fds[] = { { .fd = el_port_fd(p->port), .events = POLLIN },
				{ .fd = el_views_fd(views), .events = POLLIN } };
	const uint64_t from_ns = sl_now_ns();

	poll(fds, 2, el_port_is_sending(p->port) ? SENDING_MS : IDLE_MS);
	p->idle_ns += sl_now_ns() - from_ns;
}

static void run(struct el_process *p, struct el_views *views)
{
	while (!stop) {
		if (!el_process_serve(p))
			wait_for_work(p, views);
		if (reload) {
			reload = 0;
			if (el_process_reload(p))
				sl_error("the chains stay as they were");
		}
		el_views_poll(views, p, sl_now_ns());
	}
}

static int live(const struct options *options)
{
	struct el_process *process = NULL;
	struct el_views *views = NULL;
	int err = el_process_open(options->chains, &process);

	if (err)
		return err;
	err = el_views_open(options->control, &views);
	if (err) {
		sl_error("cannot listen at \"%s\": %s", options->control, strerror(-err));
	} else {
		sl_notify("READY=1");
		run(process, views);
	}
	el_views_close(views);
	el_process_close(process);
	return err ? -EIO : 0;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct options options;
	int err;

	sl_log_set_prefix("sluice-elements: ");
	if (parse_options(argc, argv, &options)) {
		fputs("Try 'sluice-elements --help'.\n", stderr);
		return EXIT_CONFIG;
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (options.check)
		err = el_process_check(options.chains);
	else
		err = live(&options);
	if (err == -EINVAL) /* systemd makes no other start after EXIT_CONFIG */
		return EXIT_CONFIG;
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
