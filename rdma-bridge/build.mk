# SPDX-License-Identifier: BSD-2-Clause
LIBS += librb
librb_SRCS := $(filter-out rdma-bridge/sluice-bridge.c,$(wildcard rdma-bridge/*.c rdma-bridge/*/*.c rdma-bridge/*/*/*.c))
# What only the bridge needs: CRC-32 of RoCE, AF_XDP sockets, HMAC.
RB_LDLIBS := $(shell pkg-config --libs libisal libxdp libcrypto 2>/dev/null)

PROGRAMS += sluice-bridge
sluice-bridge_SRCS := rdma-bridge/sluice-bridge.c
sluice-bridge_USES := librb libsluice libcc
sluice-bridge_LDLIBS := $(RB_LDLIBS)

# The programs for the fabric's netdev and for injecting travel inside the bridge, as skeletons.
RB_SKELETONS := $(addprefix $(BUILD)/rdma-bridge/,transport/fabric.skel.h port/inject.skel.h)
RB_SKELETON_OBJS := $(foreach kind,obj asan tsan fuzz,$(addprefix $(BUILD)/$(kind)/rdma-bridge/,transport/fabric_xdp.o port/injector.o))
$(BUILD)/rdma-bridge/transport/fabric.skel.h: $(BUILD)/fabric.bpf.o
$(BUILD)/rdma-bridge/port/inject.skel.h: $(BUILD)/inject.bpf.o
$(RB_SKELETONS):
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)bpftool gen skeleton $< name rb_$(@F:.skel.h=)_bpf >$@
$(RB_SKELETON_OBJS): $(RB_SKELETONS)
$(RB_SKELETON_OBJS): CPPFLAGS += -I$(BUILD)
