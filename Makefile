# SPDX-License-Identifier: BSD-2-Clause
# The one entrance to sluice. `make help` lists the targets; each directory says in its build.mk
# what is made from it, and everything made goes under build/.

BUILD  := build
PREFIX ?= /usr/local
CC     := gcc
CLANG  := clang
PYTHON := /usr/bin/python3
V      ?= 0
Q      := $(if $(filter 1,$(V)),,@)
say     = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $(2))

VERSION := $(shell cat VERSION)

WARN := -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wwrite-strings \
	-Wformat=2 -Wvla -Wundef -Wpointer-arith
PKGS := libbpf libmnl yaml-0.1 jansson
CPPFLAGS += -D_GNU_SOURCE -DSL_VERSION='"$(VERSION)"' -I. $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
CFLAGS   += -std=gnu11 -O2 -g -fno-omit-frame-pointer $(WARN)
LDLIBS   += $(shell pkg-config --libs $(PKGS) 2>/dev/null)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all deps deps-run demo test check test-rdma bench soak soak-verbs mutants lint format install uninstall install-lab \
	uninstall-lab deb clean help

# Each build.mk adds to these; the rules below make them.
#   LIBS      static libraries, each with NAME_SRCS and NAME_USES, the libraries below it
#   PROGRAMS  binaries at build/NAME, each with NAME_SRCS (its main), NAME_USES (libraries; those
#             below them come by themselves), NAME_LDLIBS (foreign libraries beyond PKGS)
#   BPF_OBJS  BPF objects: build/NAME.bpf.o of bpf/NAME.bpf.c
LIBS     :=
PROGRAMS :=
BPF_OBJS :=
sources_in   = $(wildcard $(1:%=%/*.c))
with_below   = $(foreach l,$(1),$(l) $(call with_below,$($(l)_USES)))
# The libraries of a program, in the KIND of objects
archives     = $(addprefix $(BUILD)/$(2)/,$(addsuffix .a,$(sort $(call with_below,$($(1)_USES)))))
# In any order: the linker goes through them until nothing is missing.
link_objects = $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group
# Programs that netns-lab/bench starts beside those of the lab
BENCH_TOOLS := $(BUILD)/tests/tools/bench-voq $(BUILD)/tests/tools/bench-verbs $(BUILD)/tests/rehearsal/rehearse
# tests/build.mk links every library: it comes last
include $(filter-out tests/build.mk,$(wildcard */build.mk)) tests/build.mk

all: $(BPF_OBJS) $(PROGRAMS:%=$(BUILD)/%) ## build everything

# Objects come in four kinds: plain, gcc with ASan and UBSan (unit tests) or with TSan, clang with libFuzzer.
$(BUILD)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/asan/%.o: %.c
	$(call say,CC-ASAN,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SANITIZE) -DSL_TEST -MMD -MP -c $< -o $@

$(BUILD)/tsan/%.o: %.c
	$(call say,CC-TSAN,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fsanitize=thread -MMD -MP -c $< -o $@

$(BUILD)/fuzz/%.o: %.c
	$(call say,CC-FUZZ,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) $(CFLAGS) $(SANITIZE) -fsanitize=fuzzer-no-link -DSL_TEST -MMD -MP -c $< -o $@

define library_rules
$(BUILD)/obj/$(1).a: $$($(1)_SRCS:%.c=$(BUILD)/obj/%.o)
$(BUILD)/asan/$(1).a: $$($(1)_SRCS:%.c=$(BUILD)/asan/%.o)
$(BUILD)/tsan/$(1).a: $$($(1)_SRCS:%.c=$(BUILD)/tsan/%.o)
$(BUILD)/fuzz/$(1).a: $$($(1)_SRCS:%.c=$(BUILD)/fuzz/%.o)
endef
$(foreach l,$(LIBS),$(eval $(call library_rules,$(l))))

%.a:
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

define program_rules
$(BUILD)/$(1): $$($(1)_SRCS:%.c=$(BUILD)/obj/%.o) $$(call archives,$(1),obj)
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS) $$(LDFLAGS) $$(link_objects) -o $$@ $$(LDLIBS) $$($(1)_LDLIBS)
endef
$(foreach p,$(PROGRAMS),$(eval $(call program_rules,$(p))))

# BPF objects.
BPF_CFLAGS := -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wno-address-of-packed-member -I. \
	-I/usr/include/$(shell uname -m)-linux-gnu

define compile_bpf
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@
	$(Q)llvm-strip -g $@
endef
$(BUILD)/%.bpf.o: bpf/%.bpf.c
	$(compile_bpf)

# build/deb has a tree of its own.
-include $(shell find $(BUILD) -path $(BUILD)/deb -prune -o -name '*.d' -print 2>/dev/null)

deps: ## install every package the project needs (Debian, as root)
	$(Q)netns-lab/deps

deps-run: ## install only what building and running sluice itself needs (Debian, as root)
	$(Q)netns-lab/deps compile build run

demo: deps ## bring up the lab, forward real traffic, show the result, clean up
	$(MAKE) --no-print-directory -j$$(nproc) all
	netns-lab/demo

test: deps ## build and run every test
	$(MAKE) --no-print-directory -j$$(nproc) all test-programs
	-netns-lab/vm/make-image $(BUILD)/vm
	tests/run

check: all test-programs ## build and run the fast tests: all but netns and rdma
	tests/run build/tests tests/fuzz tests/oracle tests/lint

test-rdma: deps ## run the tests of RDMA alone, in virtual machines
	$(MAKE) --no-print-directory -j$$(nproc) all test-programs
	netns-lab/vm/make-image $(BUILD)/vm
	tests/run tests/rdma tests/vm

bench: all $(BENCH_TOOLS) ## measure; prints machine, medians, spreads and an A/A run
	netns-lab/bench

soak: all ## kill parts of a cluster at random, 100 times; it must be whole after each
	netns-lab/soak

soak-verbs: all ## faults of RDMA devices in virtual machines, 50 on each transport on verbs
	netns-lab/vm/make-image $(BUILD)/vm
	netns-lab/soak-verbs

mutants: ## put one fault at a time into a copy of the last commit; its suite must fail
	tests/mutants/run

lint: all ## formatting, shellcheck, sparse, headers, includes, licences
	tests/lint/run

# For lint: "NAME: FILE..." and "NAME uses NAME...", of each library.
.PHONY: print-libraries
print-libraries:
	@$(foreach l,$(LIBS),printf '%s: %s\n%s uses %s\n' '$(l)' '$($(l)_SRCS)' '$(l)' '$(sort $(call with_below,$($(l)_USES)))';)

format: ## rewrite C sources with clang-format
	clang-format-14 -i $$(git ls-files '*.c' '*.h')

clean: ## remove everything made
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile */build.mk | sort | expand -t 14
