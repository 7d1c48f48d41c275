/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks the kernel by a program that is run once, on no packet of the network, because distributions
 * take new flags into old kernels. Flags that a kernel does not know are -EINVAL to it.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "user/tables/kernel_lookup.h"

/* What the program calls the helper with lies at the end of its stack. */
#define PARAMS_BYTES ((int)sizeof(struct bpf_fib_lookup))
#define AT(member) \
	((short)(offsetof(struct bpf_fib_lookup, member) - sizeof(struct bpf_fib_lookup)))
#define STORE(size, at, value)                                                         \
	{                                                                              \
		.code = BPF_ST | BPF_MEM | (size), .dst_reg = BPF_REG_10, .off = (at), \
		.imm = (int)(value)                                                    \
	}
#define SET(reg, value)                                                                    \
	{                                                                                  \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (int)(value) \
	}

bool sl_kernel_looks_up(uint32_t flags)
{
	const struct bpf_insn program[] = {
		STORE(BPF_DW, -64, 0),
		STORE(BPF_DW, -56, 0),
		STORE(BPF_DW, -48, 0),
		STORE(BPF_DW, -40, 0),
		STORE(BPF_DW, -32, 0),
		STORE(BPF_DW, -24, 0),
		STORE(BPF_DW, -16, 0),
		STORE(BPF_DW, -8, 0),
		STORE(BPF_B, AT(family), AF_INET),
		STORE(BPF_W, AT(ifindex), 1), /* the loopback netdev */
		/* r1 is the context already */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -PARAMS_BYTES },
		SET(BPF_REG_3, PARAMS_BYTES),
		SET(BPF_REG_4, flags),
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_fib_lookup },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	char frame[64] = ""; /* a test run wants one */
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = sizeof(frame));
	int fd, err;

	_Static_assert(sizeof(struct bpf_fib_lookup) == 64, "the program clears 64 bytes");
	fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "sl_lookup", "Dual BSD/GPL", program,
			   sizeof(program) / sizeof(program[0]), NULL);
	if (fd < 0)
		return false;
	err = bpf_prog_test_run_opts(fd, &run);
	close(fd);
	return !err && (int)run.retval != -EINVAL;
}
