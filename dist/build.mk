# SPDX-License-Identifier: BSD-2-Clause
# Installing: DESTDIR is put before every path, PREFIX is where the files believe they are.
INSTALL ?= install
UNIT_DIR = $(PREFIX)/lib/systemd/system
# iproute2 looks nowhere else for names of routing protocols.
PROTOS_DIR = /etc/iproute2/rt_protos.d
COMPLETION_DIR = $(PREFIX)/share/bash-completion/completions
# Completed by the file of sluice, which bash looks up under each name
COMPLETED = sluiced sluice-cluster sluice-delay sluice-delay-plot

UNITS = sluiced sluice-bridge sluice-elements sluice-cluster sluice-sflow

# What an element of somebody's own includes, and the template of one: its default path exists then.
INCLUDE_DIR = $(PREFIX)/include/sluice
ELEMENT_HEADERS = $(addprefix elements/core/,element.h ip_rewrite.h package.h packet_pool.h) \
	$(addprefix bpf/abi/,abi.h chain_header.h fast_chain.h own_element.h classifier.h) user/classify/rule.h user/text/prefix.h
ELEMENT_DIR = $(PREFIX)/share/doc/sluice/element

# What is installed, as MODE:SOURCE:TARGET.
INSTALLED_PROGRAMS = \
	0755:$(BUILD)/sluice:$(PREFIX)/bin/sluice \
	0755:$(BUILD)/sluice-delay:$(PREFIX)/bin/sluice-delay \
	0755:delay/sluice-delay-plot:$(PREFIX)/bin/sluice-delay-plot \
	0755:dist/sluice-extcap:$(PREFIX)/lib/sluice/sluice-extcap \
	0755:$(BUILD)/sluiced:$(PREFIX)/sbin/sluiced \
	0755:$(BUILD)/sluice-bridge:$(PREFIX)/sbin/sluice-bridge \
	0755:$(BUILD)/sluice-elements:$(PREFIX)/sbin/sluice-elements \
	0755:$(BUILD)/sluice-cluster:$(PREFIX)/sbin/sluice-cluster \
	$(foreach o,$(patsubst bpf/%.bpf.c,%.bpf.o,$(wildcard bpf/*.bpf.c)),0644:$(BUILD)/$(o):$(PREFIX)/lib/sluice/$(o))
man_page = 0644:docs/man/$(1):$(PREFIX)/share/man/man$(lastword $(subst ., ,$(1)))/$(1)
LAB_MAN = sluice-lab.8

# The configuration is a sample: it names ports.
INSTALLED = $(INSTALLED_PROGRAMS) \
	$(foreach m,$(filter-out $(LAB_MAN),$(notdir $(wildcard docs/man/*))),$(call man_page,$(m))) \
	0644:dist/sluice.bash:$(COMPLETION_DIR)/sluice \
	0644:dist/rt_protos.conf:$(PROTOS_DIR)/sluice.conf \
	$(foreach u,$(UNITS),0644:$(BUILD)/$(u).service:$(UNIT_DIR)/$(u).service) \
	0644:dist/sluice.yaml:$(PREFIX)/share/doc/sluice/sluice.yaml \
	$(foreach h,$(ELEMENT_HEADERS),0644:$(h):$(INCLUDE_DIR)/$(h)) \
	0644:dist/element/hop_limit.c:$(ELEMENT_DIR)/hop_limit.c \
	0644:dist/element/hop_limit.bpf.c:$(ELEMENT_DIR)/hop_limit.bpf.c \
	0644:$(BUILD)/element.mk:$(ELEMENT_DIR)/element.mk

# install_each ENTRIES: copy what such a list names
define install_each
	$(Q)set -e; for entry in $(1); do \
		mode=$${entry%%:*}; rest=$${entry#*:}; \
		$(INSTALL) -D -m "$$mode" "$${rest%%:*}" "$(DESTDIR)$${rest#*:}"; \
	done
endef

install: all ## install under $DESTDIR$PREFIX (default /usr/local)
	$(Q)for unit in $(UNITS); do sed 's|@PREFIX@|$(PREFIX)|' "dist/$$unit.service" >"$(BUILD)/$$unit.service"; done
	$(Q)sed 's|^SLUICE ?= .*|SLUICE ?= $(INCLUDE_DIR)|' dist/element/element.mk >"$(BUILD)/element.mk"
	$(call install_each,$(INSTALLED))
	$(Q)for name in $(COMPLETED); do ln -sf sluice "$(DESTDIR)$(COMPLETION_DIR)/$$name"; done
	$(Q)ln -sf sluice-delay.1 "$(DESTDIR)$(PREFIX)/share/man/man1/sluice-delay-plot.1"

uninstall: ## remove what install put there
	$(Q)for entry in $(INSTALLED); do rm -f "$(DESTDIR)$${entry##*:}"; done
	$(Q)cd "$(DESTDIR)$(COMPLETION_DIR)" 2>/dev/null && rm -f $(COMPLETED) || :
	$(Q)rm -f "$(DESTDIR)$(PREFIX)/share/man/man1/sluice-delay-plot.1"
	$(Q)find "$(DESTDIR)$(INCLUDE_DIR)" -depth -type d -empty -delete 2>/dev/null || :
	$(Q)rmdir "$(DESTDIR)$(PREFIX)/lib/sluice" "$(DESTDIR)$(ELEMENT_DIR)" "$(DESTDIR)$(PREFIX)/share/doc/sluice" 2>/dev/null || :

# The lab without the source tree: its scripts find their programs in build/ beside netns-lab/, as
# they do here. Two scripts need the tree and stay out: deps, and the soak in virtual machines.
# Results go to LAB_RESULTS_DIR.
LAB_HOME = $(PREFIX)/lib/sluice-lab
LAB_RESULTS_DIR = /var/lib/sluice-lab
LAB_RESULTS = bench demo exp vm
LAB_FIND = find netns-lab -type f ! -name '*.[ch]' ! -name '*.mk' ! -name '*.pyc' ! -name deps ! -name soak-verbs
LAB_BUILT = $(patsubst %,$(BUILD)/%,$(filter lab/%,$(PROGRAMS))) $(BENCH_TOOLS)
LAB_INSTALLED = \
	$(foreach f,$(shell $(LAB_FIND) -perm -100),0755:$(f):$(LAB_HOME)/$(f)) \
	$(foreach f,$(shell $(LAB_FIND) ! -perm -100),0644:$(f):$(LAB_HOME)/$(f)) \
	$(foreach f,$(LAB_BUILT),0755:$(f):$(LAB_HOME)/$(f:$(BUILD)/%=build/%)) \
	$(foreach f,$(filter $(BUILD)/lab/%,$(BPF_OBJS)),0644:$(f):$(LAB_HOME)/$(f:$(BUILD)/%=build/%)) \
	$(call man_page,$(LAB_MAN))

install-lab: all $(BENCH_TOOLS) ## install the lab, as sluice-lab, beside what install installs
	$(call install_each,$(LAB_INSTALLED))
	$(Q)for entry in $(INSTALLED_PROGRAMS); do ln -sf "$${entry##*:}" "$(DESTDIR)$(LAB_HOME)/build/"; done
	$(Q)for name in $(LAB_RESULTS); do \
		$(INSTALL) -d "$(DESTDIR)$(LAB_RESULTS_DIR)/$$name" && \
		ln -sfn "$(LAB_RESULTS_DIR)/$$name" "$(DESTDIR)$(LAB_HOME)/build/$$name" || exit; \
	done
	$(Q)$(INSTALL) -d "$(DESTDIR)$(PREFIX)/bin" && ln -sf "$(LAB_HOME)/netns-lab/lab" "$(DESTDIR)$(PREFIX)/bin/sluice-lab"

uninstall-lab: ## remove what install-lab put there, but for results
	$(Q)rm -rf "$(DESTDIR)$(LAB_HOME)" "$(DESTDIR)$(PREFIX)/bin/sluice-lab" "$(DESTDIR)$(PREFIX)/share/man/man8/$(LAB_MAN)"
	$(Q)cd "$(DESTDIR)$(LAB_RESULTS_DIR)" 2>/dev/null && rmdir $(LAB_RESULTS) ../sluice-lab 2>/dev/null || :

deb: ## make Debian packages, in build/deb
	$(Q)dist/build-deb
