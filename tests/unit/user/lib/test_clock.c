/* SPDX-License-Identifier: BSD-2-Clause */
/* How far CLOCK_TAI is ahead, with clocks that the test makes: each reading takes its time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "user/lib/clock.h"

#define AHEAD_NS 1795000000000000037LL
#define QUICK_NS 30   /* a reading, by the processor's own counter */
#define SLOW_NS	 1500 /* by a chip beside it */

static uint64_t now_ns, reading_ns, interrupted_ns;
static int64_t ahead_ns;
static int interrupt_in; /* so many readings from now; 0: never */

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	uint64_t ns;

	now_ns += reading_ns;
	if (interrupt_in && --interrupt_in == 0)
		now_ns += interrupted_ns;
	ns = clock == CLOCK_TAI ? now_ns + (uint64_t)ahead_ns : now_ns;
	*out = (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
				  .tv_nsec = (long)(ns % 1000000000) };
	return 0;
}

static int begin(void **state)
{
	(void)state;
	now_ns = 5000000000000;
	ahead_ns = AHEAD_NS;
	reading_ns = QUICK_NS;
	interrupt_in = 0;
	return 0;
}

static uint64_t error_ns(int64_t former_ns)
{
	return (uint64_t)llabs(sl_tai_offset_ns(former_ns) - ahead_ns);
}

static void quick_clock_is_right_to_a_reading(void **state)
{
	(void)state;
	assert_in_range(error_ns(0), 0, QUICK_NS);
	assert_in_range(error_ns(AHEAD_NS - 400), 0, QUICK_NS);
}

static void interrupted_reading_is_done_again(void **state)
{
	(void)state;
	interrupt_in = 2;
	interrupted_ns = 50000000;
	assert_in_range(error_ns(AHEAD_NS + 10), 0, QUICK_NS);
}

static void slow_clock_has_a_first_offset(void **state)
{
	(void)state;
	reading_ns = SLOW_NS;
	assert_in_range(error_ns(0), 0, SLOW_NS);
}

static void slow_clock_keeps_what_it_does_not_contradict(void **state)
{
	(void)state;
	reading_ns = SLOW_NS;
	assert_int_equal(sl_tai_offset_ns(AHEAD_NS + 700), AHEAD_NS + 700);
}

static void slow_clock_follows_a_step(void **state)
{
	(void)state;
	reading_ns = SLOW_NS;
	ahead_ns += 37000000000;
	assert_in_range(error_ns(AHEAD_NS), 0, SLOW_NS);
	ahead_ns -= 1000000;
	assert_in_range(error_ns(AHEAD_NS + 37000000000), 0, SLOW_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(quick_clock_is_right_to_a_reading, begin),
		cmocka_unit_test_setup(interrupted_reading_is_done_again, begin),
		cmocka_unit_test_setup(slow_clock_has_a_first_offset, begin),
		cmocka_unit_test_setup(slow_clock_keeps_what_it_does_not_contradict, begin),
		cmocka_unit_test_setup(slow_clock_follows_a_step, begin),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
