# SPDX-License-Identifier: BSD-2-Clause
LIBS += librb
librb_SRCS := $(filter-out rdma-bridge/sluice-bridge.c,$(wildcard rdma-bridge/*.c))
