// SPDX-License-Identifier: BSD-2-Clause
/*
 * gen: send UDP packets by XDP at millions a second, paced, each with a stamp (traffic.h).
 *
 * The kernel runs gen.bpf.c on as many live frames as we ask for, and hands each to the device.
 * This program decides what the packets look like and how many are due, and reports what left.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/lib/endian.bpf.h"
#include "netns-lab/gen/destinations.h"
#include "netns-lab/gen/device.h"
#include "netns-lab/gen/tool.h"
#include "netns-lab/gen/traffic.h"
#include "user/rtnl/xdp_features.h"
#include "lab/gen.skel.h" /* uses the types above */

/* With a rate, packets leave in bursts this long; a call of the kernel costs some 10 us. */
#define TICK_NS 1000000ULL

/*
 * From one call to the next, with a rate. Each call has a page pool of its own; the kernel has
 * 65,534 ids for pools; a pool with packets that are not freed when the call ends keeps its id for
 * a second.
 */
#define CALL_GAP_NS 100000ULL

/* Most packets of one call: we look for a signal and at the deadline between calls. */
#define CALL_PACKETS_MAX (1u << 18)

/* Packets that the kernel makes before it lets the receivers run; veth's ring takes 256. */
#define BATCH_DEFAULT 64
#define BATCH_MAX     256

static const uint32_t imix[] = { 60, 60, 590, 60, 60, 1514, 60, 590, 60, 590, 60, 590 };

static const char usage[] =
	"usage: gen DEV --dst-mac MAC (--dst ADDRESS[/LENGTH] | --dst-file FILE) [OPTION...]\n"
	"Send UDP packets out of DEV by XDP, stamped for `sink`.\n"
	"\n"
	"  --dst-mac MAC       the next hop's MAC address\n"
	"  --dst A[/LENGTH]    IPv4 or IPv6 destination, or a prefix to count through\n"
	"  --dst-file FILE     destinations: addresses or prefixes, one a line; - is standard input\n"
	"  --dests N           how many of those (default: one of --dst, all of --dst-file)\n"
	"  --seed N            choice from the file (default 1)\n"
	"  --src ADDRESS       default: DEV's own\n"
	"  --flows N           at least the number of destinations, which is the default; at most 65536\n"
	"  --first-flow N      number of the first flow (default 0), for several gen that send to one sink\n"
	"  --size BYTES        of the frame without FCS: 60 (80 for IPv6) to 3398 (default 60 or 80)\n"
	"  --imix              frames of 60, 590 and 1514 bytes, 7:4:1\n"
	"  --vlan ID[,ID]      one tag, or two (outer 802.1ad)\n"
	"  --ttl N             TTL or hop limit (default 64)\n"
	"  --dscp N            0 to 63 (default 0)\n"
	"  --rate PPS          packets a second; without it, as fast as possible\n"
	"  --spin              keep to the rate packet by packet, on a core that is otherwise left to\n"
	"                      the receivers; without it, in bursts of a millisecond, asleep between\n"
	"  --count N           stop after N packets\n"
	"  --duration SECONDS  stop after that time (one of the two is needed)\n"
	"  --batch N           packets made before the receivers run (default 64, at most 256)\n"
	"  --stamp-every N     packets between two that carry the time (default 17)\n"
	"  -j, --json          print the result as JSON\n"
	"  -h, --help\n"
	"\n"
	"Exit status: 0 sent, 1 failed, 2 wrong use.\n";

struct options {
	const char *dev, *dst, *dst_file;
	struct gen_headers headers;
	bool have_dst_mac, imix, spin, json;
	struct gen_dest src;
	int src_family; /* 0: the device's */
	uint32_t n_dests, first_flow, n_flows, size, vlan[LAB_TAGS_MAX], n_tags, batch, stamp_every;
	uint64_t seed, rate_pps, count, duration_ns;
};

struct result {
	uint64_t made, bytes;	 /* by the program */
	uint64_t taken, refused; /* by the veth at the other end */
	bool have_xmit;		 /* the last two are known */
	uint64_t elapsed_ns;
	uint64_t cpu_ns;
};

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

/* --- Options --- */

static int parse_vlan(const char *text, struct options *o)
{
	char copy[32], *part, *rest;
	int status;

	snprintf(copy, sizeof(copy), "%s", text);
	for (part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
		if (o->n_tags == LAB_TAGS_MAX)
			return lab_fail(2, "--vlan: \"%s\" has more than two tags", text);
		status = lab_parse_u32("vlan", part, 1, 4094, &o->vlan[o->n_tags++]);
		if (status)
			return status;
	}
	return 0;
}

static int parse_src(const char *text, struct options *o)
{
	if (inet_pton(AF_INET, text, o->src.addr) == 1)
		o->src_family = AF_INET;
	else if (inet_pton(AF_INET6, text, o->src.addr) == 1)
		o->src_family = AF_INET6;
	else
		return lab_fail(2, "--src: \"%s\" is not an IPv4 or IPv6 address", text);
	return 0;
}

static int parse_mac(const char *text, struct options *o)
{
	static const uint8_t zero[6];

	if (!ether_aton_r(text, (struct ether_addr *)o->headers.eth) ||
	    !memcmp(o->headers.eth, zero, sizeof(zero)))
		return lab_fail(2, "--dst-mac: \"%s\" is not the MAC address of a station", text);
	o->have_dst_mac = true;
	return 0;
}

enum {
	OPT_DST_MAC = 256,
	OPT_DST,
	OPT_DST_FILE,
	OPT_DESTS,
	OPT_SEED,
	OPT_SRC,
	OPT_FLOWS,
	OPT_FIRST_FLOW,
	OPT_SIZE,
	OPT_IMIX,
	OPT_VLAN,
	OPT_TTL,
	OPT_DSCP,
	OPT_RATE,
	OPT_SPIN,
	OPT_COUNT,
	OPT_DURATION,
	OPT_BATCH,
	OPT_STAMP_EVERY,
};

static const struct option long_options[] = {
	{ "dst-mac", required_argument, NULL, OPT_DST_MAC },
	{ "dst", required_argument, NULL, OPT_DST },
	{ "dst-file", required_argument, NULL, OPT_DST_FILE },
	{ "dests", required_argument, NULL, OPT_DESTS },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "src", required_argument, NULL, OPT_SRC },
	{ "flows", required_argument, NULL, OPT_FLOWS },
	{ "first-flow", required_argument, NULL, OPT_FIRST_FLOW },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "imix", no_argument, NULL, OPT_IMIX },
	{ "vlan", required_argument, NULL, OPT_VLAN },
	{ "ttl", required_argument, NULL, OPT_TTL },
	{ "dscp", required_argument, NULL, OPT_DSCP },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "spin", no_argument, NULL, OPT_SPIN },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "duration", required_argument, NULL, OPT_DURATION },
	{ "batch", required_argument, NULL, OPT_BATCH },
	{ "stamp-every", required_argument, NULL, OPT_STAMP_EVERY },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int parse_option(int c, struct options *o)
{
	uint32_t value;
	int status;

	switch (c) {
	case OPT_DST_MAC:
		return parse_mac(optarg, o);
	case OPT_DST:
		o->dst = optarg;
		return 0;
	case OPT_DST_FILE:
		o->dst_file = optarg;
		return 0;
	case OPT_DESTS:
		return lab_parse_u32("dests", optarg, 1, LAB_FLOWS_MAX, &o->n_dests);
	case OPT_SEED:
		return lab_parse_number("seed", optarg, 0, UINT64_MAX, &o->seed);
	case OPT_SRC:
		return parse_src(optarg, o);
	case OPT_FIRST_FLOW:
		return lab_parse_u32("first-flow", optarg, 0, LAB_FLOWS_MAX - 1, &o->first_flow);
	case OPT_FLOWS:
		return lab_parse_u32("flows", optarg, 1, LAB_FLOWS_MAX, &o->n_flows);
	case OPT_SIZE:
		return lab_parse_u32("size", optarg, 60, LAB_FRAME_MAX, &o->size);
	case OPT_IMIX:
		o->imix = true;
		return 0;
	case OPT_VLAN:
		return parse_vlan(optarg, o);
	case OPT_TTL:
		status = lab_parse_u32("ttl", optarg, 0, 255, &value);
		o->headers.ttl = status ? 0 : value;
		return status;
	case OPT_DSCP:
		status = lab_parse_u32("dscp", optarg, 0, 63, &value);
		o->headers.dscp_ecn = status ? 0 : value << 2;
		return status;
	case OPT_RATE:
		return lab_parse_number("rate", optarg, 1, 100000000, &o->rate_pps);
	case OPT_SPIN:
		o->spin = true;
		return 0;
	case OPT_COUNT:
		return lab_parse_number("count", optarg, 1, UINT64_MAX, &o->count);
	case OPT_DURATION:
		return lab_parse_duration(optarg, &o->duration_ns);
	case OPT_BATCH:
		return lab_parse_u32("batch", optarg, 1, BATCH_MAX, &o->batch);
	case OPT_STAMP_EVERY:
		return lab_parse_u32("stamp-every", optarg, 1, UINT32_MAX, &o->stamp_every);
	case 'j':
		o->json = true;
		return 0;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		return 2;
	}
}

static int parse_options(int argc, char **argv, struct options *o)
{
	int c, status;

	*o = (struct options){
		.headers.ttl = 64, .seed = 1, .batch = BATCH_DEFAULT, .stamp_every = 16
	};
	while ((c = getopt_long(argc, argv, "jh", long_options, NULL)) != -1) {
		status = parse_option(c, o);
		if (status)
			return status;
	}
	if (argc - optind != 1)
		return lab_fail(2, "name one device; see gen --help");
	o->dev = argv[optind];
	if (!o->have_dst_mac)
		return lab_fail(2, "--dst-mac is needed: where should the frames go?");
	if (!o->dst == !o->dst_file)
		return lab_fail(2, "one of --dst and --dst-file is needed");
	if (o->spin && !o->rate_pps)
		return lab_fail(2, "--spin keeps to a --rate");
	if (!o->count && !o->duration_ns)
		return lab_fail(2, "one of --count and --duration is needed");
	return 0;
}

/* --- What the packets look like --- */

static int read_destinations(const struct options *o, struct destinations *d)
{
	unsigned int line = 0;
	int err;

	if (o->dst) {
		err = destinations_parse(o->dst, o->n_dests, d);
		if (err == -EINVAL)
			return lab_fail(2, "--dst: \"%s\" is not an address or prefix", o->dst);
	} else {
		err = destinations_read(o->dst_file, o->n_dests, o->seed, d, &line);
		if (err == -EINVAL && !line)
			return lab_fail(2, "--dst-file: %s is empty", o->dst_file);
		if (err == -EINVAL)
			return lab_fail(2, "%s:%u: not an address or prefix of the file's family",
					o->dst_file, line);
	}
	return err ? lab_fail(1, "destinations: %s", strerror(-err)) : 0;
}

static uint32_t add16(uint32_t sum, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;
	uint16_t word;

	for (size_t i = 0; i + 1 < len; i += 2) {
		memcpy(&word, b + i, 2);
		sum += word;
	}
	return sum;
}

static void set_size(struct gen_size *size, uint32_t frame_bytes, uint32_t l2_bytes,
		     const struct gen_headers *h, bool is_ip6)
{
	uint32_t l3_bytes = frame_bytes - l2_bytes;

	size->frame_bytes = frame_bytes;
	if (is_ip6) {
		size->ip_len = size->udp_len = l3_bytes - 40;
		size->sum = add16(0, h->src, 16) + htons(size->udp_len) + htons(IPPROTO_UDP);
	} else {
		size->ip_len = l3_bytes;
		size->udp_len = l3_bytes - 20;
		size->sum = htons(0x4500 | h->dscp_ecn) + htons(size->ip_len) + htons(0x4000) +
			    htons(h->ttl << 8 | IPPROTO_UDP) + add16(0, h->src, 4);
	}
}

static void set_tags(struct options *o, bool is_ip6)
{
	uint8_t *tag = o->headers.tags;
	uint16_t tpid, tci;

	for (uint32_t i = 0; i < o->n_tags; i++, tag += 4) {
		tpid = htons(o->n_tags == 2 && i == 0 ? 0x88a8 : 0x8100);
		tci = htons(o->vlan[i]);
		memcpy(tag, &tpid, 2);
		memcpy(tag + 2, &tci, 2);
	}
	o->headers.ethertype = sl_htons(is_ip6 ? 0x86dd : 0x0800);
}

/* Fill what the BPF program reads before it is loaded. */
static int describe_packets(struct options *o, const struct destinations *d, struct lab_gen *skel,
			    uint32_t *largest)
{
	bool is_ip6 = d->family == AF_INET6;
	uint32_t l2_bytes = 14 + 4 * o->n_tags, mtu;
	uint32_t smallest = l2_bytes + (is_ip6 ? 40 : 20) + 8 + sizeof(struct lab_stamp);
	uint32_t n_flows = o->n_flows ? o->n_flows : d->n;
	int err;

	if (o->first_flow + n_flows > LAB_FLOWS_MAX)
		return lab_fail(2,
				"--first-flow: flows %u to %u are more than a sink can tell apart",
				o->first_flow, o->first_flow + n_flows - 1);
	if (n_flows < d->n)
		return lab_fail(2, "--flows: %u flows cannot reach %u destinations", n_flows, d->n);
	if (o->src_family && o->src_family != d->family)
		return lab_fail(2, "--src is of another family than the destinations");
	if (!o->src_family) {
		err = device_address(o->dev, d->family, (uint8_t *)o->src.addr);
		if (err)
			return lab_fail(1, "%s has no IPv%c address: give --src", o->dev,
					is_ip6 ? '6' : '4');
	}
	memcpy(o->headers.src, o->src.addr, sizeof(o->headers.src));
	err = device_mac(o->dev, o->headers.eth + 6);
	if (!err)
		err = device_mtu(o->dev, &mtu);
	if (err)
		return lab_fail(1, "%s: %s", o->dev, strerror(-err));
	set_tags(o, is_ip6);

	*largest = o->imix ? 1514 : o->size ? o->size : smallest < 60 ? 60 : smallest;
	if (*largest < smallest)
		return lab_fail(2, "--size: %u is too small, the stamp needs %u", *largest,
				smallest);
	if (*largest > mtu + l2_bytes)
		return lab_fail(2, "frames of %u bytes do not fit %s's MTU of %u", *largest, o->dev,
				mtu);
	skel->rodata->config = (struct gen_config){
		.out_ifindex = if_nametoindex(o->dev),
		.is_ip6 = is_ip6,
		.n_tags = o->n_tags,
		.n_sizes = o->imix ? sizeof(imix) / sizeof(imix[0]) : 1,
		.first_flow = o->first_flow,
		.n_flows = n_flows,
		.n_dests = d->n,
		.stamp_every = o->stamp_every,
		.count = o->count,
		.interval_fp = o->spin ? NSEC_PER_SEC * 1024 / o->rate_pps : 0,
	};
	skel->bss->headers = o->headers;
	for (uint32_t i = 0; i < skel->rodata->config.n_sizes; i++) {
		uint32_t bytes = o->imix ? imix[i] : *largest;

		set_size(&skel->bss->sizes[i], bytes < smallest ? smallest : bytes, l2_bytes,
			 &o->headers, is_ip6);
	}
	return 0;
}

static int fill_destinations(struct lab_gen *skel, const struct destinations *d)
{
	int fd = bpf_map__fd(skel->maps.dests), err = 0;

	for (uint32_t i = 0; i < d->n && !err; i++)
		err = bpf_map_update_elem(fd, &i, &d->list[i], BPF_ANY);
	return err;
}

/* --- Sending --- */

/* How many packets to ask for now; or 0, after a sleep until some are due. */
static uint64_t packets_due(const struct options *o, uint64_t start_ns, uint64_t sent,
			    uint64_t last_call_ns)
{
	uint64_t now_ns = lab_now_ns(), elapsed_ns = now_ns - start_ns, due = CALL_PACKETS_MAX,
		 next_ns;

	if (o->rate_pps && !o->spin) {
		if (o->duration_ns && elapsed_ns > o->duration_ns)
			elapsed_ns = o->duration_ns;
		due = (unsigned __int128)elapsed_ns * o->rate_pps / NSEC_PER_SEC + 1;
		due = due > sent ? due - sent : 0;
		if (!due) {
			next_ns = (unsigned __int128)sent * NSEC_PER_SEC / o->rate_pps + 1;
			if (next_ns < elapsed_ns + TICK_NS)
				next_ns = elapsed_ns + TICK_NS;
			if (o->duration_ns && next_ns > o->duration_ns)
				next_ns = o->duration_ns;
			lab_sleep_until(start_ns + next_ns);
			return 0;
		}
		if (now_ns < last_call_ns + CALL_GAP_NS) {
			lab_sleep_until(last_call_ns + CALL_GAP_NS);
			return 0;
		}
	}
	if (due > CALL_PACKETS_MAX)
		due = CALL_PACKETS_MAX;
	if (o->count && !o->spin && due > o->count - sent)
		due = o->count - sent;
	return due;
}

static int send_packets(const struct options *o, struct lab_gen *skel, uint32_t frame_bytes,
			struct result *r)
{
	static uint8_t frame[LAB_FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = frame_bytes,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = o->batch);
	int fd = bpf_program__fd(skel->progs.lab_gen), err = 0;
	uint64_t start_ns = lab_now_ns(), start_cpu_ns = lab_cpu_ns(), call_ns = 0, due;

	skel->bss->start_ns = start_ns;
	/* The program tells its own frames from those of lo by the MAC address. */
	memcpy(frame, o->headers.eth, sizeof(o->headers.eth));
	while (!stop && (!o->count || skel->bss->packets < o->count) &&
	       (!o->duration_ns || lab_now_ns() - start_ns < o->duration_ns)) {
		due = packets_due(o, start_ns, skel->bss->packets, call_ns);
		if (!due)
			continue;
		call_ns = lab_now_ns();
		run.repeat = due;
		err = bpf_prog_test_run_opts(fd, &run);
		if (err == -EINTR)
			err = 0;
		if (err)
			break;
	}
	r->elapsed_ns = lab_now_ns() - start_ns;
	r->cpu_ns = lab_cpu_ns() - start_cpu_ns;
	r->made = skel->bss->packets;
	r->bytes = skel->bss->bytes;
	return err;
}

static void print_result(const struct options *o, const struct gen_config *config,
			 const struct result *r)
{
	double seconds = r->elapsed_ns / 1e9, rate_pps = seconds > 0 ? r->made / seconds : 0;
	uint64_t sent = r->have_xmit ? r->taken : r->made;
	json_t *json;

	if (!o->json) {
		printf("sent %" PRIu64 " packets (%" PRIu64
		       " bytes made) in %.3f s: %.0f packets/s",
		       sent, r->bytes, seconds, rate_pps);
		if (r->refused)
			printf("; %" PRIu64 " more found no room in the peer's ring", r->refused);
		putchar('\n');
		return;
	}
	json = json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:i, s:i}", "sent", (json_int_t)sent,
			 "refused", (json_int_t)r->refused, "made", (json_int_t)r->made, "bytes",
			 (json_int_t)r->bytes, "seconds", seconds, "cpu_seconds", r->cpu_ns / 1e9,
			 "rate_pps", rate_pps, "flows", (int)config->n_flows, "destinations",
			 (int)config->n_dests);
	lab_print_json(json);
}

/* Does the kernel say that the driver takes no frames that XDP redirects to it? */
static bool takes_none(const char *dev)
{
	struct sl_xdp_takes takes = { .frames = true };
	struct sl_xdp_features *features;

	if (sl_xdp_features_open(&features))
		return false;
	if (sl_xdp_features_takes(features, if_nametoindex(dev), &takes))
		takes.frames = true;
	sl_xdp_features_close(features);
	return !takes.frames;
}

static int run(struct options *o)
{
	struct destinations dests = { 0 };
	struct lab_gen *skel = NULL;
	struct result r = { 0 };
	uint64_t taken = 0, refused = 0;
	uint32_t frame_bytes = 0;
	int lo = if_nametoindex("lo"), status, err;

	status = read_destinations(o, &dests);
	if (status)
		goto out;
	libbpf_set_print(NULL);
	skel = lab_gen__open();
	if (!skel) {
		status = lab_fail(1, "cannot open its BPF program: %s", strerror(errno));
		goto out;
	}
	status = describe_packets(o, &dests, skel, &frame_bytes);
	if (status)
		goto out;
	bpf_map__set_max_entries(skel->maps.dests, dests.n);
	err = lab_gen__load(skel);
	if (!err)
		err = fill_destinations(skel, &dests);
	if (err) {
		status = lab_fail(1, "cannot load its BPF program: %s", strerror(-err));
		goto out;
	}
	r.have_xmit = !device_xdp_xmit(o->dev, &taken, &refused);
	/* Of a veth its own counters say it, afterwards. */
	if (!r.have_xmit && takes_none(o->dev)) {
		status = lab_fail(1,
				  "%s passes no redirected frames on: its driver takes none, or "
				  "only while an XDP program is attached",
				  o->dev);
		goto out;
	}
	err = bpf_xdp_attach(lo, bpf_program__fd(skel->progs.lab_gen),
			     XDP_FLAGS_SKB_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	if (err) {
		status = lab_fail(
			1, "lo of this namespace has an XDP program (%s): does another gen run?",
			strerror(-err));
		goto out;
	}
	err = send_packets(o, skel, frame_bytes, &r);
	if (r.have_xmit && !device_xdp_xmit(o->dev, &r.taken, &r.refused)) {
		r.taken -= taken;
		r.refused -= refused;
	}
	bpf_xdp_detach(lo, XDP_FLAGS_SKB_MODE, NULL);
	if (err)
		status = lab_fail(1, "the kernel does not run live frames on %s: %s", o->dev,
				  strerror(-err));
	else if (r.have_xmit && r.made && !r.taken && !r.refused)
		status = lab_fail(1,
				  "%s passes no redirected frames on: its peer needs XDP or GRO, "
				  "switched on while the link is up",
				  o->dev);
	print_result(o, (const struct gen_config *)&skel->rodata->config, &r);
out:
	lab_gen__destroy(skel);
	destinations_free(&dests);
	return status;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct options o;
	int status = parse_options(argc, argv, &o);

	if (status)
		return status;
	if (!if_nametoindex(o.dev))
		return lab_fail(2, "no device \"%s\" in this network namespace", o.dev);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	return lab_exit_status(run(&o));
}
