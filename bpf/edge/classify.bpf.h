/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The rule list that a slot has, and what it says of a packet. */
#ifndef SL_CLASSIFY_BPF_H
#define SL_CLASSIFY_BPF_H

#include "bpf/lib/classifier_walk.bpf.h"
#include "bpf/edge/maps.bpf.h"

/* Write the auxiliary rules that match into sl_auxiliary. */
static __always_inline void sl_classify_auxiliary(const struct sl_classifier *c, __u32 words,
						  __u64 rules)
{
	__u32 zero = 0, i;
	struct sl_auxiliary *out = bpf_map_lookup_elem(&sl_auxiliary, &zero);

	if (!out)
		return;
	for (i = 0; i < SL_AUXILIARY_MAX; i++) {
		__u32 at;

		if (!rules)
			break;
		at = c->rules + sl_lowest_bit(rules) * 4;
		rules &= rules - 1;
		out->rule[i].number = sl_pool32(c, words, at + 1);
		out->rule[i].sample = sl_pool32(c, words, at + 3);
	}
	out->n = i;
}

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
	if (flow->auxiliary)
		sl_classify_auxiliary(&image->c, SL_CLASSIFIER_SMALL_WORDS, flow->auxiliary);
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
	if (flow->auxiliary)
		sl_classify_auxiliary(&image->c, SL_CLASSIFIER_LARGE_WORDS, flow->auxiliary);
	return 1;
}

/*
 * Fill in the answer of flow: the rule that decides, or the default of the list, and auxiliary
 * rules. A list that moves between the sizes is for a moment in both, and the small one counts; so
 * a packet sees one list, whole. A family without a list permits.
 */
static __always_inline void sl_classify(struct sl_flow *flow, __u32 slot)
{
	flow->action = SL_FILTER_PERMIT;
	flow->number = SL_RULE_NONE;
	flow->sample = 0;
	flow->auxiliary = 0;
	if (!sl_classify_small(flow, slot))
		sl_classify_large(flow, slot);
}

#endif
