/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/abi/captured.h"
#include "user/capture/frame_filter.h"

#define SNAP_BYTES 262144

struct sl_frame_filter {
	struct bpf_program program;
};

int sl_frame_filter_create(const char *expression, struct sl_frame_filter **out, char *why,
			   size_t why_bytes)
{
	struct sl_frame_filter *filter = calloc(1, sizeof(*filter));
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, SNAP_BYTES);
	int err = filter && pcap ? 0 : -ENOMEM;

	*out = NULL;
	if (!err && pcap_compile(pcap, &filter->program, expression, 1, PCAP_NETMASK_UNKNOWN)) {
		snprintf(why, why_bytes, "%s", pcap_geterr(pcap));
		err = -EINVAL;
	}
	if (pcap)
		pcap_close(pcap);
	if (err)
		free(filter);
	else
		*out = filter;
	return err;
}

bool sl_frame_filter_passes(const struct sl_frame_filter *filter, const uint8_t *bytes,
			    uint32_t copied_bytes, uint32_t frame_bytes)
{
	const struct pcap_pkthdr header = { .caplen = copied_bytes, .len = frame_bytes };

	return !filter || pcap_offline_filter(&filter->program, &header, bytes) != 0;
}

void sl_frame_filter_for_kernel(const struct sl_frame_filter *filter, struct sl_capture_filter *out)
{
	const struct bpf_program *program = filter ? &filter->program : NULL;

	*out = (struct sl_capture_filter){ 0 };
	if (!program || program->bf_len > SL_FILTER_INSNS_MAX)
		return;
	out->n = program->bf_len;
	for (uint32_t i = 0; i < out->n; i++) {
		const struct bpf_insn *insn = &program->bf_insns[i];

		out->insn[i] = (struct sl_filter_insn){
			.code = insn->code, .jt = insn->jt, .jf = insn->jf, .k = insn->k
		};
	}
}

void sl_frame_filter_destroy(struct sl_frame_filter *filter)
{
	if (!filter)
		return;
	pcap_freecode(&filter->program);
	free(filter);
}
