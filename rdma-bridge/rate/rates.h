/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The controllers of cc/ at work: a free-running timer of T for each egress port of this node
 * (rates_egress.h), and for each port of other nodes that this one feeds (rates_ingress.h).
 *
 * The owner of a port chooses its controller and tells the other nodes by policy messages. A port
 * without a policy, or with `fixed`, keeps the rates that another program writes into sl_voq.
 *
 * Rest. A queue at which nothing has arrived or waited for RB_RATES_LINGER_NS is not sampled. A VOQ
 * that had nothing to send and heard nothing in an interval stands still, and so does the age of
 * its record. When all queues or VOQs of a port rest, its timer stops, except for policies; the
 * next frame or record starts it again. A VOQ towards a peer that is not up stands still, too.
 *
 * Calm. While frames only go past the bridge, from XDP to XDP, nothing waits and there is little to
 * control: then an interval lasts RB_RATES_CALM of T. The first frame that the bridge gets ends it.
 *
 * Time is an argument. An interval that took longer than T is sampled once, with the time that it
 * took. For the worker's thread alone.
 */
#ifndef RB_RATES_H
#define RB_RATES_H

#include "rdma-bridge/rate/rates_egress.h"
#include "rdma-bridge/rate/rates_ingress.h"

#define RB_RATES_SCAN_NS       100000ULL     /* how often what rests is looked at */
#define RB_RATES_SPEED_DEFAULT 1250000000ULL /* bytes/s of a port that does not say */

int rb_rates_create(const struct rb_rates_config *config, struct rb_rates **out);
void rb_rates_destroy(struct rb_rates *rates); /* NULL is fine */

/* Another node, and our VOQs that lead to it: borrowed; NULL: none. Once for each node. */
void rb_rates_add_peer(struct rb_rates *rates, uint8_t node, struct rb_ingress *ingress);
/* The peer takes messages of up to so many bytes. */
/* Forget the peer, whose ports have been forgotten; and a port of a peer. */
void rb_rates_remove_peer(struct rb_rates *rates, uint8_t node);
void rb_rates_remove_remote(struct rb_rates *rates, uint16_t system_port);
void rb_rates_set_message_max(struct rb_rates *rates, uint8_t node, uint32_t bytes);
/* What this node can send into the fabric; 0: unknown. */
void rb_rates_set_fabric(struct rb_rates *rates, uint64_t fabric_Bps);
/* The peer changed its state, or came with a new life. */
void rb_rates_peer_changed(struct rb_rates *rates, uint8_t node, uint64_t now_ns);
void rb_rates_new_life(struct rb_rates *rates, uint8_t node);

/*
 * Frames that XDP redirects to ports of ours, by sl_taken_key, borrowed for the life of the rates.
 * NULL, as at first: it redirects none.
 */
void rb_rates_set_express(struct rb_rates *rates, const struct sl_passed *taken);

/* Do what is due, if anything is. Call it before data is sent. */
void rb_rates_round(struct rb_rates *rates, uint64_t now_ns);
/* When rb_rates_round wants to be called although nothing happens; UINT64_MAX: not at all. */
uint64_t rb_rates_due_ns(const struct rb_rates *rates);

#endif
