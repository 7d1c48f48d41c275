# SPDX-License-Identifier: BSD-2-Clause
# Frames in packet memory, their queues and schedulers, AF_XDP: for every process that moves frames.
LIBS += libpacket libbridge
libpacket_SRCS := $(call sources_in,$(addprefix rdma-bridge/,wire scheduler measure queue port))
libpacket_USES := libbase libqueues libdelaystats
# The bridge but for its main file.
libbridge_SRCS := $(call sources_in,$(addprefix rdma-bridge/,transport transport/verbs join ipc rate worker express bridge views assembly))
libbridge_USES := libpacket libcc
# What only the bridge needs: CRC-32 of RoCE, AF_XDP sockets, HMAC.
RB_LDLIBS := $(shell pkg-config --libs libisal libxdp libcrypto 2>/dev/null)

PROGRAMS += sluice-bridge
sluice-bridge_SRCS := rdma-bridge/sluice-bridge.c
sluice-bridge_USES := libbridge
sluice-bridge_LDLIBS := $(RB_LDLIBS)

# The programs for the fabric's netdev and for injecting travel inside the bridge, as skeletons.
RB_SKELETONS := $(addprefix $(BUILD)/rdma-bridge/,transport/fabric.skel.h transport/fabric_sent.skel.h port/inject.skel.h port/kernel_egress.skel.h)
RB_SKELETON_OBJS := $(foreach kind,obj asan tsan fuzz,$(addprefix $(BUILD)/$(kind)/rdma-bridge/,transport/fabric_xdp.o port/injector.o port/kernel_egress.o))
# It runs the program by itself.
RB_SKELETON_OBJS += $(BUILD)/obj/tests/bpf/test_kernel_egress.o
$(BUILD)/rdma-bridge/transport/fabric.skel.h: $(BUILD)/fabric.bpf.o
$(BUILD)/rdma-bridge/transport/fabric_sent.skel.h: $(BUILD)/fabric_sent.bpf.o
$(BUILD)/rdma-bridge/port/inject.skel.h: $(BUILD)/inject.bpf.o
$(BUILD)/rdma-bridge/port/kernel_egress.skel.h: $(BUILD)/kernel_egress.bpf.o
$(RB_SKELETONS):
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)bpftool gen skeleton $< name rb_$(@F:.skel.h=)_bpf >$@
$(RB_SKELETON_OBJS): $(RB_SKELETONS)
$(RB_SKELETON_OBJS): CPPFLAGS += -I$(BUILD)
