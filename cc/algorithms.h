/* SPDX-License-Identifier: BSD-2-Clause */
/* The algorithms, one per file. Only cc.c lists them; everyone else asks cc_lookup. */
#ifndef CC_ALGORITHMS_H
#define CC_ALGORITHMS_H

#include "cc/cc.h"

extern const struct cc_ops cc_fixed_ops;   /* fixed.c */
extern const struct cc_ops cc_weights_ops; /* weights.c */
extern const struct cc_ops cc_price_ops;   /* price.c */
extern const struct cc_ops cc_aimd_ops;	   /* aimd.c */
extern const struct cc_ops cc_qcn_ops;	   /* qcn.c */
extern const struct cc_ops cc_asm_ops;	   /* asm.c */
extern const struct cc_ops cc_dq_ops;	   /* dq.c */

#endif
