/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter-twins: the same rules and packets for two routers. One filters by sluice, its twin by
 * nftables, and what leaves each of them must be the same bytes.
 *
 *   filter-twins sluice|nft -s STYLE -f 4|6 -r RULES -S SEED      the list as text
 *   filter-twins flows|nft-map -s exact ...                      the rules as exact flows
 *   filter-twins send ... -n PACKETS IN OUT IN OUT                netdevs before and behind the
 * twins
 *
 * `send` prints what became of the packets as JSON, and fails with the first packet that leaves the
 * twins differently. The netdevs are the sender's, one pair for each router.
 *
 * Packets go in batches. Two markers end a batch, one for each way through a router: what XDP
 * forwards comes by another queue than what the kernel forwards, and each queue keeps its order.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpf/lib/endian.bpf.h"
#include "netns-lab/classify/flow_frame.h"
#include "netns-lab/classify/rule_print.h"
#include "netns-lab/classify/rule_sets.h"
#include "netns-lab/gen/tool.h"
#include "netns-lab/lookup/routes.h"

#define BATCH	    64 /* the smallest queue on the way, of a veth, has 256 places */
#define PATIENCE_MS 60000
#define ROUTER_MAC  "\x02\x00\x00\x00\x00\x01"
#define SENDER_MAC  "\x02\x00\x00\x00\x00\x02"
/* Every list lets these pass first. */
#define MARKER_PORT 9

enum marker { MARKER_FAST, MARKER_KERNEL, MARKERS };

struct list {
	enum lab_rule_style style;
	uint32_t family, n, seed;
	uint8_t af;
};

struct frame {
	uint8_t bytes[LAB_FLOW_FRAME_MAX];
	uint32_t len; /* 0: it did not come */
};

struct twin {
	const char *name;
	int in, out; /* sockets */
	struct frame came[BATCH + MARKERS];
};

struct counts {
	uint64_t passed, denied, marked; /* marked: of those that passed, with another DSCP */
};

static struct sl_rule rules[SL_RULES_MAX + 1];

/* --- The list --- */

static const char *marker_address(uint8_t af)
{
	return af == AF_INET ? "198.51.100.1" : "2001:db8:ffff::1";
}

/* Does the rule ask for a protocol that has ports? Else sluice refuses that it asks for ports. */
static bool may_ask_for_ports(const struct sl_rule *rule)
{
	const struct sl_ranges *protocol = &rule->field[SL_FIELD_PROTOCOL];

	return protocol->n &&
	       (protocol->range[0].low == IPPROTO_TCP || protocol->range[0].low == IPPROTO_UDP);
}

/* Rule 0 lets markers pass, and one in four of the rules that permit sets a DSCP. */
static void make_rules(const struct list *list)
{
	lab_rules_make(list->style, list->af, list->n, list->seed, rules + 1);
	sl_prefix_parse(marker_address(list->af), &rules[0].prefix[SL_SIDE_SOURCE]);
	for (uint32_t i = 1; i <= list->n; i++) {
		if (!may_ask_for_ports(&rules[i]))
			rules[i].field[SL_FIELD_SOURCE_PORT].n = 0;
		if (rules[i].action == SL_FILTER_PERMIT && i % 4 == 0)
			rules[i].action |= (i % 64 + 1) << SL_RULE_DSCP_SHIFT;
	}
}

/* Lists differ in what they do with the rest. */
static uint32_t default_action(const struct list *list)
{
	return list->seed % 2 ? SL_FILTER_DENY : SL_FILTER_PERMIT;
}

/* --- Packets --- */

static void marker(const struct list *list, enum marker kind, struct sl_flow *flow)
{
	uint8_t family, addr[16];

	memset(flow, 0, sizeof(*flow));
	sl_addr_parse(marker_address(list->af), &family, addr);
	sl_flow_address(family, addr, flow->address[SL_SIDE_SOURCE]);
	sl_flow_address(family, addr, flow->address[SL_SIDE_DESTINATION]);
	flow->field[SL_FIELD_PROTOCOL] = kind == MARKER_FAST ? 17 : 253;
	flow->field[SL_FIELD_DESTINATION_PORT] = MARKER_PORT;
}

/* The kernel forwards a packet with options, IPv4's or hop by hop; XDP never does. */
static uint32_t marker_frame(const struct list *list, enum marker kind, uint32_t id,
			     uint8_t frame[LAB_FLOW_FRAME_MAX])
{
	const uint8_t macs[] = ROUTER_MAC SENDER_MAC;
	struct sl_flow flow;
	uint64_t random = 1;
	uint32_t len;
	bool has_options;

	marker(list, kind, &flow);
	do {
		len = lab_flow_frame(&flow, list->af, macs, id, &random, frame);
		has_options = list->af == AF_INET ? frame[ETH_HLEN] != 0x45
						  : frame[ETH_HLEN + 6] == IPPROTO_HOPOPTS;
	} while (has_options != (kind == MARKER_KERNEL) ||
		 (list->af == AF_INET6 && kind == MARKER_FAST && frame[ETH_HLEN + 6] != 17));
	return len;
}

/* --- Sockets --- */

static int open_socket(const char *netdev, int *out)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
				       .sll_protocol = sl_htons(ETH_P_ALL),
				       .sll_ifindex = (int)if_nametoindex(netdev) };
	int room = 64 << 20, one = 1;

	if (!address.sll_ifindex)
		return lab_fail(2, "\"%s\" is no netdev here", netdev);
	*out = socket(AF_PACKET, SOCK_RAW, 0);
	if (*out < 0 || setsockopt(*out, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(*out, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(*out, (struct sockaddr *)&address, sizeof(address)))
		return lab_fail(1, "cannot listen at %s: %s", netdev, strerror(errno));
	return 0;
}

/* Take in what has come. id_first is that of the batch's first packet. 0, or the exit status. */
static int take(struct twin *twin, uint32_t id_first)
{
	for (;;) {
		struct frame frame;
		ssize_t n = recv(twin->out, frame.bytes, sizeof(frame.bytes), MSG_DONTWAIT);
		uint32_t id;

		if (n < 0)
			return errno == EAGAIN ? 0
					       : lab_fail(1, "%s: %s", twin->name, strerror(errno));
		frame.len = (uint32_t)n;
		if (!lab_flow_frame_id(frame.bytes, frame.len, &id))
			continue; /* the kernels talk to each other */
		if (id - id_first >= BATCH + MARKERS || twin->came[id - id_first].len)
			return lab_fail(1, "%s: packet %u came twice, or after its batch",
					twin->name, id);
		twin->came[id - id_first] = frame;
	}
}

static bool has_markers(const struct twin *twin)
{
	return twin->came[BATCH + MARKER_FAST].len && twin->came[BATCH + MARKER_KERNEL].len;
}

static int await_markers(struct twin *twin, uint32_t id_first)
{
	const uint64_t deadline_ns = lab_now_ns() + PATIENCE_MS * 1000000ULL;
	struct pollfd ready = { .fd = twin->out, .events = POLLIN };
	int err = take(twin, id_first);

	while (!err && !has_markers(twin)) {
		if (lab_now_ns() > deadline_ns)
			return lab_fail(1, "%s: no end of the batch came within %d s", twin->name,
					PATIENCE_MS / 1000);
		poll(&ready, 1, 1000);
		err = take(twin, id_first);
	}
	return err;
}

/* --- Comparison --- */

static void print_hex(const char *name, const uint8_t *bytes, uint32_t len)
{
	fprintf(stderr, "%s:", name);
	for (uint32_t i = 0; i < len && i < 96; i++)
		fprintf(stderr, "%s%02x", i % 4 == ETH_HLEN % 4 ? " " : "", bytes[i]);
	fprintf(stderr, "%s\n", len ? "" : " nothing");
}

static uint32_t dscp_of(const uint8_t *frame, uint8_t af)
{
	const uint8_t *ip = frame + ETH_HLEN;

	return af == AF_INET ? ip[1] >> 2 : (ip[0] & 15) << 2 | ip[1] >> 6;
}

static int compare(const struct list *list, const struct twin twins[2], const struct frame *sent,
		   uint32_t id, uint32_t n, struct counts *counts)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct frame *a = &twins[0].came[i], *b = &twins[1].came[i];

		if (a->len != b->len || memcmp(a->bytes, b->bytes, a->len)) {
			print_hex("sent", sent[i].bytes, sent[i].len);
			print_hex(twins[0].name, a->bytes, a->len);
			print_hex(twins[1].name, b->bytes, b->len);
			return lab_fail(1, "packet %u leaves the routers differently", id + i);
		}
		counts->passed += a->len > 0;
		counts->denied += a->len == 0;
		counts->marked +=
			a->len && dscp_of(a->bytes, list->af) != dscp_of(sent[i].bytes, list->af);
	}
	return 0;
}

/* Send n packets of a batch and its markers to both, and compare. 0, or the exit status. */
static int batch(const struct list *list, struct twin twins[2], uint32_t id, uint32_t n,
		 uint64_t *random, struct counts *counts)
{
	static struct frame sent[BATCH + MARKERS];
	const uint8_t macs[] = ROUTER_MAC SENDER_MAC;
	int err = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct sl_flow flow;

		lab_rules_flow(rules, list->n + 1, list->af, random, &flow);
		sent[i].len = lab_flow_frame(&flow, list->af, macs, id + i, random, sent[i].bytes);
	}
	for (enum marker m = 0; m < MARKERS; m++)
		sent[BATCH + m].len = marker_frame(list, m, id + BATCH + m, sent[BATCH + m].bytes);
	for (struct twin *twin = twins; twin < twins + 2 && !err; twin++) {
		memset(twin->came, 0, sizeof(twin->came));
		for (uint32_t i = 0; i < BATCH + MARKERS && !err; i++)
			if ((i < n || i >= BATCH) &&
			    send(twin->in, sent[i].bytes, sent[i].len, 0) < 0)
				err = lab_fail(1, "%s: cannot send: %s", twin->name,
					       strerror(errno));
		if (!err)
			err = await_markers(twin, id);
	}
	return err ? err : compare(list, twins, sent, id, n, counts);
}

static int send_all(const struct list *list, uint32_t packets, char *const netdevs[4])
{
	static struct twin twins[2] = { { .name = "sluice" }, { .name = "nftables" } };
	struct counts counts = { 0 };
	uint64_t random = list->seed * 2 + 1;
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		err = open_socket(netdevs[2 * i], &twins[i].in);
		if (!err)
			err = open_socket(netdevs[2 * i + 1], &twins[i].out);
	}
	for (uint32_t done = 0, id = 0; done < packets && !err; id += BATCH + MARKERS) {
		uint32_t n = packets - done < BATCH ? packets - done : BATCH;

		err = batch(list, twins, id, n, &random, &counts);
		done += n;
	}
	if (!err)
		lab_print_json(json_pack("{s:I, s:I, s:I}", "passed", (json_int_t)counts.passed,
					 "denied", (json_int_t)counts.denied, "marked",
					 (json_int_t)counts.marked));
	return err;
}

/* --- The command --- */

static int parse_style(const char *text, enum lab_rule_style *out)
{
	for (enum lab_rule_style style = 0; style < LAB_RULE_STYLES; style++)
		if (!strcmp(text, lab_rule_style_name(style))) {
			*out = style;
			return 0;
		}
	return lab_fail(2, "\"%s\" is no style: write acl, fw, ipc, hostile, cross or exact", text);
}

static const char usage[] =
	"usage: filter-twins sluice [OPTION]... PORT\n"
	"       filter-twins nft [OPTION]...\n"
	"       filter-twins flows -s exact [OPTION]...\n"
	"       filter-twins nft-map -s exact [OPTION]...\n"
	"       filter-twins send [OPTION]... SLUICE-IN SLUICE-OUT NFT-IN NFT-OUT\n"
	"  -s, --style STYLE   acl, fw, ipc, hostile, cross, exact (default acl)\n"
	"  -f, --family 4|6    of the list (default 4)\n"
	"  -r, --rules N       of the list (default 100)\n"
	"  -S, --seed N        (default 1)\n"
	"  -n, --packets N     send: how many (default 1000)\n";

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "style", required_argument, NULL, 's' },
		{ "family", required_argument, NULL, 'f' },
		{ "rules", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 'S' },
		{ "packets", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct list list = { .family = 4, .n = 100, .seed = 1 };
	uint32_t packets = 1000;
	int c, err = 0;

	while (!err && (c = getopt_long(argc, argv, "s:f:r:S:n:h", options, NULL)) != -1) {
		if (c == 's')
			err = parse_style(optarg, &list.style);
		else if (c == 'f')
			err = lab_parse_u32("family", optarg, 4, 6, &list.family);
		else if (c == 'r')
			err = lab_parse_u32("rules", optarg, 0, SL_RULES_MAX - 1, &list.n);
		else if (c == 'S')
			err = lab_parse_u32("seed", optarg, 1, 1u << 31, &list.seed);
		else if (c == 'n')
			err = lab_parse_u32("packets", optarg, 1, 100000000, &packets);
		else if (c == 'h')
			return printf("%s", usage) < 0;
		else
			err = 2;
	}
	if (err)
		return err;
	list.af = list.family == 4 ? AF_INET : AF_INET6;
	make_rules(&list);
	argc -= optind;
	argv += optind;
	if (argc == 2 && !strcmp(argv[0], "sluice"))
		lab_rules_print_sluice(stdout, rules, list.n + 1, argv[1], default_action(&list));
	else if (argc == 1 && !strcmp(argv[0], "nft"))
		lab_rules_print_nft(stdout, rules, list.n + 1, list.af, default_action(&list));
	else if (argc == 1 && list.style == LAB_RULES_EXACT && !strcmp(argv[0], "flows"))
		lab_rules_print_flows(stdout, rules + 1, list.n);
	else if (argc == 1 && list.style == LAB_RULES_EXACT && !strcmp(argv[0], "nft-map"))
		lab_rules_print_nft_map(stdout, rules + 1, list.n, list.af);
	else if (argc == 5 && !strcmp(argv[0], "send"))
		err = send_all(&list, packets, argv + 1);
	else
		return lab_fail(2, "%s", usage);
	return lab_exit_status(err);
}
