/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delay/measure.h"
#include "delay/passes.h"

#define PROGRESS_EVERY 65536 /* packets */

/* One reading of all captures, whose packets go through the matching to `sealed`. */
struct pass {
	struct sl_measure *measure;
	unsigned int number;
	int (*sealed)(void *context, const struct sl_matched *packet);
	void *context;
	char *why;
	size_t why_bytes;
};

static void explain(const struct pass *p, int err)
{
	switch (err) {
	case -E2BIG:
		snprintf(p->why, p->why_bytes,
			 "two windows hold more than %u packets: give a shorter --window",
			 SL_MATCH_PACKETS_MAX);
		break;
	case -ERANGE:
		snprintf(p->why, p->why_bytes,
			 "the captures span more than %d intervals: give a longer --interval",
			 SL_MEASURE_INTERVALS_MAX);
		break;
	default:
		snprintf(p->why, p->why_bytes, "%s", strerror(-err));
	}
}

static void tell_progress(const struct pass *p, const struct sl_captures *captures,
			  uint64_t packets)
{
	const struct sl_progress progress = {
		.pass = p->number,
		.passes = p->measure->settings.no_model ? 1 : 2,
		.bytes = sl_captures_bytes(captures),
		.bytes_read = sl_captures_read_bytes(captures),
		.packets = packets,
	};

	if (p->measure->settings.progress)
		p->measure->settings.progress(&progress);
}

static int match_all(const struct pass *p, struct sl_captures *captures, struct sl_match *match)
{
	struct sl_measure *m = p->measure;
	struct sl_record record;
	uint64_t packets = 0;
	int got, err;

	while ((got = sl_captures_next(captures, &record, p->why, p->why_bytes)) == 1) {
		if (!packets)
			m->base_ns = record.time_ns;
		m->duration_ns = record.time_ns - m->base_ns;
		if (packets++ % PROGRESS_EVERY == 0)
			tell_progress(p, captures, packets);
		err = sl_match_add(match, m->duration_ns, record.link,
				   m->settings.links[record.link].output, &record.packet);
		if (err) {
			explain(p, err);
			return err;
		}
	}
	if (got < 0)
		return got;
	err = sl_match_finish(match);
	if (err)
		explain(p, err);
	tell_progress(p, captures, packets);
	return err;
}

static int run_pass(const struct pass *p)
{
	const struct sl_measure_settings *s = &p->measure->settings;
	const struct sl_captures_settings reading = {
		.links = s->links,
		.n_links = s->n_links,
		.late_ns = s->clock_error_ns,
		.no_checksums = s->no_checksums,
		.partial = s->partial,
	};
	const struct sl_match_settings matching = {
		.window_ns = s->window_ns + s->clock_error_ns,
		.sealed = p->sealed,
		.context = p->context,
	};
	struct sl_captures *captures = NULL;
	struct sl_match *match = NULL;
	int err = sl_captures_create(&reading, &captures, p->why, p->why_bytes);

	if (err)
		return err;
	err = sl_match_create(&matching, &match);
	if (err)
		explain(p, err);
	else
		err = match_all(p, captures, match);
	for (uint32_t i = 0; i < s->n_links; i++)
		p->measure->link[i].capture = *sl_captures_counts(captures, i);
	sl_match_destroy(match);
	sl_captures_destroy(captures);
	return err;
}

static int run_first(struct sl_measure *m, char *why, size_t why_bytes)
{
	struct sl_first_pass *first = NULL;
	struct pass pass = { m, 1, sl_first_pass_packet, NULL, why, why_bytes };
	int err = sl_first_pass_create(m, &first);

	pass.context = first;
	if (err)
		explain(&pass, err);
	else
		err = run_pass(&pass);
	if (!err)
		sl_first_pass_finish(first);
	sl_first_pass_destroy(first);
	return err;
}

static int run_second(struct sl_measure *m, char *why, size_t why_bytes)
{
	struct sl_second_pass *second = NULL;
	struct pass pass = { m, 2, sl_second_pass_packet, NULL, why, why_bytes };
	int err = sl_second_pass_create(m, &second);

	pass.context = second;
	if (err)
		explain(&pass, err);
	else
		err = run_pass(&pass);
	if (!err) {
		err = sl_second_pass_finish(second);
		if (err)
			explain(&pass, err);
	}
	sl_second_pass_destroy(second);
	return err;
}

int sl_measure_create(const struct sl_measure_settings *settings, struct sl_measure **out,
		      char *why, size_t why_bytes)
{
	struct sl_measure *m = calloc(1, sizeof(*m));
	int err = m ? 0 : -ENOMEM;

	if (m)
		m->settings = *settings;
	for (uint32_t i = 0; i < settings->n_links && !err; i++) {
		if (!settings->links[i].output)
			continue;
		m->output[i] = calloc(1, sizeof(*m->output[i]));
		err = m->output[i] ? 0 : -ENOMEM;
	}
	if (err)
		snprintf(why, why_bytes, "%s", strerror(-err));
	if (!err)
		err = run_first(m, why, why_bytes);
	if (!err && !settings->no_model)
		err = run_second(m, why, why_bytes);
	if (err) {
		sl_measure_destroy(m);
		return err;
	}
	*out = m;
	return 0;
}
