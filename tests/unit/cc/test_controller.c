/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of controllers, and the rules that all controllers share: see cc/cc.h. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "cc/cc.h"

static const struct cc_port port = {
	.capacity_ups = 1000000,
	.line_ups = 2000000,
	.interval_ns = 1000000,
	.frame_bytes = 64,
	.units = CC_PACKETS,
	.sources = 4,
	.point = 7,
};

static void configure(struct cc_config *cfg, const char *name)
{
	const char *why;

	assert_int_equal(cc_config_init(cfg, name, &port), 0);
	assert_int_equal(cc_config_prepare(cfg, &why), 0);
}

static void every_listed_algorithm_passes_the_check(void **state)
{
	unsigned int numbers = 0;

	(void)state;
	for (const struct cc_ops *const *ops = cc_algorithms; *ops; ops++) {
		assert_int_equal(cc_ops_check(*ops), 0);
		assert_ptr_equal(cc_lookup((*ops)->name), *ops);
		assert_int_equal(numbers >> (*ops)->algorithm & 1, 0);
		numbers |= 1u << (*ops)->algorithm;
	}
	assert_null(cc_lookup("no such"));
	assert_null(cc_lookup(""));
}

static void every_algorithm_has_the_number_and_name_of_its_line_in_the_list(void **state)
{
	(void)state;
#define CHECK(number_, id, name_)                                     \
	assert_non_null(cc_lookup_number(number_));                   \
	assert_string_equal(cc_lookup_number(number_)->name, #name_); \
	assert_int_equal(cc_lookup(#name_)->algorithm, CC_##id);
	CC_ALGORITHMS(CHECK)
#undef CHECK
	assert_null(cc_lookup_number(0));
	assert_null(cc_lookup_number(255));
}

static void a_table_without_a_required_slot_is_refused(void **state)
{
	static const struct cc_param bad_default[] = { CC_COMMON_PARAM_TABLE,
						       { "x", "y", 5, 0, 4, "z" } };
	static const struct cc_param twice[] = { CC_COMMON_PARAM_TABLE,
						 { "floor_ppb", "y", 1, 0, 4, "z" } };
	const struct cc_ops *good = cc_lookup("price");
	struct cc_ops ops;

	(void)state;
	assert_int_equal(cc_ops_check(NULL), -EINVAL);
#define REFUSED(change)                                        \
	do {                                                   \
		ops = *good;                                   \
		assert_int_equal(cc_ops_check(&ops), 0);       \
		change;                                        \
		assert_int_equal(cc_ops_check(&ops), -EINVAL); \
	} while (0)
	REFUSED(ops.name = NULL);
	REFUSED(ops.name = "");
	REFUSED(ops.name = "sixteen-letters-");
	REFUSED(ops.algorithm = 0);
	REFUSED(ops.prepare = NULL);
	REFUSED(ops.egress_sample = NULL);
	REFUSED(ops.egress_feedback = NULL);
	REFUSED(ops.ingress_init = NULL);
	REFUSED(ops.ingress_tick = NULL);
	REFUSED(ops.ingress_feedback = NULL);
	REFUSED(ops.params = NULL);
	REFUSED(ops.n_params = CC_COMMON_PARAMS - 1);
	REFUSED(ops.n_params = CC_PARAMS_MAX + 1);
	REFUSED((ops.params = bad_default, ops.n_params = CC_COMMON_PARAMS + 1));
	REFUSED((ops.params = twice, ops.n_params = CC_COMMON_PARAMS + 1));
#undef REFUSED
	/* Without feedback the slots that handle it may be absent. */
	ops = *good;
	ops.needs_feedback = false;
	ops.egress_sample = NULL;
	ops.egress_feedback = NULL;
	ops.ingress_feedback = NULL;
	assert_int_equal(cc_ops_check(&ops), 0);
}

static void a_port_outside_its_ranges_is_refused(void **state)
{
	struct cc_config cfg;
	struct cc_port p;

	(void)state;
	assert_int_equal(cc_config_init(&cfg, "no such", &port), -ENOENT);
#define REFUSED(change)                                                       \
	do {                                                                  \
		p = port;                                                     \
		assert_int_equal(cc_config_init(&cfg, "price", &p), 0);       \
		change;                                                       \
		assert_int_equal(cc_config_init(&cfg, "price", &p), -EINVAL); \
	} while (0)
	REFUSED(p.capacity_ups = 0);
	REFUSED(p.capacity_ups = CC_RATE_MAX + 1);
	REFUSED(p.line_ups = 0);
	REFUSED(p.line_ups = CC_RATE_MAX + 1);
	REFUSED(p.interval_ns = CC_INTERVAL_MIN_NS - 1);
	REFUSED(p.interval_ns = CC_INTERVAL_MAX_NS + 1);
	REFUSED(p.frame_bytes = 59);
	REFUSED(p.frame_bytes = 65536);
	REFUSED(p.units = 2);
	REFUSED(p.reserved = 1);
	REFUSED(p.sources = 0);
	REFUSED(p.sources = CC_SOURCES_MAX + 1);
#undef REFUSED
}

static void parameters_are_set_by_name_and_range(void **state)
{
	struct cc_config cfg;

	(void)state;
	configure(&cfg, "price");
	assert_int_equal(cfg.param[CC_FLOOR_PPB], 1000000);
	assert_int_equal(cc_config_set(&cfg, "floor_ppb", 5), 0);
	assert_int_equal(cfg.param[CC_FLOOR_PPB], 5);
	assert_int_equal(cc_config_set(&cfg, "floor_ppb", 0), -ERANGE);
	assert_int_equal(cc_config_set(&cfg, "floor_ppb", CC_ONE_PPB + 1), -ERANGE);
	assert_int_equal(cfg.param[CC_FLOOR_PPB], 5);
	assert_int_equal(cc_config_set(&cfg, "floor", 5), -ENOENT);
}

/* The least rates of 250 sources with four VOQs each, and of 16 with a floor of their whole share.
 */
static void floors_of_all_voqs_use_a_quarter_of_the_port_at_most(void **state)
{
	static const struct {
		uint16_t sources;
		int64_t floor_ppb;
		uint64_t floor_q16; /* of a port of 1000000 units/s */
	} cases[] = {
		{ 4, 1000000, UINT64_C(1000) << 16 },
		{ 62, 1000000, UINT64_C(1000) << 16 },
		{ 63, 1000000, (UINT64_C(1000000) << 16) / 1008 },
		{ 250, 1000000, UINT64_C(250) << 16 },
		{ 250, 100000, UINT64_C(100) << 16 },
		{ 16, 100000000, (UINT64_C(1000000) << 16) / 256 },
	};
	struct cc_config cfg;
	struct cc_port p = port;

	(void)state;
	p.capacity_ups = 1000000;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		p.sources = cases[i].sources;
		assert_int_equal(cc_config_init(&cfg, "fixed", &p), 0);
		assert_int_equal(cc_config_set(&cfg, "floor_ppb", cases[i].floor_ppb), 0);
		assert_int_equal(cc_config_prepare(&cfg, NULL), 0);
		assert_int_equal(cfg.floor_q16, cases[i].floor_q16);
		assert_true(cfg.floor_q16 * CC_CLASSES * p.sources <= (p.capacity_ups << 16) / 4);
	}
}

static void frame_units_follow_the_port(void **state)
{
	struct cc_port p = port;

	(void)state;
	assert_int_equal(cc_frame_units(&p), 1);
	p.units = CC_BYTES;
	assert_int_equal(cc_frame_units(&p), 64);
}

static void records_of_another_algorithm_are_refused(void **state)
{
	struct cc_config price, aimd;
	struct cc_feedback fb = { .capacity_ups = 1, .algorithm = CC_AIMD, .signal = 1 };
	struct cc_ingress in, before;

	(void)state;
	configure(&price, "price");
	configure(&aimd, "aimd");
	cc_ingress_init(&in, &price, 1);
	before = in;
	assert_int_equal(cc_ingress_feedback(&in, &price, &fb), -EPROTO);
	assert_memory_equal(&in, &before, sizeof(in));
	cc_ingress_switch(&in, &aimd);
	assert_int_equal(cc_ingress_rate_ups(&in), 250000); /* the switch kept the rate */
	assert_int_equal(cc_ingress_feedback(&in, &aimd, &fb), 0);
}

/* What the former controller did not hear is no silence of the new one. */
static void switch_after_a_silence_keeps_the_rate(void **state)
{
	const struct cc_usage idle = { .elapsed_ns = 1000000, .backlogged = true };
	struct cc_config price, aimd;
	struct cc_ingress in;
	uint64_t rate_ups;

	(void)state;
	configure(&price, "price");
	configure(&aimd, "aimd");
	cc_ingress_init(&in, &price, 1);
	for (int i = 0; i < 20; i++)
		cc_ingress_tick(&in, &price, &idle);
	rate_ups = cc_ingress_rate_ups(&in);
	assert_in_range(rate_ups, 1, 249999); /* it decays */
	cc_ingress_switch(&in, &aimd);
	for (int i = 0; i < 16; i++)
		cc_ingress_tick(&in, &aimd, &idle);
	assert_int_equal(cc_ingress_rate_ups(&in), rate_ups);
}

static void old_and_duplicate_records_are_refused(void **state)
{
	const struct cc_usage idle = { .elapsed_ns = 1000000 };
	struct cc_feedback fb = { .capacity_ups = 1000, .algorithm = CC_PRICE, .share = 65536 };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg, "price");
	cc_ingress_init(&in, &cfg, 1);
	fb.seq = UINT32_MAX - 1;
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), -ESTALE);
	fb.seq = UINT32_MAX;
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
	fb.seq = 3; /* wrapped */
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
	fb.seq = 2;
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), -ESTALE);
	/* A restarted egress is known by its epoch: the caller says so. */
	cc_ingress_forget(&in);
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
	/* After a silence of 16 T any number is taken. */
	fb.seq = 1;
	for (int i = 0; i < 16; i++)
		cc_ingress_tick(&in, &cfg, &idle);
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), -ESTALE);
	cc_ingress_tick(&in, &cfg, &idle);
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
}

static void without_feedback_the_rate_decays_to_the_floor_and_comes_back(void **state)
{
	const struct cc_usage busy = { .elapsed_ns = 1000000, .backlogged = true };
	struct cc_config cfg;

	(void)state;
	for (const struct cc_ops *const *ops = cc_algorithms; *ops; ops++) {
		struct cc_source source = { .id = 0, .weight = 1, .arrived_units = 1 };
		struct cc_sample sample = {
			.capacity_ups = port.capacity_ups,
			.elapsed_ns = port.interval_ns,
			.departed_units = 1,
			.last_source = 0,
			.n_sources = 1,
			.sources = &source,
			.timer = true,
		};
		struct cc_feedback fb;
		struct cc_ingress in;
		struct cc_egress e;

		if (!(*ops)->needs_feedback)
			continue;
		configure(&cfg, (*ops)->name);
		cc_ingress_init(&in, &cfg, 1);
		in.rate_q16 = UINT64_C(800000) << 16;
		in.age_ns = 16 * UINT64_C(1000000);
		cc_ingress_tick(&in, &cfg, &busy);
		assert_int_equal(cc_ingress_rate_ups(&in), 700000);
		cc_ingress_tick(&in, &cfg, &busy);
		assert_int_equal(cc_ingress_rate_ups(&in), 612500);
		for (int i = 0; i < 100; i++)
			cc_ingress_tick(&in, &cfg, &busy);
		assert_int_equal(cc_ingress_rate_ups(&in), 1000); /* floor: 0.1 % */
		/* An idle port: within 30000 intervals the source has its share again. */
		cc_egress_init(&e, &cfg);
		for (int i = 0; i < 30000 && cc_ingress_rate_ups(&in) < 250000; i++) {
			struct cc_usage usage = busy;

			source.arrived_units = (uint32_t)(cc_ingress_rate_ups(&in) / 1000);
			source.waiting_units = 1000;
			sample.departed_units = source.arrived_units;
			cc_egress_sample(&e, &cfg, &sample);
			if (cc_egress_feedback(&e, &cfg, &sample, &source, &fb))
				assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
			usage.sent_units = source.arrived_units;
			cc_ingress_sent(&in, &cfg, usage.sent_units);
			cc_ingress_tick(&in, &cfg, &usage);
		}
		if (cc_ingress_rate_ups(&in) < 250000)
			fail_msg("%s stays at %llu", cfg.ops->name,
				 (unsigned long long)cc_ingress_rate_ups(&in));
	}
}

/* libcc needs only memory and string functions, and its own tables. */
static void objects_have_no_foreign_symbols(void **state)
{
	static const char *const allowed[] = { "memset", "memcpy", "memmove",
					       "memcmp", "strcmp", "strlen" };
	FILE *nm = popen("nm -u -A build/obj/libcc.a 2>&1", "r");
	char line[512];
	unsigned int lines = 0;

	(void)state;
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		const char *symbol = strstr(line, " U ");
		bool ok;

		if (!symbol) /* a heading or, in an archive of nothing, an error */
			fail_msg("nm: %s", line);
		symbol += 3;
		ok = strncmp(symbol, "cc_", 3) == 0;
		for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
			ok |= strcspn(symbol, "\n") == strlen(allowed[i]) &&
			      strncmp(symbol, allowed[i], strlen(allowed[i])) == 0;
		if (!ok)
			fail_msg("foreign symbol: %s", line);
		lines++;
	}
	assert_int_equal(pclose(nm), 0);
	assert_true(lines > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_listed_algorithm_passes_the_check),
		cmocka_unit_test(every_algorithm_has_the_number_and_name_of_its_line_in_the_list),
		cmocka_unit_test(a_table_without_a_required_slot_is_refused),
		cmocka_unit_test(a_port_outside_its_ranges_is_refused),
		cmocka_unit_test(parameters_are_set_by_name_and_range),
		cmocka_unit_test(floors_of_all_voqs_use_a_quarter_of_the_port_at_most),
		cmocka_unit_test(frame_units_follow_the_port),
		cmocka_unit_test(records_of_another_algorithm_are_refused),
		cmocka_unit_test(switch_after_a_silence_keeps_the_rate),
		cmocka_unit_test(old_and_duplicate_records_are_refused),
		cmocka_unit_test(without_feedback_the_rate_decays_to_the_floor_and_comes_back),
		cmocka_unit_test(objects_have_no_foreign_symbols),
	};

	return cmocka_run_group_tests_name("controller", tests, NULL, NULL);
}
