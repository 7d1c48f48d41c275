/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images of rule lists: the fast path's own walk, run here in user space, answers as a scan of the
 * rules does. And the limits. tests/bpf/test_classify.c does the same in the kernel, for more
 * lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/lib/classifier_walk.bpf.h"
#include "netns-lab/classify/rule_sets.h"
#include "user/classify/compile.h"

#define DEFAULT_NUMBER 123456u
#define FLOWS	       1000

static struct sl_rule rules[SL_RULES_MAX + 1];

/* The image in memory of the size that the kernel would give it, so that no index goes beyond. */
static struct sl_classifier_large *image_of(const struct sl_rule *list, uint32_t n, uint8_t family)
{
	struct sl_classifier_large *padded = calloc(1, sizeof(*padded));
	struct sl_image image;

	assert_non_null(padded);
	assert_int_equal(sl_compile(list, n, family, SL_FILTER_DENY, DEFAULT_NUMBER, &image), 0);
	assert_in_range(image.n_bytes, sizeof(struct sl_classifier), sizeof(*padded));
	memcpy(padded, image.bytes, image.n_bytes);
	free(image.bytes);
	return padded;
}

static void walk_answers_as_a_scan(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 63, 64, 65, 500, 4096 };
	static const uint8_t families[] = { AF_INET, AF_INET6 };

	(void)state;
	for (int style = 0; style < LAB_RULE_STYLES; style++)
		for (size_t f = 0; f < 2; f++)
			for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
				const uint32_t n = sizes[s], flows = n > 1000 ? FLOWS / 20 : FLOWS;
				struct sl_classifier_large *image;
				uint64_t random = 3;

				lab_rules_make(style, families[f], n, 99 + n, rules);
				image = image_of(rules, n, families[f]);
				for (uint32_t i = 0; i < flows; i++) {
					const struct sl_rule *want;
					struct sl_flow flow;

					lab_rules_flow(rules, n, families[f], &random, &flow);
					want = sl_rules_first(rules, n, families[f], &flow);
					sl_class_walk(&image->c, SL_CLASSIFIER_LARGE_WORDS, &flow);
					assert_int_equal(flow.number,
							 want ? want->number : DEFAULT_NUMBER);
					assert_int_equal(flow.action,
							 want ? want->action : SL_FILTER_DENY);
				}
				free(image);
			}
}

/* The ends of prefixes where 64-bit words and the whole space end, and the addresses beside them.
 */
static void ends_of_prefixes_are_exact(void **state)
{
	static const char *const prefixes[] = {
		"::/0",
		"8000::/1",
		"ffff:ffff:ffff:ffff::/64",
		"ffff::/16",
		"2001:db8::/64",
		"2001:db8::/65",
		"2001:db8:0:0:8000::/65",
		"2001:db8::ffff:ffff:ffff:ffff/128",
		"2001:db8:0:1::/128",
		"::/128",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
		"2001:db8::/32",
	};
	const uint32_t n = sizeof(prefixes) / sizeof(prefixes[0]);
	struct sl_classifier_large *image;

	(void)state;
	memset(rules, 0, n * sizeof(*rules));
	for (uint32_t i = 0; i < n; i++) { /* the longest first */
		rules[i].number = i;
		assert_int_equal(
			sl_prefix_parse(prefixes[n - 1 - i], &rules[i].prefix[SL_SIDE_DESTINATION]),
			0);
	}
	image = image_of(rules, n, AF_INET6);
	for (uint32_t i = 0; i < n; i++) {
		const struct sl_prefix *prefix = &rules[i].prefix[SL_SIDE_DESTINATION];
		unsigned __int128 first, last;
		__u64 word[2];

		sl_flow_address(AF_INET6, prefix->addr, word);
		first = (unsigned __int128)word[0] << 64 | word[1];
		last = prefix->len == 128 ? first : first | ~(unsigned __int128)0 >> prefix->len;
		for (int beside = 0; beside < 4; beside++) {
			unsigned __int128 at = beside == 0   ? first
					       : beside == 1 ? last
					       : beside == 2 ? first - 1
							     : last + 1;
			struct sl_flow flow = { .address[SL_SIDE_DESTINATION] = {
							(uint64_t)(at >> 64), (uint64_t)at } };
			const struct sl_rule *want = sl_rules_first(rules, n, AF_INET6, &flow);

			sl_class_walk(&image->c, SL_CLASSIFIER_LARGE_WORDS, &flow);
			assert_int_equal(flow.number, want ? want->number : DEFAULT_NUMBER);
		}
	}
	free(image);
}

/*
 * Any 64 rules of a list are auxiliary: those of them that match are all found, and the others
 * decide as if they were alone.
 */
static void auxiliary_rules_are_found_all(void **state)
{
	static const uint32_t sizes[] = { 1, 64, 65, 128, 500, 4096 };
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	uint64_t found_sum = 0;

	(void)state;
	for (int style = 0; style < LAB_RULE_STYLES; style++)
		for (size_t f = 0; f < 2; f++)
			for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
				const uint32_t n = sizes[s], flows = n > 1000 ? FLOWS / 20 : FLOWS;
				const uint32_t every =
					(n + SL_AUXILIARY_MAX - 1) / SL_AUXILIARY_MAX;
				struct sl_classifier_large *image;
				uint64_t random = 4;

				lab_rules_make(style, families[f], n, 7 + n, rules);
				for (uint32_t i = 0; i < n; i++) {
					rules[i].number = i;
					rules[i].sample = i + 1;
					if (i % every == 0)
						rules[i].action = SL_FILTER_COUNT;
				}
				image = image_of(rules, n, families[f]);
				for (uint32_t i = 0; i < flows; i++) {
					const struct sl_rule *want;
					struct sl_flow flow;
					uint32_t at = image->c.rules, matching = 0;

					lab_rules_flow(rules, n, families[f], &random, &flow);
					want = sl_rules_first(rules, n, families[f], &flow);
					sl_class_walk(&image->c, SL_CLASSIFIER_LARGE_WORDS, &flow);
					assert_int_equal(flow.number,
							 want ? want->number : DEFAULT_NUMBER);
					assert_int_equal(flow.sample, want ? want->sample : 0);
					for (uint32_t j = 0; j < n; j += every)
						matching += sl_rule_matches(&rules[j], families[f],
									    &flow);
					assert_int_equal(__builtin_popcountll(flow.auxiliary),
							 matching);
					for (; flow.auxiliary; at += 4, flow.auxiliary >>= 1) {
						uint32_t rule = sl_pool32(&image->c,
									  SL_CLASSIFIER_LARGE_WORDS,
									  at + 1);

						if (!(flow.auxiliary & 1))
							continue;
						assert_int_equal(rule % every, 0);
						assert_true(sl_rule_matches(&rules[rule],
									    families[f], &flow));
						found_sum++;
					}
				}
				free(image);
			}
	assert_true(found_sum > 10000);
}

static void more_rules_than_a_list_may_have_are_refused(void **state)
{
	struct sl_image image;

	(void)state;
	memset(rules, 0, sizeof(rules));
	assert_int_equal(sl_compile(rules, SL_RULES_MAX + 1, AF_INET, 0, 0, &image), -E2BIG);
	assert_null(image.bytes);
	/* rules of the other family do not count */
	rules[0].family = AF_INET6;
	assert_int_equal(sl_compile(rules, SL_RULES_MAX + 1, AF_INET, 0, 0, &image), 0);
	free(image.bytes);
	/* auxiliary rules have 64 places, used or not */
	rules[0].family = 0;
	rules[0].action = SL_FILTER_COUNT;
	assert_int_equal(
		sl_compile(rules, SL_RULES_MAX - SL_AUXILIARY_MAX + 2, AF_INET, 0, 0, &image),
		-E2BIG);
	assert_int_equal(
		sl_compile(rules, SL_RULES_MAX - SL_AUXILIARY_MAX + 1, AF_INET, 0, 0, &image), 0);
	free(image.bytes);
	for (uint32_t i = 0; i <= SL_AUXILIARY_MAX; i++)
		rules[i].action = SL_FILTER_COUNT;
	assert_int_equal(sl_compile(rules, SL_AUXILIARY_MAX + 1, AF_INET, 0, 0, &image), -E2BIG);
	assert_int_equal(sl_compile(rules, SL_AUXILIARY_MAX, AF_INET, 0, 0, &image), 0);
	free(image.bytes);
}

/*
 * Sixteen ranges of flow labels a rule, in each of sixteen blocks in another order: so nearly every
 * end of a range makes a class, more than 16 bits can number.
 */
static void image_that_is_too_large_is_refused_with_its_size(void **state)
{
	struct sl_image image;

	(void)state;
	memset(rules, 0, sizeof(rules));
	for (uint32_t i = 0; i < SL_RULES_MAX; i++) {
		struct sl_ranges *labels = &rules[i].field[SL_FIELD_FLOW_LABEL];

		for (; labels->n < SL_RANGES_MAX; labels->n++) {
			uint32_t place = i * (2 * labels->n + 1) % SL_RULES_MAX;
			uint32_t low = labels->n * 65536 + place * 8;

			labels->range[labels->n] = (struct sl_range){ low, low + 4000 };
		}
	}
	assert_int_equal(sl_compile(rules, SL_RULES_MAX, AF_INET6, 0, 0, &image), -ENOSPC);
	assert_null(image.bytes);
	assert_true(image.n_bytes > sizeof(struct sl_classifier_large));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walk_answers_as_a_scan),
		cmocka_unit_test(ends_of_prefixes_are_exact),
		cmocka_unit_test(auxiliary_rules_are_found_all),
		cmocka_unit_test(more_rules_than_a_list_may_have_are_refused),
		cmocka_unit_test(image_that_is_too_large_is_refused_with_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
