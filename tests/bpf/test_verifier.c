// SPDX-License-Identifier: BSD-2-Clause
/*
 * The verifier's work on each program, per engine. This test finds a program that grows by accident
 * (a loop unrolled, an engine that the verifier no longer removes) before a kernel refuses it at
 * one million instructions. Growth of more than a tenth fails: find out why, then write the new
 * numbers down. The programs of the other objects only load.
 *
 * Arguments, if there are any, are the names of the tests to run: where the verifier is slow, those
 * that have everything in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "tests/lib/edge_rig.h"

/* Other kernels prune in other ways; there the test only loads. */
#define RECORDED_ON "6.18."

static const struct recorded {
	const char *name;
	struct sl_config config;
	const char *program;
	uint32_t insns;
} recorded[] = {
	{ "bare_sl_edge", { SL_ENGINE_KERNEL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, "sl_edge", 4368 },
	{ "bare_sl_edge_frags",
	  { SL_ENGINE_KERNEL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
	  "sl_edge_frags",
	  4495 },
	{ "kernel_sl_edge_frags",
	  { SL_ENGINE_KERNEL, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0 },
	  "sl_edge_frags",
	  16467 },
	{ "lpm_sl_edge_frags",
	  { SL_ENGINE_LPM, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0 },
	  "sl_edge_frags",
	  41863 },
	{ "fast_sl_edge", { SL_ENGINE_FAST, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0 }, "sl_edge", 54594 },
	{ "fast_sl_edge_frags",
	  { SL_ENGINE_FAST, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0 },
	  "sl_edge_frags",
	  54735 },
	{ "cluster_fast_sl_edge",
	  { SL_ENGINE_FAST, 1, 1, 1, 64, 4, 2, 0, 0, 0, 0 },
	  "sl_edge",
	  111455 },
	{ "cluster_fast_sl_edge_frags",
	  { SL_ENGINE_FAST, 1, 1, 1, 64, 4, 2, 0, 0, 0, 0 },
	  "sl_edge_frags",
	  111567 },
	{ "filters_fast_sl_edge_frags",
	  { SL_ENGINE_FAST, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0 },
	  "sl_edge_frags",
	  307262 },
	{ "filters_cluster_fast_sl_edge_frags",
	  { SL_ENGINE_FAST, 1, 1, 1, 64, 4, 2, 1, 0, 0, 0 },
	  "sl_edge_frags",
	  435851 },
	{ "express_cluster_fast_sl_edge_frags",
	  { SL_ENGINE_FAST, 1, 1, 1, 64, 4, 2, 0, 1, 0, 0 },
	  "sl_edge_frags",
	  257438 },
	{ "express_filters_cluster_fast_sl_edge_frags",
	  { SL_ENGINE_FAST, 1, 1, 1, 64, 4, 2, 1, 1, 0, 0 },
	  "sl_edge_frags",
	  637288 },
	{ "reserves_cluster_fast_sl_edge_frags",
	  { SL_ENGINE_FAST, 1, 1, 1, 64, 4, 2, 0, 0, 1, 0 },
	  "sl_edge_frags",
	  107215 },
	{ "reserves_express_filters_cluster_fast_sl_edge_frags",
	  { SL_ENGINE_FAST, 1, 1, 1, 64, 4, 2, 1, 1, 1, 0 },
	  "sl_edge_frags",
	  622792 },
	{ "flows_fast_sl_edge_frags",
	  { SL_ENGINE_FAST, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1 },
	  "sl_edge_frags",
	  75404 },
	{ "flows_reserves_express_filters_cluster_fast_sl_edge_frags",
	  { SL_ENGINE_FAST, 1, 1, 1, 64, 4, 2, 1, 1, 1, 1 },
	  "sl_edge_frags",
	  669528 },
	{ "cluster_lpm_sl_edge_frags",
	  { SL_ENGINE_LPM, 1, 1, 1, 64, 4, 2, 0, 0, 0, 0 },
	  "sl_edge_frags",
	  94866 },
};

#define N_RECORDED (sizeof(recorded) / sizeof(recorded[0]))

static void verifier_does_not_work_more_than_recorded(void **state)
{
	const struct recorded *r = *state;
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	struct utsname kernel;
	struct edge *edge;

	assert_int_equal(edge_create_only(&r->config, r->program, &edge), 0);
	assert_int_equal(bpf_obj_get_info_by_fd(edge_program_fd(edge), &info, &len), 0);
	edge_destroy(edge);
	assert_int_equal(uname(&kernel), 0);
	if (strncmp(kernel.release, RECORDED_ON, strlen(RECORDED_ON)) == 0 &&
	    info.verified_insns > r->insns + r->insns / 10)
		fail_msg("%s: the verifier looked at %u instructions; recorded are %u", r->name,
			 info.verified_insns, r->insns);
}

static void object_loads(void **state)
{
	struct bpf_object *object = bpf_object__open_file(*state, NULL);
	struct bpf_map *map;

	assert_int_equal(libbpf_get_error(object), 0);
	bpf_object__for_each_map(map, object) {
		assert_int_equal(bpf_map__set_pin_path(map, NULL), 0);
	}
	assert_int_equal(bpf_object__load(object), 0);
	bpf_object__close(object);
}

static const struct {
	const char *name, *file;
} objects[] = {
	{ "chain_input", "build/chain_input.bpf.o" },
	{ "fabric", "build/fabric.bpf.o" },
	{ "fabric_sent", "build/fabric_sent.bpf.o" },
	{ "hooks", "build/hooks.bpf.o" },
	{ "inject", "build/inject.bpf.o" },
	{ "kernel_egress", "build/kernel_egress.bpf.o" },
	{ "txdrops", "build/txdrops.bpf.o" },
};

#define N_OBJECTS (sizeof(objects) / sizeof(objects[0]))

static const char *const *wanted;

static bool is_wanted(const char *name)
{
	for (const char *const *want = wanted; *want; want++)
		if (strcmp(name, *want) == 0)
			return true;
	return !*wanted;
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[N_RECORDED + N_OBJECTS] = { 0 };
	size_t n = 0;

	(void)argc;
	wanted = (const char *const *)argv + 1;
	for (size_t i = 0; i < N_RECORDED; i++)
		if (is_wanted(recorded[i].name))
			tests[n++] = (struct CMUnitTest){
				.name = recorded[i].name,
				.test_func = verifier_does_not_work_more_than_recorded,
				.initial_state = (void *)&recorded[i],
			};
	for (size_t i = 0; i < N_OBJECTS; i++)
		if (is_wanted(objects[i].name))
			tests[n++] = (struct CMUnitTest){
				.name = objects[i].name,
				.test_func = object_loads,
				.initial_state = (void *)objects[i].file,
			};
	return _cmocka_run_group_tests("verifier", tests, n, NULL, NULL);
}
