/* SPDX-License-Identifier: BSD-2-Clause */
/* Matching: short stories whose ends are known, and rings that grow under them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "delay/capture/match.h"

#define WINDOW 1000

enum { IN0, IN1, OUT0, OUT1 };

static struct sl_matched sealed[16384];
static uint32_t n_sealed;
static int answer;

static int take(void *context, const struct sl_matched *packet)
{
	assert_ptr_equal(context, sealed);
	sealed[n_sealed++] = *packet;
	return answer;
}

static struct sl_match *begin(void)
{
	const struct sl_match_settings settings = { .window_ns = WINDOW,
						    .sealed = take,
						    .context = sealed };
	struct sl_match *m;

	n_sealed = 0;
	answer = 0;
	assert_int_equal(sl_match_create(&settings, &m), 0);
	return m;
}

static int add(struct sl_match *m, int64_t time_ns, uint8_t link, uint64_t id)
{
	const struct sl_identity packet = { .id = { id, ~id }, .ip_bytes = 100 };

	return sl_match_add(m, time_ns, link, link >= OUT0, &packet);
}

struct step {
	int64_t time_ns;
	uint8_t link;
	uint64_t id;
	enum sl_fate fate; /* in the end */
};

static void tell(const struct step *steps, uint32_t n)
{
	struct sl_match *m = begin();

	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(add(m, steps[i].time_ns, steps[i].link, steps[i].id), 0);
	assert_int_equal(sl_match_finish(m), 0);
	assert_int_equal(n_sealed, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(sealed[i].time_ns, steps[i].time_ns);
		assert_int_equal(sealed[i].link, steps[i].link);
		assert_int_equal(sealed[i].fate, steps[i].fate);
	}
	sl_match_destroy(m);
}

#define TELL(...)                                  \
	tell((const struct step[]){ __VA_ARGS__ }, \
	     sizeof((const struct step[]){ __VA_ARGS__ }) / sizeof(struct step))

static void one_input_and_one_output_match_up_to_the_window(void **state)
{
	(void)state;
	TELL({ 0, IN0, 1, SL_FATE_MATCHED }, { 50, IN1, 2, SL_FATE_MATCHED },
	     { 60, OUT0, 2, SL_FATE_MATCHED }, { 1000, OUT1, 1, SL_FATE_MATCHED });
	assert_int_equal(sealed[0].other_ns, 1000);
	assert_int_equal(sealed[0].other_link, OUT1);
	assert_int_equal(sealed[3].other_ns, 0);
	assert_int_equal(sealed[3].other_link, IN0);
	assert_true(sealed[3].output);
	TELL({ 0, IN0, 1, SL_FATE_UNMATCHED }, { 1001, OUT0, 1, SL_FATE_UNMATCHED });
	TELL({ 0, OUT0, 1, SL_FATE_UNMATCHED }, { 1, IN0, 1, SL_FATE_UNMATCHED });
	/* One input packet is not two outputs'. */
	TELL({ 0, IN0, 1, SL_FATE_MATCHED }, { 1, OUT0, 1, SL_FATE_MATCHED },
	     { 2, OUT1, 1, SL_FATE_UNMATCHED });
}

static void all_copies_on_one_link_are_set_aside(void **state)
{
	(void)state;
	TELL({ 0, IN0, 1, SL_FATE_DUPLICATE }, { 900, IN0, 1, SL_FATE_DUPLICATE },
	     { 1800, IN0, 1, SL_FATE_DUPLICATE }, { 1900, OUT0, 1, SL_FATE_UNMATCHED });
	TELL({ 0, IN0, 1, SL_FATE_MATCHED }, { 1, OUT0, 1, SL_FATE_MATCHED },
	     { 1001, IN0, 1, SL_FATE_MATCHED }, { 1002, OUT0, 1, SL_FATE_MATCHED });
}

static void a_copy_undoes_a_match(void **state)
{
	(void)state;
	TELL({ 0, IN0, 1, SL_FATE_DUPLICATE }, { 10, OUT0, 1, SL_FATE_UNMATCHED },
	     { 20, IN0, 1, SL_FATE_DUPLICATE });
	/* The latest that an output's copy may come: long after the input's packet left the window
	 */
	TELL({ 0, IN0, 1, SL_FATE_UNMATCHED }, { 1000, OUT0, 1, SL_FATE_DUPLICATE },
	     { 2000, OUT0, 1, SL_FATE_DUPLICATE }, { 2001, IN1, 9, SL_FATE_UNMATCHED });
}

static void two_inputs_make_an_output_ambiguous(void **state)
{
	(void)state;
	TELL({ 0, IN0, 1, SL_FATE_AMBIGUOUS }, { 5, IN1, 1, SL_FATE_AMBIGUOUS },
	     { 10, OUT0, 1, SL_FATE_AMBIGUOUS }, { 11, OUT1, 1, SL_FATE_UNMATCHED });
	TELL({ 0, IN0, 1, SL_FATE_MATCHED }, { 5, OUT0, 1, SL_FATE_MATCHED },
	     { 6, IN1, 1, SL_FATE_MATCHED }, { 10, OUT1, 1, SL_FATE_MATCHED });
}

/* Tags of the output decide how long it sends; those of the input are gone by then. */
static void tags_are_those_of_the_output(void **state)
{
	const struct sl_identity in = { .id = { 1, 2 }, .ip_bytes = 100, .vlan_tags = 2 },
				 out = { .id = { 1, 2 }, .ip_bytes = 100, .vlan_tags = 1 },
				 own = { .id = { 3, 4 }, .ip_bytes = 100, .vlan_tags = 200 };
	struct sl_match *m = begin();

	(void)state;
	assert_int_equal(sl_match_add(m, 0, IN0, false, &in), 0);
	assert_int_equal(sl_match_add(m, 5, OUT0, true, &out), 0);
	assert_int_equal(sl_match_add(m, 6, OUT0, true, &own), 0);
	assert_int_equal(sl_match_finish(m), 0);
	assert_int_equal(sealed[0].out_tags, 1);
	assert_int_equal(sealed[1].out_tags, 1);
	assert_int_equal(sealed[2].out_tags, 63); /* as many as are counted */
	sl_match_destroy(m);
}

static void fates_are_told_two_windows_later(void **state)
{
	struct sl_match *m = begin();

	(void)state;
	assert_int_equal(add(m, 0, IN0, 1), 0);
	assert_int_equal(add(m, 2 * WINDOW, IN0, 2), 0);
	assert_int_equal(n_sealed, 0);
	answer = -ECANCELED; /* of who takes them; it comes through */
	assert_int_equal(add(m, 2 * WINDOW + 1, IN0, 3), -ECANCELED);
	assert_int_equal(n_sealed, 1);
	assert_int_equal(sl_match_finish(m), -ECANCELED);
	sl_match_destroy(m);
}

/* 8,000 packets at once, in buckets that they share, among them copies: the ring grows twice. */
static void growing_loses_nothing(void **state)
{
	struct sl_match *m = begin();
	uint64_t fates[SL_FATES] = { 0 };

	(void)state;
	for (uint64_t i = 1; i <= 4000; i++) {
		assert_int_equal(add(m, 0, IN0, i * 64), 0);
		if (i % 100 == 0)
			assert_int_equal(add(m, 0, IN0, i * 64), 0);
	}
	for (uint64_t i = 4000; i; i--)
		assert_int_equal(add(m, 1, OUT0, i * 64), 0);
	for (uint64_t i = 1; i <= 40; i++) /* copies of matched ones */
		assert_int_equal(add(m, 2, OUT0, i * 64), 0);
	assert_int_equal(sl_match_finish(m), 0);
	for (uint32_t i = 0; i < n_sealed; i++)
		fates[sealed[i].fate]++;
	assert_int_equal(n_sealed, 4000 + 40 + 4000 + 40);
	assert_int_equal(fates[SL_FATE_DUPLICATE], 2 * 40 + 2 * 40);
	assert_int_equal(fates[SL_FATE_UNMATCHED], 40 + 40);
	assert_int_equal(fates[SL_FATE_MATCHED], 2 * (4000 - 80));
	sl_match_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_input_and_one_output_match_up_to_the_window),
		cmocka_unit_test(all_copies_on_one_link_are_set_aside),
		cmocka_unit_test(a_copy_undoes_a_match),
		cmocka_unit_test(two_inputs_make_an_output_ambiguous),
		cmocka_unit_test(tags_are_those_of_the_output),
		cmocka_unit_test(fates_are_told_two_windows_later),
		cmocka_unit_test(growing_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
