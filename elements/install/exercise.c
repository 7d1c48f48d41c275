/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements/classes/classes.h"
#include "elements/core/ip_rewrite.h"
#include "elements/graph/graph_text.h"
#include "elements/install/exercise.h"

#define CHUNKS	    256u
#define CHUNK_BYTES 4096u
#define HEADROOM    256u
#define PACKETS	    2000u
#define FRAME_MAX   3000u
#define GAP_NS	    100000u
#define TAKE_EVERY  3u /* packets, then one of those that are held is taken */
#define TEXT_BYTES  1024u
/* Of one packet: a longer time is not charged to the chain */
#define PROGRAM_MAX_NS ((int)SL_FAST_TIMED_MAX_NS)

struct rig {
	struct el_pool pool;
	struct el_packet packets[CHUNKS];
	uint8_t area[CHUNKS * CHUNK_BYTES], before[CHUNK_BYTES];
	struct el_chains chains;
	const struct el_class *class; /* borrowed */
	struct el_instance *at;	      /* borrowed from chains */
	uint64_t now_ns, in, copied, out;
	uint32_t random;
	char *why; /* borrowed */
	/* Its program: */
	struct el_own_trial *own; /* borrowed; NULL: it has none */
	struct sl_own_config config;
	uint8_t frame[CHUNK_BYTES]; /* that the program has had */
	uint32_t frame_bytes;
};

static int __attribute__((format(printf, 2, 3))) refuse(struct rig *rig, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(rig->why, EL_WHY_BYTES, format, args);
	va_end(args);
	return -EINVAL;
}

static uint32_t draw(struct rig *rig, uint32_t below)
{
	rig->random ^= rig->random << 13;
	rig->random ^= rig->random >> 17;
	rig->random ^= rig->random << 5;
	return rig->random % below;
}

/* --- The instance: of a chain that has nothing else --- */

static int configure_program(struct rig *rig)
{
	struct sl_fast_element element = { 0 };

	if (!rig->class->fast(rig->at->values, &element))
		return refuse(rig, "its function `fast` takes the parameters for its trial not");
	if (element.kind != SL_FAST_OWN)
		return refuse(rig, "its function `fast` sets another kind than SL_FAST_OWN");
	rig->config = element.own;
	return 0;
}

static int make_instance(struct rig *rig, const char *parameters)
{
	const struct el_class *const more[] = { rig->class, NULL };
	char text[TEXT_BYTES], error[EL_ERROR_BYTES];
	int n, err;

	if (el_class_find(NULL, rig->class->name))
		return refuse(rig, "%s is the name of a class that is built in", rig->class->name);
	n = snprintf(text, sizeof(text), "chain trial { e :: %s(%s); input -> %se%s; %s }",
		     rig->class->name, parameters ? parameters : "",
		     rig->class->input == EL_PULL ? "Queue -> " : "",
		     rig->class->outputs ? " -> output" : "",
		     rig->class->outputs > 1 ? "e[1] -> drop;" : "");
	if (n < 0 || (size_t)n >= sizeof(text))
		return refuse(rig, "the parameters for its trial are too long");
	err = el_chains_parse("chain of the trial", text, (size_t)n, more, &rig->chains, error);
	if (err)
		return err == -EINVAL ? refuse(rig, "%s", error) : err;
	rig->at = &rig->chains.chains[0].instances[el_graph_find(&rig->chains.chains[0], "e")];
	return rig->own ? configure_program(rig) : 0;
}

/* --- Packets --- */

static void write_ip(struct rig *rig, uint8_t *ip, uint32_t n)
{
	if (draw(rig, 3) && n >= EL_IP4_BYTES) {
		ip[0] = 0x45;
		ip[1] = (uint8_t)draw(rig, 256);
		el_write16(ip + 2, (uint16_t)n);
		ip[6] &= 0x20;
		ip[9] = draw(rig, 2) ? 17 : 6;
		el_write16(ip + 10, 0);
		el_write16(ip + 10, el_checksum(ip, EL_IP4_BYTES));
	} else if (n >= EL_IP6_BYTES) {
		ip[0] = 0x60;
		el_write16(ip + 4, (uint16_t)(n - EL_IP6_BYTES));
		ip[6] = draw(rig, 2) ? 17 : 6;
	}
}

/* Up to two VLAN tags. Returns where the type is of what they carry. */
static uint32_t write_tags(struct rig *rig, struct el_packet *packet)
{
	uint32_t at = 12, n = packet->len_bytes < 60 || draw(rig, 2) ? 0 : 1 + draw(rig, 2);

	for (uint32_t i = 0; i < n; i++, at += 4)
		el_write16(packet->data + at, 0x8100);
	return at;
}

/* Random bytes, in three of four cases with an IP header that is right. */
static struct el_packet *make_packet(struct rig *rig)
{
	struct el_packet *packet = el_pool_take(&rig->pool);
	uint32_t type_at;

	if (!packet)
		return NULL;
	packet->len_bytes = draw(rig, 8) ? 60 + draw(rig, FRAME_MAX - 60) : 14 + draw(rig, 60);
	packet->paint = (uint8_t)draw(rig, 4);
	for (uint32_t i = 0; i < packet->len_bytes; i++)
		packet->data[i] = (uint8_t)draw(rig, 256);
	if (draw(rig, 4)) {
		type_at = write_tags(rig, packet);
		el_write16(packet->data + type_at, 0x0800);
		write_ip(rig, packet->data + type_at + 2, packet->len_bytes - type_at - 2);
		if (packet->data[type_at + 2] >> 4 == 6)
			el_write16(packet->data + type_at, 0x86dd);
	}
	el_ip_parse(packet);
	return packet;
}

/* --- Checks --- */

static int check_packet(struct rig *rig, const struct el_packet *packet, uint32_t len_bytes)
{
	const uint8_t *chunk = rig->area + (size_t)packet->chunk * CHUNK_BYTES;

	if (packet->chunk >= CHUNKS || packet != &rig->packets[packet->chunk])
		return refuse(rig, "it changed whose memory a packet has");
	if (packet->data < chunk || packet->len_bytes > CHUNK_BYTES ||
	    packet->data + packet->len_bytes > chunk + CHUNK_BYTES)
		return refuse(rig, "a packet lies beyond its memory");
	if (packet->len_bytes < 14)
		return refuse(rig, "a packet has less than an Ethernet header");
	if (!(rig->class->may & EL_MAY_RESIZE) && packet->len_bytes != len_bytes)
		return refuse(rig, "it changed the length of a packet, which it may not");
	if (!(rig->class->may & (EL_MAY_RESIZE | EL_MAY_WRITE)) &&
	    memcmp(packet->data, rig->before, len_bytes))
		return refuse(rig, "it changed the bytes of a packet, which it may not");
	return 0;
}

static int check_context(struct rig *rig, const struct el_context *ctx)
{
	if (ctx->dropped && !(rig->class->may & EL_MAY_DROP))
		return refuse(rig, "it dropped a packet, which it may not");
	if ((ctx->copied || ctx->not_copied) && !(rig->class->may & EL_MAY_COPY))
		return refuse(rig, "it copied a packet, which it may not");
	rig->copied += ctx->copied;
	rig->out += ctx->dropped;
	return 0;
}

/* --- Its program beside `process` --- */

struct program_run {
	bool compares;
	int output;
	struct sl_own_packet packet;
};

static int run_program(struct rig *rig, struct el_packet *packet, struct program_run *out)
{
	const enum el_ip version = el_ip_parse(packet);

	*out = (struct program_run){ .compares = rig->own && version != EL_IP_NONE };
	if (!out->compares)
		return 0;
	out->packet = (struct sl_own_packet){ .l3_offset = packet->l3_offset,
					      .ip4 = version == EL_IP_4,
					      .frame_bytes = packet->len_bytes,
					      .paint = packet->paint };
	rig->frame_bytes = packet->len_bytes;
	memcpy(rig->frame, packet->data, packet->len_bytes);
	out->output = el_own_trial_run(rig->own, &rig->config, &out->packet, rig->frame,
				       packet->len_bytes);
	return out->output < 0
		       ? refuse(rig, "its program cannot be run: %s", strerror(-out->output))
		       : 0;
}

static int compare(struct rig *rig, const struct program_run *program, int result,
		   const struct el_packet *packet)
{
	const int expected = result == EL_DROP ? (int)SL_OWN_DROP : result;
	const char *what = NULL;

	if (!program->compares)
		return 0;
	if (program->output != expected)
		return refuse(rig,
			      "packet %llu of its trial: `process` gives %d, and its program %d",
			      (unsigned long long)rig->in, result,
			      program->output == (int)SL_OWN_DROP ? EL_DROP : program->output);
	if (result == EL_DROP)
		return 0;
	if (packet->len_bytes != rig->frame_bytes ||
	    memcmp(packet->data, rig->frame, rig->frame_bytes) != 0)
		what = "bytes";
	else if (packet->paint != (program->packet.paint & 0xff))
		what = "paint";
	return what ? refuse(rig,
			     "packet %llu of its trial: `process` gives it other %s than its program",
			     (unsigned long long)rig->in, what)
		    : 0;
}

/* On the latest packet that it had. */
static int time_program(struct rig *rig)
{
	int took_ns;

	if (!rig->own)
		return 0;
	took_ns = el_own_trial_time(rig->own, rig->frame, rig->frame_bytes);
	if (took_ns > PROGRAM_MAX_NS)
		return refuse(rig, "its program takes %d ns for a packet, and may take %d", took_ns,
			      PROGRAM_MAX_NS);
	return took_ns < 0 ? refuse(rig, "its program cannot be run: %s", strerror(-took_ns)) : 0;
}

static uint32_t waiting(const struct rig *rig)
{
	return rig->class->waiting ? rig->class->waiting(rig->at->state) : 0;
}

/* Where all packets are: in the instance, or free again. */
static int check_sum(struct rig *rig)
{
	if (rig->in + rig->copied != rig->out + waiting(rig))
		return refuse(rig, "%llu packets came in, %llu were copied, %llu went, and %u wait",
			      (unsigned long long)rig->in, (unsigned long long)rig->copied,
			      (unsigned long long)rig->out, waiting(rig));
	if (rig->pool.n_free + waiting(rig) != CHUNKS)
		return refuse(rig, "it lost the memory of a packet, or gave it back twice");
	return 0;
}

static int take_held(struct rig *rig, bool *taken)
{
	struct el_packet *packet = rig->class->dequeue ? rig->class->dequeue(rig->at->state) : NULL;

	*taken = packet != NULL;
	if (!packet)
		return 0;
	if (packet < rig->packets || packet >= rig->packets + CHUNKS)
		return refuse(rig, "it gave back a packet that is not the pool's");
	rig->out++;
	el_pool_give(&rig->pool, packet);
	return 0;
}

static int send_packet(struct rig *rig)
{
	struct el_context ctx = { .pool = &rig->pool, .now_ns = rig->now_ns += GAP_NS };
	struct el_packet *packet = make_packet(rig);
	struct program_run program;
	uint32_t len_bytes;
	int result, err;

	if (!packet)
		return refuse(rig, "it holds more than %u packets", CHUNKS);
	len_bytes = packet->len_bytes;
	memcpy(rig->before, packet->data, len_bytes);
	rig->in++;
	err = run_program(rig, packet, &program);
	if (err)
		return err;
	result = rig->class->process(rig->at->state, &ctx, packet);
	if (result >= rig->class->outputs || result < EL_HELD)
		return refuse(rig, "its function `process` gave %d, which is no output", result);
	if (result == EL_DROP && !(rig->class->may & EL_MAY_DROP))
		return refuse(rig, "it dropped a packet, which it may not");
	if (result == EL_HELD && !(rig->class->may & EL_MAY_HOLD))
		return refuse(rig, "it held a packet, which it may not");
	err = check_context(rig, &ctx);
	if (err || result == EL_HELD)
		return err;
	err = check_packet(rig, packet, len_bytes);
	if (!err)
		err = compare(rig, &program, result, packet);
	if (err)
		return err;
	rig->out++;
	el_pool_give(&rig->pool, packet);
	return 0;
}

static int run(struct rig *rig)
{
	bool taken = true;
	int err = 0;

	for (uint32_t i = 0; !err && i < PACKETS; i++) {
		err = send_packet(rig);
		/* In the second half more is taken than comes, and copies find room. */
		if (!err && (i % TAKE_EVERY == 0 || i > PACKETS / 2))
			err = take_held(rig, &taken);
		if (!err)
			err = check_sum(rig);
	}
	for (uint32_t i = 0; !err && taken && i < CHUNKS; i++)
		err = take_held(rig, &taken);
	if (!err)
		err = check_sum(rig);
	if (!err && waiting(rig))
		err = refuse(rig, "%u packets wait that it does not give back", waiting(rig));
	return err;
}

int el_exercise(const struct el_class *class, const char *parameters, struct el_own_trial *own,
		char why[EL_WHY_BYTES])
{
	struct rig *rig = calloc(1, sizeof(*rig));
	int err;

	if (!rig)
		return -ENOMEM;
	rig->class = class;
	rig->why = why;
	rig->own = own;
	rig->random = 1;
	el_pool_init(&rig->pool, rig->area, rig->packets, CHUNKS, CHUNK_BYTES, HEADROOM);
	err = make_instance(rig, parameters);
	if (!err)
		err = run(rig);
	if (!err)
		err = time_program(rig);
	el_chains_free(&rig->chains);
	free(rig);
	return err;
}
