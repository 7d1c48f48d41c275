/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge/lane_threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/port/edge.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

struct rb_lane_threads {
	pthread_t thread[RB_EDGE_WORKERS_MAX]; /* by lane; [0] is unused: the caller's */
	uint32_t started;		       /* threads that run: of lanes 1..started */
	uint32_t halts;			       /* nested calls of rb_bridge_halt */
	/* Guards `parked`, and writing `halt`; `halt` and `quit` are read without it. */
	pthread_mutex_t mutex;
	pthread_cond_t parked_changed, released;
	uint32_t parked; /* threads that wait for the release */
	bool halt, quit;
};

/* --- Halting --- */

void rb_bridge_halt(struct rb_bridge *b)
{
	struct rb_lane_threads *t = b->threads;

	if (t->started == 0 || t->halts++ > 0)
		return;
	pthread_mutex_lock(&t->mutex);
	__atomic_store_n(&t->halt, true, __ATOMIC_RELAXED);
	for (uint32_t i = 1; i <= t->started; i++)
		rb_lane_wake(&b->lanes[i]);
	while (t->parked < t->started)
		pthread_cond_wait(&t->parked_changed, &t->mutex);
	pthread_mutex_unlock(&t->mutex);
}

void rb_bridge_release(struct rb_bridge *b)
{
	struct rb_lane_threads *t = b->threads;

	if (t->started == 0 || --t->halts > 0)
		return;
	pthread_mutex_lock(&t->mutex);
	__atomic_store_n(&t->halt, false, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&t->released);
	pthread_mutex_unlock(&t->mutex);
}

static void park(struct rb_lane_threads *t)
{
	pthread_mutex_lock(&t->mutex);
	t->parked++;
	pthread_cond_signal(&t->parked_changed);
	while (t->halt)
		pthread_cond_wait(&t->released, &t->mutex);
	t->parked--;
	pthread_mutex_unlock(&t->mutex);
}

/* --- Running --- */

/* Give the calling thread a name for top(1) and ps(1): "worker 0". */
static void set_name(const struct rb_lane *lane)
{
	char name[16]; /* the kernel's limit */

	snprintf(name, sizeof(name), "worker %u", lane->index);
	pthread_setname_np(pthread_self(), name);
}

/* Pin the calling thread to the lane's core, if it has one. */
static void pin(const struct rb_lane *lane)
{
	const struct sl_bridge_settings *settings = &lane->bridge->settings->cluster.bridge;
	cpu_set_t set;
	int err;

	if (!settings->cores_text)
		return;
	CPU_ZERO(&set);
	CPU_SET(settings->cores[lane->index], &set);
	err = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (err)
		sl_warning("worker %u: cannot run on CPU %u: %s", lane->index,
			   settings->cores[lane->index], strerror(err));
}

static void *lane_main(void *context)
{
	struct rb_lane *lane = context;
	struct rb_lane_threads *t = lane->bridge->threads;

	set_name(lane);
	pin(lane);
	while (!__atomic_load_n(&t->quit, __ATOMIC_RELAXED)) {
		uint64_t now = sl_now_ns();

		if (__atomic_load_n(&t->halt, __ATOMIC_RELAXED)) {
			park(t);
			lane->round_ns = 0;
		} else {
			rb_lane_rest(lane, rb_lane_round(lane, now), now);
		}
	}
	return NULL;
}

int rb_lane_threads_create(struct rb_bridge *b)
{
	struct rb_lane_threads *t = calloc(1, sizeof(*t));

	b->threads = t;
	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->mutex, NULL);
	pthread_cond_init(&t->parked_changed, NULL);
	pthread_cond_init(&t->released, NULL);
	return 0;
}

/* The first lane's thread alone takes signals. */
int rb_lane_threads_start(struct rb_bridge *b)
{
	sigset_t all, before;
	int err = 0;

	pin(&b->lanes[0]);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (uint32_t i = 1; i < b->n_lanes && !err; i++) {
		err = pthread_create(&b->threads->thread[i], NULL, lane_main, &b->lanes[i]);
		b->threads->started += !err;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

void rb_lane_threads_stop(struct rb_bridge *b)
{
	struct rb_lane_threads *t = b->threads;

	if (!t)
		return;
	__atomic_store_n(&t->quit, true, __ATOMIC_RELAXED);
	for (uint32_t i = 1; i <= t->started; i++) {
		rb_lane_wake(&b->lanes[i]);
		pthread_join(t->thread[i], NULL);
	}
	t->started = 0;
}

void rb_lane_threads_destroy(struct rb_bridge *b)
{
	struct rb_lane_threads *t = b->threads;

	if (!t)
		return;
	pthread_cond_destroy(&t->released);
	pthread_cond_destroy(&t->parked_changed);
	pthread_mutex_destroy(&t->mutex);
	free(t);
	b->threads = NULL;
}
