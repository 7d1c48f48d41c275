/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rehearse a cluster of up to 255 nodes in one process: their bridges and daemons meet, hear of a
 * change, lose half of the nodes, and get it back. Time is made up, a millisecond a turn of all
 * nodes, and nothing takes time: so what happens depends on no machine. Processor time is measured.
 *
 * Prints a row of JSON for each phase. `ms` is made-up time, *_us are processor time of all nodes
 * together, and counts are sums over all nodes.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/rehearsal/no_kernel.h"
#include "tests/rehearsal/rehearsed_node.h"
#include "user/config/config.h"
#include "user/lib/log.h"

#define NODES_MAX   255
#define THREADS_MAX 16
#define BEGIN_NS    (60000 * REHEARSED_MS) /* the machines have been up for a minute */
#define DEADLINE_MS 120000
#define STEADY_MS   2000

static const char usage[] =
	"Usage: rehearse [OPTION]...\n"
	"\n"
	"Rehearse bridges and daemons of a cluster in one process, in made-up time.\n"
	"\n"
	"Options:\n"
	"  -n, --nodes N        1 to 255 (default 16)\n"
	"  -l, --liveness MS    silence after which a peer is dead (default 50)\n"
	"  -t, --threads N      1 to 16 threads share exchanges, daemons and the start (default 1)\n"
	"  -c, --cold           end once all nodes know each other\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0 all phases ended, 1 one did not within two minutes of its time.\n";

/* What is counted, since the beginning. */
struct account {
	uint64_t now_ns, wall_ns;
	uint64_t network_ns, bridge_ns, join_ns, daemon_ns; /* of the processor */
	uint64_t hellos, announcements, bytes;		    /* messages over the fabric, and all */
	uint64_t calls, introduced, unreachable, overflow;  /* of the exchange, over TCP */
	uint64_t changes, syncs;			    /* of kernels */
};

struct rehearsal;

/* Threads that do a part of a turn, each for the nodes of its number. The caller is the first. */
struct crew {
	uint32_t n;
	pthread_barrier_t begin, end;
	void (*part)(struct rehearsal *r, struct rehearsed_node *node); /* NULL: the end */
	struct hand {
		struct rehearsal *rehearsal;
		uint32_t number;
		pthread_t thread;
	} hand[THREADS_MAX];
};

struct rehearsal {
	struct crew crew;
	int err; /* of a node */
	bool only_cold;
	struct sl_settings *file;
	struct rb_mem_network *network;
	uint32_t n;
	struct rehearsed_node node[NODES_MAX + 1]; /* by id */
	uint64_t now_ns;
	struct account spent; /* of the processor; and counts of nodes that ended */
	uint32_t at, to;      /* the pair that was not as it should be when we looked last */
};

static struct rehearsal rehearsal; /* large, and zero */

static int fail(const char *what, int err)
{
	fprintf(stderr, "rehearse: %s: %s\n", what, strerror(-err));
	return err;
}

/* --- The configuration --- */

static char *text_of_file(uint32_t n, uint32_t liveness_ms, size_t *n_bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, n_bytes);

	if (!out)
		return NULL;
	fprintf(out,
		"cluster:\n"
		"  node: 1\n"
		"  key_file: /none\n"
		"  fabric: {device: lo, transport: roce-xdp}\n"
		"  liveness_ms: %u\n"
		"  nodes:\n",
		liveness_ms);
	for (uint32_t i = 1; i <= n; i++) {
		fprintf(out, "    - id: %u\n      address: 10.9.0.%u\n      ports:\n", i, i);
		for (uint32_t p = 1; p <= REHEARSED_PORTS; p++)
			fprintf(out, "        - {number: %u, name: eth%u}\n", p, p);
	}
	return fclose(out) ? NULL : text;
}

static int read_file(struct rehearsal *r, uint32_t liveness_ms)
{
	char error[SL_YAML_ERROR_BYTES] = "";
	size_t n_bytes;
	char *text = text_of_file(r->n, liveness_ms, &n_bytes);
	int err = text ? sl_settings_parse("rehearsal", text, n_bytes, &r->file, error) : -ENOMEM;

	if (err && error[0])
		fprintf(stderr, "rehearse: %s\n", error);
	free(text);
	return err;
}

/* --- Time --- */

static void spend(uint64_t *on_ns, uint64_t *since_ns)
{
	const uint64_t cpu_ns = no_kernel_real_ns(CLOCK_PROCESS_CPUTIME_ID);

	*on_ns += cpu_ns - *since_ns;
	*since_ns = cpu_ns;
}

static void do_share(struct rehearsal *r, uint32_t number)
{
	for (uint32_t i = 1 + number; i <= r->n; i += r->crew.n)
		if (r->node[i].runs)
			r->crew.part(r, &r->node[i]);
}

static void *work(void *context)
{
	struct hand *hand = context;
	struct rehearsal *r = hand->rehearsal;

	for (;;) {
		pthread_barrier_wait(&r->crew.begin);
		if (!r->crew.part)
			return NULL;
		do_share(r, hand->number);
		pthread_barrier_wait(&r->crew.end);
	}
}

/* A part of a turn in which nodes touch nothing of each other. */
static void together(struct rehearsal *r, void (*part)(struct rehearsal *, struct rehearsed_node *))
{
	r->crew.part = part;
	if (r->crew.n > 1)
		pthread_barrier_wait(&r->crew.begin);
	do_share(r, 0);
	if (r->crew.n > 1)
		pthread_barrier_wait(&r->crew.end);
}

static void hire(struct rehearsal *r)
{
	struct crew *crew = &r->crew;

	pthread_barrier_init(&crew->begin, NULL, crew->n);
	pthread_barrier_init(&crew->end, NULL, crew->n);
	for (uint32_t i = 1; i < crew->n; i++) {
		crew->hand[i] = (struct hand){ .rehearsal = r, .number = i };
		if (pthread_create(&crew->hand[i].thread, NULL, work, &crew->hand[i]))
			abort();
	}
}

static void dismiss(struct rehearsal *r)
{
	r->crew.part = NULL;
	if (r->crew.n > 1)
		pthread_barrier_wait(&r->crew.begin);
	for (uint32_t i = 1; i < r->crew.n; i++)
		pthread_join(r->crew.hand[i].thread, NULL);
}

static void join_turn(struct rehearsal *r, struct rehearsed_node *node)
{
	rehearsed_join_turn(node, r->now_ns);
}

static void daemon_turn(struct rehearsal *r, struct rehearsed_node *node)
{
	const int err = rehearsed_daemon_turn(node, r->now_ns);

	if (err)
		__atomic_store_n(&r->err, err, __ATOMIC_RELAXED);
}

/* A millisecond passes for all nodes. */
static int turn(struct rehearsal *r)
{
	uint64_t since_ns = no_kernel_real_ns(CLOCK_PROCESS_CPUTIME_ID);

	r->now_ns += REHEARSED_MS;
	no_kernel_set_clock(r->now_ns);
	rb_mem_network_advance(r->network, r->now_ns);
	spend(&r->spent.network_ns, &since_ns);
	for (uint32_t i = 1; i <= r->n; i++)
		if (r->node[i].runs)
			rehearsed_bridge_turn(&r->node[i], r->now_ns);
	spend(&r->spent.bridge_ns, &since_ns);
	together(r, join_turn);
	spend(&r->spent.join_ns, &since_ns);
	together(r, daemon_turn);
	spend(&r->spent.daemon_ns, &since_ns);
	return r->err;
}

static bool is_right(const struct rehearsal *r, uint32_t at, uint32_t to)
{
	const struct rehearsed_node *node = &r->node[at], *other = &r->node[to];

	if (at == to || !node->runs)
		return true;
	return other->runs ? rehearsed_knows(node, other) : rehearsed_misses(node, other);
}

/* Does each node know all that run, and miss all others? Looks first where it was not so. */
static bool all_is_right(struct rehearsal *r)
{
	for (uint32_t pairs = 0; pairs < r->n * r->n; pairs++) {
		if (!is_right(r, r->at, r->to))
			return false;
		r->to = r->to % r->n + 1;
		if (r->to == 1)
			r->at = r->at % r->n + 1;
	}
	return true;
}

static int run_for(struct rehearsal *r, uint32_t ms)
{
	int err = 0;

	for (uint32_t i = 0; i < ms && !err; i++)
		err = turn(r);
	return err;
}

static int run_until_right(struct rehearsal *r)
{
	for (uint32_t i = 0; i < DEADLINE_MS; i++) {
		int err = turn(r);

		if (err)
			return err;
		if (all_is_right(r))
			return 0;
	}
	fprintf(stderr,
		"rehearse: node %u is not right about node %u: %s there, %s in its daemon\n", r->at,
		r->to,
		rb_peer_state_name(rb_worker_peer_state(r->node[r->at].worker, (uint8_t)r->to)),
		sl_cluster_peer(r->node[r->at].cluster, r->to)->up ? "up" : "not up");
	return -ETIMEDOUT;
}

/* --- Accounts --- */

static void count_node(const struct rehearsed_node *node, struct account *to)
{
	struct rb_join_stats join;
	struct rb_transport_stats transport;

	rb_join_stats(node->join, &join);
	node->transport->ops->stats(node->transport, &transport);
	for (uint32_t i = 0; i < node->worker->n_nodes; i++) {
		const struct rb_worker_peer *peer = node->worker->peer[node->worker->nodes[i]];

		to->hellos += peer->sent[RB_MSG_HELLO];
		to->announcements += peer->sent[RB_MSG_ANNOUNCE];
	}
	to->bytes += transport.sent_bytes;
	to->introduced += join.introduced;
	to->unreachable += join.unreachable;
	to->overflow += join.overflow;
	to->changes += node->changes;
	to->syncs += node->syncs;
}

static struct account account(const struct rehearsal *r)
{
	struct account a = r->spent;
	struct no_kernel_counts counts;

	no_kernel_counts(&counts);
	a.now_ns = r->now_ns;
	a.wall_ns = no_kernel_real_ns(CLOCK_MONOTONIC);
	a.calls = counts.calls;
	for (uint32_t i = 1; i <= r->n; i++)
		if (r->node[i].runs)
			count_node(&r->node[i], &a);
	return a;
}

/* Memory that all nodes together have touched. */
static uint64_t resident_bytes(void)
{
	unsigned long long all, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%llu %llu", &all, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void print(const struct rehearsal *r, const char *phase, const struct account *a)
{
	const struct account b = account(r);
	uint32_t run = 0;

#define US(field) ((b.field - a->field) / 1000)
#define N(field)  (unsigned long long)(b.field - a->field)
	for (uint32_t i = 1; i <= r->n; i++)
		run += r->node[i].runs;
	printf("{\"nodes\": %u, \"run\": %u, \"liveness_ms\": %u, \"phase\": \"%s\", \"ms\": %llu, "
	       "\"wall_ms\": %llu, \"network_us\": %llu, \"bridge_us\": %llu, \"join_us\": %llu, "
	       "\"daemon_us\": %llu, \"hellos\": %llu, \"announcements\": %llu, \"bytes\": %llu, "
	       "\"calls\": %llu, \"introduced\": %llu, \"unreachable\": %llu, \"overflow\": %llu, "
	       "\"changes\": %llu, \"syncs\": %llu, \"resident_bytes\": %llu}\n",
	       r->n, run, r->file->cluster.liveness_ms, phase, N(now_ns) / REHEARSED_MS,
	       (unsigned long long)US(wall_ns) / 1000, (unsigned long long)US(network_ns),
	       (unsigned long long)US(bridge_ns), (unsigned long long)US(join_ns),
	       (unsigned long long)US(daemon_ns), N(hellos), N(announcements), N(bytes), N(calls),
	       N(introduced), N(unreachable), N(overflow), N(changes), N(syncs),
	       (unsigned long long)resident_bytes());
	fflush(stdout);
#undef US
#undef N
}

/* --- Phases --- */

static void fill(struct rehearsal *r, struct rehearsed_node *node)
{
	int err;

	if (node->cluster) /* it runs already */
		return;
	err = rehearsed_bridge_add_peers(node, r->now_ns);
	if (!err)
		err = rehearsed_daemon_open(node);
	if (err)
		__atomic_store_n(&r->err, err, __ATOMIC_RELAXED);
}

/* The nodes first, first + step, ... */
static int start(struct rehearsal *r, uint32_t first, uint32_t step, uint32_t epoch)
{
	int err = 0;

	for (uint32_t i = first; i <= r->n && !err; i += step) {
		r->node[i].id = (uint8_t)i;
		err = rehearsed_bridge_open(&r->node[i], &r->file->cluster, r->network, epoch + i);
	}
	if (!err) {
		together(r, fill);
		err = r->err;
	}
	return err ? fail("a node does not start", err) : 0;
}

/* Its counts stay. */
static void stop(struct rehearsal *r, uint32_t id)
{
	count_node(&r->node[id], &r->spent);
	rehearsed_node_close(&r->node[id]);
}

static int phase(struct rehearsal *r, const char *name, const struct account *before)
{
	int err = run_until_right(r);

	if (err)
		return fail(name, err);
	print(r, name, before);
	return 0;
}

static int steady(struct rehearsal *r, const char *name)
{
	struct account before;
	int err = run_for(r, STEADY_MS); /* until nothing of what was is under way */

	before = account(r);
	if (!err)
		err = run_for(r, STEADY_MS);
	if (err)
		return fail(name, err);
	print(r, name, &before);
	return all_is_right(r) ? 0 : fail(name, -EPROTO);
}

static int rehearse(struct rehearsal *r)
{
	struct account before = account(r);
	int err = start(r, 1, 1, 1000);

	if (!err)
		err = phase(r, "cold", &before);
	if (r->only_cold)
		return err;
	if (!err)
		err = steady(r, "steady");
	if (err)
		return err;

	before = account(r);
	rehearsed_change(&r->node[1]);
	err = phase(r, "change", &before);
	if (err)
		return err;

	before = account(r);
	for (uint32_t i = 2; i <= r->n; i += 2)
		stop(r, i);
	err = phase(r, "half", &before);
	if (!err)
		err = steady(r, "without-half");
	if (err)
		return err;

	before = account(r);
	err = start(r, 2, 2, 2000);
	return err ? err : phase(r, "back", &before);
}

static int open_rehearsal(struct rehearsal *r, uint32_t liveness_ms)
{
	struct rlimit files = { 1 << 19, 1 << 19 };
	struct rb_mem_config config = { .seed = 1, .delay_ns = 100000 };
	int err;

	/* Sockets of all nodes; a small cluster needs no more than there are. */
	if (setrlimit(RLIMIT_NOFILE, &files) && !getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	config.in_flight_max = 16 * r->n * r->n + 4096;
	r->now_ns = BEGIN_NS;
	r->at = r->to = 1;
	no_kernel_set_clock(r->now_ns);
	err = read_file(r, liveness_ms);
	if (!err)
		err = rb_mem_network_create(&config, &r->network);
	return err ? fail("cannot begin", err) : 0;
}

static uint32_t number(const char *option, const char *text, uint32_t max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end || value < 1 || value > max) {
		fprintf(stderr, "rehearse: %s: \"%s\" is not a number from 1 to %u\n", option, text,
			max);
		exit(2);
	}
	return (uint32_t)value;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { { "nodes", required_argument, NULL, 'n' },
					       { "liveness", required_argument, NULL, 'l' },
					       { "threads", required_argument, NULL, 't' },
					       { "cold", no_argument, NULL, 'c' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL, 0, NULL, 0 } };
	struct rehearsal *r = &rehearsal;
	uint32_t liveness_ms = 50;
	int option, err;

	r->n = 16;
	r->crew.n = 1;
	while ((option = getopt_long(argc, argv, "n:l:t:ch", longs, NULL)) != -1) {
		if (option == 'n') {
			r->n = number("--nodes", optarg, NODES_MAX);
		} else if (option == 'l') {
			liveness_ms = number("--liveness", optarg, RB_LIVENESS_MAX_MS);
		} else if (option == 't') {
			r->crew.n = number("--threads", optarg, THREADS_MAX);
		} else if (option == 'c') {
			r->only_cold = true;
		} else {
			fputs(usage, option == 'h' ? stdout : stderr);
			return option == 'h' ? 0 : 2;
		}
	}
	sl_log_set_level(SL_LOG_ERROR);
	hire(r);
	err = open_rehearsal(r, liveness_ms);
	if (!err)
		err = rehearse(r);
	dismiss(r);
	for (uint32_t i = 1; i <= r->n; i++)
		if (r->node[i].runs)
			rehearsed_node_close(&r->node[i]);
	rb_mem_network_destroy(r->network);
	sl_settings_free(r->file);
	return err ? 1 : 0;
}
