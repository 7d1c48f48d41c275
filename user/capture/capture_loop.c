/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/capture/capture_loop.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

#define ROUND_MS  20 /* unless the user says otherwise */
#define FOLLOW_NS 1000000000ULL
/* A record of this age is in its ring, also if its processor was interrupted before. */
#define RECORD_LATE_NS 2000000ULL

static volatile sig_atomic_t signalled;

static void on_signal(int signal)
{
	(void)signal;
	signalled = 1;
}

/* The object lies beside the program, and in ../lib/sluice once installed. */
static void find_object(char path[PATH_MAX])
{
	char exe[PATH_MAX] = "";
	const char *dir;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		memcpy(exe, "./sluice", sizeof("./sluice"));
	dir = dirname(exe);
	snprintf(path, PATH_MAX, "%.4000s/capture.bpf.o", dir);
	if (access(path, R_OK))
		snprintf(path, PATH_MAX, "%.4000s/../lib/sluice/capture.bpf.o", dir);
}

/* CLOCK_REALTIME against CLOCK_MONOTONIC: of several readings, the one that took least time. */
static uint64_t real_offset_ns(void)
{
	uint64_t best_ns = UINT64_MAX, offset_ns = 0;

	for (int i = 0; i < 16; i++) {
		uint64_t before_ns = sl_now_ns(), real_ns = sl_clock_ns(CLOCK_REALTIME);
		uint64_t took_ns = sl_now_ns() - before_ns;

		if (took_ns >= best_ns)
			continue;
		best_ns = took_ns;
		offset_ns = real_ns - before_ns - took_ns / 2;
	}
	return offset_ns;
}

struct running {
	struct sl_capture_loop *loop;
	struct sl_sightings *sightings;
};

static void on_record(void *arg, int cpu, const struct sl_captured *record, const uint8_t *bytes)
{
	struct running *r = arg;

	if (sl_sightings_add(r->sightings, cpu, record, bytes))
		r->loop->n_lost++;
}

static void on_sighting(void *arg, const struct sl_sighting *sighting)
{
	struct running *r = arg;
	struct sl_capture_loop *loop = r->loop;

	if (!loop->stop)
		loop->seen(loop, sighting);
}

bool sl_capture_passes(const struct sl_capture_loop *loop, const struct sl_sighting *sighting)
{
	return sighting->chosen ||
	       sl_frame_filter_passes(loop->filter, sighting->bytes, sighting->copied_bytes,
				      sighting->frame_bytes);
}

static int round_of(struct running *r, int timeout_ms, bool last)
{
	uint64_t now_ns;
	int err = sl_xdp_capture_poll(r->loop->capture, timeout_ms, on_record, r);

	/* Frames of before this moment are in the sightings after one more look at the rings. */
	now_ns = sl_now_ns();
	if (!err)
		err = sl_xdp_capture_poll(r->loop->capture, 0, on_record, r);
	sl_sightings_take(r->sightings, last ? UINT64_MAX : now_ns - RECORD_LATE_NS, on_sighting,
			  r);
	if (r->loop->shown)
		r->loop->shown(r->loop);
	return err;
}

static void count_missing(struct sl_capture_loop *loop)
{
	struct sl_capture_count count;
	uint32_t n;

	sl_xdp_capture_ports(loop->capture, &n);
	for (uint32_t slot = 0; slot < n; slot++)
		for (uint32_t direction = 0; direction < 2; direction++) {
			sl_xdp_capture_counts(loop->capture, slot, direction, &count);
			loop->n_lost += count.lost;
			loop->n_left += count.left;
		}
}

static int run(struct running *r)
{
	struct sl_capture_loop *loop = r->loop;
	uint64_t followed_ns = sl_now_ns();
	struct sl_capture_error error;
	bool warned = false;
	int err = 0;

	while (!err && !signalled && !loop->stop) {
		err = round_of(r, loop->round_ms ? (int)loop->round_ms : ROUND_MS, false);
		if (sl_now_ns() - followed_ns < FOLLOW_NS)
			continue;
		followed_ns = sl_now_ns();
		if (!sl_xdp_capture_follow(loop->capture, &error) && !warned) {
			fprintf(stderr, "sluice: %s: %s\n", loop->command, error.text);
			warned = true;
		}
	}
	sl_xdp_capture_stop(loop->capture);
	if (!err)
		err = round_of(r, 0, true);
	return err;
}

int sl_capture_loop_run(struct sl_capture_loop *loop, void (*ended)(struct sl_capture_loop *loop))
{
	const struct sigaction end = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct running r = { .loop = loop };
	struct sl_capture_error error = { "" };
	char object_path[PATH_MAX];
	const char *blind;
	int err;

	sl_log_set_level(SL_LOG_WARNING);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	find_object(object_path);
	loop->real_offset_ns = real_offset_ns();
	err = sl_sightings_create(&r.sightings);
	if (!err)
		err = sl_xdp_capture_open(object_path, loop->ports, loop->n_ports, loop->snap_bytes,
					  loop->sampling, loop->filter, loop->ring_bytes,
					  &loop->capture, &error);
	if (!err) {
		blind = sl_xdp_capture_blind(loop->capture);
		if (blind)
			fprintf(stderr,
				"sluice: %s: frames that the bridge sends are not seen (%s)\n",
				loop->command, blind);
		if (loop->begun)
			loop->begun(loop);
		err = run(&r);
		count_missing(loop);
		if (ended)
			ended(loop);
	}
	if (err)
		fprintf(stderr, "sluice: %s: %s\n", loop->command,
			error.text[0] ? error.text : strerror(-err));
	sl_xdp_capture_close(loop->capture);
	loop->capture = NULL;
	sl_sightings_destroy(r.sightings);
	return err;
}
