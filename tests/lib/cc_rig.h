/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests of controllers share: a port, and the record that a source gets of one sample. */
#ifndef CC_RIG_H
#define CC_RIG_H

#include "cc/cc.h"

#define CC_RIG_C 1000000.0 /* frames a second of the port; T is 1 ms */

/* A configuration for `sources` of a port of 64-byte frames; the caller sets parameters, and
 * prepares it. */
void cc_rig_init(struct cc_config *cfg, const char *controller, uint16_t sources);
/* The record of a sample by the timer for its only source, of weight 1. `s` says queue and counts.
 */
struct cc_feedback cc_rig_record(struct cc_egress *egress, const struct cc_config *cfg,
				 struct cc_sample s);
/* The rate that a source has now, in frames a second. */
double cc_rig_rate(const struct cc_ingress *ingress);

#endif
