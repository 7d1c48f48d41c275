/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario files: one that is read and run, and those that are refused with a reason. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "cc/sim/run.h"

static struct sim_scenario scenario;
static struct sim_summary result;

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void scenario_files_are_read_or_refused_with_a_reason(void **state)
{
	static const char head[] =
		"name: x\ncontroller: price\ncapacity_pps: 1000000\nintervals: 200\n"
		"flows:\n  - {source: 0, count: 3, offered_pps: 1000000}\n";
	static const struct {
		const char *text, *why; /* after head, unless it names a flow */
	} cases[] = {
		{ "params: [{name: kappa, value: 1}]\n", "is not a parameter of price" },
		{ "params: [{name: kappa_ppb, value: 0}]\n", "out of its range" },
		{ "delay: 60\njitter: 4\n", "jitter" },
		{ "  - {source: 1, size_frames: 5, delay: 63}\ndelay: 1\n", "delay" },
		{ "  - {source: 1, size_frames: 0}\n", "size_frames" },
		{ "loss_ppm: 1000001\n", "loss_ppm" },
		{ "measure_from: 200\n", "measure_from" },
		{ "interval_us: 2000000\n", "interval_us" },
		{ "sweep: [{param: delay, from: 0, to: 5, steps: 0}]\n", "sweep[0].steps" },
		{ "changes: [{at: 5, output: 1, capacity_pps: 5}]\n", "has no flow" },
		{ "controler: price\n", "controler" },
	};
	char path[] = "/tmp/cc-scenario-XXXXXX", text[1024], why[512];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	fclose(fdopen(fd, "w"));
	write_text(path, head);
	assert_int_equal(sim_scenario_load(&scenario, path, why), 0);
	assert_int_equal(scenario.setup.n_sources, 3);
	assert_int_equal(scenario.setup.n_flows, 3);
	assert_int_equal(sim_run(&scenario, NULL, &result), 0);
	assert_true(result.jain > 0.999);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", head, cases[i].text);
		write_text(path, text);
		assert_int_equal(sim_scenario_load(&scenario, path, why), -EINVAL);
		if (!strstr(why, cases[i].why))
			fail_msg("%s: %s", cases[i].text, why);
	}
	remove(path);
	assert_int_equal(sim_scenario_load(&scenario, path, why), -ENOENT);
	assert_true(why[0] != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scenario_files_are_read_or_refused_with_a_reason),
	};

	return cmocka_run_group_tests_name("scenario", tests, NULL, NULL);
}
