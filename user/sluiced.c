/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluiced: start the router, then follow the kernel, the control socket and signals, in one thread;
 * user/copies/ has another.
 *
 * The fast path outlives the daemon: only SIGTERM with --detach stops it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "user/config/config.h"
#include "user/ipc/control_socket.h"
#include "user/ipc/reloads.h"
#include "user/lib/answer.h"
#include "user/lib/log.h"
#include "user/lib/notify.h"
#include "user/metrics/metrics.h"
#include "user/datapath/pins.h"
#include "user/daemon/privileges.h"
#include "user/daemon/router.h"
#include "user/show/control_commands.h"
#include "user/text/rtnetlink_names.h"

#define RUNTIME_DIR "/run/sluice"
#define LOCK_PATH   RUNTIME_DIR "/sluiced.lock"
#define EXIT_CONFIG 2

struct options {
	const char *config_path;
	char object_path[PATH_MAX];
	bool check, detach, verbose;
};

struct daemon {
	const struct options *options;
	struct sl_router *router;
	struct sl_ctl *ctl;
	struct sl_metrics *metrics; /* NULL: the configuration does not ask for them */
	int epoll_fd, signal_fd, timer_fd, lock_fd;
	bool stop;
};

static const char usage[] =
	"Usage: sluiced [OPTION]...\n"
	"Mirror the kernel's routes into the XDP fast path and keep it on its ports.\n"
	"\n"
	"  -c, --config FILE   configuration (default " SL_CONFIG_DEFAULT_PATH ")\n"
	"  -o, --object FILE   BPF object (default: beside sluiced, or ../lib/sluice)\n"
	"      --check         check the configuration and exit: 0, or 2 with one line\n"
	"      --detach        on SIGTERM take the fast path off, instead of leaving it\n"
	"  -v, --verbose       log at level debug, whatever the configuration says\n"
	"      --log FORM      how to log: text (default), or json, an object a line\n"
	"  -h, --help          this text\n"
	"  -V, --version       the version\n"
	"\n"
	"It stays in the foreground and logs to standard error. SIGHUP reloads the configuration.\n"
	"See sluiced(8) and sluice.yaml(5).\n";

/*
 * The object lies beside the program in the build directory, and in ../lib/sluice once installed.
 */
static void find_object(char path[PATH_MAX])
{
	char exe[PATH_MAX] = "";
	const char *dir;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		memcpy(exe, "./sluiced", sizeof("./sluiced"));
	dir = dirname(exe);
	snprintf(path, PATH_MAX, "%.4000s/sluice.bpf.o", dir);
	if (access(path, R_OK))
		snprintf(path, PATH_MAX, "%.4000s/../lib/sluice/sluice.bpf.o", dir);
}

/* The exit status after an answer on standard output. */
static int answered(void)
{
	return sl_answer_flush("sluiced") ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	enum { OPT_CHECK = 256, OPT_DETACH, OPT_LOG };
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "object", required_argument, NULL, 'o' },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "detach", no_argument, NULL, OPT_DETACH },
		{ "verbose", no_argument, NULL, 'v' },
		{ "log", required_argument, NULL, OPT_LOG },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*o = (struct options){ .config_path = SL_CONFIG_DEFAULT_PATH };
	find_object(o->object_path);
	while ((c = getopt_long(argc, argv, "c:o:vhV", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->config_path = optarg;
			break;
		case 'o':
			snprintf(o->object_path, sizeof(o->object_path), "%s", optarg);
			break;
		case OPT_CHECK:
			o->check = true;
			break;
		case OPT_DETACH:
			o->detach = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case OPT_LOG:
			if (!sl_log_set_form(optarg))
				break;
			fprintf(stderr, "sluiced: --log \"%s\": write text or json\n", optarg);
			return -EINVAL;
		case 'h':
			fputs(usage, stdout);
			exit(answered());
		case 'V':
			puts("sluiced " SL_VERSION);
			exit(answered());
		default:
			return -EINVAL;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "sluiced: unexpected argument \"%s\"\n", argv[optind]);
		return -EINVAL;
	}
	return 0;
}

/* Read the file and check all it says; log the one line that is wrong. */
static int load_settings(const struct options *o, struct sl_settings **out)
{
	char error[SL_YAML_ERROR_BYTES];
	int err = sl_settings_load(o->config_path, out, error);

	if (!err)
		err = sl_settings_check_ports(*out, error);
	if (err) {
		sl_error("%s", error);
		sl_settings_free(*out);
		*out = NULL;
	}
	return err;
}

/*
 * A netdev may come later, and memory be free again: another start with the same file is worth it.
 * systemd makes none after EXIT_CONFIG.
 */
static bool may_pass(int err)
{
	return err == -ENODEV || err == -ENOMEM;
}

/* --- What must be there before anything is changed --- */

static int check_privileges(void)
{
	char missing[256];
	int err = sl_privileges_missing(missing, sizeof(missing));

	if (err) {
		sl_error("cannot read the capabilities of this process: %s", strerror(-err));
		return err;
	}
	if (!missing[0])
		return 0;
	sl_error(
		"not allowed: this process lacks %s; run it as root, or give it these capabilities",
		missing);
	return -EPERM;
}

static int check_pin_dir(const struct sl_settings *settings)
{
	char copy[PATH_MAX];
	int err = sl_pins_check(settings->pin_dir);

	if (!err)
		return 0;
	snprintf(copy, sizeof(copy), "%s", settings->pin_dir);
	if (err == -EMEDIUMTYPE || err == -ENOENT)
		sl_error("pin_dir \"%s\" is not in a BPF file system: mount -t bpf bpf %s",
			 settings->pin_dir, err == -ENOENT ? "/sys/fs/bpf" : dirname(copy));
	else
		sl_error("pin_dir \"%s\" cannot be used: %s", settings->pin_dir, strerror(-err));
	return err;
}

static void check_jit(void)
{
	FILE *f = fopen("/proc/sys/net/core/bpf_jit_enable", "re");

	if (f && fgetc(f) == '0')
		sl_warning("the kernel interprets BPF programs, which is several times slower: "
			   "sysctl net.core.bpf_jit_enable=1");
	if (f)
		fclose(f);
}

/*
 * A record lock names its owner, ends with the process, and children do not inherit it. Of the lock
 * file, the byte at the number of the network namespace stands for its ports, and one that a hash
 * of pin_dir chooses, above all those, for the maps.
 */
#define PINS_OFFSET (1LL << 40)

static off_t offset_of_netns(void)
{
	struct stat netns;

	return stat("/proc/self/ns/net", &netns) ? 0 : (off_t)netns.st_ino;
}

static off_t offset_of_pins(const char *pin_dir)
{
	char parent[PATH_MAX];
	uint32_t hash = 2166136261u; /* FNV-1a */
	struct stat bpffs = { 0 };

	snprintf(parent, sizeof(parent), "%s", pin_dir);
	stat(dirname(parent), &bpffs); /* the same path may be another mount */
	for (const char *c = pin_dir; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	return PINS_OFFSET + (off_t)(hash ^ (uint32_t)bpffs.st_dev);
}

/* -EBUSY: process *owner has it. */
static int lock_byte(int fd, off_t offset, pid_t *owner)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1
	};
	int err;

	if (!fcntl(fd, F_SETLK, &lock))
		return 0;
	err = -errno;
	if (fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK) {
		sl_error("cannot lock \"%s\": %s", LOCK_PATH, strerror(-err));
		return err;
	}
	*owner = lock.l_pid;
	return -EBUSY;
}

static int lock_pins(int fd, const char *pin_dir)
{
	pid_t owner;
	int err = lock_byte(fd, offset_of_pins(pin_dir), &owner);

	if (err == -EBUSY)
		sl_error("pin_dir \"%s\" is that of another sluiced, process %d: give each its own "
			 "pin_dir and control socket",
			 pin_dir, (int)owner);
	return err;
}

static void unlock_pins(int fd, const char *pin_dir)
{
	struct flock lock = { .l_type = F_UNLCK,
			      .l_whence = SEEK_SET,
			      .l_start = offset_of_pins(pin_dir),
			      .l_len = 1 };

	fcntl(fd, F_SETLK, &lock);
}

static int take_locks(int *fd, const char *pin_dir)
{
	pid_t owner;
	int err;

	if (mkdir(RUNTIME_DIR, 0755) && errno != EEXIST) {
		err = -errno;
		sl_error("cannot make \"%s\": %s", RUNTIME_DIR, strerror(-err));
		return err;
	}
	*fd = open(LOCK_PATH, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (*fd < 0) {
		err = -errno;
		sl_error("cannot open \"%s\": %s", LOCK_PATH, strerror(-err));
		return err;
	}
	err = lock_byte(*fd, offset_of_netns(), &owner);
	if (err == -EBUSY)
		sl_error("another sluiced runs in this network namespace: process %d", (int)owner);
	return err ? err : lock_pins(*fd, pin_dir);
}

/* --- Events --- */

static int watch(const struct daemon *d, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	/* A descriptor that is watched already is no error: a reload may change it, or not. */
	if (epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, fd, &event) && errno != EEXIST)
		return -errno;
	return 0;
}

static int open_control(const struct sl_settings *settings, struct sl_ctl **out)
{
	const struct sl_control_settings *c = &settings->control;
	int err = sl_ctl_open(c->socket, c->mode, c->group, sl_commands, out);

	if (err)
		sl_error("cannot open the control socket \"%s\": %s", c->socket, strerror(-err));
	else /* filter lists come whole */
		sl_ctl_allow_requests(*out, SL_YAML_FILE_MAX);
	return err;
}

static bool same_control(const struct sl_control_settings *a, const struct sl_control_settings *b)
{
	return strcmp(a->socket, b->socket) == 0 && a->mode == b->mode && !a->group == !b->group &&
	       (!a->group || strcmp(a->group, b->group) == 0);
}

/* Close the old socket first: the new one may have the same path and other permissions. */
static int reload_control(struct daemon *d, const struct sl_settings *settings)
{
	const struct sl_settings *old = sl_router_settings(d->router);
	int err;

	if (same_control(&old->control, &settings->control))
		return 0;
	sl_ctl_close(d->ctl);
	err = open_control(settings, &d->ctl);
	if (err)
		open_control(old, &d->ctl);
	return err;
}

static int open_metrics(struct daemon *d, const struct sl_settings *settings)
{
	int err =
		settings->metrics ? sl_metrics_open(settings->metrics, &d->router, &d->metrics) : 0;

	if (err)
		sl_error("cannot offer metrics at \"%s\": %s", settings->metrics, strerror(-err));
	return err;
}

static int reload_metrics(struct daemon *d, const struct sl_settings *settings)
{
	const struct sl_settings *old = sl_router_settings(d->router);
	int err;

	if (!old->metrics == !settings->metrics &&
	    (!old->metrics || strcmp(old->metrics, settings->metrics) == 0))
		return 0;
	sl_metrics_close(d->metrics);
	d->metrics = NULL;
	err = open_metrics(d, settings);
	if (err)
		open_metrics(d, old);
	return err;
}

static void set_log_level(const struct daemon *d, const struct sl_settings *settings)
{
	sl_log_set_level(d->options->verbose ? SL_LOG_DEBUG : settings->log_level);
}

static void reload(struct daemon *d)
{
	struct sl_settings *settings = NULL;
	char old_pin_dir[PATH_MAX];
	bool moves = false;
	int err;

	sl_notify_reloading();
	sl_reloads_begin();
	err = load_settings(d->options, &settings);
	if (!err)
		err = check_pin_dir(settings);
	snprintf(old_pin_dir, sizeof(old_pin_dir), "%s", sl_router_settings(d->router)->pin_dir);
	if (!err) {
		moves = strcmp(old_pin_dir, settings->pin_dir) != 0;
		err = moves ? lock_pins(d->lock_fd, settings->pin_dir) : 0;
	}
	if (!err)
		err = reload_control(d, settings);
	if (!err)
		err = reload_metrics(d, settings);
	if (!err)
		err = sl_router_reload(d->router, settings);
	if (moves)
		unlock_pins(d->lock_fd, err ? settings->pin_dir : old_pin_dir);
	if (err) {
		sl_settings_free(settings);
		sl_reloads_refused();
		sl_error("reload refused; the former configuration stays in force");
	} else {
		sl_reloads_took(sl_router_settings(d->router)->sum);
		set_log_level(d, sl_router_settings(d->router));
		sl_event("reloaded", SL_LOG_FIELDS({ "path", d->options->config_path, 0 }),
			 "configuration \"%s\" reloaded", d->options->config_path);
	}
	sl_notify("READY=1");
}

static void handle_signal(struct daemon *d)
{
	struct signalfd_siginfo info;

	if (read(d->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		reload(d);
	else
		d->stop = true;
}

static void handle_second(struct daemon *d)
{
	uint64_t ticks;

	if (read(d->timer_fd, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	sl_router_tick(d->router);
	if (d->ctl)
		sl_ctl_tick(d->ctl);
	if (d->metrics)
		sl_metrics_poll(d->metrics);
}

static void handle_control(struct daemon *d)
{
	sl_ctl_poll(d->ctl, d->router);
	sl_router_free_aside(d->router); /* after the answer */
}

static int run(struct daemon *d)
{
	struct epoll_event event;
	int err = 0;

	while (!d->stop && !err) {
		int n;

		err = watch(d, sl_router_fd(d->router));
		if (!err && sl_router_cluster_fd(d->router) >= 0)
			err = watch(d, sl_router_cluster_fd(d->router));
		if (!err && sl_router_setups_fd(d->router) >= 0)
			err = watch(d, sl_router_setups_fd(d->router));
		if (!err && d->ctl)
			err = watch(d, sl_ctl_fd(d->ctl));
		if (!err && d->metrics)
			err = watch(d, sl_metrics_fd(d->metrics));
		n = err ? 0 : epoll_wait(d->epoll_fd, &event, 1, -1);
		if (n <= 0) {
			err = n < 0 && errno != EINTR ? -errno : err;
			continue;
		}
		if (event.data.fd == d->signal_fd)
			handle_signal(d);
		else if (event.data.fd == d->timer_fd)
			handle_second(d);
		else if (event.data.fd == sl_router_fd(d->router))
			err = sl_router_poll(d->router);
		else if (event.data.fd == sl_router_cluster_fd(d->router))
			err = sl_router_cluster_poll(d->router);
		else if (event.data.fd == sl_router_setups_fd(d->router))
			sl_router_setups_poll(d->router);
		else if (d->metrics && event.data.fd == sl_metrics_fd(d->metrics))
			sl_metrics_poll(d->metrics);
		else if (d->ctl)
			handle_control(d);
	}
	if (err)
		sl_error("cannot go on following the kernel: %s; the fast path stays as it is",
			 strerror(-err));
	return err;
}

static int open_events(struct daemon *d)
{
	struct itimerspec second = { .it_interval.tv_sec = 1, .it_value.tv_sec = 1 };
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	d->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	d->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (d->epoll_fd < 0 || d->signal_fd < 0 || d->timer_fd < 0 ||
	    timerfd_settime(d->timer_fd, 0, &second, NULL))
		return -errno;
	err = watch(d, d->signal_fd);
	return err ? err : watch(d, d->timer_fd);
}

static int start(struct daemon *d, struct sl_settings **settings)
{
	int err = check_privileges();

	if (!err)
		err = check_pin_dir(*settings);
	if (!err)
		err = take_locks(&d->lock_fd, (*settings)->pin_dir);
	if (!err)
		err = open_events(d);
	if (!err)
		err = open_control(*settings, &d->ctl);
	if (err)
		return err;
	check_jit();
	err = open_metrics(d, *settings);
	if (!err)
		err = sl_router_start(*settings, d->options->object_path, &d->router);
	if (!err) {
		sl_reloads_started((*settings)->sum);
		*settings = NULL; /* the router's now */
	}
	return err;
}

int main(int argc, char **argv)
{
	struct daemon d = { .epoll_fd = -1, .signal_fd = -1, .timer_fd = -1, .lock_fd = -1 };
	struct sl_settings *settings = NULL;
	struct options options;
	int err;

	sl_log_set_prefix("sluiced: ");
	if (parse_options(argc, argv, &options)) {
		fputs("Try 'sluiced --help'.\n", stderr);
		return EXIT_CONFIG;
	}
	d.options = &options;
	err = load_settings(&options, &settings);
	if (err)
		return may_pass(err) && !options.check ? EXIT_FAILURE : EXIT_CONFIG;
	if (options.check) {
		printf("%s: ok\n", options.config_path);
		sl_settings_free(settings);
		return answered();
	}
	set_log_level(&d, settings);
	signal(SIGPIPE, SIG_IGN); /* a bridge may die while it is asked */
	sl_route_protocol_names_read("/usr/share/iproute2");
	sl_route_protocol_names_read("/etc/iproute2");
	err = start(&d, &settings);
	if (!err) {
		sl_event("ready",
			 SL_LOG_FIELDS({ "version", SL_VERSION, 0 },
				       { "engine",
					 sl_engine_name(sl_router_settings(d.router)->engine), 0 }),
			 "ready: version " SL_VERSION ", engine %s",
			 sl_engine_name(sl_router_settings(d.router)->engine));
		sl_notify("READY=1");
		err = run(&d);
	}
	sl_notify("STOPPING=1");
	if (d.stop && options.detach)
		err = sl_router_detach_all(d.router);
	else if (d.stop && sl_router_settings(d.router)->heartbeat_s)
		sl_info("the fast path stays as it is for %u s; then the kernel forwards",
			sl_router_settings(d.router)->heartbeat_s);
	else if (d.stop)
		sl_info("the fast path stays as it is");
	sl_metrics_close(d.metrics);
	sl_ctl_close(d.ctl);
	sl_router_stop(d.router);
	sl_settings_free(settings);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
