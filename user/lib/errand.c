/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/lib/errand.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "user/lib/log.h"

/* Give up the core and the priority that the thread has of the one that made it. */
static void leave_the_loop(void)
{
	const struct sched_param plain = { 0 };
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	if (sched_setscheduler(0, SCHED_OTHER, &plain) || setpriority(PRIO_PROCESS, 0, 0) ||
	    sched_setaffinity(0, sizeof(all), &all))
		sl_debug("an errand shares the processor of its packet loop: %s", strerror(errno));
}

static void *run(void *context)
{
	struct sl_errand *errand = context;

	if (errand->has_thread)
		leave_the_loop();
	errand->work(errand->context);
	__atomic_store_n(&errand->done, true, __ATOMIC_RELEASE);
	return NULL;
}

void sl_errand_begin(struct sl_errand *errand, void (*work)(void *context), void *context)
{
	sigset_t all, old;

	*errand = (struct sl_errand){
		.work = work, .context = context, .begun = true, .has_thread = true
	};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&errand->thread, NULL, run, errand)) {
		errand->has_thread = false;
		run(errand);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

bool sl_errand_is_begun(const struct sl_errand *errand)
{
	return errand->begun;
}

bool sl_errand_is_done(const struct sl_errand *errand)
{
	return __atomic_load_n(&errand->done, __ATOMIC_ACQUIRE);
}

void sl_errand_end(struct sl_errand *errand)
{
	if (errand->has_thread)
		pthread_join(errand->thread, NULL);
	errand->begun = errand->has_thread = false;
}
