# SPDX-License-Identifier: BSD-2-Clause
BPF_OBJS += $(BUILD)/sluice.bpf.o
$(BUILD)/sluice.bpf.o: bpf/sluice.bpf.c
