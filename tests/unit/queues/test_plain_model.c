/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The port against a plain model of it: arrays, linear scans, and the text of the sources. Deficit
 * round robin as its authors write it, with a quantum when the turn comes; the two lists of
 * RFC 8290, section 4.2; the victims as the sources describe them. Random traffic must leave, and
 * be discarded, in exactly the same order.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>
#include <stdlib.h>

#include "tests/lib/flow_rig.h"

enum { QUEUES = 24, FRAMES = 64, EVENTS = 150000 };

enum kind { TAIL, LONGEST, QSDRR, QSDRR_LONGEST, SPARSE };

struct model {
	enum kind kind;
	int queues, limit_frames, limit_bytes, frame_max, quantum;
	struct {
		int len;
		uint64_t handle;
	} frame[QUEUES][FRAMES + 1]; /* [q][0] is the head */
	int n[QUEUES], weight[QUEUES], deficit[QUEUES];
	int round[QUEUES + 1]; /* active queues in order of their turns */
	int n_round;
	int in_turn;	       /* the first of the round has had its quantum */
	int fresh[QUEUES + 1]; /* RFC 8290: the new queues; `round` has the old ones */
	int n_fresh;
	int is_listed[QUEUES];	/* RFC 8290: in one of the two */
	int victim;		/* -1: none */
	uint64_t drops[FRAMES]; /* of the last arrival */
	int n_drops;
};

static int bytes_of(const struct model *m, int q)
{
	int bytes = 0;

	for (int i = 0; i < m->n[q]; i++)
		bytes += m->frame[q][i].len;
	return bytes;
}

static void totals(const struct model *m, int *frames, int *bytes)
{
	*frames = *bytes = 0;
	for (int q = 0; q < m->queues; q++) {
		*frames += m->n[q];
		*bytes += bytes_of(m, q);
	}
}

static int longest(const struct model *m)
{
	int best = 0;

	for (int q = 1; q < m->queues; q++)
		if (bytes_of(m, q) > bytes_of(m, best))
			best = q;
	return best;
}

static int is_smallest(const struct model *m, int victim)
{
	for (int q = 0; q < m->queues; q++)
		if (m->n[q] > 0 && bytes_of(m, q) < bytes_of(m, victim))
			return 0;
	return 1;
}

static void leave_round(struct model *m, int q)
{
	int at = 0;

	while (m->round[at] != q)
		at++;
	if (at == 0)
		m->in_turn = 0;
	memmove(&m->round[at], &m->round[at + 1], (size_t)(--m->n_round - at) * sizeof(int));
	m->deficit[q] = 0;
}

static uint64_t pop(struct model *m, int q)
{
	const uint64_t handle = m->frame[q][0].handle;

	memmove(&m->frame[q][0], &m->frame[q][1], (size_t)--m->n[q] * sizeof(m->frame[q][0]));
	if (m->n[q] == 0 && m->kind != SPARSE)
		leave_round(m, q);
	return handle;
}

static void model_put(struct model *m, int q, int len, uint64_t handle)
{
	int frames, bytes;

	m->n_drops = 0;
	totals(m, &frames, &bytes);
	if (m->kind == TAIL && (frames + 1 > m->limit_frames || bytes + len > m->limit_bytes)) {
		m->drops[m->n_drops++] = handle;
		return;
	}
	m->frame[q][m->n[q]].len = len;
	m->frame[q][m->n[q]].handle = handle;
	if (m->kind == SPARSE) {
		m->n[q]++;
		if (!m->is_listed[q]) {
			m->fresh[m->n_fresh++] = q;
			m->deficit[q] = m->weight[q] * m->quantum;
		}
		m->is_listed[q] = 1;
	} else if (m->n[q]++ == 0) {
		m->round[m->n_round++] = q;
	}
	for (;;) {
		totals(m, &frames, &bytes);
		if (frames <= m->limit_frames && bytes <= m->limit_bytes)
			return;
		if (m->kind == SPARSE) { /* half of the longest queue, no more than 64 */
			const int victim = longest(m), half = m->n[victim] / 2;

			for (int i = 0; i < (half < 1 ? 1 : half > 64 ? 64 : half); i++)
				m->drops[m->n_drops++] = pop(m, victim);
			continue;
		}
		if (m->kind == LONGEST || m->victim < 0 || m->n[m->victim] == 0 ||
		    (m->kind == QSDRR && is_smallest(m, m->victim)) ||
		    (m->kind == QSDRR_LONGEST && bytes_of(m, longest(m)) > bytes_of(m, m->victim)))
			m->victim = longest(m);
		m->drops[m->n_drops++] = pop(m, m->victim);
	}
}

static int shift(int *list, int *n)
{
	const int first = list[0];

	memmove(&list[0], &list[1], (size_t)-- * n * sizeof(int));
	return first;
}

/* RFC 8290, section 4.2. */
static int64_t model_get_codel(struct model *m, int *queue)
{
	while (m->n_fresh > 0 || m->n_round > 0) {
		const int is_new = m->n_fresh > 0;
		const int q = is_new ? m->fresh[0] : m->round[0];

		if (m->deficit[q] <= 0) {
			m->deficit[q] += m->weight[q] * m->quantum;
			if (is_new)
				shift(m->fresh, &m->n_fresh);
			else
				shift(m->round, &m->n_round);
			m->round[m->n_round++] = q;
		} else if (m->n[q] > 0) {
			m->deficit[q] -= m->frame[q][0].len;
			*queue = q;
			return (int64_t)pop(m, q);
		} else if (is_new) {
			m->round[m->n_round++] = shift(m->fresh, &m->n_fresh);
		} else {
			m->is_listed[shift(m->round, &m->n_round)] = 0;
		}
	}
	return -1;
}

static int64_t model_get(struct model *m, int *queue)
{
	if (m->kind == SPARSE)
		return model_get_codel(m, queue);
	while (m->n_round > 0) {
		const int q = m->round[0];

		if (!m->in_turn) {
			m->deficit[q] += m->weight[q] * m->quantum;
			m->in_turn = 1;
		}
		if (m->frame[q][0].len <= m->deficit[q]) {
			m->deficit[q] -= m->frame[q][0].len;
			*queue = q;
			return (int64_t)pop(m, q);
		}
		memmove(&m->round[0], &m->round[1], (size_t)(m->n_round - 1) * sizeof(int));
		m->round[m->n_round - 1] = q;
		m->in_turn = 0;
	}
	return -1;
}

static void compare(struct flow_rig *rig, struct model *m)
{
	int event = 0, load = 0;

	for (; event < EVENTS; event++) {
		/* Phases of overload and of drain, with all queues and with few. */
		if (event % 2000 == 0)
			load = (int)random() % 4;
		if (random() % 4 <= load) {
			const int flows = event / 5000 % 2 ? 3 : m->queues;
			const int q = (int)random() % (flows < m->queues ? flows : m->queues);
			/* Few sizes, so that lengths are often equal. */
			const int len = random() % 3 ? 500 : 1 + (int)random() % m->frame_max;

			flow_rig_clear(rig);
			model_put(m, q, len, flow_put(rig, (uint32_t)q, (uint32_t)len, 0));
			assert_int_equal(rig->n_drops, m->n_drops);
			for (int i = 0; i < m->n_drops; i++)
				assert_int_equal(rig->drop[i].handle, m->drops[i]);
		} else {
			int queue = FQ_NONE;
			struct fq_frame out = { .handle = UINT64_MAX };
			const int64_t handle = model_get(m, &queue);

			assert_int_equal(fq_dequeue(rig->port, 0, &out), queue);
			assert_int_equal(out.handle, handle);
		}
	}
}

static void port_and_plain_model_do_the_same(void **state)
{
	static const struct {
		enum kind kind;
		const char *policy, *param;
	} cases[] = {
		{ TAIL, "tail", NULL },	   { LONGEST, "longest", NULL },
		{ QSDRR, "qsdrr", NULL },  { QSDRR_LONGEST, "qsdrr", "until_longest=1" },
		{ SPARSE, "codel", NULL }, /* no time passes, so it never signals */
	};
	static const int queues[] = { 1, 2, 5, QUEUES };

	(void)state;
	srandom(3);
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
		for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
			struct fq_shape shape = flow_shape((uint32_t)queues[i], FRAMES - 1);
			struct model *m = calloc(1, sizeof(*m));
			struct flow_rig rig;

			shape.limit_bytes = 25000;
			shape.quantum_bytes = i % 2 ? 400 : 0;
			flow_rig_open(&rig, cases[c].policy, &shape, cases[c].param, NULL);
			m->kind = cases[c].kind;
			m->queues = queues[i];
			m->limit_frames = FRAMES - 1;
			m->limit_bytes = 25000;
			m->frame_max = 1000;
			m->quantum = i % 2 ? 400 : 1000;
			m->victim = -1;
			for (int q = 0; q < m->queues; q++) {
				m->weight[q] = 1 + q % 3;
				assert_int_equal(fq_set_weight(rig.port, (uint32_t)q,
							       (uint32_t)m->weight[q]),
						 0);
			}
			compare(&rig, m);
			assert_true(rig.dropped[FQ_FULL] + rig.dropped[FQ_PUSHED] > EVENTS / 50);
			flow_rig_close(&rig);
			free(m);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_and_plain_model_do_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
