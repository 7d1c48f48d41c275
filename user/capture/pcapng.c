/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/utsname.h>

#include "user/capture/pcapng.h"

/* Block types, and codes of options: draft-ietf-opsawg-pcapng 4 */
enum { BLOCK_INTERFACE = 1, BLOCK_STATISTICS = 5, BLOCK_FRAME = 6, BLOCK_SECTION = 0x0a0d0d0a };
enum { OPT_END = 0, OPT_COMMENT = 1 };
enum { SHB_OS = 3, SHB_USERAPPL = 4 };
enum { IF_NAME = 2, IF_DESCRIPTION = 3, IF_TSRESOL = 9, IF_FILTER = 11 };
enum { EPB_FLAGS = 2, EPB_PACKETID = 5, EPB_QUEUE = 6, EPB_VERDICT = 7 };
enum { ISB_IFRECV = 4, ISB_IFDROP = 5 };

#define BYTE_ORDER_MAGIC  0x1a2b3c4du
#define LINKTYPE_ETHERNET 1
#define TSRESOL_NS	  9 /* times are in units of 10^-9 s */
#define VERDICT_XDP	  2 /* the first byte of epb_verdict: an action of XDP follows */
#define BODY_MAX	  4096

/* A block's options, or its fixed part, until its length is known. */
struct body {
	uint32_t n;
	uint8_t bytes[BODY_MAX];
};

static uint32_t padded(uint32_t bytes)
{
	return (bytes + 3) & ~3u;
}

static void put(struct body *body, const void *bytes, uint32_t n)
{
	memcpy(body->bytes + body->n, bytes, n);
	memset(body->bytes + body->n + n, 0, padded(n) - n);
	body->n += padded(n);
}

/* An option that would not fit is left out: only a comment or filter could be that long. */
static void option(struct body *body, uint16_t code, const void *value, size_t n)
{
	const uint16_t head[] = { code, (uint16_t)n };

	if (n > UINT16_MAX ||
	    body->n + sizeof(head) + padded((uint32_t)n) + sizeof(head) > BODY_MAX)
		return;
	put(body, head, sizeof(head));
	put(body, value, (uint32_t)n);
}

static void option_text(struct body *body, uint16_t code, const char *text)
{
	if (text && text[0])
		option(body, code, text, strlen(text));
}

static void option_end(struct body *body)
{
	const uint16_t end[] = { OPT_END, 0 };

	put(body, end, sizeof(end));
}

/* A block of a fixed part, data that is padded, and options. */
static void block(FILE *out, uint32_t type, const void *fixed, uint32_t fixed_bytes,
		  const uint8_t *data, uint32_t data_bytes, const struct body *options)
{
	const uint32_t length =
		3 * sizeof(uint32_t) + fixed_bytes + padded(data_bytes) + options->n;
	static const uint8_t zero[3];

	fwrite(&type, sizeof(type), 1, out);
	fwrite(&length, sizeof(length), 1, out);
	fwrite(fixed, 1, fixed_bytes, out);
	if (data_bytes)
		fwrite(data, 1, data_bytes, out);
	fwrite(zero, 1, padded(data_bytes) - data_bytes, out);
	fwrite(options->bytes, 1, options->n, out);
	fwrite(&length, sizeof(length), 1, out);
}

void sl_pcapng_section(FILE *out, const char *application)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		int64_t section_bytes; /* -1: not known */
	} __attribute__((packed)) fixed = { BYTE_ORDER_MAGIC, 1, 0, -1 };
	struct body options = { 0 };
	struct utsname kernel;
	char os[sizeof(kernel.sysname) + sizeof(kernel.release) + 1];

	if (!uname(&kernel)) {
		snprintf(os, sizeof(os), "%s %s", kernel.sysname, kernel.release);
		option_text(&options, SHB_OS, os);
	}
	option_text(&options, SHB_USERAPPL, application);
	option_end(&options);
	block(out, BLOCK_SECTION, &fixed, sizeof(fixed), NULL, 0, &options);
}

void sl_pcapng_interface(FILE *out, const char *name, const char *description, uint32_t snap_bytes,
			 const char *filter)
{
	const struct {
		uint16_t linktype, reserved;
		uint32_t snap_bytes;
	} fixed = { LINKTYPE_ETHERNET, 0, snap_bytes };
	const uint8_t tsresol = TSRESOL_NS;
	struct body options = { 0 };
	char text[1024];
	int n;

	option_text(&options, IF_NAME, name);
	option_text(&options, IF_DESCRIPTION, description);
	option(&options, IF_TSRESOL, &tsresol, sizeof(tsresol));
	if (filter) {
		/* The first byte says that an expression of libpcap follows. */
		n = snprintf(text, sizeof(text), "%c%s", 0, filter);
		if (n > 0 && (size_t)n < sizeof(text))
			option(&options, IF_FILTER, text, (size_t)n);
	}
	option_end(&options);
	block(out, BLOCK_INTERFACE, &fixed, sizeof(fixed), NULL, 0, &options);
}

void sl_pcapng_frame(FILE *out, const struct sl_pcapng_frame *frame)
{
	const struct {
		uint32_t interface, time_high, time_low, copied_bytes, frame_bytes;
	} fixed = { frame->interface, (uint32_t)(frame->time_ns >> 32), (uint32_t)frame->time_ns,
		    frame->copied_bytes, frame->frame_bytes };
	const uint32_t direction = frame->outbound ? 2 : 1, queue = (uint32_t)frame->queue;
	uint8_t verdict[9] = { VERDICT_XDP };
	struct body options = { 0 };

	option(&options, EPB_FLAGS, &direction, sizeof(direction));
	if (frame->id)
		option(&options, EPB_PACKETID, &frame->id, sizeof(frame->id));
	if (frame->queue >= 0)
		option(&options, EPB_QUEUE, &queue, sizeof(queue));
	if (frame->xdp_action >= 0) {
		const uint64_t action = (uint64_t)frame->xdp_action;

		memcpy(verdict + 1, &action, sizeof(action));
		option(&options, EPB_VERDICT, verdict, sizeof(verdict));
	}
	option_text(&options, OPT_COMMENT, frame->comment);
	option_end(&options);
	block(out, BLOCK_FRAME, &fixed, sizeof(fixed), frame->bytes, frame->copied_bytes, &options);
}

void sl_pcapng_statistics(FILE *out, uint32_t interface, uint64_t time_ns, uint64_t seen,
			  uint64_t lost)
{
	const struct {
		uint32_t interface, time_high, time_low;
	} fixed = { interface, (uint32_t)(time_ns >> 32), (uint32_t)time_ns };
	struct body options = { 0 };

	option(&options, ISB_IFRECV, &seen, sizeof(seen));
	option(&options, ISB_IFDROP, &lost, sizeof(lost));
	option_end(&options);
	block(out, BLOCK_STATISTICS, &fixed, sizeof(fixed), NULL, 0, &options);
}
