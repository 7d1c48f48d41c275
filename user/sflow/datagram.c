/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/socket.h>

#include "user/sflow/datagram.h"

#define VERSION 5

/* Data formats of the enterprise 0, and the type of a data source */
enum { FLOW_SAMPLE = 1, COUNTERS_SAMPLE = 2 };
enum { SAMPLED_HEADER = 1 };
enum { IF_COUNTERS = 1 };
enum { SOURCE_IFINDEX = 0 };

enum { ADDRESS_IP4 = 1, ADDRESS_IP6 = 2 };
enum { HEADER_ETHERNET = 1 };
enum { IF_TYPE_ETHERNET = 6 }; /* ethernetCsmacd of IANA's ifType */
enum { DUPLEX_UNKNOWN = 0, DUPLEX_FULL = 1 };

#define FCS_BYTES	   4
#define COUNTER_UNKNOWN	   UINT32_MAX
#define IF_COUNTERS_BYTES  88
#define HEADER_FIXED_BYTES 16 /* of a sampled header, before the frame's bytes */
#define FLOW_FIXED_BYTES   40 /* of a flow sample, before the body of its record */
#define COUNTERS_FIXED	   20 /* of a counters sample, the same */
#define TAG_BYTES	   8  /* before each sample: format, length */

static void put(struct sl_sflow_datagram *d, uint32_t value)
{
	const uint8_t bytes[4] = { (uint8_t)(value >> 24), (uint8_t)(value >> 16),
				   (uint8_t)(value >> 8), (uint8_t)value };

	memcpy(d->bytes + d->n_bytes, bytes, sizeof(bytes));
	d->n_bytes += sizeof(bytes);
}

static void put64(struct sl_sflow_datagram *d, uint64_t value)
{
	put(d, (uint32_t)(value >> 32));
	put(d, (uint32_t)value);
}

/* XDR fills up to a multiple of four bytes. */
static uint32_t padded(uint32_t n)
{
	return (n + 3) / 4 * 4;
}

static void put_bytes(struct sl_sflow_datagram *d, const uint8_t *bytes, uint32_t n)
{
	memset(d->bytes + d->n_bytes, 0, padded(n));
	memcpy(d->bytes + d->n_bytes, bytes, n);
	d->n_bytes += padded(n);
}

void sl_sflow_datagram_begin(struct sl_sflow_datagram *d, const struct sl_sflow_agent *agent,
			     uint32_t sequence, uint32_t uptime_ms)
{
	bool ip6 = agent->family == AF_INET6;

	d->n_bytes = d->n_samples = 0;
	put(d, VERSION);
	put(d, ip6 ? ADDRESS_IP6 : ADDRESS_IP4);
	put_bytes(d, agent->address, ip6 ? 16 : 4);
	put(d, 0); /* sub-agent */
	put(d, sequence);
	put(d, uptime_ms);
	d->count_at = d->n_bytes;
	put(d, 0);
}

/* The sample of so many bytes that comes now is one more; false: it does not fit. */
static bool begin_sample(struct sl_sflow_datagram *d, uint32_t format, uint32_t n_bytes)
{
	uint32_t at = d->n_bytes;

	if (d->n_bytes + TAG_BYTES + n_bytes > sizeof(d->bytes))
		return false;
	d->n_bytes = d->count_at;
	put(d, ++d->n_samples);
	d->n_bytes = at;
	put(d, format);
	put(d, n_bytes);
	return true;
}

static void put_source(struct sl_sflow_datagram *d, uint32_t ifindex)
{
	put(d, (uint32_t)SOURCE_IFINDEX << 24 | (ifindex & 0xffffff));
}

bool sl_sflow_datagram_flow(struct sl_sflow_datagram *d, const struct sl_sflow_flow *flow)
{
	uint32_t body = HEADER_FIXED_BYTES + padded(flow->header_bytes);

	if (flow->header_bytes > SL_SFLOW_OF_FRAME_MAX ||
	    !begin_sample(d, FLOW_SAMPLE, FLOW_FIXED_BYTES + body))
		return false;
	put(d, flow->sequence);
	put_source(d, flow->ifindex);
	put(d, flow->sampling);
	put(d, flow->pool);
	put(d, flow->drops);
	put(d, flow->ifindex);
	put(d, flow->out);
	put(d, 1); /* record */
	put(d, SAMPLED_HEADER);
	put(d, body);
	put(d, HEADER_ETHERNET);
	put(d, flow->frame_bytes + FCS_BYTES);
	put(d, FCS_BYTES); /* stripped */
	put(d, flow->header_bytes);
	put_bytes(d, flow->header, flow->header_bytes);
	return true;
}

bool sl_sflow_datagram_counters(struct sl_sflow_datagram *d, const struct sl_sflow_counters *of)
{
	if (!begin_sample(d, COUNTERS_SAMPLE, COUNTERS_FIXED + IF_COUNTERS_BYTES))
		return false;
	put(d, of->sequence);
	put_source(d, of->ifindex);
	put(d, 1); /* record */
	put(d, IF_COUNTERS);
	put(d, IF_COUNTERS_BYTES);
	put(d, of->ifindex);
	put(d, IF_TYPE_ETHERNET);
	put64(d, of->speed_bps);
	put(d, of->full_duplex ? DUPLEX_FULL : DUPLEX_UNKNOWN);
	put(d, (uint32_t)of->oper_up << 1 | of->admin_up);
	put64(d, of->in_bytes);
	put(d, of->in_packets);
	put(d, of->in_multicast);
	put(d, COUNTER_UNKNOWN); /* broadcast: Linux counts it as multicast, or not apart */
	put(d, of->in_discards);
	put(d, of->in_errors);
	put(d, COUNTER_UNKNOWN); /* unknown protocols */
	put64(d, of->out_bytes);
	put(d, of->out_packets);
	put(d, COUNTER_UNKNOWN); /* multicast */
	put(d, COUNTER_UNKNOWN); /* broadcast */
	put(d, of->out_discards);
	put(d, of->out_errors);
	put(d, of->promiscuous);
	return true;
}
