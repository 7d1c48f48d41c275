// SPDX-License-Identifier: BSD-2-Clause
/*
 * sink: count the packets of `gen` as they arrive, flow by flow: lost, reordered, duplicated, and
 * their latency. sink.bpf.c counts on the receiving device; this program attaches it, waits, and
 * reports.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "netns-lab/gen/device.h"
#include "netns-lab/gen/tool.h"
#include "netns-lab/gen/traffic.h"
#include "lab/sink.skel.h" /* uses the types above */

static const char usage[] =
	"usage: sink DEV [OPTION...]\n"
	"Count the packets of `gen` that arrive at DEV, until SIGINT, SIGTERM or one of:\n"
	"\n"
	"  --expect N          stop once N packets came\n"
	"  --duration SECONDS  stop after that time\n"
	"  --verify            check checksums, payload and destination MAC of every packet\n"
	"  --echo              send the packets back to where they come from\n"
	"  --drop-foreign      drop packets that are not of gen; without it, they go to the stack\n"
	"  --core N            count packets that arrive on a core other than N (default 0)\n"
	"  --flows             list the flows, too\n"
	"  --times N           with -j, list of the first N packets that carry the time: flow, number\n"
	"                      in it, when it was sent, and when it came, in ns of CLOCK_MONOTONIC\n"
	"  -j, --json          print the result as JSON\n"
	"  -h, --help\n"
	"\n"
	"Says \"ready\" on standard error once it counts. Exit status: 0 counted, 1 failed, 2 wrong use.\n";

struct options {
	const char *dev;
	uint64_t expect;
	uint64_t duration_ns;
	uint32_t core, times;
	bool verify, echo, drop_foreign, flows, json;
};

struct summary {
	uint64_t flows, lost, reordered, duplicates, late;
	uint64_t latency_count, p50_ns, p99_ns, p999_ns;
};

static int parse_options(int argc, char **argv, struct options *o)
{
	enum {
		OPT_EXPECT = 256,
		OPT_DURATION,
		OPT_VERIFY,
		OPT_ECHO,
		OPT_DROP_FOREIGN,
		OPT_CORE,
		OPT_FLOWS,
		OPT_TIMES
	};
	static const struct option long_options[] = {
		{ "expect", required_argument, NULL, OPT_EXPECT },
		{ "duration", required_argument, NULL, OPT_DURATION },
		{ "verify", no_argument, NULL, OPT_VERIFY },
		{ "echo", no_argument, NULL, OPT_ECHO },
		{ "drop-foreign", no_argument, NULL, OPT_DROP_FOREIGN },
		{ "core", required_argument, NULL, OPT_CORE },
		{ "flows", no_argument, NULL, OPT_FLOWS },
		{ "times", required_argument, NULL, OPT_TIMES },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, status = 0;

	*o = (struct options){ 0 };
	while (!status && (c = getopt_long(argc, argv, "jh", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_EXPECT:
			status = lab_parse_number("expect", optarg, 1, UINT64_MAX, &o->expect);
			break;
		case OPT_DURATION:
			status = lab_parse_duration(optarg, &o->duration_ns);
			break;
		case OPT_VERIFY:
			o->verify = true;
			break;
		case OPT_ECHO:
			o->echo = true;
			break;
		case OPT_DROP_FOREIGN:
			o->drop_foreign = true;
			break;
		case OPT_CORE:
			status = lab_parse_u32("core", optarg, 0, UINT32_MAX, &o->core);
			break;
		case OPT_FLOWS:
			o->flows = true;
			break;
		case OPT_TIMES:
			status = lab_parse_u32("times", optarg, 1, SINK_TIMES_MAX, &o->times);
			break;
		case 'j':
			o->json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			status = 2;
		}
	}
	if (status)
		return status;
	if (argc - optind != 1)
		return lab_fail(2, "name one device; see sink --help");
	o->dev = argv[optind];
	return 0;
}

static uint64_t packets_now(const struct lab_sink *skel)
{
	return *(const volatile __u64 *)&skel->data->totals.packets;
}

/*
 * Wait for a signal, the expected packets or the deadline; then, a second at most, until nothing
 * has come for quiet_polls, so that packets under way are counted. Signals are blocked, so we miss
 * none.
 */
static void wait_for_end(const struct options *o, const struct lab_sink *skel,
			 const sigset_t *signals)
{
	const struct timespec poll = { .tv_nsec = 10 * 1000 * 1000 };
	const int quiet_polls = 3, polls_max = 100;
	const uint64_t start_ns = lab_now_ns();
	uint64_t last;

	while (sigtimedwait(signals, NULL, &poll) < 0) {
		if (o->expect && packets_now(skel) >= o->expect)
			return;
		if (o->duration_ns && lab_now_ns() - start_ns >= o->duration_ns)
			break;
	}
	last = packets_now(skel);
	for (int i = 0, quiet = 0; i < polls_max && quiet < quiet_polls; i++) {
		nanosleep(&poll, NULL);
		quiet = packets_now(skel) == last ? quiet + 1 : 0;
		last = packets_now(skel);
	}
}

static uint64_t bucket_middle(uint32_t bucket)
{
	uint32_t log = bucket >> SINK_SUB_BITS;
	uint64_t low;

	if (log == 0)
		return bucket;
	low = ((1ULL << SINK_SUB_BITS) + (bucket & ((1U << SINK_SUB_BITS) - 1))) << (log - 1);
	return low + ((1ULL << (log - 1)) >> 1);
}

static uint64_t percentile(const uint64_t *buckets, uint64_t count, double share)
{
	uint64_t rank = count * share, seen = 0;

	for (uint32_t i = 0; i < SINK_BUCKETS; i++) {
		seen += buckets[i];
		if (seen > rank)
			return bucket_middle(i);
	}
	return 0;
}

/* Read all n values of an array in one system call. */
static int read_array(int fd, void *values, uint32_t n)
{
	static uint32_t keys[LAB_FLOWS_MAX];
	uint32_t next, read = n;
	int err = bpf_map_lookup_batch(fd, NULL, &next, keys, values, &read, NULL);

	if (err)
		return err;
	return read == n ? 0 : -EIO;
}

static int summarise(const struct lab_sink *skel, const struct options *o, struct summary *s,
		     json_t *list)
{
	int flows_fd = bpf_map__fd(skel->maps.flows), latency_fd = bpf_map__fd(skel->maps.latency);
	static struct sink_flow flows[LAB_FLOWS_MAX];
	static uint64_t buckets[SINK_BUCKETS];
	struct sink_flow f;
	uint64_t lost;
	int err;

	if ((err = read_array(flows_fd, flows, LAB_FLOWS_MAX)) ||
	    (err = read_array(latency_fd, buckets, SINK_BUCKETS)))
		return err;
	for (uint32_t i = 0; i < LAB_FLOWS_MAX; i++) {
		f = flows[i];
		if (!f.packets)
			continue;
		lost = f.next_seq - (f.packets - f.duplicates);
		s->flows++;
		s->lost += lost;
		s->reordered += f.reordered;
		s->duplicates += f.duplicates;
		s->late += f.late;
		if (o->flows)
			json_array_append_new(
				list,
				json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I}", "flow", (int)i,
					  "packets", (json_int_t)f.packets, "bytes",
					  (json_int_t)f.bytes, "lost", (json_int_t)lost,
					  "reordered", (json_int_t)f.reordered, "duplicates",
					  (json_int_t)f.duplicates, "late", (json_int_t)f.late));
	}
	for (uint32_t i = 0; i < SINK_BUCKETS; i++)
		s->latency_count += buckets[i];
	s->p50_ns = percentile(buckets, s->latency_count, 0.5);
	s->p99_ns = percentile(buckets, s->latency_count, 0.99);
	s->p999_ns = percentile(buckets, s->latency_count, 0.999);
	return 0;
}

static json_t *to_json(const struct sink_totals *t, const struct summary *s)
{
	json_t *json = json_object();

	const struct {
		const char *name;
		uint64_t value;
	} fields[] = {
		{ "packets", t->packets },
		{ "bytes", t->bytes },
		{ "flows", s->flows },
		{ "lost", s->lost },
		{ "reordered", s->reordered },
		{ "duplicates", s->duplicates },
		{ "late", s->late },
		{ "foreign", t->foreign },
		{ "tagged", t->tagged },
		{ "off_core", t->off_core },
		{ "bad_checksum", t->bad_checksum },
		{ "bad_payload", t->bad_payload },
		{ "wrong_mac", t->wrong_mac },
		{ "ttl_min", t->ttl_min },
		{ "ttl_max", t->ttl_max },
		{ "first_ns", t->first_ns },
		{ "last_ns", t->last_ns },
		{ "latency_samples", s->latency_count },
		{ "latency_p50_ns", s->p50_ns },
		{ "latency_p99_ns", s->p99_ns },
		{ "latency_p999_ns", s->p999_ns },
		{ "latency_max_ns", t->latency_max_ns },
	};
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		json_object_set_new(json, fields[i].name, json_integer(fields[i].value));
	return json;
}

/* The first n times that the program has written: rows of flow, number, sent, came. */
static int read_times(int fd, uint32_t n, json_t *list)
{
	struct sink_time time;

	for (uint32_t i = 0; i < n; i++) {
		const int err = bpf_map_lookup_elem(fd, &i, &time);

		if (err)
			return err;
		json_array_append_new(
			list, json_pack("[I, I, I, I]", (json_int_t)time.flow, (json_int_t)time.seq,
					(json_int_t)time.sent_ns, (json_int_t)time.came_ns));
	}
	return 0;
}

static void print_text(const struct sink_totals *t, const struct summary *s, const json_t *list)
{
	json_t *flow;
	size_t i;

	printf("%" PRIu64 " packets, %" PRIu64 " bytes in %" PRIu64 " flows; lost %" PRIu64
	       ", reordered %" PRIu64 " (late %" PRIu64 "), duplicates %" PRIu64 "\n",
	       (uint64_t)t->packets, (uint64_t)t->bytes, s->flows, s->lost, s->reordered, s->late,
	       s->duplicates);
	printf("foreign %" PRIu64 ", bad checksum %" PRIu64 ", bad payload %" PRIu64
	       ", wrong MAC %" PRIu64 ", TTL %u..%u\n",
	       (uint64_t)t->foreign, (uint64_t)t->bad_checksum, (uint64_t)t->bad_payload,
	       (uint64_t)t->wrong_mac, t->packets ? t->ttl_min : 0, t->ttl_max);
	if (s->latency_count)
		printf("latency of %" PRIu64
		       ": median %.1f us, p99 %.1f us, p99.9 %.1f us, max %.1f us\n",
		       s->latency_count, s->p50_ns / 1e3, s->p99_ns / 1e3, s->p999_ns / 1e3,
		       t->latency_max_ns / 1e3);
	json_array_foreach(list, i, flow)
		printf("flow %lld: %lld packets, lost %lld, reordered %lld, duplicates %lld\n",
		       (long long)json_integer_value(json_object_get(flow, "flow")),
		       (long long)json_integer_value(json_object_get(flow, "packets")),
		       (long long)json_integer_value(json_object_get(flow, "lost")),
		       (long long)json_integer_value(json_object_get(flow, "reordered")),
		       (long long)json_integer_value(json_object_get(flow, "duplicates")));
}

static int report(const struct lab_sink *skel, const struct options *o)
{
	struct sink_totals totals = skel->data->totals;
	struct summary s = { 0 };
	json_t *list = json_array(), *times = json_array(), *json;
	int err = summarise(skel, o, &s, list);

	if (!err)
		err = read_times(bpf_map__fd(skel->maps.times), totals.times, times);
	if (err) {
		json_decref(list);
		json_decref(times);
		return lab_fail(1, "cannot read its counters: %s", strerror(-err));
	}
	if (!o->json) {
		print_text(&totals, &s, list);
	} else {
		json = to_json(&totals, &s);
		if (o->flows)
			json_object_set(json, "flow", list);
		if (o->times)
			json_object_set(json, "times", times);
		lab_print_json(json);
	}
	json_decref(list);
	json_decref(times);
	return 0;
}

int main(int argc, char **argv)
{
	struct lab_sink *skel = NULL;
	struct options o;
	uint32_t n_queues;
	sigset_t signals;
	int status = parse_options(argc, argv, &o), ifindex, err;

	if (status)
		return status;
	ifindex = if_nametoindex(o.dev);
	if (!ifindex)
		return lab_fail(2, "no device \"%s\" in this network namespace", o.dev);
	err = device_rx_queues(o.dev, &n_queues);
	if (!err && n_queues != 1)
		return lab_fail(1,
				"%s has %u receive queues; counting needs one: ethtool -L %s rx 1",
				o.dev, n_queues, o.dev);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	libbpf_set_print(NULL);
	skel = lab_sink__open();
	if (!skel)
		return lab_fail(1, "cannot open its BPF program: %s", strerror(errno));
	skel->rodata->config.pass_foreign = !o.drop_foreign;
	skel->rodata->config.verify = o.verify;
	skel->rodata->config.echo = o.echo;
	skel->rodata->config.core = o.core;
	skel->rodata->config.times = o.times;
	err = device_mac(o.dev, (uint8_t *)skel->rodata->config.mac);
	if (!err && o.times)
		err = bpf_map__set_max_entries(skel->maps.times, o.times);
	if (!err)
		err = lab_sink__load(skel);
	if (err) {
		status = lab_fail(1, "cannot load its BPF program: %s", strerror(-err));
		goto out;
	}
	err = bpf_xdp_attach(ifindex, bpf_program__fd(skel->progs.lab_sink),
			     XDP_FLAGS_DRV_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	if (err) {
		status = lab_fail(1, "cannot attach to %s: %s", o.dev, strerror(-err));
		goto out;
	}
	fputs("sink: ready\n", stderr);
	wait_for_end(&o, skel, &signals);
	bpf_xdp_detach(ifindex, XDP_FLAGS_DRV_MODE, NULL);
	status = report(skel, &o);
out:
	lab_sink__destroy(skel);
	return lab_exit_status(status);
}
