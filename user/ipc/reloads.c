/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/ipc/reloads.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "user/lib/log.h"

static struct {
	uint64_t sum;
	uint32_t ended;
	bool refused;
	char caught[SL_LOG_CAUGHT_BYTES], why[SL_LOG_CAUGHT_BYTES];
} state;

void sl_reloads_started(uint64_t sum)
{
	state.sum = sum;
}

void sl_reloads_begin(void)
{
	sl_log_catch(state.caught);
}

static void end(bool refused)
{
	sl_log_catch(NULL);
	state.refused = refused;
	snprintf(state.why, sizeof(state.why), "%s",
		 state.caught[0] ? state.caught : "see the log");
	state.ended++;
}

void sl_reloads_took(uint64_t sum)
{
	state.sum = sum;
	end(false);
}

void sl_reloads_refused(void)
{
	end(true);
}

static void put_row(struct sl_ctl_answer *answer)
{
	char sum[20];

	snprintf(sum, sizeof(sum), "%016" PRIx64, state.sum);
	sl_ctl_put(answer,
		   json_pack("{s:s, s:I, s:s?}", "sum", sum, "reloads", (json_int_t)state.ended,
			     "refused", state.refused ? state.why : NULL));
}

void sl_reloads_run_reload(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	(void)ctx, (void)request;
	put_row(answer);
	kill(getpid(), SIGHUP);
}

void sl_reloads_run_configuration(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	(void)ctx, (void)request;
	put_row(answer);
}
