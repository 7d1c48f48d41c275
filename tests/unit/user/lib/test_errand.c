/* SPDX-License-Identifier: BSD-2-Clause */
/* An errand runs beside its caller, without the caller's signals, core and priority. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "user/lib/errand.h"

/* What the errand sees of itself. */
struct seen {
	int go[2]; /* a pipe that it waits for */
	int cores, nice;
	bool takes_signals;
	pid_t thread;
};

static void look(void *context)
{
	struct seen *seen = context;
	sigset_t blocked;
	cpu_set_t cores;
	char byte;

	assert_int_equal(read(seen->go[0], &byte, 1), 1);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	seen->takes_signals = !sigismember(&blocked, SIGHUP) || !sigismember(&blocked, SIGTERM);
	sched_getaffinity(0, sizeof(cores), &cores);
	seen->cores = CPU_COUNT(&cores);
	seen->nice = getpriority(PRIO_PROCESS, 0);
	seen->thread = gettid();
}

static void runs_beside_its_caller(void **state)
{
	struct seen seen = { 0 };
	struct sl_errand errand = { 0 };

	(void)state;
	assert_int_equal(pipe(seen.go), 0);
	assert_false(sl_errand_is_begun(&errand));
	sl_errand_begin(&errand, look, &seen);
	assert_true(sl_errand_is_begun(&errand));
	assert_false(sl_errand_is_done(&errand)); /* it waits for the pipe */
	assert_int_equal(write(seen.go[1], "", 1), 1);
	sl_errand_end(&errand);
	assert_true(sl_errand_is_done(&errand));
	assert_false(sl_errand_is_begun(&errand));
	assert_int_not_equal(seen.thread, gettid());
	assert_false(seen.takes_signals);
	sl_errand_end(&errand); /* once more does nothing */
	close(seen.go[0]);
	close(seen.go[1]);
}

static void gives_up_core_and_priority(void **state)
{
	struct seen seen = { 0 };
	struct sl_errand errand = { 0 };
	cpu_set_t before, one;
	int i = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(i, &before))
		i++;
	CPU_ZERO(&one);
	CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	if (setpriority(PRIO_PROCESS, 0, -10)) /* without the right to it, it stays as it is */
		assert_int_not_equal(geteuid(), 0);
	assert_int_equal(pipe(seen.go), 0);
	sl_errand_begin(&errand, look, &seen);
	assert_int_equal(write(seen.go[1], "", 1), 1);
	sl_errand_end(&errand);
	assert_int_equal(seen.nice, 0);
	assert_true(seen.cores >= CPU_COUNT(&before)); /* more, where those were fewer than all */
	setpriority(PRIO_PROCESS, 0, 0);
	sched_setaffinity(0, sizeof(before), &before);
	close(seen.go[0]);
	close(seen.go[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_beside_its_caller),
		cmocka_unit_test(gives_up_core_and_priority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
