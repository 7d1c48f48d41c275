# SPDX-License-Identifier: BSD-2-Clause
# Controllers: pure objects that run in the bridge and in the simulators alike.
LIBS += libcc libccsim
libcc_SRCS := $(wildcard cc/*.c)
libccsim_SRCS := cc/sim/model.c cc/sim/run.c cc/sim/scenario.c
PROGRAMS += cc-sim
cc-sim_SRCS := cc/sim/main.c
cc-sim_USES := libccsim libcc
cc-sim_LDLIBS := -lm -lpthread
