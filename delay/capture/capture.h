/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures of several links, read side by side by libpcap (pcap, pcapng; micro- or nanoseconds) and
 * merged into one stream of identified packets in the order of their times. Memory does not grow
 * with the captures. Only this file includes libpcap.
 */
#ifndef SL_CAPTURE_H
#define SL_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delay/capture/identity.h"
#include "delay/capture/tapped_link.h"

/* Records may stand this many places late in a file; beyond that it must be sorted first. */
#define SL_CAPTURE_REORDER 4096

struct sl_record {
	int64_t time_ns; /* of the last bit (tapped_link.h), since 1970 */
	struct sl_identity packet;
	uint8_t link; /* index */
};

/* What a capture held */
struct sl_capture_counts {
	uint64_t records; /* all that the filter let through; the sum of the next four */
	uint64_t packets; /* identified */
	uint64_t not_ip;
	uint64_t cut;	    /* by the snapshot length, before the identity */
	uint64_t broken;    /* IP headers that contradict themselves */
	uint64_t reordered; /* of packets, those that stood late in the file */
	uint64_t
		resolution_ns; /* 1, 10, 100, 1000...: the unit of its stamps, as far as one sees */
	bool ended_early;      /* cut short, with `partial` */
};

struct sl_captures;

struct sl_captures_settings {
	struct sl_tapped_link *links; /* borrowed until destroyed; gets the types of the captures */
	uint32_t n_links;	      /* 1..SL_LINKS_MAX */
	uint64_t late_ns;	      /* added to the times of packets on outputs */
	bool no_checksums;	      /* see sl_identify() */
	bool partial; /* a capture that breaks off ends there, instead of being an error */
};

/*
 * Open all captures. 0, or an error whose reason is in `why`: -EIO (a file cannot be read, or is no
 * capture), -EPROTONOSUPPORT (its link type), -EINVAL (a filter), -ENOMEM.
 */
int sl_captures_create(const struct sl_captures_settings *settings, struct sl_captures **out,
		       char *why, size_t why_bytes);
void sl_captures_destroy(struct sl_captures *captures);

/*
 * The next packet of all captures, by time; at one time inputs first. 1; 0: there are no more; -EIO
 * or -EBADMSG: `why` says which file, where and what.
 */
int sl_captures_next(struct sl_captures *captures, struct sl_record *record, char *why,
		     size_t why_bytes);
const struct sl_capture_counts *sl_captures_counts(const struct sl_captures *captures,
						   uint32_t link);
/* How much is read: bytes of all files, and of them those read so far. */
uint64_t sl_captures_bytes(const struct sl_captures *captures);
uint64_t sl_captures_read_bytes(const struct sl_captures *captures);

#endif
