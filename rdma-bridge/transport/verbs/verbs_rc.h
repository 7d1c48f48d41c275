/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RB_VERBS_RC_H
#define RB_VERBS_RC_H

#include "rdma-bridge/transport/verbs/verbs.h"

/* Open transport verbs-rc, as rb_verbs_open. */
int rb_verbs_rc_open(const struct rb_verbs_config *config, struct rb_transport **out);

#endif
