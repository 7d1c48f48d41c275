/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an element class says of itself: name and version, parameters with their ranges, ports, what
 * it may do to a packet, and its functions.
 *
 * An element has one input, which many outputs may lead to, and up to EL_OUTPUTS_MAX outputs. A
 * push output gives packets on as they come, a pull output when somebody asks. An element that
 * holds packets (Queue) ends the chain that pushes into it; where its packets go on, a new chain
 * begins, which is a stage of its flow (elements/sched/cpu_sched.h).
 *
 * Functions are pure: time, copies and drops come from the context, state is the instance's.
 */
#ifndef EL_ELEMENT_H
#define EL_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/fast_chain.h"
#include "elements/core/packet_pool.h"
#include "user/classify/rule.h"

#define EL_OUTPUTS_MAX 2u
#define EL_PARAMS_MAX  8u

/* How packets pass a side of an element. */
enum el_passing {
	EL_PUSH,
	EL_PULL,
	EL_EITHER /* output: as the input is passed; input: whatever comes */
};

/* What an element may do to a packet, beside passing it on. */
#define EL_MAY_DROP   1u
#define EL_MAY_WRITE  2u
#define EL_MAY_RESIZE 4u
#define EL_MAY_COPY   8u
#define EL_MAY_HOLD   16u

enum el_param_kind {
	EL_PARAM_NUMBER,   /* decimal, min..max */
	EL_PARAM_DURATION, /* "5us": ns, min..max */
	EL_PARAM_RATE,	   /* "2mbit": bytes a second */
	EL_PARAM_BURST,	   /* "20k": bytes */
	EL_PARAM_DSCP,	   /* name or number */
	EL_PARAM_ADDRESS4, /* IPv4 address: prefix */
	EL_PARAM_PREFIX4,  /* IPv4 prefix: prefix */
	EL_PARAM_CHOICE,   /* one of choices: its place */
	EL_PARAM_RANGES	   /* values of a field, as filters have them: ranges */
};

struct el_param {
	const char *name; /* NULL ends the table */
	enum el_param_kind kind;
	bool required;
	uint64_t min, max;	    /* NUMBER, DURATION */
	uint64_t fallback;	    /* the number, where none is given */
	const char *const *choices; /* CHOICE: up to NULL */
	enum sl_field field;	    /* RANGES */
	const char *what;	    /* a line for people */
};

struct el_value {
	bool given;
	uint64_t number;
	struct sl_prefix prefix;
	struct sl_ranges ranges;
};

/* The results of `process` that are not an output. */
enum {
	EL_DROP = -1, /* the packet ends here, under the class's drop name */
	EL_HELD = -2, /* the element keeps it until `dequeue` */
	EL_SENT = -3  /* the graph's end: it is the caller's */
};

/* What the caller of an element lends it for one packet. */
struct el_context {
	struct el_pool *pool;
	uint64_t now_ns;
	uint64_t burn_ns;	/* added by the element: time that the caller must let pass */
	uint64_t dropped;	/* added by el_drop: held packets dropped beside the one at hand */
	uint64_t dropped_bytes; /* the same */
	uint64_t copied;	/* added by the element: packets made; they wait in it */
	uint64_t copied_bytes;	/* the same */
	uint64_t not_copied;	/* added by the element: copies for which there was no room */
};

/* Drop a packet that the element held, beside the one that it processes. */
static inline void el_drop(struct el_context *ctx, struct el_packet *packet)
{
	ctx->dropped++;
	ctx->dropped_bytes += packet->len_bytes;
	el_pool_give(ctx->pool, packet);
}

struct el_class {
	const char *name; /* begins with a capital letter */
	uint32_t version;
	const char *what; /* a line for people */
	uint32_t may;	  /* EL_MAY_* */
	enum el_passing input, output;
	/* outputs 0..outputs_required - 1 must lead somewhere; packets for another end as drops */
	uint8_t outputs_required, outputs;
	uint8_t stage_output;	       /* with dequeue: where held packets go on */
	const char *drop_name;	       /* with EL_MAY_DROP */
	const struct el_param *params; /* at most EL_PARAMS_MAX, or NULL */
	uint32_t state_bytes;	       /* 0: none */
	/*
	 * Set up zeroed state from values, one for each parameter in the table's order. Returns
	 * NULL, or why these values do not go together. May be NULL.
	 */
	const char *(*init)(void *state, const struct el_value *values);
	/* An output below `outputs`, or EL_DROP, EL_HELD, EL_SENT. */
	int (*process)(void *state, struct el_context *ctx, struct el_packet *packet);
	/* The held packet whose turn it is, or NULL. NULL: the class holds none. */
	struct el_packet *(*dequeue)(void *state);
	uint32_t (*waiting)(const void *state); /* packets held; with dequeue */
	/*
	 * The same in the fast path: set kind and parameters of the element, whose `to` is the
	 * caller's. False: not with these values. NULL: never. In a package, kind is SL_FAST_OWN,
	 * and `own` what its program gets (EL_FAST_PROGRAM).
	 */
	bool (*fast)(const struct el_value *values, struct sl_fast_element *element);
};

#endif
