/* SPDX-License-Identifier: BSD-2-Clause */
/* The largest packet that the fabric carries: it fits a message, and a chunk of packet memory. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "rdma-bridge/bridge/fabric.h"

static void mtu_is_the_smaller_one_of_what_message_and_chunk_hold(void **state)
{
	static const struct {
		uint32_t message_bytes, chunk_bytes, mtu_bytes;
	} cases[] = {
		{ 1024, 4096, 1024 - 36 - 14 }, /* verbs on a fabric of 1,500 */
		{ 1448, 4096, 1448 - 36 - 14 }, /* roce-xdp on one */
		{ 4056, 8192, 4056 - 36 - 14 },
		{ 4096, 4096, 3840 - 14 }, /* verbs: the kernel keeps 256 bytes of a chunk */
		{ 3840 + 36, 4096, 3840 - 14 },
		{ 3840 + 35, 4096, 3840 - 15 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(rb_fabric_mtu_for(cases[i].message_bytes, cases[i].chunk_bytes),
				 cases[i].mtu_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mtu_is_the_smaller_one_of_what_message_and_chunk_hold),
	};
	return cmocka_run_group_tests_name("fabric mtu", tests, NULL, NULL);
}
