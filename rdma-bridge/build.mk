# SPDX-License-Identifier: BSD-2-Clause
LIBS += librb
librb_SRCS := $(filter-out rdma-bridge/sluice-bridge.c,$(wildcard rdma-bridge/*.c))
# What only the bridge needs: CRC-32 of RoCE, AF_XDP sockets, HMAC.
RB_LDLIBS := $(shell pkg-config --libs libisal libxdp libcrypto 2>/dev/null)

PROGRAMS += sluice-bridge
sluice-bridge_SRCS := rdma-bridge/sluice-bridge.c
sluice-bridge_USES := librb libsluice libcc
sluice-bridge_LDLIBS := $(RB_LDLIBS)

# The program for the fabric's netdev travels inside the bridge, as a skeleton.
$(BUILD)/rdma-bridge/fabric.skel.h: $(BUILD)/fabric.bpf.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)bpftool gen skeleton $< name rb_fabric_bpf >$@
$(BUILD)/obj/rdma-bridge/fabric_xdp.o $(BUILD)/asan/rdma-bridge/fabric_xdp.o $(BUILD)/fuzz/rdma-bridge/fabric_xdp.o: \
	$(BUILD)/rdma-bridge/fabric.skel.h
$(BUILD)/obj/rdma-bridge/fabric_xdp.o $(BUILD)/asan/rdma-bridge/fabric_xdp.o $(BUILD)/fuzz/rdma-bridge/fabric_xdp.o: \
	CPPFLAGS += -I$(BUILD)
