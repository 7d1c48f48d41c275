/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rates' half at the egress: for each port of ours with a controller, sample its queues and
 * send each live peer its records, all in one message; and tell the peers the port's policy.
 */
#ifndef RB_RATES_EGRESS_H
#define RB_RATES_EGRESS_H

#include "rdma-bridge/rate/rates_state.h"

#define RB_RATES_LINGER_NS     1000000000ULL
#define RB_RATES_POLICY_MAX_NS 1000000000ULL
#define RB_RATES_REPORT_STALE  16  /* intervals after which a report counts as nothing */
#define RB_RATES_RECORDS_MAX   127 /* of one message: 4,096 bytes */

/*
 * Give a port of ours a controller, or another one, or other parameters; queues, rates and (with
 * the same controller) state stay. capacity_ups counts where the port is not shaped; line_ups is
 * the most that one source can send. 0; -ENOENT: no such port; -EINVAL and *why (static text, may
 * be NULL); -ENOMEM.
 */
int rb_rates_set_port(struct rb_rates *rates, uint8_t number, const struct sl_cc_settings *settings,
		      uint64_t capacity_ups, uint64_t line_ups, uint64_t now_ns, const char **why);

/*
 * Would rb_rates_set_port accept this for a port that is not there yet, or has not become this one?
 * 0; -EINVAL and *why.
 */
int rb_rates_check_port(const struct rb_rates *rates, const struct rb_egress_port *egress,
			const struct sl_cc_settings *settings, uint64_t capacity_ups,
			uint64_t line_ups, const char **why);
/* A port of ours goes. No effect if it has no controller. */
void rb_rates_remove_port(struct rb_rates *rates, uint8_t number);

/* What a port with a controller at work can drain, units a second; 0: it has none. */
uint64_t rb_rates_port_capacity(const struct rb_rates *rates, uint8_t number);
/* XDP has redirected frames to the port since the last call. */
void rb_rates_express_arrived(struct rb_rates *rates, uint8_t number, uint64_t now_ns);

/* Good reports of a peer: what waits in its VOQs. */
void rb_rates_reports(struct rb_rates *rates, uint8_t node, const struct rb_report *records,
		      uint32_t n, uint64_t now_ns);
/* A peer came with a new life: what its former life reported counts no more. */
void rb_rates_egress_forget(struct rb_rates *rates, uint8_t node);

/* For rates.c: wake the queues at which frames have arrived; do what is due; when that will be. */
void rb_rates_egress_wake(struct rb_rates *rates, uint64_t now_ns);
void rb_rates_egress_run(struct rb_rates *rates, uint64_t now_ns);
uint64_t rb_rates_egress_due_ns(const struct rb_rates *rates);

#endif
