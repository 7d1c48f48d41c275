# SPDX-License-Identifier: BSD-2-Clause
# Elements: pure objects that the simulator runs, and that a worker process can.
LIBS += libelements
libelements_SRCS := $(wildcard elements/sched/*.c)
