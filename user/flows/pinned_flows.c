/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/flows/pinned_flows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/abi/abi.h"
#include "user/datapath/exact_flows.h"
#include "user/datapath/pins.h"

static int fail(char why[SL_PINNED_WHY_BYTES], const char *pin_dir, int err)
{
	if (err == -ENOENT)
		snprintf(why, SL_PINNED_WHY_BYTES,
			 "no fast path is pinned at \"%.96s\": start sluiced, or name another "
			 "directory with -p",
			 pin_dir);
	else
		snprintf(why, SL_PINNED_WHY_BYTES, "cannot open the exact flows at \"%.96s\": %s%s",
			 pin_dir, strerror(-err),
			 err == -EPERM || err == -EACCES ? ": be root" : "");
	return err;
}

/* Is the fast path of this version? */
static int check_version(const char *pin_dir, char why[SL_PINNED_WHY_BYTES])
{
	const uint32_t zero = 0;
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	struct sl_meta meta;
	int fd = sl_pins_get(pin_dir, 0, "sl_meta");
	int err = 0;

	if (fd < 0)
		return fail(why, pin_dir, fd);
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		err = fail(why, pin_dir, -errno);
	else if (info.value_size != sizeof(meta) || bpf_map_lookup_elem(fd, &zero, &meta) ||
		 meta.abi_version != SL_ABI_VERSION) {
		snprintf(why, SL_PINNED_WHY_BYTES,
			 "the fast path at \"%.96s\" is of another version than this command",
			 pin_dir);
		err = -EOPNOTSUPP;
	}
	close(fd);
	return err;
}

static int open_puts(const char *pin_dir, uint64_t **out, char why[SL_PINNED_WHY_BYTES])
{
	int fd = sl_pins_get(pin_dir, 0, "sl_exact_puts");
	int err = fd < 0 ? fd : sl_exact_puts_open(fd, out);

	if (fd >= 0)
		close(fd);
	return err ? fail(why, pin_dir, err) : 0;
}

static int open_rules(const char *pin_dir, int *out, char why[SL_PINNED_WHY_BYTES])
{
	*out = sl_pins_get(pin_dir, 0, "sl_flow_rule");
	return *out < 0 ? fail(why, pin_dir, *out) : 0;
}

int sl_pinned_flows_open(const char *pin_dir, struct sl_pinned_flows *out,
			 char why[SL_PINNED_WHY_BYTES])
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	int err = check_version(pin_dir, why);

	*out = (struct sl_pinned_flows){ .fd = -1, .rules_fd = -1 };
	if (err)
		return err;
	out->fd = sl_pins_get(pin_dir, 0, "sl_exact_flow");
	if (out->fd < 0)
		return fail(why, pin_dir, out->fd);
	if (bpf_obj_get_info_by_fd(out->fd, &info, &len)) {
		err = fail(why, pin_dir, -errno);
	} else if (info.max_entries == 1) {
		snprintf(why, SL_PINNED_WHY_BYTES,
			 "this router has no room for exact flows: write exact_flows: N into the "
			 "configuration, and reload");
		err = -EOPNOTSUPP;
	} else {
		err = open_puts(pin_dir, &out->puts, why);
		if (!err)
			err = open_rules(pin_dir, &out->rules_fd, why);
	}
	out->id = info.id;
	out->limit = info.max_entries;
	if (err)
		sl_pinned_flows_close(out);
	return err;
}

int sl_pinned_flows_check(const struct sl_pinned_flows *flows, const struct sl_flow_line *line,
			  char why[SL_FLOW_WHY_BYTES])
{
	struct sl_flow_rule rule;

	if (!*line->as)
		return 0;
	if (bpf_map_lookup_elem(flows->rules_fd, &line->flow.rule, &rule) ||
	    strcmp(rule.name, line->as) != 0)
		snprintf(why, SL_FLOW_WHY_BYTES,
			 "as: \"%.48s\" is not a rule in force that decides and has a name: write "
			 "one that `sluice show filters` shows",
			 line->as);
	else if (rule.version && rule.version != line->key.version)
		snprintf(why, SL_FLOW_WHY_BYTES,
			 "as: \"%.48s\" is a rule for IPv%u alone: name another for this flow",
			 line->as, rule.version);
	else
		return 0;
	return -EINVAL;
}

void sl_pinned_flows_name(const struct sl_pinned_flows *flows, struct sl_flow_line *line)
{
	struct sl_flow_rule rule;

	if (line->flow.rule && !bpf_map_lookup_elem(flows->rules_fd, &line->flow.rule, &rule))
		snprintf(line->as, sizeof(line->as), "%s", rule.name);
}

void sl_pinned_flows_close(struct sl_pinned_flows *flows)
{
	if (flows->fd >= 0)
		close(flows->fd);
	if (flows->rules_fd >= 0)
		close(flows->rules_fd);
	sl_exact_puts_close(flows->puts);
	*flows = (struct sl_pinned_flows){ .fd = -1, .rules_fd = -1 };
}
