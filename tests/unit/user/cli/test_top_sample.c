/* SPDX-License-Identifier: BSD-2-Clause */
/* `sluice top` without a terminal: rates of two samples, to the digit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "user/cli/top.h"

static json_t *voq(const char *id, json_int_t frames)
{
	return json_pack("{s:s, s:I, s:I, s:I}", "id", id, "taken_frames", frames, "taken_bytes",
			 frames * 100, "dropped_frames", frames / 2);
}

static struct sl_top_sample sample(json_int_t frames, uint64_t time_ns)
{
	struct sl_top_sample s = { .node = 1, .nodes = 3 };

	s.rows[SL_TOP_VOQS] = json_array();
	s.time_ns[SL_TOP_VOQS] = time_ns;
	json_array_append_new(s.rows[SL_TOP_VOQS], voq("n2p1/0", frames));
	return s;
}

static double real(const struct sl_top_sample *s, size_t row, const char *key)
{
	const json_t *value = json_object_get(json_array_get(s->rows[SL_TOP_VOQS], row), key);

	return json_is_real(value) ? json_real_value(value) : -1;
}

static void rate_is_the_difference_divided_by_the_time_between_questions(void **state)
{
	struct sl_top_sample before = sample(1000, 5000000000), now = sample(3000, 7500000000);

	(void)state;
	sl_top_rates(&now, &before);
	assert_float_equal(real(&now, 0, "taken_frames_per_s"), 800, 1e-9);
	assert_float_equal(real(&now, 0, "taken_bytes_per_s"), 80000, 1e-9);
	assert_float_equal(real(&now, 0, "dropped_frames_per_s"), 400, 1e-9);
	sl_top_free(&before);
	sl_top_free(&now);
}

static void rate_of_a_counter_that_stands_still_is_0(void **state)
{
	struct sl_top_sample before = sample(1000, 5000000000), now = sample(1000, 7500000000);

	(void)state;
	sl_top_rates(&now, &before);
	assert_float_equal(real(&now, 0, "taken_frames_per_s"), 0, 0);
	sl_top_free(&before);
	sl_top_free(&now);
}

static void rate_of_a_new_row_or_of_a_counter_that_fell_is_not_known(void **state)
{
	struct sl_top_sample before = sample(1000, 5000000000), now = sample(10, 6000000000);

	(void)state;
	json_array_append_new(now.rows[SL_TOP_VOQS], voq("n2p1/1", 50));
	sl_top_rates(&now, &before);
	assert_float_equal(real(&now, 0, "taken_frames_per_s"), -1, 0);
	assert_float_equal(real(&now, 1, "taken_frames_per_s"), -1, 0);
	assert_true(json_is_null(
		json_object_get(json_array_get(now.rows[SL_TOP_VOQS], 1), "taken_frames_per_s")));
	sl_top_rates(&now, NULL);
	assert_float_equal(real(&now, 0, "taken_frames_per_s"), -1, 0);
	sl_top_free(&before);
	sl_top_free(&now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_is_the_difference_divided_by_the_time_between_questions),
		cmocka_unit_test(rate_of_a_counter_that_stands_still_is_0),
		cmocka_unit_test(rate_of_a_new_row_or_of_a_counter_that_fell_is_not_known),
	};

	return cmocka_run_group_tests_name("top_sample", tests, NULL, NULL);
}
