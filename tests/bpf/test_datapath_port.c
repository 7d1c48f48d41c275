// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table of interfaces, where an ifindex modulo SL_PORTS_MAX chooses the element: the first
 * interface of an element has it, and only that one clears it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/l3_port.h"
#include "user/datapath/datapath.h"

#define FIRST  5
#define SECOND (FIRST + SL_PORTS_MAX) /* the same element */

static struct sl_port element(const struct sl_datapath *dp)
{
	const uint32_t at = FIRST;
	struct sl_port port;

	assert_int_equal(bpf_map_lookup_elem(sl_datapath_map_fd(dp, "sl_port"), &at, &port), 0);
	return port;
}

static void an_element_belongs_to_its_first_interface_until_that_is_cleared(void **state)
{
	const struct sl_datapath_params params = {
		.object_path = "build/sluice.bpf.o",
		.config = { .engine = SL_ENGINE_LPM, .managed = 1 },
	};
	const struct sl_port first = { .ifindex = FIRST, .number = 1 },
			     second = { .ifindex = SECOND, .number = 2 };
	struct sl_datapath *dp;

	(void)state;
	assert_int_equal(sl_datapath_open(&params, &dp), 0);
	assert_int_equal(sl_datapath_port_set(dp, &first, NULL), 0);
	assert_int_equal(sl_datapath_port_set(dp, &second, NULL), -EEXIST);
	assert_int_equal(element(dp).ifindex, FIRST);
	sl_datapath_port_clear(dp, SECOND, NULL);
	assert_int_equal(element(dp).ifindex, FIRST);
	assert_int_equal(element(dp).number, 1);
	sl_datapath_port_clear(dp, FIRST, NULL);
	assert_int_equal(element(dp).ifindex, 0);
	assert_int_equal(sl_datapath_port_set(dp, &second, NULL), 0);
	assert_int_equal(element(dp).ifindex, SECOND);
	sl_datapath_close(dp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_element_belongs_to_its_first_interface_until_that_is_cleared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
