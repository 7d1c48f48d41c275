# SPDX-License-Identifier: BSD-2-Clause
# Elements: pure objects that the simulator runs, and that a worker process can.
LIBS += libelements libelementssim
libelements_SRCS := $(wildcard elements/sched/*.c)
libelementssim_SRCS := elements/sim/processor.c elements/sim/experiments.c
libelementssim_USES := libelements
PROGRAMS += elements-sim
elements-sim_SRCS := elements/sim/elements-sim.c
elements-sim_USES := libelementssim
elements-sim_LDLIBS := -lm
