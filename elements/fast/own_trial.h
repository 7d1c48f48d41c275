/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program of an own element before sl_edge has it: what it may consist of, whether the verifier
 * takes it, and what it does with packets.
 */
#ifndef EL_OWN_TRIAL_H
#define EL_OWN_TRIAL_H

#include "bpf/abi/own_element.h"
#include "elements/core/package.h"
#include "user/datapath/bpf_object.h"

#define EL_OWN_FRAME_MAX_BYTES 3200u

struct el_own_trial {
	int program_fd;		     /* owned */
	struct sl_own_trial *record; /* owned: shared with the program */
};

/*
 * Load the program in the BPF object of an element, for packets that the caller has. 0; -EINVAL
 * with the reason in why: it has data of its own, calls what it may not, or the verifier refuses
 * it; another -errno likewise. Needs CAP_BPF; what follows needs no right.
 */
int el_own_trial_open(const struct sl_bpf_bytes *object, struct el_own_trial *out,
		      char why[EL_WHY_BYTES]);
void el_own_trial_close(struct el_own_trial *trial);

/*
 * Run it on a frame of n bytes, at most EL_OWN_FRAME_MAX_BYTES, which it may change in place; so it
 * may packet->paint. Returns the output, SL_OWN_DROP, or -errno.
 */
int el_own_trial_run(struct el_own_trial *trial, const struct sl_own_config *config,
		     struct sl_own_packet *packet, uint8_t *frame, uint32_t n);
/* The least time of several that the latest packet takes, in ns; or -errno. */
int el_own_trial_time(struct el_own_trial *trial, const uint8_t *frame, uint32_t n);

#endif
