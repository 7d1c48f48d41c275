/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The policer's colours against the metering of RFC 2697 section 3 and RFC 2698 section 3, done as
 * the RFCs say it: tokens come one by one, so many times a second.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>

#include "bpf/lib/policer_colour.bpf.h"

#define NSEC 1000000000ULL

/* A rate is a whole number of bytes in a microsecond, and times are whole microseconds. */
struct meter {
	bool two_rates;
	uint64_t rate[2], burst[2], tokens[2]; /* committed; excess or peak */
};

static void one_token(uint64_t *tokens, uint64_t burst)
{
	if (*tokens < burst)
		++*tokens;
}

static void meter_tick(struct meter *m)
{
	for (uint64_t i = 0; i < m->rate[0]; i++) {
		if (m->two_rates || m->tokens[0] < m->burst[0])
			one_token(&m->tokens[0], m->burst[0]);
		else
			one_token(&m->tokens[1], m->burst[1]);
	}
	for (uint64_t i = 0; m->two_rates && i < m->rate[1]; i++)
		one_token(&m->tokens[1], m->burst[1]);
}

static enum sl_colour meter_colour(struct meter *m, uint64_t bytes)
{
	if (m->two_rates) {
		if (m->tokens[1] < bytes)
			return SL_COLOUR_RED;
		m->tokens[1] -= bytes;
		if (m->tokens[0] < bytes)
			return SL_COLOUR_YELLOW;
		m->tokens[0] -= bytes;
		return SL_COLOUR_GREEN;
	}
	for (int i = 0; i < 2; i++)
		if (m->tokens[i] >= bytes) {
			m->tokens[i] -= bytes;
			return i ? SL_COLOUR_YELLOW : SL_COLOUR_GREEN;
		}
	return SL_COLOUR_RED;
}

static struct sl_policer policer_of(const struct meter *m)
{
	struct sl_policer p = { .two_rates = m->two_rates };

	for (int i = 0; i < 2; i++) {
		p.rate_Bps[i] = m->rate[i] * 1000000;
		p.tokens[i] = p.burst[i] = m->burst[i] * SL_POLICER_SCALE;
		if (p.rate_Bps[i])
			p.full_ns[i] = p.burst[i] / p.rate_Bps[i];
	}
	if (!m->two_rates)
		p.full_ns[0] = (m->burst[0] + m->burst[1]) * SL_POLICER_SCALE / p.rate_Bps[0];
	return p;
}

static uint32_t random_below(uint64_t *state, uint32_t n)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33) % n;
}

/* Packets come in bursts with pauses, some longer than the buckets take to fill. */
static void check(struct meter m, uint64_t seed)
{
	struct sl_policer p = policer_of(&m);
	uint64_t now_us = 0, seen[SL_COLOURS] = { 0 }, bytes_seen[SL_COLOURS] = { 0 };

	m.tokens[0] = m.burst[0];
	m.tokens[1] = m.burst[1];
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t bytes = 20 + random_below(&seed, 1481), pause = 0;
		enum sl_colour want, got;

		if (random_below(&seed, 3) == 0)
			pause = random_below(&seed, random_below(&seed, 100) ? 1500 : 20000);
		for (now_us += pause; pause; pause--)
			meter_tick(&m);
		want = meter_colour(&m, bytes);
		got = sl_policer_colour(&p, now_us * 1000, bytes);
		if (got != want)
			fail_msg("packet %u of %u bytes at %llu us: colour %d, and %d by the RFC",
				 i, bytes, (unsigned long long)now_us, got, want);
		seen[want]++;
		bytes_seen[want] += bytes;
	}
	for (int i = 0; i < SL_COLOURS; i++) {
		assert_int_equal(p.packets[i], seen[i]);
		assert_int_equal(p.bytes[i], bytes_seen[i]);
	}
	/* the packets try all colours that there can be */
	assert_true(seen[SL_COLOUR_GREEN] > 500 && seen[SL_COLOUR_RED] > 500);
	assert_int_equal(seen[SL_COLOUR_YELLOW] > 20, m.burst[1] > 0);
}

static void colours_of_one_rate(void **state)
{
	(void)state;
	check((struct meter){ .rate = { 1 }, .burst = { 3000, 6000 } }, 1);
	check((struct meter){ .rate = { 2 }, .burst = { 1500, 15000 } }, 2);
	check((struct meter){ .rate = { 3 }, .burst = { 20000, 0 } }, 3);
}

static void colours_of_two_rates(void **state)
{
	(void)state;
	check((struct meter){ .two_rates = true, .rate = { 1, 2 }, .burst = { 3000, 4000 } }, 4);
	check((struct meter){ .two_rates = true, .rate = { 1, 3 }, .burst = { 1500, 30000 } }, 5);
}

/* A processor whose clock is behind neither fills the buckets again nor empties them. */
static void clock_that_is_behind_fills_nothing(void **state)
{
	const struct meter m = { .rate = { 1 }, .burst = { 1000, 0 } };
	struct sl_policer p = policer_of(&m);

	(void)state;
	assert_int_equal(sl_policer_colour(&p, NSEC, 1000), SL_COLOUR_GREEN);
	assert_int_equal(sl_policer_colour(&p, NSEC - 5000, 1), SL_COLOUR_RED);
	assert_int_equal(sl_policer_colour(&p, NSEC + 1000, 2), SL_COLOUR_RED);
	assert_int_equal(sl_policer_colour(&p, NSEC + 1000, 1), SL_COLOUR_GREEN);
}

/* The largest bucket at the highest rate, after the longest time, neither overflows nor leaks. */
static void extremes_do_not_overflow(void **state)
{
	const uint64_t rate_Bps = 125000000000000ULL; /* 1,000,000 gbit */
	struct sl_policer p = { .rate_Bps = { rate_Bps },
				.burst = { SL_POLICER_BURST_MAX * SL_POLICER_SCALE,
					   SL_POLICER_BURST_MAX * SL_POLICER_SCALE } };

	(void)state;
	p.full_ns[0] = (p.burst[0] + p.burst[1]) / rate_Bps;
	for (uint64_t now_ns = 1; now_ns < UINT64_MAX / 4; now_ns *= 3) {
		assert_int_equal(sl_policer_colour(&p, now_ns, 20), SL_COLOUR_GREEN);
		assert_true(p.tokens[0] <= p.burst[0] && p.tokens[1] <= p.burst[1]);
	}
	assert_int_equal(p.tokens[1], p.burst[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(colours_of_one_rate),
		cmocka_unit_test(colours_of_two_rates),
		cmocka_unit_test(clock_that_is_behind_fills_nothing),
		cmocka_unit_test(extremes_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
