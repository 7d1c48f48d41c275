/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <pcap/pcap.h>

#include "delay/capture/capture.h"

/* Times fit into picoseconds of 63 bits from the first packet on, so captures span less than this.
 */
#define SPAN_MAX_NS (100 * 86400 * 1000000000LL)

/* One file. Its packets pass a ring in which they stand in order, so that late ones find their
 * place. */
struct capture {
	pcap_t *pcap; /* owned */
	uint64_t file_bytes;
	struct sl_capture_counts counts;
	struct sl_record *ring; /* owned; SL_CAPTURE_REORDER of them, a power of two */
	uint64_t first, end;	/* those that wait: first..end - 1, modulo the ring */
	int64_t passed_ns;	/* time of the last one that left the ring */
	bool ended;		/* there is nothing more in the file */
};

struct sl_captures {
	struct sl_captures_settings settings;
	bool started;
	int64_t base_ns; /* time of the first packet */
	struct capture capture[SL_LINKS_MAX];
};

static int fail(int error, char *why, size_t why_bytes, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int fail(int error, char *why, size_t why_bytes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, why_bytes, format, args);
	va_end(args);
	return error;
}

static int set_filter(struct capture *c, const struct sl_tapped_link *link, char *why,
		      size_t why_bytes)
{
	struct bpf_program program;
	int err;

	if (!link->filter)
		return 0;
	if (pcap_compile(c->pcap, &program, link->filter, 1, PCAP_NETMASK_UNKNOWN))
		return fail(-EINVAL, why, why_bytes, "%s: filter \"%s\": %s: see pcap-filter(7)",
			    link->name, link->filter, pcap_geterr(c->pcap));
	err = pcap_setfilter(c->pcap, &program);
	pcap_freecode(&program);
	return err ? fail(-EINVAL, why, why_bytes, "%s: filter \"%s\": %s", link->name,
			  link->filter, pcap_geterr(c->pcap))
		   : 0;
}

static int open_capture(struct capture *c, struct sl_tapped_link *link, char *why, size_t why_bytes)
{
	char error[PCAP_ERRBUF_SIZE];
	struct stat file;

	/* The model reads the captures a second time, which a pipe does not allow. */
	if (stat(link->path, &file))
		return fail(-EIO, why, why_bytes, "%s: %s", link->path, strerror(errno));
	if (!S_ISREG(file.st_mode))
		return fail(
			-EIO, why, why_bytes,
			"%s: a file is wanted, since captures are read twice; this is something else",
			link->path);
	c->file_bytes = (uint64_t)file.st_size;
	c->pcap = pcap_open_offline_with_tstamp_precision(link->path, PCAP_TSTAMP_PRECISION_NANO,
							  error);
	/* libpcap names the file itself where it could not open it. */
	if (!c->pcap)
		return strncmp(error, link->path, strlen(link->path)) == 0
			       ? fail(-EIO, why, why_bytes, "%s", error)
			       : fail(-EIO, why, why_bytes,
				      "%s: not a capture that can be read: %s", link->path, error);
	link->type = sl_link_type_find(pcap_datalink(c->pcap));
	if (!link->type) {
		const char *name = pcap_datalink_val_to_name(pcap_datalink(c->pcap));

		return fail(-EPROTONOSUPPORT, why, why_bytes,
			    "%s: its link type, %s (%d), is none that is read: %s", link->path,
			    name ? name : "unknown", pcap_datalink(c->pcap), sl_link_type_names);
	}
	c->counts.resolution_ns = 1000000000;
	c->passed_ns = INT64_MIN;
	c->ring = calloc(SL_CAPTURE_REORDER, sizeof(*c->ring));
	if (!c->ring)
		return fail(-ENOMEM, why, why_bytes, "out of memory");
	return set_filter(c, link, why, why_bytes);
}

int sl_captures_create(const struct sl_captures_settings *settings, struct sl_captures **out,
		       char *why, size_t why_bytes)
{
	struct sl_captures *captures = calloc(1, sizeof(*captures));
	int err = 0;

	if (!captures)
		return fail(-ENOMEM, why, why_bytes, "out of memory");
	captures->settings = *settings;
	for (uint32_t i = 0; i < settings->n_links && !err; i++)
		err = open_capture(&captures->capture[i], &settings->links[i], why, why_bytes);
	if (err) {
		sl_captures_destroy(captures);
		return err;
	}
	*out = captures;
	return 0;
}

void sl_captures_destroy(struct sl_captures *captures)
{
	if (!captures)
		return;
	for (uint32_t i = 0; i < captures->settings.n_links; i++) {
		if (captures->capture[i].pcap)
			pcap_close(captures->capture[i].pcap);
		free(captures->capture[i].ring);
	}
	free(captures);
}

/* Put a packet into the ring, in order; most stand in order already. */
static void insert(struct capture *c, const struct sl_record *record)
{
	uint64_t at = c->end++;

	if (at > c->first && c->ring[(at - 1) % SL_CAPTURE_REORDER].time_ns > record->time_ns)
		c->counts.reordered++;
	for (; at > c->first && c->ring[(at - 1) % SL_CAPTURE_REORDER].time_ns > record->time_ns;
	     at--)
		c->ring[at % SL_CAPTURE_REORDER] = c->ring[(at - 1) % SL_CAPTURE_REORDER];
	c->ring[at % SL_CAPTURE_REORDER] = *record;
}

static void count_verdict(struct sl_capture_counts *counts, enum sl_identity_verdict verdict)
{
	counts->records++;
	switch (verdict) {
	case SL_IDENTITY_OK:
		counts->packets++;
		break;
	case SL_IDENTITY_NOT_IP:
		counts->not_ip++;
		break;
	case SL_IDENTITY_SHORT:
		counts->cut++;
		break;
	case SL_IDENTITY_BROKEN:
		counts->broken++;
		break;
	}
}

/* Read records until one is a packet. 1; 0: the file has ended; or an error */
static int read_packet(struct sl_captures *captures, uint32_t i, struct sl_record *record,
		       char *why, size_t why_bytes)
{
	struct capture *c = &captures->capture[i];
	const struct sl_tapped_link *link = &captures->settings.links[i];
	enum sl_identity_verdict verdict;
	struct pcap_pkthdr *header;
	const u_char *data;
	int got;

	for (;;) {
		got = pcap_next_ex(c->pcap, &header, &data);
		if (got == PCAP_ERROR_BREAK)
			return 0;
		if (got != 1 && captures->settings.partial) {
			c->counts.ended_early = true;
			return 0;
		}
		if (got != 1)
			return fail(-EIO, why, why_bytes,
				    "%s: unreadable behind record %" PRIu64
				    ": %s (with --partial, what comes before counts)",
				    link->path, c->counts.records, pcap_geterr(c->pcap));
		verdict = sl_identify(link->type, data, header->caplen,
				      captures->settings.no_checksums, &record->packet);
		count_verdict(&c->counts, verdict);
		if (verdict == SL_IDENTITY_OK)
			break;
	}
	/* With nanosecond precision, tv_usec holds nanoseconds. */
	if (header->ts.tv_sec < 0 || header->ts.tv_sec > INT64_MAX / 1000000000 - 10 ||
	    header->ts.tv_usec < 0 || header->ts.tv_usec > 999999999)
		return fail(-EBADMSG, why, why_bytes, "%s: record %" PRIu64 " has no valid time",
			    link->path, c->counts.records);
	record->time_ns = (int64_t)header->ts.tv_sec * 1000000000 + header->ts.tv_usec;
	while ((uint64_t)record->time_ns % c->counts.resolution_ns)
		c->counts.resolution_ns /= 10;
	record->time_ns += (int64_t)sl_tapped_link_correction_ns(link, record->packet.ip_bytes,
								 record->packet.vlan_tags);
	if (link->output)
		record->time_ns += (int64_t)captures->settings.late_ns;
	record->link = (uint8_t)i;
	return 1;
}

/* Keep the ring full while the file has packets. */
static int fill(struct sl_captures *captures, uint32_t i, char *why, size_t why_bytes)
{
	struct capture *c = &captures->capture[i];
	struct sl_record record;
	int got;

	while (!c->ended && c->end - c->first < SL_CAPTURE_REORDER) {
		got = read_packet(captures, i, &record, why, why_bytes);
		if (got < 0)
			return got;
		if (!got) {
			c->ended = true;
			break;
		}
		if (record.time_ns < c->passed_ns)
			return fail(-EBADMSG, why, why_bytes,
				    "%s: record %" PRIu64
				    " is older than one more than %d places before it: sort "
				    "the capture first, with reordercap(1)",
				    captures->settings.links[i].path, c->counts.records,
				    SL_CAPTURE_REORDER);
		insert(c, &record);
	}
	return 0;
}

/* True if a's first packet comes before b's. */
static bool before(const struct sl_captures *captures, uint32_t a, uint32_t b)
{
	const struct capture *ca = &captures->capture[a], *cb = &captures->capture[b];
	const int64_t a_ns = ca->ring[ca->first % SL_CAPTURE_REORDER].time_ns,
		      b_ns = cb->ring[cb->first % SL_CAPTURE_REORDER].time_ns;

	if (a_ns != b_ns)
		return a_ns < b_ns;
	return !captures->settings.links[a].output && captures->settings.links[b].output;
}

int sl_captures_next(struct sl_captures *captures, struct sl_record *record, char *why,
		     size_t why_bytes)
{
	uint32_t best = UINT32_MAX;
	struct capture *c;
	int err;

	for (uint32_t i = 0; i < captures->settings.n_links; i++) {
		c = &captures->capture[i];
		err = fill(captures, i, why, why_bytes);
		if (err)
			return err;
		if (c->first != c->end && (best == UINT32_MAX || before(captures, i, best)))
			best = i;
	}
	if (best == UINT32_MAX)
		return 0;
	c = &captures->capture[best];
	*record = c->ring[c->first++ % SL_CAPTURE_REORDER];
	c->passed_ns = record->time_ns;
	if (!captures->started)
		captures->base_ns = record->time_ns;
	captures->started = true;
	if (record->time_ns - captures->base_ns > SPAN_MAX_NS)
		return fail(
			-EBADMSG, why, why_bytes,
			"%s has a packet more than 100 days behind the first of all captures: are their "
			"clocks one?",
			captures->settings.links[best].path);
	return 1;
}

const struct sl_capture_counts *sl_captures_counts(const struct sl_captures *captures,
						   uint32_t link)
{
	return &captures->capture[link].counts;
}

uint64_t sl_captures_bytes(const struct sl_captures *captures)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < captures->settings.n_links; i++)
		bytes += captures->capture[i].file_bytes;
	return bytes;
}

uint64_t sl_captures_read_bytes(const struct sl_captures *captures)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < captures->settings.n_links; i++) {
		FILE *file = pcap_file(captures->capture[i].pcap);
		const long at = file ? ftell(file) : 0;

		bytes += at > 0 ? (uint64_t)at : 0;
	}
	return bytes;
}
