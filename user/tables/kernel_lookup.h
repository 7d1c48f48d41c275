/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel's route lookup for BPF programs can do: its flags came one after the other. */
#ifndef SL_KERNEL_LOOKUP_H
#define SL_KERNEL_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Does bpf_fib_lookup take these flags? Also false where no program can be loaded: without
 * CAP_BPF and CAP_NET_ADMIN.
 */
bool sl_kernel_looks_up(uint32_t flags);

#endif
