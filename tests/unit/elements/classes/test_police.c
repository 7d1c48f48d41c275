/* SPDX-License-Identifier: BSD-2-Clause */
/* Police against a token bucket in exact fractions: tokens in parts of 10^-9 bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "elements/classes/classes.h"

static uint32_t random_state = 3;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % below;
}

struct bucket {
	uint64_t rate_Bps, burst, tokens; /* tokens and burst in 10^-9 bytes */
	uint64_t at_ns;
};

/* Returns tokens that are there beyond what the frame needs; negative: too few. */
static int64_t bucket_take(struct bucket *b, uint64_t now_ns, uint32_t bytes)
{
	uint64_t more = (now_ns - b->at_ns) * b->rate_Bps, need = bytes * UINT64_C(1000000000);

	b->tokens = b->tokens + more > b->burst ? b->burst : b->tokens + more;
	b->at_ns = now_ns;
	return (int64_t)b->tokens - (int64_t)need;
}

static void police_is_a_token_bucket(void **state)
{
	static const uint64_t rates_Bps[] = { 125, 1000, 125000, 1250000, 999999937 };
	struct el_value values[2] = { 0 };
	uint8_t memory[64] __attribute__((aligned(16)));

	(void)state;
	assert_true(el_police.state_bytes <= sizeof(memory));
	for (size_t r = 0; r < sizeof(rates_Bps) / sizeof(rates_Bps[0]); r++) {
		struct bucket model = { .rate_Bps = rates_Bps[r] };
		/* beyond 2^48 ns, where a clock in smaller units would wrap */
		uint64_t now_ns = UINT64_C(1) << 49, burst = 1500 + draw(10000), passed = 0;
		uint32_t close = 0;

		memset(memory, 0, sizeof(memory));
		values[0].number = rates_Bps[r];
		values[1].number = burst;
		assert_null(el_police.init(memory, values));
		model.burst = model.tokens = burst * UINT64_C(1000000000);
		model.at_ns = now_ns;
		for (int i = 0; i < 20000; i++) {
			struct el_packet packet = { .len_bytes = 60 + draw(1455) };
			struct el_context ctx = { .now_ns = now_ns };
			int64_t beyond = bucket_take(&model, now_ns, packet.len_bytes);
			int output = el_police.process(memory, &ctx, &packet);
			/* what rounding to 2^-16 ns a byte, and to 2 ns, comes to in tokens */
			int64_t slack =
				(int64_t)(model.rate_Bps * 2 + burst * 2 * rates_Bps[r] / 65536) +
				1;

			if (beyond > slack)
				assert_int_equal(output, 0);
			else if (beyond < -slack)
				assert_int_equal(output, 1);
			else
				close++;
			if (output == 0) {
				model.tokens -=
					packet.len_bytes * UINT64_C(1000000000) < model.tokens
						? packet.len_bytes * UINT64_C(1000000000)
						: model.tokens;
				passed++;
			}
			now_ns +=
				draw(2 * (uint32_t)(800 * UINT64_C(1000000000) / rates_Bps[r] + 1));
		}
		assert_in_range(passed, 8000, 20000);
		assert_true(close < 400);
	}
}

static void rates_and_bursts_that_do_not_fit_are_refused(void **state)
{
	struct el_value values[2] = { { .number = 1 }, { .number = UINT64_C(1) << 32 } };
	uint8_t memory[64] __attribute__((aligned(16))) = { 0 };

	(void)state;
	assert_non_null(el_police.init(memory, values));
	values[0].number = UINT64_C(1) << 46;
	values[1].number = 1500;
	assert_non_null(el_police.init(memory, values));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(police_is_a_token_bucket),
		cmocka_unit_test(rates_and_bursts_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
