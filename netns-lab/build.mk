# SPDX-License-Identifier: BSD-2-Clause
# Programs of the lab go to build/lab. The generator and the sink carry their BPF programs inside, as the skeletons
# build/lab/gen.skel.h and build/lab/sink.skel.h.
LAB_SKELETONS := gen sink
LAB_SKELETON_OBJS := $(LAB_SKELETONS:%=$(BUILD)/obj/netns-lab/gen/%.o)
PROGRAMS += lab/gen lab/sink

lab/gen_SRCS    := $(addprefix netns-lab/gen/,gen.c destinations.c device.c tool.c)
lab/gen_USES    := libbase
lab/gen_LDLIBS  := -lbpf
lab/sink_SRCS   := $(addprefix netns-lab/gen/,sink.c device.c tool.c)
lab/sink_LDLIBS := -lbpf

LAB_BPF_SRCS := $(wildcard netns-lab/*/*.bpf.c)
BPF_OBJS += $(filter-out $(LAB_SKELETONS:%=$(BUILD)/lab/%.bpf.o),$(patsubst %.bpf.c,$(BUILD)/lab/%.bpf.o,$(notdir $(LAB_BPF_SRCS))))
define lab_bpf_rule
$(BUILD)/lab/$(notdir $(1:.c=.o)): $(1)
	$$(compile_bpf)
endef
$(foreach source,$(LAB_BPF_SRCS),$(eval $(call lab_bpf_rule,$(source))))
$(LAB_SKELETONS:%=$(BUILD)/lab/%.skel.h): $(BUILD)/lab/%.skel.h: $(BUILD)/lab/%.bpf.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)bpftool gen skeleton $< name lab_$* >$@

$(LAB_SKELETON_OBJS): $(BUILD)/obj/netns-lab/gen/%.o: $(BUILD)/lab/%.skel.h
$(LAB_SKELETON_OBJS): CPPFLAGS += -I$(BUILD)

# Lookups measured (bench-lookup) and tested (tests/bpf/test_lookup.c) by one rig.
LIBS += liblookup
liblookup_SRCS := $(addprefix netns-lab/lookup/,lookup_rig.c kernel_routes.c route_batch.c routes.c)
liblookup_USES := libdaemon
PROGRAMS += lab/bench-lookup lab/reroute
lab/bench-lookup_SRCS := netns-lab/lookup/bench-lookup.c netns-lab/gen/tool.c
lab/bench-lookup_USES := liblookup
lab/reroute_SRCS := netns-lab/lookup/reroute.c netns-lab/gen/tool.c
lab/reroute_USES := liblookup

# The classifier, in the same way (tests/bpf/test_classify.c).
LIBS += libclassify
libclassify_SRCS := $(addprefix netns-lab/classify/,classify_rig.c rule_sets.c)
libclassify_USES := liblookup
PROGRAMS += lab/bench-classify
lab/bench-classify_SRCS := netns-lab/classify/bench-classify.c netns-lab/gen/tool.c
lab/bench-classify_USES := libclassify
PROGRAMS += lab/bench-flows
lab/bench-flows_SRCS := netns-lab/classify/bench-flows.c netns-lab/gen/tool.c
lab/bench-flows_USES := libclassify
PROGRAMS += lab/filter-twins
lab/filter-twins_SRCS := $(addprefix netns-lab/classify/,filter-twins.c flow_frame.c rule_print.c) netns-lab/gen/tool.c
lab/filter-twins_USES := libclassify
