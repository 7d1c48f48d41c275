/* SPDX-License-Identifier: BSD-2-Clause */
/* The outcome of a reload is that of this reload, from daemons that take their time over it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/agent/node_daemons.h"
#include "user/config/config.h"
#include "user/ipc/control_client.h"
#include "user/ipc/control_socket.h"
#include "user/lib/clock.h"

#define SLOW_NS 300000000ULL /* long beside the time between two questions */

/* A daemon that has refused a reload before, and ends the next one after SLOW_NS. */
struct fake {
	struct sl_ctl *ctl;
	uint64_t sum, due_ns;
	const char *refuses; /* NULL: it takes the next one */
	int reloads;
	bool has_it;
};

static uint64_t wanted;
static char folder[] = "/tmp/node_daemons.XXXXXX", path[PATH_MAX], bridge[PATH_MAX],
	    router[PATH_MAX];

static void configuration(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct fake *f = ctx;
	char sum[20];

	(void)request;
	snprintf(sum, sizeof(sum), "%016" PRIx64, f->has_it ? wanted : 1);
	sl_ctl_put(answer,
		   json_pack("{s:s, s:i, s:s?}", "sum", sum, "reloads", f->reloads, "refused",
			     f->has_it			    ? NULL
			     : f->reloads > 3 && f->refuses ? f->refuses
							    : "what was wrong before"));
}

static void reload(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	struct fake *f = ctx;

	configuration(ctx, request, answer);
	f->due_ns = sl_now_ns() + SLOW_NS;
}

static const struct sl_ctl_command commands[] = { { "configuration", false, configuration },
						  { "reload", false, reload },
						  { NULL, false, NULL } };

static void serve(const char *bridge_refuses, const char *daemon_refuses)
{
	struct fake fakes[2] = { { .refuses = bridge_refuses, .reloads = 3 },
				 { .refuses = daemon_refuses, .reloads = 3 } };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sl_ctl_open(bridge, 0600, NULL, commands, &fakes[0].ctl) ||
	    sl_ctl_open(router, 0600, NULL, commands, &fakes[1].ctl))
		_exit(1);
	for (;;) {
		struct pollfd fds[2] = { { .fd = sl_ctl_fd(fakes[0].ctl), .events = POLLIN },
					 { .fd = sl_ctl_fd(fakes[1].ctl), .events = POLLIN } };

		poll(fds, 2, 5);
		for (int i = 0; i < 2; i++) {
			struct fake *f = &fakes[i];

			if (f->due_ns && sl_now_ns() >= f->due_ns) {
				f->due_ns = 0;
				f->reloads++;
				f->has_it = !f->refuses;
			}
			sl_ctl_poll(f->ctl, f);
		}
	}
}

static pid_t start(const char *bridge_refuses, const char *daemon_refuses)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		serve(bridge_refuses, daemon_refuses);
	while (!sl_client_listens(router))
		usleep(1000);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void the_outcome_is_that_of_this_reload(void **state)
{
	static const struct {
		const char *bridge, *daemon, *why;
		int err;
		bool took;
	} cases[] = {
		{ NULL, NULL, "", 0, true },
		{ "no room", NULL, "sluice-bridge: no room", -EINVAL, false },
		{ NULL, "no port", "sluiced: no port", -EINVAL, true },
	};
	char why[SL_DAEMON_WHY_BYTES];
	bool took;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t pid = start(cases[i].bridge, cases[i].daemon);

		assert_int_equal(sl_node_daemons_reload(path, wanted, NULL, NULL, &took, why),
				 cases[i].err);
		assert_string_equal(why, cases[i].why);
		assert_int_equal(took, cases[i].took);
		end(pid);
	}
}

static void daemons_that_have_it_are_not_asked_again_and_those_away_not_at_all(void **state)
{
	char why[SL_DAEMON_WHY_BYTES];
	struct sl_node_daemons d = sl_node_daemons_ask(path, wanted);
	pid_t pid;
	bool took;

	(void)state;
	assert_int_equal(d.bridge, SL_DAEMON_AWAY);
	assert_int_equal(d.daemon, SL_DAEMON_AWAY);
	assert_int_equal(sl_node_daemons_reload(path, wanted, NULL, NULL, &took, why), 0);
	assert_false(took);
	pid = start(NULL, NULL);
	assert_int_equal(sl_node_daemons_ask(path, wanted).bridge, SL_DAEMON_OTHER);
	assert_int_equal(sl_node_daemons_reload(path, 1, NULL, NULL, &took, why), 0);
	assert_int_equal(sl_node_daemons_ask(path, 1).daemon, SL_DAEMON_HAS_IT);
	end(pid);
}

static int begin_folder(void **state)
{
	FILE *f;

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/sluice.yaml", folder);
	snprintf(bridge, sizeof(bridge), "%s/bridge", folder);
	snprintf(router, sizeof(router), "%s/daemon", folder);
	wanted = sl_settings_sum("x", 1);
	f = fopen(path, "we");
	if (!f)
		return -1;
	fprintf(f,
		"control: {socket: %s}\ncluster:\n  node: 1\n  fabric: {device: f}\n"
		"  bridge: {control: %s}\n  nodes: [{id: 1, address: 10.9.0.1, ports: [{number: 1, "
		"name: e}]}, {id: 2, address: 10.9.0.2, ports: [{number: 1, name: e}]}]\n",
		router, bridge);
	return fclose(f);
}

static int end_folder(void **state)
{
	(void)state;
	unlink(path);
	unlink(bridge);
	unlink(router);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_outcome_is_that_of_this_reload),
		cmocka_unit_test(
			daemons_that_have_it_are_not_asked_again_and_those_away_not_at_all),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
