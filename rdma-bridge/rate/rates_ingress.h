/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rates' half at the ingress: for each port of a peer that has a policy, let each VOQ's part of
 * the controller move the VOQ's rate, write the rate into the VOQ's settings (the map sl_voq), and
 * report to the peer what waits.
 */
#ifndef RB_RATES_INGRESS_H
#define RB_RATES_INGRESS_H

#include "rdma-bridge/rate/rates_state.h"

/* Good records and policies of a peer. */
void rb_rates_feedback(struct rb_rates *rates, const struct rb_feedback *records, uint32_t n,
		       uint64_t now_ns);
void rb_rates_policy(struct rb_rates *rates, const struct rb_policy *policy, uint64_t now_ns);
/* A peer came with a new life, whose records and policies start over. */
void rb_rates_ingress_forget(struct rb_rates *rates, uint8_t node);

/* XDP has sent frames of VOQs to this node since the last call. */
void rb_rates_express_sent(struct rb_rates *rates, uint8_t node, uint64_t now_ns);

/* The VOQs point at other settings now: write the rates in force. */
void rb_rates_rewrite(struct rb_rates *rates);

/* The port of a peer, if it has a policy, or NULL. */
struct rb_rates_remote *rb_rates_find_remote(const struct rb_rates *rates, uint16_t system_port);

/* For rates.c: wake the ports whose VOQs are active; do what is due; when that will be. */
void rb_rates_ingress_wake(struct rb_rates *rates, uint64_t now_ns);
void rb_rates_ingress_run(struct rb_rates *rates, uint64_t now_ns);
uint64_t rb_rates_ingress_due_ns(const struct rb_rates *rates);

#endif
