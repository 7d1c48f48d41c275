# SPDX-License-Identifier: BSD-2-Clause
# Tests are found by their names: test_*.c below tests/unit and tests/bpf/test_*.c (cmocka, TAP), tests/fuzz/fuzz_*.c.
.PHONY: test-programs
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard $(addprefix tests/unit/,*/test_*.c */*/test_*.c */*/*/test_*.c)))
BPF_TESTS  := $(patsubst tests/bpf/%.c,$(BUILD)/tests/bpf/%,$(wildcard tests/bpf/test_*.c))
RDMA_TESTS := $(patsubst tests/rdma/%.c,$(BUILD)/tests/rdma/%,$(wildcard tests/rdma/*.c))
ORACLE_TOOLS := $(patsubst tests/oracle/%.c,$(BUILD)/tests/oracle/%,$(wildcard tests/oracle/*.c))
FUZZERS    := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
TEST_LIB   := $(wildcard tests/lib/*.c)
TEST_LDLIBS := $(shell pkg-config --libs cmocka 2>/dev/null) $(LDLIBS) $(RB_LDLIBS) -lcurl -lelf -lz -lm

TEST_TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/tests/tools/%,$(filter-out %/count_malloc.c,$(wildcard tests/tools/*.c)))
COUNT_MALLOC := $(BUILD)/tests/tools/count_malloc.so # a library, to preload
REHEARSE := $(BUILD)/tests/rehearsal/rehearse
# Daemon and bridge under ASan and UBSan, and the bridge, which has threads, under TSan: kinds.bats,
# cluster_maps.bats and cluster_workers.bats run them. The daemon lies beside the BPF objects, where it looks for them.
ASAN_DAEMON := $(BUILD)/sluiced-asan
ASAN_BRIDGE := $(BUILD)/tests/sluice-bridge
TSAN_BRIDGE := $(BUILD)/tests/tsan/sluice-bridge
# sluice-delay likewise, as tests/oracle/test_delay.py runs it
ASAN_DELAY := $(BUILD)/tests/sluice-delay
# The last release and the next one, for tests/netns/cluster/upgrade.bats: the same sources, but for what has a version.
RELEASES := former next
RELEASE_FLAGS_former := -USL_VERSION -DSL_VERSION='"0.0.9"' -DRB_EXCHANGE_OLDEST=4 -DRB_EXCHANGE_NEWEST=4
RELEASE_FLAGS_next := -USL_VERSION -DSL_VERSION='"0.2.0"' -DRB_EXCHANGE_OLDEST=5 -DRB_EXCHANGE_NEWEST=6
RELEASE_SRCS_sluiced := $(sluiced_SRCS) user/ipc/control_socket.c user/show/show_status.c
RELEASE_SRCS_sluice-bridge := $(sluice-bridge_SRCS) user/ipc/control_socket.c rdma-bridge/join/exchange.c
RELEASE_PROGRAMS := $(foreach r,$(RELEASES),$(BUILD)/sluiced-$(r) $(BUILD)/sluice-bridge-$(r))
# tests/netns/lab/ns3.bats and fq_ns3.bats run them where ns-3 is installed.
NS3_TEST := $(if $(wildcard /usr/include/ns3/core-module.h),$(BUILD)/cc-ns3 $(BUILD)/fq-ns3)
test-programs: $(UNIT_TESTS) $(BPF_TESTS) $(RDMA_TESTS) $(FUZZERS) $(ORACLE_TOOLS) $(TEST_TOOLS) $(COUNT_MALLOC) $(REHEARSE) $(ASAN_DAEMON) $(ASAN_BRIDGE) $(TSAN_BRIDGE) $(ASAN_DELAY) $(RELEASE_PROGRAMS) $(NS3_TEST) ## build the tests without running them

# Unit tests run under ASan and UBSan; tests that load BPF, or run in an emulated machine, run plain. So does one that
# simulates minutes of five nodes; others run the same code under ASan.
PLAIN_UNIT_TESTS := $(BUILD)/tests/unit/rdma-bridge/rate/test_rates
$(filter-out $(PLAIN_UNIT_TESTS),$(UNIT_TESTS)): $(BUILD)/tests/unit/%: $(BUILD)/asan/tests/unit/%.o $(TEST_LIB:%.c=$(BUILD)/asan/%.o) \
		$(LIBS:%=$(BUILD)/asan/%.a)
	$(call say,LD-ASAN,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(link_objects) -o $@ $(TEST_LDLIBS)

# They let allocations fail, the kernel be silent, and clocks be slow.
$(BUILD)/tests/unit/user/lib/test_clock: TEST_LDLIBS += -Wl,--wrap=clock_gettime
$(BUILD)/tests/unit/user/fib/test_fib: TEST_LDLIBS += -Wl,--wrap=malloc
$(BUILD)/tests/unit/user/mirror/test_mirror: TEST_LDLIBS += -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=poll \
	-Wl,--wrap=mnl_socket_recvfrom

$(ASAN_BRIDGE): $(sluice-bridge_SRCS:%.c=$(BUILD)/asan/%.o) $(call archives,sluice-bridge,asan)
	$(call say,LD-ASAN,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(link_objects) -o $@ $(LDLIBS) $(sluice-bridge_LDLIBS)

$(ASAN_DAEMON): $(sluiced_SRCS:%.c=$(BUILD)/asan/%.o) $(call archives,sluiced,asan)
	$(call say,LD-ASAN,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(link_objects) -o $@ $(LDLIBS) $(sluiced_LDLIBS)

$(TSAN_BRIDGE): $(sluice-bridge_SRCS:%.c=$(BUILD)/tsan/%.o) $(call archives,sluice-bridge,tsan)
	$(call say,LD-TSAN,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -fsanitize=thread $(link_objects) -o $@ $(LDLIBS) $(sluice-bridge_LDLIBS)

define release_program
$(BUILD)/$(1)-$(2): $(RELEASE_SRCS_$(1):%.c=$(BUILD)/tests/$(2)/%.o) $(call archives,$(1),obj)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(CFLAGS) $$(link_objects) -o $$@ $$(LDLIBS) $$($(1)_LDLIBS)
endef
define release_rules
$(BUILD)/tests/$(1)/%.o: %.c
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CPPFLAGS) $$(RELEASE_FLAGS_$(1)) $$(CFLAGS) -MMD -MP -c $$< -o $$@

$(foreach p,sluiced sluice-bridge,$(eval $(call release_program,$(p),$(1))))
endef
$(foreach r,$(RELEASES),$(eval $(call release_rules,$(r))))

$(ASAN_DELAY): $(sluice-delay_SRCS:%.c=$(BUILD)/asan/%.o) $(call archives,sluice-delay,asan)
	$(call say,LD-ASAN,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(link_objects) -o $@ $(LDLIBS) $(sluice-delay_LDLIBS)

$(PLAIN_UNIT_TESTS) $(BPF_TESTS) $(RDMA_TESTS): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(TEST_LIB:%.c=$(BUILD)/obj/%.o) \
		$(LIBS:%=$(BUILD)/obj/%.a)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(link_objects) -o $@ $(TEST_LDLIBS)
# Own elements that tests link with sl_edge
OWN_ELEMENTS := $(patsubst tests/bpf/%.bpf.c,$(BUILD)/%.bpf.o,$(wildcard tests/bpf/*.bpf.c))
$(OWN_ELEMENTS): $(BUILD)/%.bpf.o: tests/bpf/%.bpf.c
	$(compile_bpf)
$(BPF_TESTS): | $(BPF_OBJS) $(OWN_ELEMENTS) # loaded at run time, not linked

# Programs by which the oracles of tests/oracle/*.py read and write our bytes.
$(ORACLE_TOOLS): $(BUILD)/tests/oracle/%: $(BUILD)/obj/tests/oracle/%.o $(LIBS:%=$(BUILD)/obj/%.a)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(link_objects) -o $@ $(LDLIBS) $(RB_LDLIBS) -lm

# Programs that tests of tests/netns drive.
$(TEST_TOOLS): $(BUILD)/tests/tools/%: $(BUILD)/obj/tests/tools/%.o $(LIBS:%=$(BUILD)/obj/%.a)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(link_objects) -o $@ $(LDLIBS)
$(addprefix $(BUILD)/tests/tools/,bench-voq bench-chain bench-worker): $(BUILD)/obj/tests/lib/edge_rig.o $(BUILD)/obj/tests/lib/frame.o
$(BUILD)/tests/tools/bench-chain: $(BUILD)/obj/tests/lib/own_mark.o
$(addprefix $(BUILD)/tests/tools/,bench-voq bench-rates hold-queue): LDLIBS += $(RB_LDLIBS)

# tests/rehearsal/no_kernel.c takes the place of these.
REHEARSE_WRAPS := clock_gettime timerfd_settime connect sl_local_read sl_remote_port_make sl_remote_port_set \
	$(addprefix sl_relay_,connect disconnect send receive) \
	$(addprefix sl_rtnl_,open open_events close fd receive dump parse_addr link_sync request_open request_close \
		route_add route_delete neigh_set neigh_delete)
$(REHEARSE): $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/rehearsal/*.c)) $(LIBS:%=$(BUILD)/obj/%.a)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(link_objects) -o $@ $(REHEARSE_WRAPS:%=-Wl,--wrap=%) $(LDLIBS) $(RB_LDLIBS) -lm

$(COUNT_MALLOC): tests/tools/count_malloc.c
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared $< -o $@

$(BUILD)/tests/fuzz/fuzz_capture: LDLIBS += -lpcap
$(BUILD)/tests/unit/user/capture/test_frame_filter: TEST_LDLIBS += -lpcap
$(BUILD)/tests/fuzz/fuzz_object: LDLIBS += -lelf
$(FUZZERS): $(BUILD)/tests/fuzz/%: $(BUILD)/fuzz/tests/fuzz/%.o $(LIBS:%=$(BUILD)/fuzz/%.a)
	$(call say,LD-FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CFLAGS) $(SANITIZE) -fsanitize=fuzzer $(link_objects) -o $@ $(LDLIBS) $(RB_LDLIBS) -lcurl -lz -lm
