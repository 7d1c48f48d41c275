# SPDX-License-Identifier: BSD-2-Clause
# Elements: pure objects that the simulator and the worker run, and graphs of them.
LIBS += libelements libelementssim libelementgraph libelementsignal libelementworker
libelements_SRCS := $(wildcard elements/sched/*.c)
libelementssim_SRCS := elements/sim/processor.c elements/sim/experiments.c elements/sim/video.c
libelementssim_USES := libelementgraph
libelementgraph_SRCS := $(call sources_in,$(addprefix elements/,core classes graph))
libelementgraph_USES := libelements libbase
# What senders and the worker share
libelementsignal_SRCS := $(wildcard elements/signal/*.c)
libelementsignal_USES := libbase
# The worker process, but for its main file.
libelementworker_SRCS := $(filter-out elements/worker/sluice-elements.c,$(call sources_in,$(addprefix elements/,worker install fast)))
libelementworker_USES := libelementgraph libelementsignal libpacket libdaemon
PROGRAMS += elements-sim sluice-elements
sluice-elements_SRCS := elements/worker/sluice-elements.c
sluice-elements_USES := libelementworker
# What installed elements call: the functions of elements/core.
sluice-elements_LDLIBS = $(RB_LDLIBS) -lelf $(foreach s,el_pool_* el_packet_* el_read* el_write* el_checksum* el_ip_* el_ip4_*,-Wl,--export-dynamic-symbol=$(s))
elements-sim_SRCS := elements/sim/elements-sim.c
elements-sim_USES := libelementssim
elements-sim_LDLIBS := -lm

# The programs of the netdev and of trials travel inside the process, as skeletons.
EL_SKELETONS := $(BUILD)/elements/worker/chain_input.skel.h $(BUILD)/elements/fast/element_trial.skel.h
EL_SKELETON_OBJS := $(foreach kind,obj asan tsan fuzz,$(addprefix $(BUILD)/$(kind)/elements/,worker/chain_port.o fast/own_trial.o))
$(BUILD)/elements/worker/chain_input.skel.h: $(BUILD)/chain_input.bpf.o
$(BUILD)/elements/fast/element_trial.skel.h: $(BUILD)/element_trial.bpf.o
$(EL_SKELETONS):
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)bpftool gen skeleton $< name el_$(basename $(basename $(@F)))_bpf >$@
$(EL_SKELETON_OBJS): $(EL_SKELETONS)
$(EL_SKELETON_OBJS): CPPFLAGS += -I$(BUILD)
