/* SPDX-License-Identifier: BSD-2-Clause */
#include "elements/sched/sfq.h"

static bool sfq_before(const struct el_sfq *q, uint32_t a, uint32_t b)
{
	const struct el_client *x = &q->clients[a], *y = &q->clients[b];

	return x->start != y->start ? x->start < y->start : x->order < y->order;
}

static void sfq_put(struct el_sfq *q, uint32_t place, uint32_t id)
{
	q->heap[place] = id;
	q->clients[id].place = place;
}

/* Let a client rise from a place to where it belongs. Bound: the height of the heap. */
static void sfq_rise(struct el_sfq *q, uint32_t place, uint32_t id)
{
	while (place > 0 && sfq_before(q, id, q->heap[(place - 1) / 2])) {
		sfq_put(q, place, q->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	sfq_put(q, place, id);
}

/*
 * The lesser of a place's children, of which there is one at least. Among many clients nobody can
 * guess which one it is, so the comparison is arithmetic: a branch would be mispredicted.
 */
static uint32_t sfq_lesser_child(const struct el_sfq *q, uint32_t place)
{
	uint32_t left = 2 * place + 1;
	const struct el_client *x, *y;

	if (left + 1 == q->n_eligible)
		return left;
	x = &q->clients[q->heap[left]];
	y = &q->clients[q->heap[left + 1]];
	return left + ((y->start < x->start) | ((y->start == x->start) & (y->order < x->order)));
}

/* Let a client sink from a place to where it belongs. Bound: the height of the heap. */
static void sfq_sink(struct el_sfq *q, uint32_t place, uint32_t id)
{
	while (2 * place + 1 < q->n_eligible) {
		uint32_t child = sfq_lesser_child(q, place);

		if (!sfq_before(q, q->heap[child], id))
			break;
		sfq_put(q, place, q->heap[child]);
		place = child;
	}
	sfq_put(q, place, id);
}

static void sfq_take(struct el_sfq *q, uint32_t place)
{
	uint32_t last = q->heap[--q->n_eligible];

	q->clients[q->heap[place]].place = EL_ASLEEP;
	if (place == q->n_eligible)
		return;
	if (place > 0 && sfq_before(q, last, q->heap[(place - 1) / 2]))
		sfq_rise(q, place, last);
	else
		sfq_sink(q, place, last);
}

/* Finish tag of the client in service if it were charged now. */
static el_tag sfq_finish(const struct el_client *c, uint64_t used_ns, uint32_t *rest)
{
	/* At most 2^63 + 2^30: fits 64 bits, so the division is one instruction. */
	uint64_t span =
		(used_ns < EL_CHARGE_MAX ? used_ns : EL_CHARGE_MAX) * EL_TAG_PER_NS + c->rest;

	*rest = (uint32_t)(span % c->weight);
	return c->start + span / c->weight;
}

void el_sfq_init(struct el_sfq *q, struct el_client *clients, uint32_t *heap, uint32_t n)
{
	*q = (struct el_sfq){ .clients = clients, .heap = heap, .n_clients = n, .served = EL_NONE };
	for (uint32_t i = 0; i < n; i++)
		clients[i] = (struct el_client){ .weight = 1, .place = EL_ASLEEP };
}

void el_sfq_set_weight(struct el_sfq *q, uint32_t id, uint32_t weight)
{
	struct el_client *c = &q->clients[id];

	c->weight = weight < 1 ? 1 : weight > EL_WEIGHT_MAX ? EL_WEIGHT_MAX : weight;
	c->rest = 0;
}

bool el_sfq_wake(struct el_sfq *q, uint32_t id)
{
	struct el_client *c = &q->clients[id];

	if (c->place != EL_ASLEEP)
		return false;
	c->start = c->finish > q->v ? c->finish : q->v;
	c->order = q->order++;
	sfq_rise(q, q->n_eligible++, id);
	return true;
}

bool el_sfq_forget(struct el_sfq *q, uint32_t id)
{
	if (q->clients[id].place == EL_ASLEEP || q->served == id)
		return false;
	sfq_take(q, q->clients[id].place);
	if (q->n_eligible == 0)
		q->v = q->finish_max;
	return true;
}

uint32_t el_sfq_pick(struct el_sfq *q)
{
	if (q->n_eligible == 0)
		return EL_NONE;
	q->served = q->heap[0];
	q->v = q->clients[q->served].start;
	return q->served;
}

bool el_sfq_due(const struct el_sfq *q, uint64_t used_ns)
{
	uint32_t rest;
	el_tag finish = sfq_finish(&q->clients[q->served], used_ns, &rest);

	/* The least of the others is a child of the root. */
	return (q->n_eligible > 1 && q->clients[q->heap[1]].start <= finish) ||
	       (q->n_eligible > 2 && q->clients[q->heap[2]].start <= finish);
}

void el_sfq_charge(struct el_sfq *q, uint64_t used_ns, bool eligible)
{
	uint32_t id = q->served;
	struct el_client *c = &q->clients[id];

	c->finish = sfq_finish(c, used_ns, &c->rest);
	if (c->finish > q->finish_max)
		q->finish_max = c->finish;
	q->served = EL_NONE;
	if (eligible) {
		c->start = c->finish; /* v is the start tag before: never later */
		c->order = q->order++;
		sfq_sink(q, 0, id);
		return;
	}
	sfq_take(q, 0);
	if (q->n_eligible == 0)
		q->v = q->finish_max;
}
