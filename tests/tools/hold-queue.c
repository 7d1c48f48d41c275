/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hold a receive queue of a netdev by an AF_XDP socket until standard input ends, as another
 * program would that uses the queue: hold-queue NETDEV QUEUE. Prints "held" once it has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdma-bridge/port/xsk.h"

#define AREA_BYTES  65536
#define PATIENCE_NS 10000000000ULL

int main(int argc, char **argv)
{
	struct rb_xsk_config config = {
		.area_bytes = AREA_BYTES,
		.chunk_bytes = 4096,
		.sockets = 1,
		.fill_size = 16,
		.receive_size = 16,
		.send_size = 16,
		.patience_ns = PATIENCE_NS,
	};
	struct rb_xsk_queue *queue;
	char byte;
	int err;

	if (argc != 3) {
		fprintf(stderr, "usage: hold-queue NETDEV QUEUE\n");
		return 2;
	}
	config.netdev = argv[1];
	config.queue = (uint32_t)strtoul(argv[2], NULL, 10);
	config.area = aligned_alloc(4096, AREA_BYTES);
	err = config.area ? rb_xsk_open(&config, &queue) : -1;
	if (err) {
		fprintf(stderr, "hold-queue: %s queue %s: %s\n", argv[1], argv[2], strerror(-err));
		return 1;
	}
	puts("held");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	rb_xsk_close(queue);
	free(config.area);
	return 0;
}
