/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RB_VERBS_UD_H
#define RB_VERBS_UD_H

#include "rdma-bridge/transport/verbs/verbs.h"

/* Open transport verbs-ud, as rb_verbs_open. */
int rb_verbs_ud_open(const struct rb_verbs_config *config, struct rb_transport **out);

#endif
