# SPDX-License-Identifier: BSD-2-Clause
LIBS += librb
librb_SRCS := $(filter-out rdma-bridge/sluice-bridge.c,$(wildcard rdma-bridge/*.c))
# What only the bridge needs: CRC-32 of RoCE.
RB_LDLIBS := $(shell pkg-config --libs libisal 2>/dev/null)
