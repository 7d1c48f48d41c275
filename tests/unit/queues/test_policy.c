/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of policies, and how one is chosen and configured: see queues/fq.h. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "queues/fq.h"

static const struct fq_shape shape = {
	.queues = 16,
	.limit_bytes = 150000,
	.limit_frames = 100,
	.frame_max_bytes = 1514,
	.seed = 1,
	.rate_Bps = 125000000,
};

static void every_listed_policy_passes_the_check(void **state)
{
	uint32_t numbers = 0;

	(void)state;
	for (const struct fq_ops *const *ops = fq_policies; *ops; ops++) {
		assert_int_equal(fq_ops_check(*ops), 0);
		assert_ptr_equal(fq_lookup((*ops)->name), *ops);
		assert_int_equal(numbers >> (*ops)->policy & 1, 0);
		numbers |= UINT32_C(1) << (*ops)->policy;
	}
	assert_int_equal(numbers, (UINT32_C(1) << FQ_N_POLICIES) - 1);
	assert_null(fq_lookup("no such"));
	assert_null(fq_lookup(""));
}

static void every_policy_has_the_number_and_name_of_its_line_in_the_list(void **state)
{
	(void)state;
#define CHECK(id, name_)                    \
	assert_non_null(fq_lookup(#name_)); \
	assert_int_equal(fq_lookup(#name_)->policy, FQ_##id);
	FQ_POLICIES(CHECK)
#undef CHECK
}

static struct fq_victim some_victim(struct fq_port *port)
{
	(void)port;
	return (struct fq_victim){ .queue = 0, .frames = 1 };
}

static void a_table_that_is_not_whole_is_refused(void **state)
{
	static const struct fq_param good_params[] = { { "a", "b", 1, 0, 4, "c" },
						       { "d", "b", 1, 0, 4, "c" } };
	static const struct fq_param bad_default[] = { { "a", "b", 5, 0, 4, "c" } };
	static const struct fq_param negative[] = { { "a", "b", 0, -1, 4, "c" } };
	static const struct fq_param nameless[] = { { NULL, "b", 1, 0, 4, "c" } };
	static const struct fq_param twice[] = { { "a", "b", 1, 0, 4, "c" },
						 { "a", "b", 1, 0, 4, "c" } };
	struct fq_ops ops;

	(void)state;
	assert_int_equal(fq_ops_check(NULL), -EINVAL);
#define REFUSED(change)                                        \
	do {                                                   \
		ops = fq_qsdrr_ops;                            \
		ops.victim = some_victim;                      \
		ops.params = good_params;                      \
		ops.n_params = 2;                              \
		assert_int_equal(fq_ops_check(&ops), 0);       \
		change;                                        \
		assert_int_equal(fq_ops_check(&ops), -EINVAL); \
	} while (0)
	REFUSED(ops.name = NULL);
	REFUSED(ops.name = "");
	REFUSED(ops.name = "sixteen-letters-");
	REFUSED(ops.policy = FQ_N_POLICIES);
	REFUSED(ops.n_ranks = FQ_RANKS_MAX + 1);
	REFUSED(ops.changed = NULL);
	REFUSED(ops.n_params = FQ_PARAMS_MAX + 1);
	REFUSED(ops.params = NULL);
	REFUSED((ops.params = bad_default, ops.n_params = 1));
	REFUSED((ops.params = negative, ops.n_params = 1));
	REFUSED((ops.params = nameless, ops.n_params = 1));
	REFUSED(ops.params = twice);
#undef REFUSED
}

static void a_shape_out_of_range_is_refused(void **state)
{
	struct fq_config cfg;
	struct fq_shape s;

	(void)state;
	assert_int_equal(fq_config_init(&cfg, "no such", &shape), -ENOENT);
#define CHECK(change, result)                                               \
	do {                                                                \
		s = shape;                                                  \
		change;                                                     \
		assert_int_equal(fq_config_init(&cfg, "tail", &s), result); \
	} while (0)
	CHECK(s.queues = 0, -EINVAL);
	CHECK(s.queues = FQ_QUEUES_MAX, 0);
	CHECK(s.queues = FQ_QUEUES_MAX + 1, -EINVAL);
	CHECK(s.reserved = 15, 0);
	CHECK(s.reserved = 16, -EINVAL);
	CHECK(s.frame_max_bytes = 60, 0);
	CHECK(s.frame_max_bytes = 59, -EINVAL);
	CHECK((s.frame_max_bytes = 65535, s.limit_bytes = 65535), 0);
	CHECK((s.frame_max_bytes = 65536, s.limit_bytes = 65536), -EINVAL);
	CHECK(s.limit_bytes = 1514, 0);
	CHECK(s.limit_bytes = 1513, -EINVAL);
	CHECK(s.limit_bytes = FQ_BYTES_MAX, 0);
	CHECK(s.limit_bytes = FQ_BYTES_MAX + 1, -EINVAL);
	CHECK(s.limit_frames = 1, 0);
	CHECK(s.limit_frames = 0, -EINVAL);
	CHECK(s.limit_frames = FQ_FRAMES_MAX + 1, -EINVAL);
	CHECK(s.rate_Bps = 0, -EINVAL);
	CHECK(s.rate_Bps = FQ_RATE_MAX_BPS + 1, -EINVAL);
#undef CHECK
}

static void parameters_are_set_by_name_within_their_range(void **state)
{
	struct fq_config cfg;

	(void)state;
	for (const struct fq_ops *const *ops = fq_policies; *ops; ops++) {
		assert_int_equal(fq_config_init(&cfg, (*ops)->name, &shape), 0);
		assert_int_equal(fq_config_set(&cfg, "no such", 0), -ENOENT);
		for (unsigned int i = 0; i < (*ops)->n_params; i++) {
			const struct fq_param *p = &(*ops)->params[i];

			assert_int_equal(cfg.param[i], p->value);
			assert_int_equal(fq_config_set(&cfg, p->name, p->min - 1), -ERANGE);
			assert_int_equal(fq_config_set(&cfg, p->name, p->max + 1), -ERANGE);
			assert_int_equal(cfg.param[i], p->value);
			assert_int_equal(fq_config_set(&cfg, p->name, p->max), 0);
			assert_int_equal(cfg.param[i], p->max);
			assert_int_equal(fq_config_set(&cfg, p->name, p->value), 0);
		}
		assert_int_equal(fq_config_prepare(&cfg, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_listed_policy_passes_the_check),
		cmocka_unit_test(every_policy_has_the_number_and_name_of_its_line_in_the_list),
		cmocka_unit_test(a_table_that_is_not_whole_is_refused),
		cmocka_unit_test(a_shape_out_of_range_is_refused),
		cmocka_unit_test(parameters_are_set_by_name_within_their_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
