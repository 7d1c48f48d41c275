# SPDX-License-Identifier: BSD-2-Clause
# Flow queues and discard policies: pure objects, for the bridge and for the simulator alike.
LIBS += libqueues
libqueues_SRCS := $(wildcard queues/*.c)
# No program links it yet: the tests and the simulator do.
all: $(BUILD)/obj/libqueues.a
