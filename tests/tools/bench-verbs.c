/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measure how many messages a second a transport on verbs sends. One end of a path sends as fast as
 * it can; the other end, in another process on the same device, receives. `netns-lab/bench verbs`
 * runs it where there is a device.
 *
 *   bench-verbs ud|rc ADDRESS PIECES PIECE-BYTES SECONDS COPY-BELOW
 *
 * A message is a header of 64 bytes and PIECES pieces. Prints JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdma-bridge/transport/verbs/verbs.h"
#include "user/lib/clock.h"

#define CHUNK_BYTES  4096
#define CHUNKS	     4096
#define AREA_BYTES   ((size_t)CHUNKS * CHUNK_BYTES)
#define DEPTH	     512
#define HEADER_BYTES 64
#define PIECES_MAX   31
#define BATCH	     64
#define PATIENCE_NS  3000000000ULL
#define SETTLE_NS    500000000ULL   /* messages under way arrive within this */
#define DEADLINE_NS  60000000000ULL /* for steps that take an instant, on a slow machine */

static struct rb_chunks *chunks;
static struct rb_transport *t;
static struct rb_path *path;
static uint64_t lent, given_back;

static uint32_t number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

static int open_end(char **argv)
{
	struct rb_verbs_config config = {
		.kind = strcmp(argv[1], "rc") ? RB_VERBS_UD : RB_VERBS_RC,
		.address = { [10] = 0xff, [11] = 0xff },
		.qkey = 0x1eed,
		.hop_limit = 64,
		.area_bytes = AREA_BYTES,
		.receive_depth = DEPTH,
		.send_depth = DEPTH,
		.patience_ns = PATIENCE_NS,
		.copy_below_bytes = number(argv[6]),
	};
	uint8_t *area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int err;

	if (area == MAP_FAILED)
		return -ENOMEM;
	if (inet_pton(AF_INET, argv[2], config.address + 12) != 1)
		return -EINVAL;
	err = rb_chunks_create(area, 0, CHUNKS, CHUNK_BYTES, &chunks);
	config.chunks = chunks;
	return err ? err : rb_verbs_open(&config, &t);
}

/* Tell the other process how to reach us, and make a path to it. */
static int meet(int socket)
{
	struct rb_endpoint self, other;

	t->ops->endpoint(t, &self);
	if (write(socket, &self, sizeof(self)) != sizeof(self) ||
	    read(socket, &other, sizeof(other)) != sizeof(other))
		return -EIO;
	return t->ops->path_create(t, &other, NULL, &path);
}

static void receive(void)
{
	uint32_t n = 0, taken = BATCH;
	uint64_t offsets[BATCH];

	while (taken == BATCH && chunks->count[RB_OWNER_RECEIVE] < DEPTH) {
		for (n = 0; n < BATCH && chunks->count[RB_OWNER_RECEIVE] < DEPTH; n++)
			offsets[n] = rb_chunk_take(chunks, RB_OWNER_RECEIVE);
		taken = t->ops->post_receive(t, offsets, n);
		for (uint32_t i = taken; i < n; i++)
			rb_chunk_release(chunks, offsets[i], RB_OWNER_RECEIVE);
	}
}

static uint64_t poll_all(void)
{
	struct rb_completion c[BATCH];
	uint32_t n = t->ops->poll(t, c, BATCH, sl_now_ns());
	uint64_t received = 0;

	for (uint32_t i = 0; i < n; i++)
		if (c[i].kind == RB_RECEIVED) {
			rb_chunk_release(chunks, c[i].offset, RB_OWNER_MESSAGE);
			received++;
		} else {
			given_back++;
		}
	return received;
}

/* Wait until the other process says that it is done. */
static int run_receiver(int socket)
{
	uint64_t received = 0, end_ns;
	char end;

	do {
		receive();
		received += poll_all();
	} while (recv(socket, &end, 1, MSG_DONTWAIT) < 0);
	end_ns = sl_now_ns() + SETTLE_NS;
	while (sl_now_ns() < end_ns) {
		receive();
		received += poll_all();
	}
	return write(socket, &received, sizeof(received)) == sizeof(received) ? 0 : -EIO;
}

/* Poll both ends, which brings a reliable connection up. */
static int connect_path(bool reliable)
{
	const uint64_t end_ns = sl_now_ns() + DEADLINE_NS;
	struct rb_verbs_info info = { .connected = !reliable };

	while (!info.connected) {
		if (sl_now_ns() > end_ns)
			return -ETIMEDOUT;
		poll_all();
		rb_verbs_info(t, &info);
	}
	return 0;
}

/* Post messages until the time is over, and wait until the device is done. Returns how many. */
static uint64_t send_all(const struct rb_piece *pieces, uint32_t n, uint64_t length_ns)
{
	const uint64_t end_ns = sl_now_ns() + length_ns;
	uint64_t sent = 0;

	while (sl_now_ns() < end_ns) {
		for (uint32_t i = 0; i < BATCH; i++) {
			int err = t->ops->post_send(t, path, pieces, n, 0);

			if (err < 0)
				break;
			lent += err == 0;
			sent++;
		}
		t->ops->flush(t);
		poll_all();
	}
	while (given_back < lent && sl_now_ns() < end_ns + DEADLINE_NS) {
		t->ops->flush(t);
		poll_all();
	}
	return sent;
}

static int run_sender(int socket, char **argv)
{
	const uint32_t n = number(argv[3]), bytes = number(argv[4]);
	struct rb_piece pieces[PIECES_MAX + 1];
	struct rb_transport_stats stats;
	uint64_t sent, received, ns, cpu_ns;
	int err;

	for (uint32_t i = 0; i <= n; i++)
		pieces[i] =
			(struct rb_piece){ rb_chunk_data(chunks,
							 rb_chunk_take(chunks, RB_OWNER_INGRESS)),
					   i ? bytes : HEADER_BYTES };
	receive();
	err = connect_path(strcmp(argv[1], "rc") == 0);
	if (err)
		return err;
	ns = sl_now_ns();
	cpu_ns = sl_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	sent = send_all(pieces, n + 1, number(argv[5]) * 1000000000ULL);
	ns = sl_now_ns() - ns;
	cpu_ns = sl_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	t->ops->stats(t, &stats);
	if (write(socket, "", 1) != 1 ||
	    read(socket, &received, sizeof(received)) != sizeof(received))
		return -EIO;
	printf("{\"transport\": \"%s\", \"pieces\": %u, \"message_bytes\": %u, \"copied_bytes\": %llu, "
	       "\"sent\": %llu, \"received\": %llu, \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n",
	       t->ops->name, n, HEADER_BYTES + n * bytes, (unsigned long long)stats.bytes_copied,
	       (unsigned long long)sent, (unsigned long long)received, (double)ns / 1e9,
	       (double)cpu_ns / 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	int sockets[2], err;
	pid_t child;

	if (argc != 7 || number(argv[3]) < 1 || number(argv[3]) > PIECES_MAX) {
		fprintf(stderr,
			"usage: bench-verbs ud|rc ADDRESS PIECES PIECE-BYTES SECONDS COPY-BELOW\n");
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		return 1;
	child = fork();
	close(sockets[child != 0]); /* so that each process notices the end of the other */
	err = open_end(argv);
	if (!err)
		err = meet(sockets[child == 0]);
	if (!err)
		err = child ? run_sender(sockets[0], argv) : run_receiver(sockets[1]);
	if (err)
		fprintf(stderr, "bench-verbs: %s\n", strerror(-err));
	if (t)
		t->ops->close(t);
	close(sockets[child == 0]);
	if (child)
		waitpid(child, NULL, 0);
	return err != 0;
}
