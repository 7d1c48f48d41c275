/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The machine of classic BPF on the first bytes of a frame: it runs what libpcap makes of an
 * expression of pcap-filter(7). BSD's bpf(4) has its instructions; what that leaves open is as in
 * libpcap. Calls nothing of the kernel, so that tests can run it in user space, too.
 */
#ifndef SL_CLASSIC_FILTER_BPF_H
#define SL_CLASSIC_FILTER_BPF_H

#include <linux/filter.h>
#include <stdbool.h>

#include "bpf/abi/captured.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

enum sl_filter_verdict {
	SL_FILTER_UNDECIDED, /* it would take more of the frame, or more instructions */
	SL_FILTER_REJECTS,
	SL_FILTER_CHOOSES,
};

/* A run of a filter. */
struct sl_filter_run {
	__u32 a, x;	   /* 0 to begin with, as pc, verdict and mem */
	__u32 pc;	   /* of the next instruction */
	__u32 verdict;	   /* enum sl_filter_verdict */
	__u32 frame_bytes; /* of the whole frame */
	__u32 head_bytes;  /* of it in head[], at most SL_FILTER_HEAD */
	__u32 mem[BPF_MEMWORDS];
	__u8 head[SL_FILTER_HEAD + 4]; /* so that a word may begin at each byte */
};

/* size_bytes, 1, 2 or 4, of the frame at `at`. False: there are none, and this is the end. */
static __always_inline bool sl_filter_load(struct sl_filter_run *run, __u64 at, __u32 size_bytes,
					   __u32 *out)
{
	__u32 value;

	if (at + size_bytes > run->frame_bytes)
		run->verdict = SL_FILTER_REJECTS;
	if (at + size_bytes > run->head_bytes || at >= SL_FILTER_HEAD)
		return false;
	value = run->head[at];
	if (size_bytes > 1)
		value = value << 8 | run->head[at + 1];
	if (size_bytes > 2)
		value = value << 16 | (__u32)run->head[at + 2] << 8 | run->head[at + 3];
	*out = value;
	return true;
}

/* False: a division by zero. */
static __always_inline bool sl_filter_alu(__u32 *a, __u32 operation, __u32 by)
{
	if (operation == BPF_ADD)
		*a += by;
	else if (operation == BPF_SUB)
		*a -= by;
	else if (operation == BPF_MUL)
		*a *= by;
	else if (operation == BPF_AND)
		*a &= by;
	else if (operation == BPF_OR)
		*a |= by;
	else if (operation == BPF_XOR)
		*a ^= by;
	else if (operation == BPF_LSH)
		*a = by < 32 ? *a << (by & 31) : 0;
	else if (operation == BPF_RSH)
		*a = by < 32 ? *a >> (by & 31) : 0;
	else if (operation == BPF_NEG)
		*a = -*a;
	else if (!by)
		return false;
	else if (operation == BPF_DIV)
		*a /= by;
	else
		*a %= by;
	return true;
}

static __always_inline bool sl_filter_is(__u32 a, __u32 comparison, __u32 with)
{
	if (comparison == BPF_JEQ)
		return a == with;
	if (comparison == BPF_JGT)
		return a > with;
	if (comparison == BPF_JGE)
		return a >= with;
	return a & with; /* BPF_JSET */
}

/* A load into A or X. False: this is the end. */
static __always_inline bool sl_filter_fetch(struct sl_filter_run *run, __u16 code, __u32 k)
{
	bool to_x = BPF_CLASS(code) == BPF_LDX;
	__u32 mode = BPF_MODE(code), value = 0;
	__u32 size_bytes = BPF_SIZE(code) == BPF_W ? 4 : BPF_SIZE(code) == BPF_H ? 2 : 1;

	if (mode == BPF_IMM) {
		value = k;
	} else if (mode == BPF_LEN) {
		value = run->frame_bytes;
	} else if (mode == BPF_MEM) {
		value = run->mem[k % BPF_MEMWORDS];
	} else {
		__u64 at = mode == BPF_IND ? (__u64)run->x + k : k;

		if (size_bytes == 4   ? !sl_filter_load(run, at, 4, &value)
		    : size_bytes == 2 ? !sl_filter_load(run, at, 2, &value)
				      : !sl_filter_load(run, at, 1, &value))
			return false;
		if (mode == BPF_MSH)
			value = (value & 0xf) * 4;
	}
	if (to_x)
		run->x = value;
	else
		run->a = value;
	return true;
}

/* Run one instruction. False: it was the last one, and run->verdict is the filter's. */
static __always_inline bool sl_filter_step(struct sl_filter_run *run,
					   const volatile struct sl_capture_filter *filter)
{
	__u32 at = run->pc, k, operand;
	__u16 code;

	if (at >= SL_FILTER_INSNS_MAX)
		return false;
	code = filter->insn[at].code;
	k = filter->insn[at].k;
	operand = BPF_SRC(code) == BPF_X ? run->x : k;
	run->pc = at + 1;
	switch (BPF_CLASS(code)) {
	case BPF_LD:
	case BPF_LDX:
		return sl_filter_fetch(run, code, k);
	case BPF_ST:
		run->mem[k % BPF_MEMWORDS] = run->a;
		return true;
	case BPF_STX:
		run->mem[k % BPF_MEMWORDS] = run->x;
		return true;
	case BPF_ALU:
		if (sl_filter_alu(&run->a, BPF_OP(code), operand))
			return true;
		run->verdict = SL_FILTER_REJECTS;
		return false;
	case BPF_JMP:
		if (BPF_OP(code) == BPF_JA)
			run->pc += k;
		else
			run->pc += sl_filter_is(run->a, BPF_OP(code), operand)
					   ? filter->insn[at].jt
					   : filter->insn[at].jf;
		return true;
	case BPF_RET:
		run->verdict = (BPF_RVAL(code) == BPF_A ? run->a : k) ? SL_FILTER_CHOOSES
								      : SL_FILTER_REJECTS;
		return false;
	default: /* BPF_MISC */
		if (BPF_MISCOP(code) == BPF_TAX)
			run->x = run->a;
		else
			run->a = run->x;
		return true;
	}
}

#endif
