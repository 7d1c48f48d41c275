# SPDX-License-Identifier: BSD-2-Clause
# Controllers: pure objects that run in the bridge and in the simulator alike.
LIBS += libcc
libcc_SRCS := $(wildcard cc/*.c)
all: $(BUILD)/obj/libcc.a
