/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where the functions of elements of an operator's own come in. Those here are weak: the linker
 * puts one of an element in the place of that of its slot (bpf/abi/own_element.h). They are not
 * inlined, so that the verifier looks at each by itself.
 */
#ifndef SL_OWN_ELEMENT_BPF_H
#define SL_OWN_ELEMENT_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/own_element.h"

/* Which functions are linked in: a hash of their object; 0: none. */
extern const volatile __u32 sl_own_set;

#define SL_OWN_NOBODY(slot)                                                                  \
	__attribute__((noinline, weak)) int sl_own_element_##slot(                           \
		struct xdp_md *ctx, struct sl_own_packet *packet,                            \
		const struct sl_own_config *config)                                          \
	{                                                                                    \
		return !ctx || !packet || !config ? (int)SL_OWN_DROP : (int)SL_OWN_DROP + 1; \
	}

SL_OWN_NOBODY(0)
SL_OWN_NOBODY(1)
SL_OWN_NOBODY(2)
SL_OWN_NOBODY(3)
SL_OWN_NOBODY(4)
SL_OWN_NOBODY(5)
SL_OWN_NOBODY(6)
SL_OWN_NOBODY(7)

/* Returns 0 or 1, the output, or more: the packet ends here. */
static __always_inline __u32 sl_own_element(struct xdp_md *ctx, __u32 slot,
					    struct sl_own_packet *packet,
					    const struct sl_own_config *config)
{
	switch (slot) {
	case 0:
		return sl_own_element_0(ctx, packet, config);
	case 1:
		return sl_own_element_1(ctx, packet, config);
	case 2:
		return sl_own_element_2(ctx, packet, config);
	case 3:
		return sl_own_element_3(ctx, packet, config);
	case 4:
		return sl_own_element_4(ctx, packet, config);
	case 5:
		return sl_own_element_5(ctx, packet, config);
	case 6:
		return sl_own_element_6(ctx, packet, config);
	case 7:
		return sl_own_element_7(ctx, packet, config);
	}
	return SL_OWN_DROP;
}

#endif
