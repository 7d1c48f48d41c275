/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of controllers. Nothing else names them all: the enumeration, the table cc_algorithms,
 * the configuration's choices and the shell's completion come from it.
 *
 * A line is X(number, ID, name): cc/NAME.c defines cc_NAME_ops, whose algorithm is CC_ID. The
 * number crosses the fabric in each feedback record, so it is never used again for another
 * algorithm.
 */
#ifndef CC_ALGORITHMS_H
#define CC_ALGORITHMS_H

#define CC_ALGORITHMS(X)       \
	X(1, FIXED, fixed)     \
	X(2, WEIGHTS, weights) \
	X(3, PRICE, price)     \
	X(4, AIMD, aimd)       \
	X(5, QCN, qcn)         \
	X(6, ASM, asm)         \
	X(7, DQ, dq)           \
	X(8, CREDIT, credit)   \
	X(9, RCP, rcp)         \
	X(10, SWIFT, swift)    \
	X(11, HPCC, hpcc)      \
	X(12, DCQCN, dcqcn)

#define CC_ENUM_ALGORITHM(number, id, name) CC_##id = (number),
enum cc_algorithm { CC_ALGORITHMS(CC_ENUM_ALGORITHM) };

#define CC_DECLARE_OPS(number, id, name) extern const struct cc_ops cc_##name##_ops;
struct cc_ops;
CC_ALGORITHMS(CC_DECLARE_OPS)

#endif
