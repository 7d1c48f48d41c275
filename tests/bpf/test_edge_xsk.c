// SPDX-License-Identifier: BSD-2-Clause
/*
 * From sl_edge into real AF_XDP rings: a frame comes out of the socket of its receive queue and of
 * no other, whole, with its metadata below it in the UMEM: VOQ and number among them.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/voq.h"
#include "rdma-bridge/port/xsk.h"
#include "tests/lib/deadline.h"
#include "tests/lib/edge_case.h"
#include "user/lib/clock.h"

#define CHUNK_BYTES  4096u
#define QUEUE_CHUNKS 32u /* that each queue receives into */
#define AREA_BYTES   (EDGE_QUEUES * QUEUE_CHUNKS * CHUNK_BYTES)

static struct edge *world;
static uint8_t *area;
static struct rb_xsk_queue *queues[EDGE_QUEUES];
static uint32_t came[EDGE_QUEUES]; /* frames out of each ring */

static int open_queue(uint32_t queue)
{
	const struct rb_xsk_config config = {
		.netdev = "p1",
		.queue = queue,
		.area = area,
		.area_bytes = AREA_BYTES,
		.chunk_bytes = CHUNK_BYTES,
		.sockets = 1,
		.fill_size = 64,
		.receive_size = 64,
		.send_size = 64,
	};
	uint64_t offsets[QUEUE_CHUNKS];
	int err = rb_xsk_open(&config, &queues[queue]);

	if (!err)
		err = rb_xsk_publish(queues[queue], 0, edge_map_fd(world, "sl_xsk"),
				     sl_ring_key(1, queue, 0, EDGE_QUEUES, 1));
	if (err)
		return err;
	for (uint32_t i = 0; i < QUEUE_CHUNKS; i++)
		offsets[i] = (uint64_t)(queue * QUEUE_CHUNKS + i) * CHUNK_BYTES;
	return rb_xsk_fill(queues[queue], offsets, QUEUE_CHUNKS) == QUEUE_CHUNKS ? 0 : -EIO;
}

static int open_voqs(void)
{
	const struct sl_voq voq = { .rate = SL_RATE_UNLIMITED, .limit_frames = 1000 };

	for (uint32_t class = 0; class < SL_CLASSES; class ++) {
		uint32_t id = EDGE_REMOTE_VOQ + class, dscp = class * 8;

		if (bpf_map_update_elem(edge_map_fd(world, "sl_voq"), &id, &voq, 0) ||
		    bpf_map_update_elem(edge_map_fd(world, "sl_dscp"), &dscp, &class, 0))
			return -errno;
	}
	return 0;
}

static int setup(void **state)
{
	int err = edge_enter_namespace();

	(void)state;
	area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!err)
		err = area == MAP_FAILED ? -ENOMEM : edge_world_cluster(SL_ENGINE_FAST, &world);
	if (err)
		return err;
	world->program = "sl_edge_frags"; /* the ports take jumbo frames */
	err = open_voqs();
	if (!err)
		err = bpf_xdp_attach(EDGE_PORT(1), edge_program_fd(world), XDP_FLAGS_DRV_MODE,
				     NULL);
	for (uint32_t queue = 0; queue < EDGE_QUEUES && !err; queue++)
		err = open_queue(queue);
	return err;
}

static int teardown(void **state)
{
	(void)state;
	bpf_xdp_detach(EDGE_PORT(1), XDP_FLAGS_DRV_MODE, NULL);
	for (uint32_t queue = 0; queue < EDGE_QUEUES; queue++)
		rb_xsk_close(queues[queue]);
	edge_destroy(world);
	munmap(area, AREA_BYTES);
	return 0;
}

/* Wait for the only frame there is; *queue says which ring held it. */
static struct rb_frame take(uint32_t *queue)
{
	uint64_t deadline_ns = sl_now_ns() + DEADLINE_NS;
	struct rb_frame frame, more;
	uint32_t found = 0;

	while (!found) {
		assert_true(sl_now_ns() < deadline_ns);
		for (*queue = 0; *queue < EDGE_QUEUES && !found; *queue += !found)
			found = rb_xsk_receive(queues[*queue], 0, &frame, 1);
	}
	for (uint32_t q = 0; q < EDGE_QUEUES; q++)
		assert_int_equal(rb_xsk_receive(queues[q], 0, &more, 1), 0);
	return frame;
}

static void give_back(uint32_t queue, const struct rb_frame *frame)
{
	uint64_t chunk = frame->offset / CHUNK_BYTES * CHUNK_BYTES;

	assert_int_equal(chunk / CHUNK_BYTES / QUEUE_CHUNKS, queue);
	assert_int_equal(rb_xsk_fill(queues[queue], &chunk, 1), 1);
}

/*
 * Take the one frame, sent at or after begin_ns. It must be `in` as rewritten for the next hop.
 */
static void expect(const struct frame *in, uint32_t class, uint64_t begin_ns, uint32_t *queue)
{
	static uint8_t want[FRAME_MAX_BYTES];
	struct frame sent = edge_sent(in, EDGE_REMOTE);
	uint32_t want_len = frame_build(&sent, want);
	struct rb_frame frame = take(queue);
	struct sl_frame_meta meta;

	assert_int_equal(frame.len_bytes, want_len);
	assert_memory_equal(area + frame.offset, want, want_len);
	memcpy(&meta, area + frame.offset - sizeof(meta), sizeof(meta));
	assert_int_equal(meta.magic, SL_FRAME_META_MAGIC);
	assert_int_equal(meta.voq, EDGE_REMOTE_VOQ + class);
	assert_int_equal(meta.ingress_port, SL_SYSTEM_PORT(EDGE_NODE, 1));
	assert_in_range(meta.arrival_ns, begin_ns, sl_now_ns());
	/* The rings number their frames from 0, with nothing between. */
	assert_int_equal(meta.number, came[*queue]++);
	give_back(*queue, &frame);
}

/* Send to p1 over the wire; returns the receive queue where the frame came out: by its flow. */
static uint32_t send_and_expect(const struct frame *in, uint32_t class)
{
	const struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = (int)EDGE_PEER(1) };
	static uint8_t bytes[FRAME_MAX_BYTES];
	uint32_t len = frame_build(in, bytes), queue;
	uint64_t begin_ns = sl_now_ns();
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	assert_true(fd >= 0);
	assert_int_equal(sendto(fd, bytes, len, 0, (const void *)&to, sizeof(to)), len);
	close(fd);
	expect(in, class, begin_ns, &queue);
	return queue;
}

static void frame_comes_out_with_the_voq_of_its_class(void **state)
{
	(void)state;
	for (uint32_t class = 0; class < SL_CLASSES; class ++)
		for (int32_t payload = 26; payload <= 1480; payload += 727)
			send_and_expect(&(struct frame){ .dst = "10.9.0.1",
							 .tos = (uint8_t)(class << 5),
							 .payload_bytes = payload },
					class);
	send_and_expect(&(struct frame){ .ip6 = true, .dst = "2001:db8:9::1" }, 0);
}

/* With so many flows, all take the same queue once in 2^63 runs. */
#define FLOWS 64

static void each_receive_queue_has_its_own_rings(void **state)
{
	uint32_t came_out[EDGE_QUEUES] = { 0 };

	(void)state;
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		came_out[send_and_expect(
			&(struct frame){ .dst = "10.9.0.1", .sport = (uint16_t)(1000 + flow) },
			0)]++;
	for (uint32_t queue = 0; queue < EDGE_QUEUES; queue++)
		assert_in_range(came_out[queue], 1, FLOWS - 1);
}

/*
 * As many frames entered as were taken: after all of the above, and when the ring is full, when the
 * socket counts the rest.
 */
static void enqueued_is_what_came_out_and_what_the_socket_refused(void **state)
{
	const struct frame in = { .dst = "10.9.0.1" };
	static uint8_t bytes[FRAME_MAX_BYTES];
	uint32_t len = frame_build(&in, bytes), id = EDGE_REMOTE_VOQ, taken = 0, n;
	struct xdp_md ctx = { .data_end = len, .ingress_ifindex = EDGE_PORT(1) };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = bytes, .data_size_in = len, .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .repeat = 1, .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	struct sl_backlog before, after;
	struct rb_xsk_drops drops;
	struct rb_frame frame;

	(void)state;
	assert_int_equal(bpf_map_lookup_elem(edge_map_fd(world, "sl_backlog"), &id, &before), 0);
	/*
	 * a chunk each, and eight frames more than chunks; one at a time, as a batch would use a
	 * frame's page again
	 */
	for (uint32_t i = 0; i < QUEUE_CHUNKS + 8; i++)
		assert_int_equal(bpf_prog_test_run_opts(edge_program_fd(world), &run), 0);
	assert_int_equal(bpf_map_lookup_elem(edge_map_fd(world, "sl_backlog"), &id, &after), 0);
	while ((n = rb_xsk_receive(queues[0], 0, &frame, 1)) > 0)
		taken += n;
	rb_xsk_drops(queues[0], 0, &drops);
	assert_int_equal(taken, QUEUE_CHUNKS);
	assert_int_equal(drops.no_chunk + drops.ring_full, 8);
	assert_int_equal(after.enqueued.frames - before.enqueued.frames, QUEUE_CHUNKS + 8);
	assert_int_equal(after.enqueued.bytes - before.enqueued.bytes, (QUEUE_CHUNKS + 8) * len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_comes_out_with_the_voq_of_its_class),
		cmocka_unit_test(each_receive_queue_has_its_own_rings),
		cmocka_unit_test(enqueued_is_what_came_out_and_what_the_socket_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
