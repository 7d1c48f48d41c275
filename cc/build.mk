# SPDX-License-Identifier: BSD-2-Clause
# Controllers: pure objects that run in the bridge and in the simulators alike.
LIBS += libcc libccsim
libcc_SRCS := $(wildcard cc/*.c)
libccsim_SRCS := cc/sim/model.c cc/sim/run.c cc/sim/scenario.c
libccsim_USES := libcc libbase
PROGRAMS += cc-sim
cc-sim_SRCS := cc/sim/cc-sim.c cc/sim/cost.c
cc-sim_USES := libccsim
cc-sim_LDLIBS := -lm -lpthread

# Packet-level experiments: apart from `all`, because ns-3 is large and only they need it.
.PHONY: sim
sim: $(BUILD)/cc-sim $(BUILD)/cc-ns3 ## build the simulators, the ns-3 experiments among them

$(BUILD)/cc-ns3: cc/sim/ns3/cc-ns3.cc cc/cc.h cc/algorithms.h $(BUILD)/obj/libcc.a
	$(call say,CXX,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O2 -Wall -Wextra -Werror -I. $(filter %.cc %.a,$^) -o $@ \
		-lns3-core -lns3-network -lns3-csma -lns3-point-to-point
