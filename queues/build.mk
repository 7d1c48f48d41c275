# SPDX-License-Identifier: BSD-2-Clause
# Flow queues and discard policies: pure objects, for the bridge and for the simulator alike.
LIBS += libqueues
libqueues_SRCS := $(wildcard queues/*.c)
libqueues_USES := libcc

# With ns-3, apart from `all`: see cc/build.mk.
sim: $(BUILD)/fq-ns3
$(BUILD)/fq-ns3: queues/sim/fq-ns3.cc $(wildcard queues/*.h) $(BUILD)/obj/libqueues.a
	$(call say,CXX,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O2 -Wall -Wextra -Werror -I. $(filter %.cc %.a,$^) -o $@ \
		-lns3-core -lns3-network -lns3-internet -lns3-point-to-point -lns3-applications -lns3-traffic-control
