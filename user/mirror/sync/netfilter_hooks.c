/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/netfilter.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/hooks.h"
#include "user/mirror/sync/netfilter_hooks.h"
#include "user/datapath/bpf_object.h"
#include "user/lib/log.h"

struct sl_netfilter_hooks {
	struct bpf_object *object; /* owned */
	int program_fd, map_fd;	   /* borrowed from the object */
};

static int load(struct sl_netfilter_hooks *h, const char *path)
{
	int err = sl_bpf_object_open(path, &h->object);

	if (!err)
		err = bpf_object__load(h->object);
	if (err)
		return err;
	h->program_fd =
		bpf_program__fd(bpf_object__find_program_by_name(h->object, "sl_list_hooks"));
	h->map_fd = bpf_object__find_map_fd_by_name(h->object, "sl_hooks");
	return h->program_fd < 0 || h->map_fd < 0 ? -EINVAL : 0;
}

int sl_netfilter_hooks_open(const char *fast_path_object, struct sl_netfilter_hooks **out)
{
	const char *slash = strrchr(fast_path_object, '/');
	const int dir_len = slash ? (int)(slash + 1 - fast_path_object) : 0;
	struct sl_netfilter_hooks *h = calloc(1, sizeof(*h));
	char path[PATH_MAX];
	int err;

	*out = NULL;
	if (!h)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%.*shooks.bpf.o", dir_len, fast_path_object);
	err = load(h, path);
	if (err) {
		sl_warning(
			"cannot look at netfilter's hooks by \"%s\" (%s: %s); BPF programs there, and "
			"IPVS, do not see the packets that XDP forwards",
			path, strerror(-err), sl_bpf_object_said());
		sl_netfilter_hooks_close(h);
		return err;
	}
	*out = h;
	return 0;
}

void sl_netfilter_hooks_close(struct sl_netfilter_hooks *h)
{
	if (!h)
		return;
	bpf_object__close(h->object);
	free(h);
}

/*
 * Those that let each forwarded packet pass as it is, or that are judged elsewhere. A function
 * that nobody has put here leaves its family to the kernel: that is slow, but right.
 */
static bool is_harmless(const char *function)
{
	static const char *const prefixes[] = {
		"nft_do_chain", /* filters.h judges chains by their rules */
		/* These only remember connections and put fragments together. */
		"ipv4_conntrack_", "ipv6_conntrack_", "ipv6_defrag", "nf_confirm", "ipv4_confirm",
		"ipv6_confirm",
		/* Security modules: packets with marks or labels of theirs, which rules would set.
		 */
		"selinux_", "apparmor_", "smack_",
		"ip_sabotage_in", /* br_netfilter: bridged packets */
		"accept_all",	  /* a function has just gone */
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(function, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static const char *hook_name(uint8_t hook)
{
	switch (hook) {
	case NF_INET_PRE_ROUTING:
		return "prerouting";
	case NF_INET_FORWARD:
		return "forward";
	default:
		return "postrouting";
	}
}

int sl_netfilter_hooks_look(struct sl_netfilter_hooks *h, char name[SL_FILTER_NAME_BYTES])
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct sl_hooks found;
	uint32_t zero = 0;
	int err, families = 0;

	if (!h)
		return 0;
	err = bpf_prog_test_run_opts(h->program_fd, &opts);
	if (!err)
		err = bpf_map_lookup_elem(h->map_fd, &zero, &found);
	if (err || found.n > SL_HOOKS_MAX) {
		snprintf(name, SL_FILTER_NAME_BYTES, "hooks: %s",
			 err ? strerror(-err) : "too many functions to look at");
		return SL_FILTER_IP4 | SL_FILTER_IP6;
	}
	for (uint32_t i = 0; i < found.n; i++) {
		struct sl_hook *hook = &found.hook[i];

		hook->function[sizeof(hook->function) - 1] = '\0';
		if (is_harmless(hook->function))
			continue;
		if (!families)
			snprintf(name, SL_FILTER_NAME_BYTES, "function %s at hook %s",
				 hook->function, hook_name(hook->hook));
		families |= hook->ip4 ? SL_FILTER_IP4 : SL_FILTER_IP6;
	}
	return families;
}
