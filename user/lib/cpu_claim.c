/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/lib/cpu_claim.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/sched.h>
#include <linux/sched/types.h>

#include "user/lib/log.h"

#define NICE	 (-10)	/* a bridge whose hello waits for a processor seems dead */
#define SLICE_NS 100000 /* of processor time at once, the least that the kernel grants */

void sl_cpu_claim(uint32_t realtime)
{
	const struct sched_attr first = { .size = sizeof(first),
					  .sched_policy = SCHED_RR,
					  .sched_priority = realtime };
	struct sched_attr shared = { .size = sizeof(shared), .sched_runtime = SLICE_NS };

	if (realtime && !syscall(SYS_sched_setattr, 0, &first, 0))
		return;
	if (realtime)
		sl_warning(
			"cannot run at realtime priority %u: %s; that takes CAP_SYS_NICE, or LimitRTPRIO= of the unit",
			realtime, strerror(errno));
	if (setpriority(PRIO_PROCESS, 0, NICE))
		sl_debug("cannot raise the priority: %s", strerror(errno));
	shared.sched_nice = getpriority(PRIO_PROCESS, 0);
	if (syscall(SYS_sched_setattr, 0, &shared, 0))
		sl_debug("cannot shorten the slices: %s", strerror(errno));
}
