// SPDX-License-Identifier: BSD-2-Clause
/*
 * The maps of a cluster each time the daemon loads the fast path: their sizes, and which of them
 * the next load keeps.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/fabric_address.h"
#include "bpf/abi/voq.h"
#include "user/datapath/datapath.h"

static struct bpf_map_info info_of(const struct sl_datapath *dp, const char *map)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(sl_datapath_map_fd(dp, map), &info, &len), 0);
	return info;
}

static struct sl_datapath *open_generation(uint32_t n_voqs, const struct sl_datapath *previous)
{
	const struct sl_datapath_params params = {
		.object_path = "build/sluice.bpf.o",
		.config = { .engine = SL_ENGINE_LPM,
			    .managed = 1,
			    .node_id = n_voqs ? 1 : 0,
			    .n_voqs = n_voqs,
			    .n_queues = n_voqs ? 2 : 0,
			    .n_workers = n_voqs ? 4 : 0 },
		.n_ports = 3,
		.previous = previous,
	};
	struct sl_datapath *dp;

	assert_int_equal(sl_datapath_open(&params, &dp), 0);
	return dp;
}

static void sizes_follow_ports_queues_and_voqs(void **state)
{
	struct sl_datapath *dp = open_generation(16, NULL);
	struct sl_meta meta;
	const uint32_t zero = 0;

	(void)state;
	assert_int_equal(info_of(dp, "sl_voq").max_entries, 16);
	assert_int_equal(info_of(dp, "sl_backlog").max_entries, 16);
	assert_int_equal(info_of(dp, "sl_xsk").max_entries, 3 * 2 * 4);
	assert_int_equal(info_of(dp, "sl_ring").max_entries, 3 * 2 * 4);
	assert_int_equal(info_of(dp, "sl_fabric").max_entries, SL_FABRIC_MAX);
	assert_int_equal(bpf_map_lookup_elem(sl_datapath_map_fd(dp, "sl_meta"), &zero, &meta), 0);
	assert_int_equal(meta.n_voqs, 16);
	assert_int_equal(meta.n_queues, 2);
	assert_int_equal(meta.n_ports, 3);
	assert_int_equal(meta.n_workers, 4);
	sl_datapath_close(dp);
}

static void maps_of_a_node_alone_have_one_element(void **state)
{
	static const char *const maps[] = { "sl_voq", "sl_backlog", "sl_xsk", "sl_ring",
					    "sl_fabric" };
	struct sl_datapath *dp = open_generation(0, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		assert_int_equal(info_of(dp, maps[i]).max_entries, 1);
	sl_datapath_close(dp);
}

static void next_generation_keeps_what_the_bridge_has_open(void **state)
{
	static const char *const maps[] = { "sl_voq", "sl_backlog", "sl_xsk", "sl_ring" };
	struct sl_datapath *first = open_generation(16, NULL), *second = open_generation(16, first);
	struct sl_datapath *third = open_generation(20, second);

	(void)state;
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		assert_int_equal(info_of(first, maps[i]).id, info_of(second, maps[i]).id);
		/* Rings follow ports, receive queues and workers, not VOQs. */
		if (i < 2)
			assert_int_not_equal(info_of(second, maps[i]).id,
					     info_of(third, maps[i]).id);
		else
			assert_int_equal(info_of(second, maps[i]).id, info_of(third, maps[i]).id);
	}
	assert_int_not_equal(info_of(first, "sl_fabric").id, info_of(second, "sl_fabric").id);
	sl_datapath_close(first);
	sl_datapath_close(second);
	sl_datapath_close(third);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_follow_ports_queues_and_voqs),
		cmocka_unit_test(maps_of_a_node_alone_have_one_element),
		cmocka_unit_test(next_generation_keeps_what_the_bridge_has_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
