/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "delay/measurement.h"

uint32_t sl_measure_wire_bytes(const struct sl_measure *m, uint32_t output, uint32_t ip_bytes,
			       uint32_t vlan_tags)
{
	const struct sl_tapped_link *link = &m->settings.links[output];

	if (m->output[output]->rate_source != SL_RATE_GAPS)
		return sl_tapped_link_wire_bytes(link, ip_bytes, vlan_tags);
	return (!link->overhead_given && ip_bytes < link->type->least_bytes
			? link->type->least_bytes
			: ip_bytes) +
	       m->output[output]->overhead_bytes + (link->overhead_given ? 0 : 4 * vlan_tags);
}

int64_t sl_measure_excess_ns(const struct sl_measure *m, uint32_t input, uint32_t output,
			     uint32_t ip_bytes)
{
	const struct sl_pair *pair = m->pair[input][output];
	const uint64_t sending_ps =
		sl_serialisation_ps(sl_measure_wire_bytes(m, output, ip_bytes, pair->least_tags),
				    m->output[output]->rate_bps);

	return pair->least[ip_bytes].delay_ns - (int64_t)((sending_ps + 500) / 1000);
}

void sl_measure_destroy(struct sl_measure *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < SL_LINKS_MAX; i++) {
		free(m->link[i].loads);
		if (m->output[i])
			free(m->output[i]->model);
		free(m->output[i]);
		for (uint32_t j = 0; j < SL_LINKS_MAX; j++) {
			if (!m->pair[i][j])
				continue;
			free(m->pair[i][j]->intervals);
			free(m->pair[i][j]->least);
			free(m->pair[i][j]);
		}
	}
	free(m);
}
