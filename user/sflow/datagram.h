/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams of sFlow version 5, as sflow.org/sflow_version_5.txt describes them: flow samples, each
 * with the header of one frame, and counter samples of ports. Pure.
 */
#ifndef SL_SFLOW_DATAGRAM_H
#define SL_SFLOW_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define SL_SFLOW_DATAGRAM_MAX 1400 /* bytes: with all headers, less than Ethernet's MTU */
#define SL_SFLOW_OF_FRAME_MAX 512  /* bytes of a frame in a flow sample */

/* Where a frame leaves, beside the ifIndex of a port. */
#define SL_SFLOW_OUT_UNKNOWN  0u
#define SL_SFLOW_OUT_INTERNAL 0x3fffffffu /* it is for this node */
#define SL_SFLOW_OUT_DROPPED  0x40000000u /* plus the reason: */
enum {
	SL_SFLOW_NET_UNREACHABLE = 0, /* up to 255: a code of ICMP */
	SL_SFLOW_DROP_UNKNOWN = 256,
	SL_SFLOW_DROP_TTL,
	SL_SFLOW_DROP_ACL,
	SL_SFLOW_DROP_NO_BUFFER,
	SL_SFLOW_DROP_RED,
	SL_SFLOW_DROP_SHAPING,
};

struct sl_sflow_agent {
	uint8_t family; /* AF_INET or AF_INET6 */
	uint8_t address[16];
};

struct sl_sflow_datagram {
	uint8_t bytes[SL_SFLOW_DATAGRAM_MAX];
	uint32_t n_bytes;
	uint32_t n_samples;
	uint32_t count_at; /* where bytes[] has the number of samples */
};

/* A frame that entered at a port. */
struct sl_sflow_flow {
	uint32_t sequence;     /* of the port's flow samples */
	uint32_t ifindex;      /* 1..0xffffff: the data source, and where the frame entered */
	uint32_t sampling;     /* one in so many */
	uint32_t pool;	       /* frames that could have been samples */
	uint32_t drops;	       /* samples that were lost */
	uint32_t out;	       /* ifIndex, or SL_SFLOW_OUT_* */
	uint32_t frame_bytes;  /* without FCS */
	uint32_t header_bytes; /* at most SL_SFLOW_OF_FRAME_MAX */
	const uint8_t *header; /* borrowed for the call */
};

/* What a port has counted (if_counters, RFC 2233). */
struct sl_sflow_counters {
	uint32_t sequence; /* of the port's counter samples */
	uint32_t ifindex;
	uint64_t speed_bps; /* 0: not known */
	bool full_duplex, admin_up, oper_up, promiscuous;
	uint64_t in_bytes, out_bytes;
	uint32_t in_packets, in_multicast; /* in_packets without those */
	uint32_t in_discards, in_errors;
	uint32_t out_packets, out_discards, out_errors;
};

/* An empty datagram. sequence: of the agent's datagrams; uptime_ms: since the agent began. */
void sl_sflow_datagram_begin(struct sl_sflow_datagram *d, const struct sl_sflow_agent *agent,
			     uint32_t sequence, uint32_t uptime_ms);

/* Add a sample. False: it does not fit, and *d is as before; it fits an empty datagram. */
bool sl_sflow_datagram_flow(struct sl_sflow_datagram *d, const struct sl_sflow_flow *flow);
bool sl_sflow_datagram_counters(struct sl_sflow_datagram *d, const struct sl_sflow_counters *of);

#endif
