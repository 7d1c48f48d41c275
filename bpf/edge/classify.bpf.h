/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The rule list that a slot has, and what it says of a packet. */
#ifndef SL_CLASSIFY_BPF_H
#define SL_CLASSIFY_BPF_H

#include "bpf/lib/classifier_walk.bpf.h"
#include "bpf/edge/maps.bpf.h"

/*
 * The list of a slot, in one size of image. Returns whether there is one, with the answer in flow.
 * Not inlined, so that the verifier looks at each once.
 */
__attribute__((noinline)) int sl_classify_small(struct sl_flow *flow, __u32 slot)
{
	void *list = bpf_map_lookup_elem(&sl_filter_small, &slot);
	struct sl_classifier_small *image;
	__u32 zero = 0;

	if (!list || !flow)
		return 0;
	image = bpf_map_lookup_elem(list, &zero);
	if (!image)
		return 0;
	sl_class_walk(&image->c, SL_CLASSIFIER_SMALL_WORDS, flow);
	return 1;
}

__attribute__((noinline)) int sl_classify_large(struct sl_flow *flow, __u32 slot)
{
	void *list = bpf_map_lookup_elem(&sl_filter_large, &slot);
	struct sl_classifier_large *image;
	__u32 zero = 0;

	if (!list || !flow)
		return 0;
	image = bpf_map_lookup_elem(list, &zero);
	if (!image)
		return 0;
	sl_class_walk(&image->c, SL_CLASSIFIER_LARGE_WORDS, flow);
	return 1;
}

/*
 * Fill in the answer of flow: the rule that decides, or the default of the list. A list that moves
 * between the sizes is for a moment in both, and the small one counts; so a packet sees one list,
 * whole. A family without a list permits.
 */
static __always_inline void sl_classify(struct sl_flow *flow, __u32 slot)
{
	flow->action = SL_FILTER_PERMIT;
	flow->number = SL_RULE_NONE;
	if (!sl_classify_small(flow, slot))
		sl_classify_large(flow, slot);
}

#endif
