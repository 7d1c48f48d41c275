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

#include "elements/install/trial_process.h"
#include "elements/signal/signal_socket.h"
#include "elements/worker/crash_guard.h"
#include "elements/worker/element_views.h"
#include "elements/worker/signalled_chains.h"
#include "user/config/config.h"
#include "user/lib/answer.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"
#include "user/lib/notify.h"
#include "user/lib/unix_address.h"

#define EXIT_CONFIG    2
#define CHAINS_DEFAULT "/etc/sluice/chains"
#define KEYS_DEFAULT   "/etc/sluice/keys"
#define STORE_DEFAULT  "/var/lib/sluice/elements"
#define IDLE_MS	       1000 /* then silent clients are dropped */
#define SENDING_MS     1    /* between two looks for chunks that have been sent */

struct options {
	struct el_paths paths;
	const char *control, *try;
	bool check;
};

static volatile sig_atomic_t stop, reload;

static const char usage[] =
	"Usage: sluice-elements [OPTION]...\n"
	"Send the packets of rules that name a chain through its elements.\n"
	"\n"
	"  -c, --chains FILE    the chains (default " CHAINS_DEFAULT ")\n"
	"      --keys DIR       public keys: whose elements may be installed\n"
	"                       (default " KEYS_DEFAULT ")\n"
	"      --store DIR      installed elements (default " STORE_DEFAULT ")\n"
	"      --control PATH   control socket (default " SL_CONFIG_DEFAULT_ELEMENTS_CONTROL ")\n"
	"      --pin-dir DIR    that of sluiced (default " SL_CONFIG_DEFAULT_PINS ")\n"
	"      --sluiced PATH   control socket of sluiced (default " SL_CONFIG_DEFAULT_SOCKET ")\n"
	"      --signals FILE   take signals, packets that set up chains, of the keys in FILE\n"
	"                       (default: take none)\n"
	"      --check          read the chains, say whether they are right, and end\n"
	"      --try FILE       try the element in a shared object, and end\n"
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
	enum {
		OPT_LOG = 256,
		OPT_CONTROL,
		OPT_CHECK,
		OPT_KEYS,
		OPT_STORE,
		OPT_TRY,
		OPT_PIN_DIR,
		OPT_SLUICED,
		OPT_SIGNALS
	};
	static const struct option longs[] = {
		{ "chains", required_argument, NULL, 'c' },
		{ "try", required_argument, NULL, OPT_TRY },
		{ "keys", required_argument, NULL, OPT_KEYS },
		{ "pin-dir", required_argument, NULL, OPT_PIN_DIR },
		{ "sluiced", required_argument, NULL, OPT_SLUICED },
		{ "signals", required_argument, NULL, OPT_SIGNALS },
		{ "store", required_argument, NULL, OPT_STORE },
		{ "control", required_argument, NULL, OPT_CONTROL },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "verbose", no_argument, NULL, 'v' },
		{ "log", required_argument, NULL, OPT_LOG },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*o = (struct options){ .paths = { CHAINS_DEFAULT, KEYS_DEFAULT, STORE_DEFAULT,
					  SL_CONFIG_DEFAULT_PINS, SL_CONFIG_DEFAULT_SOCKET, NULL },
			       .control = SL_CONFIG_DEFAULT_ELEMENTS_CONTROL };
	while ((c = getopt_long(argc, argv, "c:vhV", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->paths.chains = optarg;
			break;
		case OPT_TRY:
			o->try = optarg;
			break;
		case OPT_KEYS:
			o->paths.keys_dir = optarg;
			break;
		case OPT_STORE:
			o->paths.store_dir = optarg;
			break;
		case OPT_PIN_DIR:
			o->paths.pin_dir = optarg;
			break;
		case OPT_SLUICED:
			o->paths.sluiced = optarg;
			break;
		case OPT_SIGNALS:
			o->paths.signals = optarg;
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

/* Wait for frames, a question, a chunk that has been sent, the end of a trial, or a signal. */
static void wait_for_work(struct el_process *p, struct el_views *views)
{
	struct pollfd fds[] = { { .fd = el_port_fd(p->port), .events = POLLIN },
				{ .fd = el_views_fd(views), .events = POLLIN },
				{ .fd = el_installed_fd(&p->installed), .events = POLLIN },
				{ .fd = el_signal_fd(p->signal_sockets), .events = POLLIN } };
	const uint64_t from_ns = sl_now_ns();

	poll(fds, sizeof(fds) / sizeof(fds[0]), el_port_is_sending(p->port) ? SENDING_MS : IDLE_MS);
	p->idle_ns += sl_now_ns() - from_ns;
}

static void run(struct el_process *p, struct el_views *views)
{
	while (!stop) {
		if (!el_process_serve(p))
			wait_for_work(p, views);
		if (reload && !el_installed_is_saving(&p->installed)) {
			reload = 0;
			if (el_signalled_reload(p))
				sl_error("the chains stay as they were");
		}
		el_installed_poll(&p->installed);
		el_signalled_poll(p);
		el_views_poll(views, p, sl_now_ns());
	}
}

static int live(const struct options *options)
{
	struct el_process *process = NULL;
	struct el_views *views = NULL;
	int err = sl_unix_is_taken(options->control) ? -EADDRINUSE : 0;

	if (err) {
		sl_error("another sluice-elements listens at \"%s\"", options->control);
		return err;
	}
	err = el_process_open(&options->paths, &process);
	if (err)
		return err;
	err = el_signalled_open(process);
	if (err) {
		el_signalled_close(process);
		el_process_close(process);
		return err;
	}
	if (el_crash_guard_open(process))
		sl_warning("cannot watch over elements: %s", strerror(errno));
	err = el_views_open(options->control, &views);
	if (err) {
		sl_error("cannot listen at \"%s\": %s", options->control, strerror(-err));
	} else {
		sl_notify("READY=1");
		run(process, views);
	}
	el_views_close(views);
	el_signalled_close(process);
	el_process_close(process);
	return err ? -EIO : 0;
}

static int try_element(const char *path)
{
	char why[EL_WHY_BYTES];
	int err = el_installed_try(path, "/proc/self/exe", why);

	if (err)
		fprintf(stderr, "sluice-elements: %s: %s\n", path, why);
	else
		printf("%s: right\n", path);
	return err;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct options options;
	int err;

	if (argc == 2 && strcmp(argv[1], EL_TRIAL_OPTION) == 0)
		return el_trial_run();
	sl_log_set_prefix("sluice-elements: ");
	if (parse_options(argc, argv, &options)) {
		fputs("Try 'sluice-elements --help'.\n", stderr);
		return EXIT_CONFIG;
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (options.try)
		err = try_element(options.try);
	else if (options.check)
		err = el_process_check(&options.paths) ?: el_signalled_check(options.paths.signals);
	else
		err = live(&options);
	if (err == -EINVAL) /* systemd makes no other start after EXIT_CONFIG */
		return EXIT_CONFIG;
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
