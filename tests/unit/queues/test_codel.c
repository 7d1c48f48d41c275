/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * codel against RFC 8289's pseudocode (section 5), written down here in floating point as the RFC
 * has it, with its loops. The round of RFC 8290 is in test_plain_model.c.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/flow_rig.h"

#define MS UINT64_C(1000000)

enum { LIMIT = 3000 };

struct rfc {
	struct {
		uint64_t handle;
		double arrival;
		int len;
	} frame[LIMIT];
	int first, n, bytes;
	double target, interval, maxpacket;
	double first_above_time, drop_next;
	uint32_t count, lastcount;
	int dropping;
	uint64_t drops[LIMIT];
	int n_drops;
};

static double control_law(const struct rfc *r, double t)
{
	return t + floor(r->interval / sqrt(r->count)); /* whole nanoseconds, as the port's */
}

struct dodequeue_result {
	int64_t handle; /* -1: none */
	int ok_to_drop;
};

static struct dodequeue_result dodequeue(struct rfc *r, double now)
{
	struct dodequeue_result result = { -1, 0 };
	double sojourn_time;

	if (r->n == 0) {
		r->first_above_time = 0;
		return result;
	}
	result.handle = (int64_t)r->frame[r->first].handle;
	sojourn_time = now - r->frame[r->first].arrival;
	r->bytes -= r->frame[r->first].len;
	r->first = (r->first + 1) % LIMIT;
	r->n--;
	if (sojourn_time < r->target || r->bytes <= r->maxpacket) {
		r->first_above_time = 0;
	} else if (r->first_above_time == 0) {
		r->first_above_time = now + r->interval;
	} else if (now >= r->first_above_time) {
		result.ok_to_drop = 1;
	}
	return result;
}

static int64_t rfc_dequeue(struct rfc *r, double now)
{
	struct dodequeue_result p = dodequeue(r, now);

	r->n_drops = 0;
	if (r->dropping) {
		if (!p.ok_to_drop)
			r->dropping = 0;
		while (now >= r->drop_next && r->dropping) {
			r->drops[r->n_drops++] = (uint64_t)p.handle;
			++r->count;
			p = dodequeue(r, now);
			if (!p.ok_to_drop)
				r->dropping = 0;
			else
				r->drop_next = control_law(r, r->drop_next);
		}
	} else if (p.ok_to_drop) {
		uint32_t delta;

		r->drops[r->n_drops++] = (uint64_t)p.handle;
		p = dodequeue(r, now);
		r->dropping = 1;
		delta = r->count - r->lastcount;
		r->count = 1;
		if (delta > 1 && now - r->drop_next < 16 * r->interval)
			r->count = delta;
		r->drop_next = control_law(r, now);
		r->lastcount = r->count;
	}
	return p.handle;
}

static void one_queue_does_what_the_pseudocode_of_rfc_8289_does(void **state)
{
	const struct fq_shape shape = flow_shape(1, LIMIT - 1);
	struct rfc *r = calloc(1, sizeof(*r));
	uint32_t highest_count = 0;
	uint64_t now = 1000 * MS, drops = 0;
	struct flow_rig rig;

	(void)state;
	srandom(13);
	*r = (struct rfc){ .target = 5e6, .interval = 100e6, .maxpacket = 1000 };
	flow_rig_open(&rig, "codel", &shape, NULL);
	/* Overload, drain and pauses; each round is a frame's time on the link, 1 ms. */
	for (int i = 0; i < 400000; i++) {
		const int load = i % 20000 < 9000 ? 11 : i % 20000 < 13000 ? 9 : 10;
		int64_t handle;

		now += MS + (uint64_t)random() % 1000;
		if (i % 40000 == 30000)
			now += (uint64_t)random() % (4000 * MS);
		for (int k = 0; k < 2 && r->n < LIMIT - 1; k++) {
			const uint32_t len = 500 + (uint32_t)random() % 501;

			if (random() % 20 >= load)
				continue;
			r->frame[(r->first + r->n) % LIMIT].arrival = (double)now;
			r->frame[(r->first + r->n) % LIMIT].len = (int)len;
			r->bytes += (int)len;
			r->frame[(r->first + r->n++) % LIMIT].handle = flow_put(&rig, 0, len, now);
		}
		handle = rfc_dequeue(r, (double)now);
		flow_rig_clear(&rig);
		assert_int_equal(flow_get(&rig, now), handle);
		assert_int_equal(rig.n_drops, r->n_drops);
		for (uint32_t k = 0; k < rig.n_drops; k++) {
			assert_int_equal(rig.drop[k].handle, r->drops[k]);
			assert_int_equal(rig.drop[k].reason, FQ_LATE);
		}
		drops += rig.n_drops;
		highest_count = r->count > highest_count ? r->count : highest_count;
	}
	assert_true(drops > 1000 && highest_count > 20);
	flow_rig_close(&rig);
	free(r);
}

/* RFC 8289, section 5: with a delay that stays high, drops come after 100 ms, and then by
 * 1/sqrt(n). */
static void a_standing_queue_is_signalled_after_the_interval_and_then_ever_sooner(void **state)
{
	static const double wanted_ms[] = { 100, 200, 200 + 100 / M_SQRT2,
					    200 + 100 / M_SQRT2 + 57.735026919 };
	const struct fq_shape shape = flow_shape(1, 2000);

	(void)state;
	for (int ect = 0; ect < 2; ect++) {
		struct flow_rig rig;
		int signals = 0;

		flow_rig_open(&rig, "codel", &shape, NULL);
		for (int i = 0; i < 1500; i++)
			if (ect)
				flow_put_ect(&rig, 0, 100, 0);
			else
				flow_put(&rig, 0, 100, 0);
		/* The delay is above target from the beginning; a frame leaves every 0.5 ms. */
		for (uint64_t t = 10 * MS; t <= 400 * MS; t += MS / 2) {
			const double since_ms = (double)(t - 10 * MS) / 1e6;
			struct fq_frame out;
			int is_signal;

			flow_rig_clear(&rig);
			assert_int_equal(fq_dequeue(rig.port, t, &out), 0);
			is_signal = ect ? out.ce : rig.n_drops == 1;
			assert_int_equal(rig.n_drops, !ect && is_signal);
			if (!is_signal)
				continue;
			if (signals < 4)
				assert_true(since_ms >= wanted_ms[signals] &&
					    since_ms < wanted_ms[signals] + 0.5);
			signals++;
		}
		assert_int_equal(signals,
				 5); /* the last after 378 ms; the next would be after 423 */
		flow_rig_close(&rig);
	}
}

static void each_queue_has_a_state_of_its_own(void **state)
{
	const struct fq_shape shape = flow_shape(2, 2000);
	uint64_t late[2] = { 0 };
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "codel", &shape, NULL);
	for (int i = 0; i < 1000; i++)
		flow_put(&rig, 0, 1000, 0);
	for (uint64_t t = 10 * MS; t <= 400 * MS; t += MS) {
		flow_put(&rig, 1, 1000, t);
		for (int k = 0; k < 2; k++) {
			flow_rig_clear(&rig);
			flow_get(&rig, t);
			for (uint32_t i = 0; i < rig.n_drops; i++)
				late[rig.drop[i].queue]++;
		}
	}
	assert_int_equal(late[1], 0);
	assert_true(late[0] >= 4);
	flow_rig_close(&rig);
}

/* RFC 8289, section 5: not if what stays behind is no more than a largest frame. */
static void one_waiting_frame_is_never_signalled_however_long_it_waits(void **state)
{
	const struct fq_shape shape = flow_shape(1, 10);

	(void)state;
	for (uint32_t len = 999; len <= 1000; len++) {
		struct flow_rig rig;

		flow_rig_open(&rig, "codel", &shape, NULL);
		flow_put(&rig, 0, len, 0);
		for (uint64_t t = 0; t < 3000 * MS; t += 50 * MS) {
			flow_put(&rig, 0, len, t);
			assert_true(flow_get(&rig, t) >= 0);
		}
		flow_expect_no_drop(&rig);
		flow_rig_close(&rig);
	}
}

/* RFC 8290, section 4.1. */
static void a_full_buffer_takes_half_of_the_longest_queue_and_at_most_64_frames(void **state)
{
	static const struct {
		uint32_t longest, other, taken;
	} cases[] = { { 10, 4, 5 }, { 11, 3, 5 }, { 1, 1, 1 }, { 128, 5, 64 }, { 500, 9, 64 } };

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		const struct fq_shape shape = flow_shape(3, cases[c].longest + cases[c].other - 1);
		struct flow_rig rig;

		flow_rig_open(&rig, "codel", &shape, NULL);
		for (uint32_t i = 0; i < cases[c].longest; i++)
			flow_put(&rig, 1, 100, 0);
		flow_expect_no_drop(&rig);
		for (uint32_t i = 0; i < cases[c].other; i++)
			flow_put(&rig, 2, 100, 0);
		assert_int_equal(rig.n_drops, cases[c].taken);
		for (uint32_t i = 0; i < rig.n_drops && i < 64; i++)
			assert_true(rig.drop[i].queue == 1 && rig.drop[i].handle == i &&
				    rig.drop[i].reason == FQ_PUSHED);
		flow_rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_queue_does_what_the_pseudocode_of_rfc_8289_does),
		cmocka_unit_test(
			a_standing_queue_is_signalled_after_the_interval_and_then_ever_sooner),
		cmocka_unit_test(each_queue_has_a_state_of_its_own),
		cmocka_unit_test(one_waiting_frame_is_never_signalled_however_long_it_waits),
		cmocka_unit_test(
			a_full_buffer_takes_half_of_the_longest_queue_and_at_most_64_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
