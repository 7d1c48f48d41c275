/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/capture/sighting.h"

#define CPU_SHIFT 48 /* in an id: numbers of a processor below, the processor + 1 above */

struct sl_sightings {
	struct sl_sighting **ready; /* owned, with its elements */
	size_t n, room;
	uint64_t order;
	/* Of each processor the frame whose end has not come; owned, elements may be NULL. */
	struct sl_sighting *waiting[SL_SIGHTING_CPUS_MAX];
};

int sl_sightings_create(struct sl_sightings **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static int put(struct sl_sightings *s, struct sl_sighting *sighting)
{
	if (s->n == s->room) {
		size_t room = s->room ? s->room * 2 : 1024;
		struct sl_sighting **more = realloc(s->ready, room * sizeof(*more));

		if (!more) {
			free(sighting);
			return -ENOMEM;
		}
		s->ready = more;
		s->room = room;
	}
	sighting->order = s->order++;
	s->ready[s->n++] = sighting;
	return 0;
}

static int put_waiting(struct sl_sightings *s, int cpu)
{
	struct sl_sighting *sighting = s->waiting[cpu];

	s->waiting[cpu] = NULL;
	return sighting ? put(s, sighting) : 0;
}

static uint64_t id_of(int cpu, const struct sl_captured *record)
{
	const uint64_t number = record->number & ((1ULL << CPU_SHIFT) - 1);

	return number ? (uint64_t)(cpu + 1) << CPU_SHIFT | number : 0;
}

static struct sl_sighting *make(int cpu, const struct sl_captured *record, const uint8_t *bytes)
{
	struct sl_sighting *sighting = malloc(sizeof(*sighting) + record->copied_bytes);

	if (!sighting)
		return NULL;
	*sighting = (struct sl_sighting){
		.time_ns = record->time_ns,
		.id = id_of(cpu, record),
		.ifindex = record->ifindex,
		.fabric = record->fabric,
		.chosen = record->chosen,
		.queue = record->queue,
		.frame_bytes = record->frame_bytes,
		.copied_bytes = record->copied_bytes,
	};
	memcpy(sighting->bytes, bytes, record->copied_bytes);
	return sighting;
}

static void decide(struct sl_sighting *sighting, const struct sl_captured *end)
{
	sighting->end_ns = end->time_ns;
	sighting->outcome = end->outcome;
	sighting->reason = end->reason;
	sighting->voq_plus1 = end->voq_plus1;
}

static int end(struct sl_sightings *s, int cpu, const struct sl_captured *record,
	       const uint8_t *bytes)
{
	struct sl_sighting *in = s->waiting[cpu], *out;
	int err;

	if (in && in->id == id_of(cpu, record)) {
		decide(in, record);
		in->other_ifindex = record->to_ifindex;
	}
	err = put_waiting(s, cpu);
	if (err || !record->copied_bytes)
		return err;
	out = make(cpu, record, bytes);
	if (!out)
		return -ENOMEM;
	decide(out, record);
	out->out = true;
	out->ifindex = record->to_ifindex;
	out->other_ifindex = record->ifindex;
	return put(s, out);
}

int sl_sightings_add(struct sl_sightings *s, int cpu, const struct sl_captured *record,
		     const uint8_t *bytes)
{
	struct sl_sighting *sighting;
	int err;

	if (cpu < 0 || cpu >= SL_SIGHTING_CPUS_MAX || record->stage >= SL_CAPTURE_STAGES)
		return -ERANGE;
	if (record->stage == SL_CAPTURE_END)
		return end(s, cpu, record, bytes);
	sighting = make(cpu, record, bytes);
	if (!sighting)
		return -ENOMEM;
	if (record->stage == SL_CAPTURE_SENT) {
		sighting->out = sighting->sent = true;
		sighting->outcome = SL_OUTCOME_FORWARD;
		return put(s, sighting);
	}
	err = put_waiting(s, cpu);
	s->waiting[cpu] = sighting;
	return err;
}

static int earlier(const void *a, const void *b)
{
	const struct sl_sighting *x = *(struct sl_sighting *const *)a;
	const struct sl_sighting *y = *(struct sl_sighting *const *)b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Those that wait for their end: too long, or the others wait with them. Returns the new limit. */
static uint64_t look_at_waiting(struct sl_sightings *s, uint64_t until_ns)
{
	uint64_t limit_ns = until_ns;

	for (int cpu = 0; cpu < SL_SIGHTING_CPUS_MAX; cpu++) {
		const struct sl_sighting *in = s->waiting[cpu];

		if (!in || in->time_ns >= limit_ns)
			continue;
		if (until_ns - in->time_ns > SL_SIGHTING_PATIENCE_NS)
			put_waiting(s, cpu);
		else
			limit_ns = in->time_ns;
	}
	return limit_ns;
}

void sl_sightings_take(struct sl_sightings *s, uint64_t until_ns,
		       void (*seen)(void *arg, const struct sl_sighting *sighting), void *arg)
{
	uint64_t limit_ns = look_at_waiting(s, until_ns);
	size_t n = 0;

	if (!s->n)
		return;
	qsort(s->ready, s->n, sizeof(*s->ready), earlier);
	while (n < s->n && s->ready[n]->time_ns < limit_ns) {
		seen(arg, s->ready[n]);
		free(s->ready[n++]);
	}
	s->n -= n;
	memmove(s->ready, s->ready + n, s->n * sizeof(*s->ready));
}

void sl_sightings_destroy(struct sl_sightings *s)
{
	if (!s)
		return;
	for (int cpu = 0; cpu < SL_SIGHTING_CPUS_MAX; cpu++)
		free(s->waiting[cpu]);
	for (size_t i = 0; i < s->n; i++)
		free(s->ready[i]);
	free(s->ready);
	free(s);
}
