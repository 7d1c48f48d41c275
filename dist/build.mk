# SPDX-License-Identifier: BSD-2-Clause
# Installing: DESTDIR is put before every path, PREFIX is where the files believe they are.
INSTALL ?= install
UNIT_DIR = $(PREFIX)/lib/systemd/system
# iproute2 looks nowhere else for names of routing protocols.
PROTOS_DIR = /etc/iproute2/rt_protos.d
COMPLETION_DIR = $(PREFIX)/share/bash-completion/completions

UNITS = sluiced sluice-bridge

# What is installed, as MODE SOURCE TARGET. The configuration is a sample: it names ports.
INSTALLED = \
	0755:$(BUILD)/sluice:$(PREFIX)/bin/sluice \
	0755:$(BUILD)/sluiced:$(PREFIX)/sbin/sluiced \
	0755:$(BUILD)/sluice-bridge:$(PREFIX)/sbin/sluice-bridge \
	$(foreach o,$(patsubst bpf/%.bpf.c,%.bpf.o,$(wildcard bpf/*.bpf.c)),0644:$(BUILD)/$(o):$(PREFIX)/lib/sluice/$(o)) \
	$(foreach m,$(notdir $(wildcard docs/man/*)),0644:docs/man/$(m):$(PREFIX)/share/man/man$(lastword $(subst ., ,$(m)))/$(m)) \
	0644:dist/sluice.bash:$(COMPLETION_DIR)/sluice \
	0644:dist/rt_protos.conf:$(PROTOS_DIR)/sluice.conf \
	$(foreach u,$(UNITS),0644:$(BUILD)/$(u).service:$(UNIT_DIR)/$(u).service) \
	0644:dist/sluice.yaml:$(PREFIX)/share/doc/sluice/sluice.yaml

install: all ## install under $DESTDIR$PREFIX (default /usr/local)
	$(Q)for unit in $(UNITS); do sed 's|@PREFIX@|$(PREFIX)|' "dist/$$unit.service" >"$(BUILD)/$$unit.service"; done
	$(Q)set -e; for entry in $(INSTALLED); do \
		mode=$${entry%%:*}; rest=$${entry#*:}; \
		$(INSTALL) -D -m "$$mode" "$${rest%%:*}" "$(DESTDIR)$${rest#*:}"; \
	done
	$(Q)ln -sf sluice "$(DESTDIR)$(COMPLETION_DIR)/sluiced"

uninstall: ## remove what install put there
	$(Q)for entry in $(INSTALLED); do rm -f "$(DESTDIR)$${entry##*:}"; done
	$(Q)rm -f "$(DESTDIR)$(COMPLETION_DIR)/sluiced"
	$(Q)rmdir "$(DESTDIR)$(PREFIX)/lib/sluice" "$(DESTDIR)$(PREFIX)/share/doc/sluice" 2>/dev/null || :
