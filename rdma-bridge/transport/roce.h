/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RoCEv2 framing of unreliable datagrams, in plain bytes: Ethernet, IPv4 or IPv6, UDP 4791, BTH,
 * DETH, payload, padding, ICRC (InfiniBand Architecture Specification volume 1, 9.2, 9.6 and annex
 * A17). A frame made here is what a RoCE adapter sends as a UD SEND. A received frame is good only
 * after a check of every field.
 *
 * Pure: no socket, no clock. IPv4 addresses are v4-mapped (::ffff:a.b.c.d), as in GIDs.
 */
#ifndef RB_ROCE_H
#define RB_ROCE_H

#include <stdbool.h>
#include <stdint.h>

#define RB_ROCE_PORT		  4791
#define RB_ROCE_HEADER_MAX_BYTES  (14 + 40 + 8 + 12 + 8) /* Ethernet, IPv6, UDP, BTH, DETH */
#define RB_ROCE_TRAILER_MAX_BYTES (3 + 4)		 /* padding, ICRC */
#define RB_ROCE_PAYLOAD_MAX_BYTES 4096			 /* the largest path MTU of InfiniBand */
#define RB_ROCE_FRAME_MAX_BYTES \
	(RB_ROCE_HEADER_MAX_BYTES + RB_ROCE_PAYLOAD_MAX_BYTES + RB_ROCE_TRAILER_MAX_BYTES)
#define RB_ROCE_PKEY_DEFAULT 0xffff
#define RB_ROCE_CNP_BYTES    (14 + 40 + 8 + 12 + 16 + 4) /* the longest congestion notification */

/* ECN field of the IP header (RFC 3168). */
enum rb_ecn { RB_ECN_NOT_ECT = 0, RB_ECN_ECT1 = 1, RB_ECN_ECT0 = 2, RB_ECN_CE = 3 };

/* The verdict on a received frame, which counts under exactly one. */
#define RB_ROCE_VERDICTS(X)                                                                \
	X(SEND, "send", "a good UD SEND")                                                  \
	X(CNP, "cnp", "a good congestion notification")                                    \
	X(TRUNCATED, "truncated", "shorter than its headers")                              \
	X(ETHERTYPE, "ethertype", "neither IPv4 nor IPv6")                                 \
	X(IP_HEADER, "ip-header", "IP version, header length, checksum or fragment field") \
	X(IP_LENGTH, "ip-length", "IP length beyond the frame or below its headers")       \
	X(IP_PROTOCOL, "ip-protocol", "not UDP, or extension headers before it")           \
	X(IP_ADDRESS, "ip-address", "not for our address, or from 0")                      \
	X(UDP_PORT, "udp-port", "destination port is not 4791")                            \
	X(UDP_LENGTH, "udp-length", "UDP length differs from the IP payload")              \
	X(ICRC, "icrc", "invariant CRC is wrong")                                          \
	X(BTH_VERSION, "bth-version", "transport header version is not 0")                 \
	X(OPCODE, "opcode", "neither UD SEND only nor CNP")                                \
	X(PAD, "pad", "pad count beyond the payload")                                      \
	X(PKEY, "pkey", "another partition")                                               \
	X(QPN, "qpn", "for another queue pair")                                            \
	X(QKEY, "qkey", "wrong queue key")                                                 \
	X(MTU, "mtu", "payload larger than our path MTU")                                  \
	X(EXPRESS, "express", "an express message that is not as agreed with its sender")  \
	X(HOP_LIMIT, "hop-limit", "forwarded on its way: its TTL or hop limit is not 255")
#define RB_ENUM_ROCE(id, name, text) RB_ROCE_##id,
enum rb_roce_verdict { RB_ROCE_VERDICTS(RB_ENUM_ROCE) RB_ROCE_VERDICT_COUNT };
const char *rb_roce_verdict_name(enum rb_roce_verdict verdict);

/* One end of a path: a queue pair of a node. */
struct rb_roce_end {
	uint8_t mac[6];
	uint8_t ip[16]; /* IPv6, or v4-mapped IPv4 */
	uint32_t qpn;	/* 24 bits */
	uint32_t qkey;
};

struct rb_roce_config {
	uint16_t pkey;		    /* bit 15: full member */
	uint8_t dscp;		    /* 0..63 */
	uint8_t ecn;		    /* enum rb_ecn of what we send; not CE */
	uint8_t hop_limit;	    /* TTL of what we send, not 0 */
	uint16_t payload_max_bytes; /* of frames that we accept */
	/* A SEND with a UDP checksum is an express message, which has no ICRC. */
	bool express;
};

/* The headers to one peer, as far as they are the same for every message. */
struct rb_roce_path {
	uint8_t header[RB_ROCE_HEADER_MAX_BYTES];
	uint32_t header_bytes; /* 62 or 82 */
};

/*
 * Prepare the headers from `local` to `remote`. The UDP source port is a hash of both ends in
 * 0xc000..0xffff: the same for all messages of a path, so that ECMP keeps their order, but
 * different for different paths. 0, or -EINVAL: mixed address families, an unspecified address, a
 * QPN outside 2..0xfffffe, a bad value in config.
 */
int rb_roce_path_init(struct rb_roce_path *path, const struct rb_roce_config *config,
		      const struct rb_roce_end *local, const struct rb_roce_end *remote);

/*
 * Frame a payload in place. The payload, 1..RB_ROCE_PAYLOAD_MAX_BYTES, is at frame +
 * path->header_bytes already, with room for RB_ROCE_TRAILER_MAX_BYTES after it. Of psn, 24 bits
 * count. Returns the length of the whole frame.
 */
uint32_t rb_roce_frame(const struct rb_roce_path *path, uint32_t psn, uint8_t *frame,
		       uint32_t payload_bytes);

/*
 * Make a congestion notification packet (annex A17.9.3) to queue pair remote_qpn at the other end
 * of `path`. out has room for RB_ROCE_CNP_BYTES. Returns the length.
 */
uint32_t rb_roce_cnp(const struct rb_roce_path *path, uint32_t remote_qpn, uint8_t *out);

/* The content of a good frame. */
struct rb_roce_packet {
	const uint8_t *payload; /* into the frame; SEND only */
	uint32_t payload_bytes; /* without padding, may be 0 */
	uint8_t src_ip[16];
	uint32_t src_qpn; /* SEND only */
	uint32_t psn;	  /* 24 bits */
	uint8_t hop_limit;
	bool ce;      /* the network marked congestion */
	bool express; /* SEND only: the caller must know that its check is good */
};

/*
 * Judge a received frame. Fills `packet` in if the verdict is SEND or CNP. Ignores Ethernet padding
 * after the IP packet, and UDP checksums (A17: the ICRC covers what they cover).
 */
enum rb_roce_verdict rb_roce_parse(const struct rb_roce_config *config,
				   const struct rb_roce_end *local, const uint8_t *frame,
				   uint32_t frame_bytes, struct rb_roce_packet *packet);

/* The largest payload, at most 4096, of IP packets of mtu_bytes to an address like ip; or 0. */
uint32_t rb_roce_payload_for_mtu(uint32_t mtu_bytes, const uint8_t ip[16]);

/* The InfiniBand path MTU, 256 to 4096, that adapters use over an IP MTU; 0: none. */
uint32_t rb_roce_path_mtu(uint32_t mtu_bytes);

static inline bool rb_ip_is_v4(const uint8_t ip[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return __builtin_memcmp(ip, mapped, sizeof(mapped)) == 0;
}

#endif
