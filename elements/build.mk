# SPDX-License-Identifier: BSD-2-Clause
# Elements: pure objects that the simulator and the worker run, and graphs of them.
LIBS += libelements libelementssim libelementgraph
libelements_SRCS := $(wildcard elements/sched/*.c)
libelementssim_SRCS := elements/sim/processor.c elements/sim/experiments.c
libelementssim_USES := libelements
libelementgraph_SRCS := $(call sources_in,$(addprefix elements/,core classes graph))
libelementgraph_USES := libelements libbase
PROGRAMS += elements-sim
elements-sim_SRCS := elements/sim/elements-sim.c
elements-sim_USES := libelementssim
elements-sim_LDLIBS := -lm
