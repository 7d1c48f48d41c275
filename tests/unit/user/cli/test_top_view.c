/* SPDX-License-Identifier: BSD-2-Clause */
/* `sluice top` without a terminal: screens of every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/cli/top.h"

static json_t *voq(int class, json_int_t frames, json_int_t waiting)
{
	return json_pack(
		"{s:s, s:s, s:i, s:s, s:n, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:{s:I}, s:I}",
		"id", class == 0 ? "n2p1/0" : "n2p1/1", "port", "n2p1", "class", class,
		"controller", "fixed", "rate", "unit", "bytes", "enqueued_frames", frames,
		"enqueued_bytes", frames * 100, "taken_frames", frames, "taken_bytes", frames * 100,
		"waiting_frames", waiting, "waiting_bytes", waiting * 100, "marked_frames",
		frames / 10, "limit_frames", 1000, "dropped", "voq-full", frames / 2,
		"dropped_frames", frames / 2);
}

static struct sl_top_sample sample(json_int_t frames, uint64_t time_ns)
{
	struct sl_top_sample s = { .node = 1, .nodes = 3 };

	for (int i = 0; i < SL_TOP_LISTS; i++) {
		s.rows[i] = json_array();
		s.time_ns[i] = time_ns;
	}
	json_array_append_new(s.rows[SL_TOP_VOQS], voq(0, frames, 3));
	return s;
}

static char *draw(const struct sl_top_sample *s, struct sl_top_screen *screen)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	sl_top_draw(s, screen, out);
	fclose(out);
	return text;
}

static void text_never_exceeds_a_screen_of_any_size(void **state)
{
	struct sl_top_sample before = sample(0, 1000000000), now = sample(123456789, 2000000000);

	(void)state;
	for (int i = 0; i < 60; i++)
		json_array_append_new(now.rows[SL_TOP_VOQS], voq(1, 1000 + i, 0));
	sl_top_rates(&now, &before);
	for (uint32_t columns = 40; columns <= 400; columns += 7)
		for (uint32_t lines = 8; lines <= 70; lines += 3)
			for (int view = 0; view < SL_TOP_VIEWS; view++) {
				struct sl_top_screen screen = { .view = (enum sl_top_list)view,
								.columns = columns,
								.lines = lines,
								.keys = true,
								.first = 5,
								.interval_s = 1 };
				char *text = draw(&now, &screen), *line = text;
				uint32_t n = 1;

				for (char *end; (end = strchr(line, '\n')); line = end + 1, n++)
					assert_true((uint32_t)(end - line) <= columns);
				assert_true(strlen(line) <= columns);
				/* The last line, with the keys, is at the bottom. */
				assert_int_equal(n, lines);
				assert_non_null(strstr(line, columns > 60 ? "q quit" : ""));
				free(text);
			}
	sl_top_free(&before);
	sl_top_free(&now);
}

/* A column does not move when its values change: each cell ends below the end of its heading. */
static void columns_do_not_move_when_values_change(void **state)
{
	static const json_int_t frames[] = {
		0, 7, 999, 1000, 9995, 123456, 99999999, 1234567890123
	};
	size_t length = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct sl_top_sample before = sample(0, 1000000000),
				     now = sample(frames[i], 2000000000);
		struct sl_top_screen screen = {
			.view = SL_TOP_VOQS, .columns = 200, .all = true, .interval_s = 1
		};
		char *text, *row;

		sl_top_rates(&now, &before);
		text = draw(&now, &screen);
		row = strstr(text, "\nn2p1/0 ");
		assert_non_null(row);
		if (i == 0)
			length = strcspn(row + 1, "\n");
		assert_int_equal(strcspn(row + 1, "\n"), length);
		/* "out pps" ends at column 40: the prefix stands there, the digits before it */
		assert_true(row[1 + 39] == ' ' || strchr("kMGT", row[1 + 39]));
		assert_int_equal(row[1 + 38], ' ');
		assert_in_range(row[1 + 37], '0', '9');
		free(text);
		sl_top_free(&before);
		sl_top_free(&now);
	}
}

static void trouble_is_red_and_only_trouble(void **state)
{
	struct sl_top_sample before = sample(0, 1000000000), now = sample(1000, 2000000000);
	struct sl_top_screen screen = {
		.view = SL_TOP_VOQS, .columns = 80, .colour = true, .interval_s = 1
	};
	char *text;

	(void)state;
	sl_top_rates(&now, &before);
	json_array_append_new(now.rows[SL_TOP_FABRIC], json_object());
	json_array_append_new(now.rows[SL_TOP_PEERS], json_pack("{s:s}", "state", "down"));
	text = draw(&now, &screen);
	assert_non_null(strstr(text, "\033[1;31m 500  \033[0m"));
	assert_non_null(strstr(text, "peers \033[1;31m0/1\033[0m"));
	free(text);
	sl_top_rates(&now, &now);
	json_object_set_new(json_array_get(now.rows[SL_TOP_PEERS], 0), "state", json_string("up"));
	text = draw(&now, &screen);
	assert_null(strstr(text, "\033[1;31m"));
	snprintf(now.bridge_why, sizeof(now.bridge_why), "sluice-bridge is not running");
	json_array_clear(now.rows[SL_TOP_FABRIC]);
	free(text);
	text = draw(&now, &screen);
	assert_non_null(strstr(text, "\033[1;31msluice-bridge is not running\033[0m"));
	free(text);
	sl_top_free(&before);
	sl_top_free(&now);
}

static void rows_are_sorted_by_each_key(void **state)
{
	struct sl_top_sample before = sample(0, 1000000000), now = sample(100, 2000000000);
	struct sl_top_screen screen = { .view = SL_TOP_VOQS, .columns = 80, .interval_s = 1 };
	char *text;

	(void)state;
	json_array_append_new(before.rows[SL_TOP_VOQS], voq(1, 0, 0));
	json_array_append_new(now.rows[SL_TOP_VOQS], voq(1, 900, 1));
	sl_top_rates(&now, &before);
	for (int sort = 0; sort < SL_TOP_SORTS; sort++) {
		screen.sort = (enum sl_top_sort)sort;
		text = draw(&now, &screen);
		/* /0 has more frames waiting, /1 the higher rate and more drops */
		if (sort == SL_TOP_BY_NAME || sort == SL_TOP_BY_WAITING)
			assert_true(strstr(text, "n2p1/0") < strstr(text, "n2p1/1"));
		else
			assert_true(strstr(text, "n2p1/1") < strstr(text, "n2p1/0"));
		free(text);
	}
	sl_top_free(&before);
	sl_top_free(&now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_never_exceeds_a_screen_of_any_size),
		cmocka_unit_test(columns_do_not_move_when_values_change),
		cmocka_unit_test(trouble_is_red_and_only_trouble),
		cmocka_unit_test(rows_are_sorted_by_each_key),
	};

	return cmocka_run_group_tests_name("top_view", tests, NULL, NULL);
}
