/* SPDX-License-Identifier: BSD-2-Clause */
/* What the lanes of a bridge say together. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "rdma-bridge/bridge/lane.h"

#define LANES 3
#define PEER  2

static void peer_is_as_the_worst_lane_says(void **state)
{
	static struct rb_worker workers[LANES];
	struct rb_lane lanes[LANES] = { 0 };
	const struct rb_bridge b = { .lanes = lanes, .n_lanes = LANES };

	(void)state;
	for (int i = 0; i < LANES; i++) {
		lanes[i].worker = &workers[i];
		workers[i].peers.peer[PEER].state = RB_PEER_UP;
	}
	assert_int_equal(rb_bridge_peer_state(&b, PEER), RB_PEER_UP);
	for (int i = 0; i < LANES; i++) {
		uint8_t *one = &workers[i].peers.peer[PEER].state;

		*one = RB_PEER_ONE_WAY;
		assert_int_equal(rb_bridge_peer_state(&b, PEER), RB_PEER_ONE_WAY);
		workers[0].peers.peer[PEER].state = RB_PEER_DOWN;
		assert_int_equal(rb_bridge_peer_state(&b, PEER), RB_PEER_DOWN);
		workers[0].peers.peer[PEER].state = RB_PEER_UP;
		*one = RB_PEER_UP;
	}
}

static void port_belongs_to_the_lane_of_its_number(void **state)
{
	struct rb_lane lanes[LANES] = { 0 };
	const struct rb_bridge b = { .lanes = lanes, .n_lanes = LANES };

	(void)state;
	for (uint32_t port = 1; port < 256; port++)
		for (uint32_t node = 1; node < 256; node += 127)
			assert_ptr_equal(rb_bridge_lane(&b, (uint16_t)(node << 8 | port)),
					 &lanes[(port - 1) % LANES]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peer_is_as_the_worst_lane_says),
		cmocka_unit_test(port_belongs_to_the_lane_of_its_number),
	};
	return cmocka_run_group_tests_name("lane", tests, NULL, NULL);
}
