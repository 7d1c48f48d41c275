/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side of tests/oracle/test_elements.py that is ours: send the frames of a capture through a
 * chain, one after the other, and write those that leave it.
 *
 *   run-chain CHAINS IN.pcap OUT.pcap     1 ms between frames; prints a line for each element
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements/graph/chain_worker.h"
#include "elements/graph/graph_text.h"

#define CHUNKS	    512u
#define CHUNK_BYTES 4096u
#define HEADROOM    256u
#define FLOW	    EL_FLOWS_GLOBAL

struct pcap_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snap_bytes, link_type;
};
struct pcap_record {
	uint32_t s, us, bytes, wire_bytes;
};

struct rig {
	struct el_worker worker;
	struct el_pool pool;
	struct el_packet packets[CHUNKS];
	uint8_t area[CHUNKS * CHUNK_BYTES];
	uint64_t now_ns;
	FILE *out;
};
static struct rig rig;

static uint64_t now_ns(void *owner)
{
	return ((struct rig *)owner)->now_ns++;
}

static void burn(void *owner, uint64_t ns)
{
	((struct rig *)owner)->now_ns += ns;
}

static void sent(void *owner, struct el_graph *graph, struct el_packet *packet)
{
	struct rig *r = owner;
	const struct pcap_record record = { .bytes = packet->len_bytes,
					    .wire_bytes = packet->len_bytes };

	(void)graph;
	fwrite(&record, sizeof(record), 1, r->out);
	fwrite(packet->data, packet->len_bytes, 1, r->out);
	el_pool_give(&r->pool, packet);
}

static const struct el_worker_ops ops = { .now_ns = now_ns, .burn = burn, .sent = sent };

static int read_chains(const char *path, struct el_chains *chains)
{
	static char text[65536], error[EL_ERROR_BYTES];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text), f) : 0;

	if (f)
		fclose(f);
	if (el_chains_parse(path, text, n, NULL, chains, error) || !chains->n) {
		fprintf(stderr, "run-chain: %s\n", error);
		return -1;
	}
	return 0;
}

static int send_frames(FILE *in)
{
	struct pcap_record record;
	struct pcap_header header;

	if (fread(&header, sizeof(header), 1, in) != 1)
		return -1;
	fwrite(&header, sizeof(header), 1, rig.out);
	while (fread(&record, sizeof(record), 1, in) == 1) {
		struct el_packet *packet = el_pool_take(&rig.pool);

		if (!packet || record.bytes > CHUNK_BYTES - HEADROOM ||
		    fread(packet->data, record.bytes, 1, in) != 1)
			return -1;
		packet->len_bytes = record.bytes;
		if (!el_worker_enter(&rig.worker, FLOW, packet))
			return -1;
		while (el_worker_turn(&rig.worker))
			;
		rig.now_ns += 1000000;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct el_chains chains;
	FILE *in = NULL;
	int status = 1;

	if (argc != 4 || read_chains(argv[1], &chains))
		return 2;
	el_pool_init(&rig.pool, rig.area, rig.packets, CHUNKS, CHUNK_BYTES, HEADROOM);
	el_worker_init(&rig.worker, &rig.pool, &ops, &rig, 0);
	in = fopen(argv[2], "rb");
	rig.out = fopen(argv[3], "wb");
	if (in && rig.out && !el_worker_open_chain(&rig.worker, FLOW, 1, &chains.chains[0]))
		status = send_frames(in) ? 1 : 0;
	for (uint32_t i = 0; i < chains.chains[0].n_instances; i++) {
		const struct el_instance *at = &chains.chains[0].instances[i];

		printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", at->name, at->in.packets,
		       at->dropped.packets, at->copied.packets);
	}
	if (el_worker_close(&rig.worker, FLOW) || rig.pool.n_free != CHUNKS)
		status = 1;
	if (in)
		fclose(in);
	if (rig.out && fclose(rig.out))
		status = 1;
	el_chains_free(&chains);
	return status;
}
