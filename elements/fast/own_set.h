/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of all own elements in one object, which sluiced links with sl_edge: each has the
 * slot of its class's place by name.
 */
#ifndef EL_OWN_SET_H
#define EL_OWN_SET_H

#include "bpf/abi/own_element.h"
#include "elements/core/package.h"
#include "user/datapath/bpf_object.h"

struct el_own_member {
	const char *class;		   /* borrowed */
	const struct sl_bpf_bytes *object; /* borrowed */
};

#define EL_OWN_NAME_BYTES 32

struct el_own_set {
	uint32_t set; /* as in sl_edge; 0: it has none */
	uint32_t n;
	char class[SL_OWN_SLOTS][EL_OWN_NAME_BYTES]; /* by slot */
	struct sl_bpf_bytes object;		     /* owned */
};

/* Sorts members. 0; -EINVAL with the reason in why, or -ENOMEM. */
int el_own_set_make(struct el_own_member *members, uint32_t n, struct el_own_set *out,
		    char why[EL_WHY_BYTES]);
void el_own_set_free(struct el_own_set *set); /* zeroed memory is fine */
/* The slot of a class, or -1. */
int el_own_set_slot(const struct el_own_set *set, const char *class);

/* Leave it for the sluiced of that control socket, which looks once a second. 0 or -errno. */
int el_own_set_write(const struct el_own_set *set, const char *sluiced);
/*
 * The same, and have sluiced, if it runs, take it at once. 0; else -errno with the reason in why,
 * and `former` is left for it again.
 */
int el_own_set_offer(const struct el_own_set *set, const struct el_own_set *former,
		     const char *sluiced, char why[EL_WHY_BYTES]);

#endif
