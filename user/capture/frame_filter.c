/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

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

void sl_frame_filter_destroy(struct sl_frame_filter *filter)
{
	if (!filter)
		return;
	pcap_freecode(&filter->program);
	free(filter);
}
