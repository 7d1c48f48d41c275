// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lists the functions at the hooks of netfilter that forwarded packets pass, in the network
 * namespace of the process that runs it. No other interface tells of all of them: netlink names
 * them only on kernels built with CONFIG_NETFILTER_NETLINK_HOOK.
 *
 * It is attached nowhere: the daemon runs it once a second. As a program of the type raw_tp it runs
 * in an RCU read section, as those who run the hooks do, so the lists stay while it reads them.
 */
#include <linux/netfilter.h>
#include <stdbool.h>
#include <stddef.h>
#include "bpf/abi/hooks.h"
#include "bpf/lib/kernel_types.bpf.h"
#include "bpf/lib/mapdef.bpf.h"

#define SL_HOOKS_OF_LIST 32 /* looked at in one list */

SL_ARRAY(sl_hooks, struct sl_hooks, 1, 0);

/* Copies a value of the kernel's memory; 0 where that cannot be read. */
#define SL_READ(from)                                                 \
	({                                                            \
		typeof(*(from)) value_;                               \
		__builtin_memset(&value_, 0, sizeof(value_));         \
		bpf_probe_read_kernel(&value_, sizeof(value_), from); \
		value_;                                               \
	})

static __always_inline void sl_add_hook(struct sl_hooks *found, bool ip4, __u8 hook, void *function)
{
	static const char symbol[] = "%ps";
	__u64 n = found->n, args[] = { (unsigned long)function };

	if (n < SL_HOOKS_MAX) {
		found->hook[n].ip4 = ip4;
		found->hook[n].hook = hook;
		bpf_snprintf(found->hook[n].function, sizeof(found->hook[n].function), symbol, args,
			     sizeof(args));
	}
	if (n <= SL_HOOKS_MAX)
		found->n = n + 1;
}

static __always_inline void sl_list(struct sl_hooks *found, bool ip4, __u8 hook,
				    struct nf_hook_entries *entries)
{
	__u32 i, n;

	if (!entries)
		return;
	n = SL_READ(&entries->num_hook_entries);
	for (i = 0; i < SL_HOOKS_OF_LIST && i < n; i++)
		sl_add_hook(found, ip4, hook, SL_READ(&entries->hooks[i].hook));
	if (n > SL_HOOKS_OF_LIST)
		found->n = SL_HOOKS_MAX + 1;
}

SEC("raw_tp")
int sl_list_hooks(const void *ctx)
{
	static const __u8 hooks[] = { NF_INET_PRE_ROUTING, NF_INET_FORWARD, NF_INET_POST_ROUTING };
	struct task_struct *task = (void *)bpf_get_current_task();
	struct nsproxy *namespaces = SL_READ(&task->nsproxy);
	struct net *net = SL_READ(&namespaces->net_ns);
	__u32 zero = 0, i;
	struct sl_hooks *found = bpf_map_lookup_elem(&sl_hooks, &zero);

	(void)ctx;
	if (!found)
		return 0;
	found->n = 0;
	for (i = 0; i < sizeof(hooks); i++) {
		sl_list(found, true, hooks[i], SL_READ(&net->nf.hooks_ipv4[hooks[i]]));
		sl_list(found, false, hooks[i], SL_READ(&net->nf.hooks_ipv6[hooks[i]]));
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
