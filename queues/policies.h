/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of discard policies. Nothing else names them all: the enumeration and the table
 * fq_policies come from it.
 *
 * A line is X(ID, name): queues/NAME.c defines fq_NAME_ops, whose policy is FQ_ID.
 */
#ifndef QUEUES_POLICIES_H
#define QUEUES_POLICIES_H

#define FQ_POLICIES(X)      \
	X(TAIL, tail)       \
	X(RED, red)         \
	X(BLUE, blue)       \
	X(LONGEST, longest) \
	X(TDRR, tdrr)       \
	X(QSDRR, qsdrr)     \
	X(CODEL, codel)     \
	X(LAYERS, layers)

#define FQ_ENUM_POLICY(id, name) FQ_##id,
enum fq_policy { FQ_POLICIES(FQ_ENUM_POLICY) FQ_N_POLICIES };

#define FQ_DECLARE_OPS(id, name) extern const struct fq_ops fq_##name##_ops;
struct fq_ops;
FQ_POLICIES(FQ_DECLARE_OPS)

#endif
