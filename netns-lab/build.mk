# SPDX-License-Identifier: BSD-2-Clause
# Programs of the lab go to build/lab. A program P with BPF code in netns-lab/P.bpf.c carries it inside, as the
# skeleton build/lab/P.skel.h.
LAB_SKELETONS := gen sink
PROGRAMS += lab/gen lab/sink

lab/gen_SRCS    := netns-lab/gen.c netns-lab/destinations.c netns-lab/device.c netns-lab/tool.c
lab/gen_LDLIBS  := -lbpf
lab/sink_SRCS   := netns-lab/sink.c netns-lab/device.c netns-lab/tool.c
lab/sink_LDLIBS := -lbpf

BPF_OBJS += $(BUILD)/lab/fib_forward.bpf.o
$(patsubst %,$(BUILD)/lab/%.bpf.o,$(LAB_SKELETONS) fib_forward): $(BUILD)/lab/%.bpf.o: netns-lab/%.bpf.c
	$(compile_bpf)
$(LAB_SKELETONS:%=$(BUILD)/lab/%.skel.h): $(BUILD)/lab/%.skel.h: $(BUILD)/lab/%.bpf.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)bpftool gen skeleton $< name lab_$* >$@

$(LAB_SKELETONS:%=$(BUILD)/obj/netns-lab/%.o): $(BUILD)/obj/netns-lab/%.o: $(BUILD)/lab/%.skel.h
$(LAB_SKELETONS:%=$(BUILD)/obj/netns-lab/%.o): CPPFLAGS += -I$(BUILD)

# Lookups measured (bench-lookup) and tested (tests/bpf/test_lookup.c) by one rig.
LIBS += liblookup
liblookup_SRCS := netns-lab/lookup_rig.c netns-lab/kernel_routes.c netns-lab/route_batch.c netns-lab/routes.c
PROGRAMS += lab/bench-lookup
lab/bench-lookup_SRCS := netns-lab/bench-lookup.c netns-lab/tool.c
lab/bench-lookup_USES := liblookup libsluice
BPF_OBJS += $(BUILD)/lab/bench_lookup.bpf.o
$(BUILD)/lab/bench_lookup.bpf.o: netns-lab/bench_lookup.bpf.c
	$(compile_bpf)

PROGRAMS += lab/reroute
lab/reroute_SRCS := netns-lab/reroute.c netns-lab/tool.c
lab/reroute_USES := liblookup libsluice
