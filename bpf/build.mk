# SPDX-License-Identifier: BSD-2-Clause
BPF_OBJS += $(patsubst bpf/%.bpf.c,$(BUILD)/%.bpf.o,$(wildcard bpf/*.bpf.c))
