/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The generator writes and the sink reads this: the stamp in each packet, and the values that their
 * BPF programs share with user space.
 */
#ifndef LAB_TRAFFIC_H
#define LAB_TRAFFIC_H

#include <linux/types.h>

/*
 * First bytes of the UDP payload. 18 bytes: an IPv4 packet with it fills a minimal Ethernet frame.
 */
struct lab_stamp {
	__be32 magic;
	__be16 flow;
	__be32 seq;	/* per flow, from 0 */
	__be64 time_ns; /* CLOCK_MONOTONIC of the generator; 0: not stamped */
} __attribute__((packed));
_Static_assert(sizeof(struct lab_stamp) == 18, "struct lab_stamp has changed size");

#define LAB_MAGIC     0x736c6c62u /* "sllb" */
#define LAB_UDP_PORT  9		  /* destination: discard */
#define LAB_FLOWS_MAX 65536
#define LAB_TAGS_MAX  2

/* The kernel runs live frames that fit a page beside its own header and XDP's headroom. */
#define LAB_FRAME_MAX 3398

/* --- Generator --- */

#define GEN_SIZES_MAX 12

/* One frame size of the mix, and the sums that depend on it. */
struct gen_size {
	__u32 frame_bytes;
	__u32 ip_len; /* IPv4 total length, or IPv6 payload length */
	__u32 udp_len;
	__u32 sum; /* ones' complement sum, unfolded: IPv4 header, or IPv6 pseudo-header and UDP,
			  of all that does not change from packet to packet */
};

struct gen_dest {
	__be32 addr[4]; /* IPv4 in addr[0] */
};

/* Bytes before the addresses and ports, the same for every packet. */
struct gen_headers {
	__u8 eth[12]; /* both MACs; neither is all zero */
	__u8 tags[4 * LAB_TAGS_MAX];
	__be16 ethertype;
	__u8 dscp_ecn; /* IPv4 TOS, IPv6 traffic class */
	__u8 ttl;
	__be32 src[4];
};

struct gen_config {
	__u32 out_ifindex;
	__u32 is_ip6;
	__u32 n_tags;
	__u32 n_sizes;
	__u32 first_flow; /* number of the first; the others follow */
	__u32 n_flows;
	__u32 n_dests;	   /* <= n_flows */
	__u32 stamp_every; /* packets between two that carry the time */
	__u64 count;	   /* packets to make, 0: no limit */
	__u64 interval_fp; /* time between two packets, in 1/1024 ns; 0: do not pace here */
};

/* --- Sink --- */

/* Latency is counted in buckets, 16 to each power of two: within 6.25 % of the true value. */
#define SINK_SUB_BITS 4
#define SINK_BUCKETS  ((64 - SINK_SUB_BITS + 1) << SINK_SUB_BITS)

/* A packet at most so far behind the newest can be told from a duplicate. */
#define SINK_WINDOW 64

#define SINK_TIMES_MAX (1 << 20)

struct sink_flow {
	__u64 packets;
	__u64 bytes;
	__u64 reordered;  /* RFC 4737: came after a packet with a higher sequence number */
	__u64 duplicates; /* seen before, within the window */
	/* more than SINK_WINDOW behind: late or duplicate; also counted as reordered */
	__u64 late;
	__u64 window;	/* bit i: next_seq - 1 - i was seen */
	__u64 next_seq; /* one more than the highest seen */
};

/* When a packet that carried the time was sent, and when it came: CLOCK_MONOTONIC. */
struct sink_time {
	__u64 sent_ns, came_ns;
	__u32 flow, seq;
};

struct sink_config {
	/* give packets that are not the generator's to the stack; 0: drop them */
	__u32 pass_foreign;
	__u32 verify; /* check checksums, every payload byte and the destination MAC */
	__u32 echo;   /* send the generator's packets back, instead of dropping them */
	__u32 core;   /* packets that another core receives are counted (off_core) */
	__u32 times;  /* entries of the map of times */
	__u8 mac[6];  /* of the receiving device */
	__u8 pad[2];
};

struct sink_totals {
	__u64 packets;
	__u64 bytes;
	__u64 foreign;
	__u64 bad_checksum; /* IPv4 header, or UDP in IPv6 */
	__u64 bad_payload;  /* a byte after the stamp is not the zero that was sent */
	__u64 wrong_mac;    /* destination is not this device */
	__u64 tagged;
	__u64 off_core;		 /* arrived on another core than config.core */
	__u64 first_ns, last_ns; /* CLOCK_MONOTONIC, of the packets that carried the time */
	__u64 latency_max_ns;
	__u64 times;		/* written into their map */
	__u32 ttl_min, ttl_max; /* hop limit; 255 and 0 while nothing came */
};

#endif
