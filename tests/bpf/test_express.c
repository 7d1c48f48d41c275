// SPDX-License-Identifier: BSD-2-Clause
/*
 * The express way. sl_edge makes a message: its bytes are those that the bridge would send, but for
 * the check, which is computed here after RFC 768. sl_fabric gets these bytes, and gives back the
 * frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <isa-l/crc.h>
#include <linux/bpf.h>

#include "bpf/abi/arrival.h"
#include "bpf/abi/crc.h"
#include "bpf/abi/express.h"
#include "bpf/abi/virtual_clock.h"
#include "bpf/lib/endian.bpf.h"
#include "rdma-bridge/queue/pack.h"
#include "rdma-bridge/transport/roce.h"
#include "rdma-bridge/wire/bytes.h"
#include "tests/lib/edge_case.h"
#include "user/datapath/bpf_object.h"
#include "user/lib/clock.h"

#define RECEIVER	9 /* node id */
#define SYSTEM_PORT	SL_SYSTEM_PORT(RECEIVER, 3)
#define SENDER_EPOCH	0x5e17d001
#define SENDER_QPN	0x456
#define RECEIVER_QPN	0x345
#define QKEY		0x1234567
#define FABRIC_IFINDEX	EDGE_PORT(4)
#define EGRESS_IFINDEX	EDGE_PORT(2)
#define FRAME_MAX	2000
#define MESSAGE_MAX	(FRAME_MAX + 200)
#define FAR_FUTURE	UINT64_MAX
#define CLOCK_OFFSET_NS 1700000000123456789LL
#define HEADERS4_BYTES	(SL_EXPRESS_HEADER4_BYTES + 36)

static struct edge *world;
static struct bpf_object *fabric;
static int socket_fd;

/* How a test's messages travel. */
static struct {
	bool ip6; /* the fabric */
	enum sl_express_check check;
} way;

static void address(uint8_t node, uint8_t out[16])
{
	memset(out, 0, 16);
	if (way.ip6) {
		out[0] = 0xfd;
	} else {
		out[10] = out[11] = 0xff;
		out[12] = 10;
		out[13] = 9;
	}
	out[15] = node;
}

static struct rb_roce_path path_to_receiver(void)
{
	const struct rb_roce_config config = {
		.pkey = 0xffff, .dscp = 26, .ecn = RB_ECN_ECT0, .hop_limit = 255
	};
	struct rb_roce_end local = { .mac = { 2, 0, 0, 0, 7, 1 }, .qpn = SENDER_QPN };
	struct rb_roce_end remote = { .mac = { 2, 0, 0, 0, 9, 1 },
				      .qpn = RECEIVER_QPN,
				      .qkey = QKEY };
	struct rb_roce_path path;

	address(EDGE_NODE, local.ip);
	address(RECEIVER, remote.ip);
	assert_int_equal(rb_roce_path_init(&path, &config, &local, &remote), 0);
	return path;
}

/* --- An oracle for the check: RFC 768, byte by byte --- */

static uint32_t add(uint32_t sum, const uint8_t *bytes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
	return sum;
}

/* The checksum of a UDP datagram in an Ethernet frame, over `covered` bytes of it. */
static uint16_t udp_checksum(const uint8_t *frame, uint32_t covered)
{
	const uint8_t *ip = frame + 14, *udp = ip + (way.ip6 ? 40 : 20);
	uint32_t sum = 17 + rb_get16(udp + 4);

	sum = way.ip6 ? add(sum, ip + 8, 32) : add(sum, ip + 12, 8);
	sum = add(sum, udp, covered);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	return sum ? (uint16_t)sum : 0xffff;
}

/* InfiniBand's annex A17, RoCEv2: ones for what changes on the way, and for the header that is not
 * there. */
static uint32_t icrc(const uint8_t *message, uint32_t len)
{
	static const uint8_t ip4[] = { 1, 8, 10, 11, 26, 27, 32 };
	static const uint8_t ip6[] = { 1, 2, 3, 7, 46, 47, 52 };
	const uint8_t *masked = way.ip6 ? ip6 : ip4;
	static uint8_t bytes[8 + MESSAGE_MAX];

	memset(bytes, 0xff, 8);
	memcpy(bytes + 8, message + 14, len - 14 - 4);
	for (uint32_t i = 0; i < sizeof(ip4); i++)
		bytes[8 + masked[i]] = 0xff;
	if (way.ip6)
		bytes[8] |= 0x0f;
	return crc32_gzip_refl(0, bytes, 8 + len - 14 - 4);
}

static void put_check(uint8_t *message, uint32_t len)
{
	uint32_t udp = way.ip6 ? 54 : 34;

	rb_put16(message + udp + 6, 0);
	if (way.check == SL_EXPRESS_ICRC) {
		for (uint32_t i = 0; i < 4; i++)
			message[len - 4 + i] = (uint8_t)(icrc(message, len) >> 8 * i);
		return;
	}
	rb_put16(message + udp + 6,
		 udp_checksum(message, way.check == SL_EXPRESS_UDP ? len - udp : 64));
}

/* --- The sender --- */

static void set(const char *map, uint32_t key, const void *value)
{
	assert_int_equal(bpf_map_update_elem(edge_map_fd(world, map), &key, value, BPF_ANY), 0);
}

static void get(const char *map, uint32_t key, void *value)
{
	assert_int_equal(bpf_map_lookup_elem(edge_map_fd(world, map), &key, value), 0);
}

static uint32_t sum_of(const uint8_t *bytes, uint32_t n)
{
	uint32_t sum = 0;
	uint16_t word;

	for (uint32_t i = 0; i < n; i += 2) {
		memcpy(&word, bytes + i, 2);
		sum += word;
	}
	return sum;
}

static struct sl_express_path open_path(void)
{
	const struct rb_roce_path wire = path_to_receiver();
	const uint8_t *ip = wire.header + 14;
	struct sl_express_path path = {
		.until_ns = FAR_FUTURE,
		.ifindex = FABRIC_IFINDEX,
		.epoch = SENDER_EPOCH,
		.frame_max_bytes = FRAME_MAX,
		.node = RECEIVER,
		.check = (uint8_t)way.check,
		.ip_sum = sum_of(ip, 20),
		.pseudo_sum = (way.ip6 ? sum_of(ip + 8, 32) : sum_of(ip + 12, 8)) + htons(17),
		.header_bytes = (uint8_t)wire.header_bytes,
		.clock_offset_ns = CLOCK_OFFSET_NS,
	};

	memcpy(path.header, wire.header, wire.header_bytes);
	return path;
}

static void use_path(const struct sl_express_path *path)
{
	set("sl_express", RECEIVER, path);
}

static const struct sl_backlog open_backlog = {
	.enqueued = { 5000000000, 7000000000 },
	.dequeued = { 5000000000, 7000000000 },
	.system_port = SYSTEM_PORT,
	.path_plus1 = RECEIVER + 1,
};
static const struct sl_voq open_voq = { .rate = SL_RATE_UNLIMITED, .limit_frames = 1024 };

static void use_backlog(const struct sl_backlog *backlog)
{
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		set("sl_backlog", EDGE_REMOTE_VOQ + c, backlog);
}

static void use_voq(const struct sl_voq *voq)
{
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		set("sl_voq", EDGE_REMOTE_VOQ + c, voq);
}

static void reset_sender(void)
{
	const struct sl_express_path path = open_path();
	static const struct sl_ring ring = { .taken = 1ULL << 62, .share_frames = UINT32_MAX };
	uint32_t key = sl_ring_key(1, 0, 0, EDGE_QUEUES, 1);

	use_path(&path);
	use_backlog(&open_backlog);
	use_voq(&open_voq);
	for (uint32_t dscp = 0; dscp < SL_DSCPS; dscp++) {
		const uint32_t class = dscp / 16;

		set("sl_dscp", dscp, &class);
	}
	set("sl_xsk", key, &socket_fd);
	set("sl_ring", key, &ring);
}

/* Run sl_edge on a frame. Returns the action; the frame that leaves is in out. */
static int transmit(const struct frame *frame, uint8_t *out, uint32_t *len)
{
	static uint8_t in[FRAME_MAX_BYTES];
	struct xdp_md ctx = { .ingress_ifindex = EDGE_PORT(1) }, after = { 0 };
	static uint8_t raw[MESSAGE_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in, .data_out = raw,
		    .data_size_out = sizeof(raw), .ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
		    .ctx_out = &after, .ctx_size_out = sizeof(after));

	run.data_size_in = frame_build(frame, in);
	ctx.data_end = run.data_size_in;
	assert_int_equal(bpf_prog_test_run_opts(edge_program_fd(world), &run), 0);
	*len = run.data_size_out - after.data;
	memcpy(out, raw + after.data, *len);
	return (int)run.retval;
}

static uint32_t sequences(void)
{
	struct sl_express_path path;
	uint32_t n = 0;

	get("sl_express", RECEIVER, &path);
	for (uint32_t i = 0; i < SL_STREAMS_MAX; i++)
		n += path.stream[i].sequence;
	return n;
}

/* The message that the bridge would send with this frame, in this stream. */
static uint32_t expected_message(const uint8_t *frame, uint32_t len, uint32_t class,
				 const uint8_t *got, uint8_t *out)
{
	const struct rb_roce_path path = path_to_receiver();
	const uint8_t *got_message = got + path.header_bytes;
	const struct rb_frame f = { .arrival_ns = rb_get64(got_message + 16),
				    .len_bytes = len,
				    .system_port = SYSTEM_PORT,
				    .ingress_port = SL_SYSTEM_PORT(EDGE_NODE, 1),
				    .class = (uint8_t) class };
	struct rb_msg_header header = {
		.type = RB_MSG_DATA,
		.source = EDGE_NODE,
		.destination = RECEIVER,
		.stream = got_message[6],
		.epoch = SENDER_EPOCH,
		.sequence = rb_get32(got_message + 12),
		.sent_ns = rb_get64(got_message + 16),
	};
	struct rb_pack pack;
	uint32_t bytes;

	assert_int_equal(rb_pack_init(&pack, 4096, 1), 0);
	assert_int_equal(rb_pack_add(&pack, &f), 0);
	bytes = rb_pack_copy(&pack, frame, &header, out + path.header_bytes);
	bytes = rb_roce_frame(&path, header.sequence, out, bytes);
	if (way.check == SL_EXPRESS_ICRC)
		return bytes; /* as it is */
	memset(out + bytes - 4, 0, 4);
	put_check(out, bytes);
	return bytes;
}

/* Send a frame that must leave as a message; the message is in out. */
static uint32_t send_express(const struct frame *frame, enum edge_adj adj, uint32_t class,
			     uint8_t *out)
{
	static uint8_t want[MESSAGE_MAX], bare[FRAME_MAX_BYTES];
	const struct frame sent = edge_sent(frame, adj);
	uint32_t before = sequences(), bare_len = frame_build(&sent, bare), len, want_len;
	uint64_t begin_ns = sl_now_ns(), sent_ns;

	assert_int_equal(transmit(frame, out, &len), XDP_REDIRECT);
	want_len = expected_message(bare, bare_len, class, out, want);
	assert_int_equal(len, want_len);
	assert_memory_equal(out, want, want_len);
	sent_ns = rb_get64(out + (way.ip6 ? 82 : 62) + 16);
	assert_in_range(sent_ns - CLOCK_OFFSET_NS, begin_ns, sl_now_ns());
	assert_in_range(out[(way.ip6 ? 82 : 62) + 6], 1, SL_EXPRESS_STREAMS);
	assert_int_equal(sequences(), before + 1);
	return len;
}

/* --- The receiver --- */

static void set_fabric(const char *map, uint32_t key, const void *value)
{
	int fd = bpf_object__find_map_fd_by_name(fabric, map);

	assert_int_equal(bpf_map_update_elem(fd, &key, value, BPF_ANY), 0);
}

static void get_fabric(const char *map, uint32_t key, void *value)
{
	int fd = bpf_object__find_map_fd_by_name(fabric, map);

	assert_int_equal(bpf_map_lookup_elem(fd, &key, value), 0);
}

static struct sl_arrivals arrivals(void)
{
	struct sl_arrivals from;

	get_fabric("fabric_arrivals", EDGE_NODE, &from);
	return from;
}

static struct sl_passed taken_of_class(uint32_t class)
{
	struct sl_passed taken;

	get_fabric("fabric_taken", sl_taken_key(SYSTEM_PORT & 0xff, class, EDGE_NODE), &taken);
	return taken;
}

static const struct sl_samples *samples(void)
{
	static struct sl_samples out;

	get_fabric("fabric_samples", 0, &out);
	return &out;
}

static void reset_receiver(void)
{
	static const struct sl_samples no_samples;
	struct sl_arrivals from = { .epoch = sl_htonl(SENDER_EPOCH),
				    .qpn = sl_htonl(SENDER_QPN),
				    .check = way.check };
	struct sl_arrival_port port = { .ifindex = EGRESS_IFINDEX, .rate = SL_RATE_UNLIMITED };
	const struct sl_passed nothing = { 0 };
	uint8_t self[16];

	address(EDGE_NODE, (uint8_t *)from.ip);
	set_fabric("fabric_arrivals", EDGE_NODE, &from);
	set_fabric("fabric_ports", SYSTEM_PORT & 0xff, &port);
	for (uint32_t class = 0; class < SL_CLASSES; class ++)
		set_fabric("fabric_taken", sl_taken_key(SYSTEM_PORT & 0xff, class, EDGE_NODE),
			   &nothing);
	set_fabric("fabric_samples", 0, &no_samples);
	set_fabric("fabric_xsk", 0, &socket_fd);
	address(RECEIVER, self);
	set_fabric("fabric_address", 0, self);
}

/* What became of a message. */
enum fate { TAKEN, DROPPED, TO_BRIDGE, TO_BRIDGE_JUDGED };

/* Run sl_fabric on a message. out: the frame that leaves, if it is TAKEN. */
static enum fate arrive(const uint8_t *message, uint32_t len, uint8_t *out, uint32_t *out_len)
{
	struct xdp_md ctx = { .data_end = len, .ingress_ifindex = FABRIC_IFINDEX }, after = { 0 };
	static uint8_t raw[MESSAGE_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = message, .data_size_in = len,
		    .data_out = raw, .data_size_out = sizeof(raw), .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .ctx_out = &after, .ctx_size_out = sizeof(after));
	int fd = bpf_program__fd(bpf_object__find_program_by_name(fabric, "sl_fabric"));
	struct sl_arrival_meta meta;

	assert_int_equal(bpf_prog_test_run_opts(fd, &run), 0);
	*out_len = run.data_size_out - after.data;
	memcpy(out, raw + after.data, *out_len);
	if (run.retval == XDP_DROP)
		return DROPPED;
	assert_int_equal(run.retval, XDP_REDIRECT);
	if (after.data == 0)
		return TAKEN;
	assert_int_equal(after.data, sizeof(meta));
	memcpy(&meta, raw, sizeof(meta));
	assert_int_equal(meta.magic, SL_ARRIVAL_META_MAGIC);
	assert_int_equal(*out_len, len);
	assert_memory_equal(out, message, len);
	return meta.judged ? TO_BRIDGE_JUDGED : TO_BRIDGE;
}

static enum fate fate_of(const uint8_t *message, uint32_t len)
{
	static uint8_t out[MESSAGE_MAX];
	uint32_t out_len;

	return arrive(message, len, out, &out_len);
}

/* A good message of this number in stream 1. */
static uint32_t make_message(uint32_t number, uint8_t *out)
{
	const struct frame frame = { .dst = "10.9.0.1" };
	uint32_t at = way.ip6 ? 82 : 62, len;

	assert_int_equal(transmit(&frame, out, &len), XDP_REDIRECT);
	out[at + 6] = 1;
	rb_put32(out + at + 12, number);
	put_check(out, len);
	return len;
}

static enum fate fate_of_number(uint32_t number)
{
	static uint8_t message[MESSAGE_MAX];
	uint32_t len = make_message(number, message);

	return fate_of(message, len);
}

/* --- Setting up --- */

static int load_fabric(void)
{
	const struct sl_arrival_config config = {
		.express = 1, .node = RECEIVER, .qkey = sl_htonl(QKEY), .sample = 1
	};
	const uint32_t workers = 1, first_qpn = RECEIVER_QPN;
	struct sl_crc_table table;
	int err;

	fabric = bpf_object__open_file("build/fabric.bpf.o", NULL);
	if (libbpf_get_error(fabric))
		return -1;
	err = sl_bpf_object_set_rodata(fabric, "arrival", &config, sizeof(config));
	sl_crc_table_fill(&table);
	if (!err)
		err = sl_bpf_object_set_rodata(fabric, "sl_crc_table", &table, sizeof(table));
	if (!err)
		err = sl_bpf_object_set_rodata(fabric, "workers", &workers, sizeof(workers));
	if (!err)
		err = sl_bpf_object_set_rodata(fabric, "first_qpn", &first_qpn, sizeof(first_qpn));
	return err ? err : bpf_object__load(fabric);
}

static int setup(void **state)
{
	int err = edge_enter_namespace();

	(void)state;
	socket_fd = socket(AF_XDP, SOCK_RAW, 0);
	if (!err)
		err = edge_world_express(SL_ENGINE_FAST, &world);
	return err ? err : load_fabric();
}

static int teardown(void **state)
{
	(void)state;
	edge_destroy(world);
	bpf_object__close(fabric);
	close(socket_fd);
	return 0;
}

static void reset(bool ip6, enum sl_express_check check)
{
	way.ip6 = ip6;
	way.check = check;
	reset_sender();
	reset_receiver();
}

static void for_each_way(void (*test)(void))
{
	for (int ip6 = 0; ip6 <= 1; ip6++)
		for (int check = SL_EXPRESS_HEADER; check <= SL_EXPRESS_ICRC; check++) {
			reset(ip6, (enum sl_express_check)check);
			test();
		}
}

/* --- Both ends --- */

static void crosses(const struct frame *frame, enum edge_adj adj, uint32_t class)
{
	static uint8_t message[MESSAGE_MAX], out[MESSAGE_MAX], want[FRAME_MAX_BYTES];
	const struct frame sent = edge_sent(frame, adj);
	uint32_t want_len = frame_build(&sent, want), len, out_len;
	struct sl_passed passed;

	reset_receiver();
	len = send_express(frame, adj, class, message);
	assert_int_equal(arrive(message, len, out, &out_len), TAKEN);
	assert_int_equal(out_len, want_len);
	assert_memory_equal(out, want, want_len);
	passed = taken_of_class(class);
	assert_int_equal(passed.frames, 1);
	assert_int_equal(passed.bytes, want_len);
}

static void every_size_crosses(void)
{
	for (int bytes = 8; bytes <= 1480; bytes += bytes < 100 ? 1 : 115)
		crosses(&(struct frame){ .dst = "10.9.0.1", .payload_bytes = bytes }, EDGE_REMOTE,
			0);
	crosses(&(struct frame){ .dst = "10.9.0.1", .payload_bytes = 1480, .tos = 48 << 2 },
		EDGE_REMOTE, 3);
}

static void a_frame_of_any_size_crosses_byte_for_byte(void **state)
{
	(void)state;
	for_each_way(every_size_crosses);
}

static void padding_tags_and_ip6_cross(void)
{
	for (uint32_t padding = 1; padding <= 18; padding++)
		crosses(&(struct frame){ .dst = "10.9.0.1",
					 .payload_bytes = 26 - (int)padding,
					 .padding_bytes = padding },
			EDGE_REMOTE, 0);
	crosses(&(struct frame){ .ip6 = true, .dst = "2001:db8:9::1", .flow_label = 0xfffff },
		EDGE_REMOTE, 0);
}

static void padding_is_cut_and_the_trailer_is_zero(void **state)
{
	(void)state;
	for_each_way(padding_tags_and_ip6_cross);
}

/* --- The sender's rules --- */

static void goes_by_the_bridge(void)
{
	const struct frame frame = { .dst = "10.9.0.1" };
	static uint8_t out[MESSAGE_MAX], want[FRAME_MAX_BYTES];
	const struct frame sent = edge_sent(&frame, EDGE_REMOTE);
	uint32_t len, want_len = frame_build(&sent, want), before = sequences();

	assert_int_equal(transmit(&frame, out, &len), XDP_REDIRECT);
	assert_int_equal(len, want_len);
	assert_memory_equal(out, want, want_len);
	assert_int_equal(sequences(), before);
	reset_sender();
}

/* The clock of a bucket that will be full then. */
static uint64_t in_seconds(uint64_t seconds)
{
	return sl_now_ns() * SL_TICKS_PER_NS + seconds * SL_TICKS_PER_SECOND;
}

static void a_frame_goes_by_the_bridge_where_it_must(void **state)
{
	struct sl_express_path path;
	struct sl_backlog backlog = open_backlog;
	struct sl_voq voq = open_voq;

	(void)state;
	reset(false, SL_EXPRESS_UDP);
	path = open_path();
	backlog.enqueued.frames++;
	use_backlog(&backlog); /* a frame waits */
	goes_by_the_bridge();
	backlog = open_backlog;
	backlog.path_plus1 = 0;
	use_backlog(&backlog); /* this node's own port, or no express */
	goes_by_the_bridge();
	path.busy = 1;
	use_path(&path);
	goes_by_the_bridge();
	path = open_path();
	path.until_ns = sl_now_ns();
	use_path(&path);
	goes_by_the_bridge();
	path = open_path();
	path.frame_max_bytes = 59;
	use_path(&path);
	goes_by_the_bridge();
	voq.rate = 1000;
	voq.burst = 9999;
	use_voq(&voq);
	backlog = open_backlog;
	backlog.clock = in_seconds(20); /* 10 seconds, and the bucket holds 9.999 */
	use_backlog(&backlog);
	goes_by_the_bridge();
}

/*
 * A bucket of 100 bytes that fills at one byte a second lets two frames of 60 through: after the
 * first it holds 40, after the second it owes 20.
 */
static void a_voq_sends_what_its_bucket_holds(void **state)
{
	const struct sl_voq voq = {
		.rate = 1, .burst = 100, .unit = SL_UNIT_BYTES, .limit_frames = 1024
	};
	const struct frame frame = { .dst = "10.9.0.1" };
	static uint8_t out[MESSAGE_MAX];
	struct sl_backlog backlog;
	uint64_t full = in_seconds(0);
	uint32_t len;

	(void)state;
	reset(false, SL_EXPRESS_UDP);
	use_voq(&voq);
	send_express(&frame, EDGE_REMOTE, 0, out);
	send_express(&frame, EDGE_REMOTE, 0, out);
	get("sl_backlog", EDGE_REMOTE_VOQ, &backlog);
	assert_in_range(backlog.clock, full + 120 * SL_TICKS_PER_SECOND, in_seconds(120));
	assert_int_equal(transmit(&frame, out, &len), XDP_REDIRECT);
	assert_int_equal(len, 60); /* to the bridge */
	get("sl_backlog", EDGE_REMOTE_VOQ, &backlog);
	assert_int_equal(backlog.express.frames, 2);
	assert_int_equal(backlog.enqueued.frames, open_backlog.enqueued.frames + 1);
	/* The bridge sends it, and 41 seconds pass. */
	backlog.dequeued = backlog.enqueued;
	backlog.clock -= 41 * SL_TICKS_PER_SECOND;
	use_backlog(&backlog);
	send_express(&frame, EDGE_REMOTE, 0, out);
}

static void a_stopped_voq_sends_nothing(void **state)
{
	const struct frame frame = { .dst = "10.9.0.1" };
	struct sl_voq voq = open_voq;
	static uint8_t out[MESSAGE_MAX];
	uint32_t len;

	(void)state;
	reset(false, SL_EXPRESS_UDP);
	voq.rate = 0;
	use_voq(&voq);
	assert_int_equal(transmit(&frame, out, &len), XDP_DROP);
	voq = open_voq;
	voq.limit_frames = 0;
	use_voq(&voq);
	assert_int_equal(transmit(&frame, out, &len), XDP_DROP);
}

static void express_frames_count_as_such(void **state)
{
	const struct frame frame = { .dst = "10.9.0.1" };
	struct edge_counters before, after;
	struct sl_backlog backlog;
	static uint8_t out[MESSAGE_MAX];

	(void)state;
	reset(false, SL_EXPRESS_UDP);
	edge_read_counters(world, &before);
	send_express(&frame, EDGE_REMOTE, 0, out);
	edge_read_counters(world, &after);
	edge_subtract_counters(&after, &before);
	assert_int_equal(after.stats[SL_STAT_RX].packets, 1);
	assert_int_equal(after.stats[SL_STAT_VOQ].packets, 1);
	assert_int_equal(after.stats[SL_STAT_EXPRESS].packets, 1);
	assert_int_equal(after.stats[SL_STAT_EXPRESS].bytes, 60);
	get("sl_backlog", EDGE_REMOTE_VOQ, &backlog);
	assert_int_equal(backlog.express.frames, 1);
	assert_int_equal(backlog.express.bytes, 60);
	assert_int_equal(backlog.enqueued.frames, open_backlog.enqueued.frames);
}

/* --- The receiver's rules --- */

static void nothing_overtakes_what_is_in_the_bridge(void **state)
{
	static uint8_t message[MESSAGE_MAX];
	struct sl_arrivals from;
	uint32_t len;

	(void)state;
	reset(false, SL_EXPRESS_UDP);
	len = make_message(1, message);
	message[62 + 6] = 0; /* a message of the bridge */
	assert_int_equal(fate_of(message, len), TO_BRIDGE);
	assert_int_equal(arrivals().handed, 1);
	assert_int_equal(fate_of_number(2), TO_BRIDGE_JUDGED);
	assert_int_equal(arrivals().handed, 2);
	from = arrivals();
	from.left = 1;
	set_fabric("fabric_arrivals", EDGE_NODE, &from);
	assert_int_equal(fate_of_number(3), TO_BRIDGE_JUDGED);
	from = arrivals();
	from.left = 3;
	set_fabric("fabric_arrivals", EDGE_NODE, &from);
	assert_int_equal(fate_of_number(4), TAKEN);
	assert_int_equal(arrivals().handed, 3);
}

static void a_port_that_is_busy_or_shut_gets_its_frames_by_the_bridge(void **state)
{
	struct sl_arrival_port port = { .ifindex = EGRESS_IFINDEX, .busy = 1 };

	(void)state;
	reset(false, SL_EXPRESS_UDP);
	set_fabric("fabric_ports", SYSTEM_PORT & 0xff, &port);
	assert_int_equal(fate_of_number(1), TO_BRIDGE_JUDGED);
	reset(false, SL_EXPRESS_UDP);
	port = (struct sl_arrival_port){ 0 };
	set_fabric("fabric_ports", SYSTEM_PORT & 0xff, &port);
	assert_int_equal(fate_of_number(1), TO_BRIDGE_JUDGED);
}

static void a_port_takes_what_its_bucket_holds(void **state)
{
	struct sl_arrival_port port = {
		.ifindex = EGRESS_IFINDEX, .rate = 1, .burst = 100, .unit = SL_UNIT_BYTES
	};

	(void)state;
	reset(false, SL_EXPRESS_UDP);
	port.clock = in_seconds(0);
	set_fabric("fabric_ports", SYSTEM_PORT & 0xff, &port);
	assert_int_equal(fate_of_number(1), TAKEN);
	assert_int_equal(fate_of_number(2), TAKEN);
	get_fabric("fabric_ports", SYSTEM_PORT & 0xff, &port);
	assert_in_range(port.clock, in_seconds(60), in_seconds(120));
	assert_int_equal(port.used, 1);
	assert_int_equal(fate_of_number(3), TO_BRIDGE_JUDGED);
	assert_int_equal(taken_of_class(0).frames, 2);
}

static void use_samples(uint64_t made, uint64_t read)
{
	struct sl_samples s = *samples();

	s.made = made;
	s.read = read;
	set_fabric("fabric_samples", 0, &s);
}

static void recorded(const struct frame *frame, enum edge_adj adj, uint32_t class)
{
	static uint8_t message[MESSAGE_MAX], out[MESSAGE_MAX];
	const uint64_t before_ns = sl_now_ns();
	const uint8_t *header = message + (way.ip6 ? 82 : 62);
	const struct sl_sample *sample;
	uint32_t len, out_len;

	len = send_express(frame, adj, class, message);
	reset_receiver();
	assert_int_equal(arrive(message, len, out, &out_len), TAKEN);
	assert_int_equal(samples()->made, 1);
	sample = &samples()->sample[0];
	assert_int_equal(sample->number, 1);
	assert_int_equal(sample->sent_ns, rb_get64(header + 16));
	assert_in_range(sample->sent_ns - CLOCK_OFFSET_NS, before_ns, sl_now_ns());
	assert_in_range(sample->came_ns, sample->sent_ns - CLOCK_OFFSET_NS, sl_now_ns());
	assert_int_equal(sample->left_ns, sample->came_ns); /* nobody sees what the driver does */
	assert_int_equal(sample->system_port, SYSTEM_PORT);
	assert_int_equal(sample->ingress_port, SL_SYSTEM_PORT(EDGE_NODE, 1));
	assert_int_equal(sample->len_bytes, out_len);
	assert_int_equal(sample->class, class);
	assert_int_equal(sample->source, EDGE_NODE);
	assert_memory_equal(sample->head, out, out_len < SL_SAMPLE_HEAD ? out_len : SL_SAMPLE_HEAD);
}

static void frames_are_recorded(void)
{
	recorded(&(struct frame){ .dst = "10.9.0.1", .payload_bytes = 8 }, EDGE_REMOTE, 0);
	recorded(&(struct frame){ .dst = "10.9.0.1", .payload_bytes = 1480, .tos = 48 << 2 },
		 EDGE_REMOTE, 3);
	recorded(&(struct frame){ .ip6 = true, .dst = "2001:db8:9::1" }, EDGE_REMOTE, 0);
}

static void a_frame_whose_turn_it_is_is_recorded(void **state)
{
	struct sl_arrival_port port = { .ifindex = EGRESS_IFINDEX,
					.rate = SL_RATE_UNLIMITED,
					.until = 2 };

	(void)state;
	for_each_way(frames_are_recorded);
	reset(false, SL_EXPRESS_UDP);
	set_fabric("fabric_ports", SYSTEM_PORT & 0xff, &port);
	for (uint32_t number = 1; number <= 5; number++) {
		assert_int_equal(fate_of_number(number), TAKEN);
		assert_int_equal(samples()->made, number < 3 ? 0 : number - 2);
	}
	/* A frame that goes to the bridge is measured there. */
	port.busy = 1;
	port.until = 0;
	set_fabric("fabric_ports", SYSTEM_PORT & 0xff, &port);
	assert_int_equal(fate_of_number(6), TO_BRIDGE_JUDGED);
	assert_int_equal(samples()->made, 3);
}

static void a_record_that_is_not_read_is_not_overwritten(void **state)
{
	(void)state;
	reset(false, SL_EXPRESS_UDP);
	use_samples(SL_SAMPLES + 4, 5);
	assert_int_equal(fate_of_number(1), TAKEN);
	assert_int_equal(samples()->made, SL_SAMPLES + 5);
	assert_int_equal(samples()->sample[4].number, SL_SAMPLES + 5);
	assert_int_equal(fate_of_number(2), TAKEN);
	assert_int_equal(samples()->made, SL_SAMPLES + 5);
	assert_int_equal(samples()->sample[5].number, 0);
	use_samples(SL_SAMPLES + 5, 6);
	assert_int_equal(fate_of_number(3), TAKEN);
	assert_int_equal(samples()->sample[5].number, SL_SAMPLES + 6);
}

static void congestion_on_the_way_is_told_to_the_bridge(void **state)
{
	static uint8_t message[MESSAGE_MAX];
	uint32_t len;

	(void)state;
	reset(false, SL_EXPRESS_UDP);
	len = make_message(1, message);
	message[15] |= 3;
	rb_put16(message + 24, (uint16_t)(rb_get16(message + 24) - 1)); /* ECT(0) has become CE */
	assert_int_equal(fate_of(message, len), TO_BRIDGE_JUDGED);
}

/* It was forwarded, so no neighbour sent it: the bridge drops it by name. */
static void a_message_with_a_lower_hop_limit_is_not_taken(void **state)
{
	static uint8_t message[MESSAGE_MAX];
	uint32_t len;

	(void)state;
	reset(false, SL_EXPRESS_UDP);
	len = make_message(1, message);
	message[22]--;
	rb_put16(message + 24, (uint16_t)(rb_get16(message + 24) + 0x100)); /* IPv4 checksum */
	assert_int_equal(fate_of(message, len), TO_BRIDGE);
	reset(true, SL_EXPRESS_UDP);
	len = make_message(1, message);
	message[21]--;
	assert_int_equal(fate_of(message, len), TO_BRIDGE);
	assert_int_equal(fate_of_number(1), TO_BRIDGE_JUDGED);
}

static void numbers_are_judged(void **state)
{
	struct sl_arrival_stream s;

	(void)state;
	reset(false, SL_EXPRESS_UDP);
	assert_int_equal(fate_of_number(1000), TAKEN); /* the first */
	assert_int_equal(fate_of_number(1001), TAKEN);
	assert_int_equal(fate_of_number(1001), DROPPED); /* twice */
	assert_int_equal(fate_of_number(1005), TAKEN);	 /* 3 lost */
	assert_int_equal(fate_of_number(1003), TAKEN);	 /* one of them late */
	assert_int_equal(fate_of_number(1003), DROPPED);
	assert_int_equal(fate_of_number(999), DROPPED); /* before the first */
	assert_int_equal(fate_of_number(1005 + SL_ARRIVAL_JUMP + 1), DROPPED);
	assert_int_equal(fate_of_number(1006), TAKEN);
	s = arrivals().stream[1];
	assert_int_equal(s.received, 5);
	assert_int_equal(s.lost, 2);
	assert_int_equal(s.late, 1);
	assert_int_equal(s.duplicate, 2);
	assert_int_equal(s.stale, 2);
	assert_int_equal(fate_of_number(1006 + 64), TAKEN);
	assert_int_equal(fate_of_number(1006), DROPPED); /* below the window */
	assert_int_equal(fate_of_number(1006 + 1), TAKEN);
	assert_int_equal(fate_of_number(1000000000), DROPPED); /* a jump */
	assert_int_equal(fate_of_number(1000000001), TAKEN); /* and the next: numbers begin anew */
	reset(false, SL_EXPRESS_UDP);
	assert_int_equal(fate_of_number(UINT32_MAX), TAKEN);
	assert_int_equal(fate_of_number(0), TAKEN); /* wraps */
	assert_int_equal(arrivals().stream[1].lost, 0);
}

/*
 * One bit flips. What the check covers is dropped, or, where it decides whose message this is, goes
 * to the kernel or to the bridge, which drops it. `header` does not cover the frame.
 */
static void flips(void)
{
	static uint8_t message[MESSAGE_MAX], flipped[MESSAGE_MAX], out[MESSAGE_MAX];
	uint32_t len, out_len, udp = way.ip6 ? 54 : 34, taken = 0;

	len = make_message(1, message);
	for (uint32_t bit = 14 * 8; bit < len * 8; bit++) {
		bool in_frame = bit / 8 >= udp + 64 && bit / 8 < len - 4;
		/* TOS, TTL, traffic class, flow label and hop limit change on the way. */
		bool routers = way.ip6 && (bit / 8 < 18 || bit / 8 == 21) &&
			       !(bit / 8 == 14 && bit % 8 >= 4); /* the version */

		reset_receiver();
		memcpy(flipped, message, len);
		flipped[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (rb_get16(flipped + udp + 2) != RB_ROCE_PORT || flipped[12] != message[12] ||
		    memcmp(flipped + 14, message + 14, udp - 14) != 0) {
			/* Other addresses and protocols: not ours, or the bridge's to judge. */
			struct xdp_md ctx = { .data_end = len, .ingress_ifindex = FABRIC_IFINDEX };
			LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = flipped, .data_size_in = len,
				    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx));

			assert_int_equal(bpf_prog_test_run_opts(
						 bpf_program__fd(bpf_object__find_program_by_name(
							 fabric, "sl_fabric")),
						 &run),
					 0);
			if (!routers)
				assert_int_equal(taken_of_class(0).frames, 0);
			continue;
		}
		if (arrive(flipped, len, out, &out_len) == TAKEN) {
			/* An ICRC leaves out the byte of FECN and BECN. */
			if (way.check == SL_EXPRESS_ICRC && bit / 8 == udp + 12)
				continue;
			taken++;
			/* The padding and the empty ICRC carry nothing. */
			if (way.check != SL_EXPRESS_HEADER || !(in_frame || bit / 8 >= len - 4))
				fail_msg("bit %u of byte %u of %u flipped, and nobody saw it",
					 bit % 8, bit / 8, len);
		}
	}
	if (way.check != SL_EXPRESS_HEADER)
		assert_int_equal(taken, 0);
}

static void flipped_bits_are_found_as_far_as_the_check_reaches(void **state)
{
	(void)state;
	for_each_way(flips);
}

static void a_message_of_somebody_else_goes_to_the_bridge(void **state)
{
	static const struct {
		const char *what;
		uint32_t at;
		uint8_t to;
	} cases[] = {
		{ "another node's port", 62 + 26, RECEIVER + 1 },
		{ "a port of no sender", 62 + 28, 1 },
		{ "class 4", 62 + 30, 4 },
		{ "flags", 62 + 31, 1 },
		{ "another epoch", 62 + 8, 0 },
		{ "for another node", 62 + 5, 1 },
		{ "queue key", 54, 0xff },
		{ "sender's queue pair", 61, 0 },
		{ "partition", 45, 0 },
		{ "transport version", 43, 0x41 },
		{ "stream 15", 62 + 6, 16 },
		{ "two frames", 62 + 7, 2 },
	};
	static uint8_t message[MESSAGE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t len;

		reset(false, SL_EXPRESS_UDP);
		len = make_message(1, message);
		message[cases[i].at] = cases[i].to;
		put_check(message, len);
		if (fate_of(message, len) != TO_BRIDGE)
			fail_msg("%s", cases[i].what);
	}
	reset(false, SL_EXPRESS_NONE); /* a sender that sends none, by agreement */
	way.check = SL_EXPRESS_UDP;
	reset_sender();
	assert_int_equal(fate_of_number(1), TO_BRIDGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_of_any_size_crosses_byte_for_byte),
		cmocka_unit_test(padding_is_cut_and_the_trailer_is_zero),
		cmocka_unit_test(a_frame_goes_by_the_bridge_where_it_must),
		cmocka_unit_test(a_voq_sends_what_its_bucket_holds),
		cmocka_unit_test(a_stopped_voq_sends_nothing),
		cmocka_unit_test(express_frames_count_as_such),
		cmocka_unit_test(nothing_overtakes_what_is_in_the_bridge),
		cmocka_unit_test(a_port_that_is_busy_or_shut_gets_its_frames_by_the_bridge),
		cmocka_unit_test(a_port_takes_what_its_bucket_holds),
		cmocka_unit_test(a_frame_whose_turn_it_is_is_recorded),
		cmocka_unit_test(a_record_that_is_not_read_is_not_overwritten),
		cmocka_unit_test(congestion_on_the_way_is_told_to_the_bridge),
		cmocka_unit_test(a_message_with_a_lower_hop_limit_is_not_taken),
		cmocka_unit_test(numbers_are_judged),
		cmocka_unit_test(flipped_bits_are_found_as_far_as_the_check_reaches),
		cmocka_unit_test(a_message_of_somebody_else_goes_to_the_bridge),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
