/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice sflow: samples of frames and counters to collectors. A program of its own, since a flood
 * of samples then keeps neither sluiced nor forwarding waiting, and what it needs (to trace XDP
 * programs) sluiced may do without.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/capture/capture_loop.h"
#include "user/cli/cmd.h"
#include "user/config/config.h"
#include "user/datapath/counters.h"
#include "user/lib/clock.h"
#include "user/sflow/datagram.h"
#include "user/sflow/netdev_counters.h"
#include "user/text/prefix.h"

#define RING_BYTES 262144
#define ROUND_MS   100 /* a sample waits so long at most; the specification allows a second */
#define SECOND_NS  1000000000ULL

struct collector {
	struct sockaddr_storage address;
	socklen_t address_bytes;
};

struct sflow {
	const struct sl_sflow_settings *settings;
	const char *pin_dir;
	struct sl_sflow_agent agent;
	struct collector collector[SL_SFLOW_COLLECTORS_MAX];
	int fd4, fd6; /* owned; -1: not open */
	uint64_t begun_ns, polled_ns;
	struct sl_sflow_datagram datagram; /* being filled */
	uint32_t sequence;		   /* of the latest datagram */
	/* Of the latest samples, by slot */
	uint32_t flow_sequence[SL_CAPTURE_PORTS_MAX], counters_sequence[SL_CAPTURE_PORTS_MAX];
	uint64_t n_samples, n_datagrams, n_unsent;
};

static const char usage[] =
	"Usage: sluice [OPTION]... sflow [-c FILE]\n\n"
	"Send samples of the frames that enter this node's ports, and the ports' counters, to the\n"
	"collectors that the configuration names under sflow (sFlow version 5), until SIGINT or\n"
	"SIGTERM.\n\n"
	"  -c, --config FILE  the configuration (default " SL_CONFIG_DEFAULT_PATH ")\n"
	"  -h, --help         this text\n\n"
	"See sluice.yaml(5).\n";

/* --- Datagrams --- */

static void begin_datagram(struct sflow *s)
{
	sl_sflow_datagram_begin(&s->datagram, &s->agent, s->sequence + 1,
				(uint32_t)((sl_now_ns() - s->begun_ns) / 1000000));
}

/* A collector that does not take it loses it: its sequence numbers tell it so. */
static void flush_datagram(struct sflow *s)
{
	if (!s->datagram.n_samples)
		return;
	for (uint32_t i = 0; i < s->settings->collectors.n; i++) {
		const struct collector *to = &s->collector[i];
		int fd = to->address.ss_family == AF_INET6 ? s->fd6 : s->fd4;

		if (sendto(fd, s->datagram.bytes, s->datagram.n_bytes, MSG_DONTWAIT,
			   (const struct sockaddr *)&to->address, to->address_bytes) < 0)
			s->n_unsent++;
		else
			s->n_datagrams++;
	}
	s->sequence++;
	begin_datagram(s);
}

/* --- Frames --- */

static uint32_t drop_code(uint8_t reason1)
{
	static const uint16_t codes[SL_DROP_COUNT] = {
		[SL_DROP_VOQ_FULL] = SL_SFLOW_DROP_NO_BUFFER,
		[SL_DROP_VOQ_DELAY] = SL_SFLOW_DROP_NO_BUFFER,
		[SL_DROP_VOQ_STOPPED] = SL_SFLOW_DROP_NO_BUFFER,
		[SL_DROP_VOQ_MEMORY] = SL_SFLOW_DROP_NO_BUFFER,
		[SL_DROP_NO_BRIDGE] = SL_SFLOW_DROP_NO_BUFFER,
		[SL_DROP_FABRIC_SPOOF] = SL_SFLOW_DROP_ACL,
		[SL_DROP_FILTER] = SL_SFLOW_DROP_ACL,
		[SL_DROP_FILTER_HEADERS] = SL_SFLOW_DROP_ACL,
		[SL_DROP_TTL_LIMIT] = SL_SFLOW_DROP_TTL,
		[SL_DROP_POLICED] = SL_SFLOW_DROP_SHAPING,
	};

	if (reason1 == SL_DROP_NO_ROUTE_LIMIT + 1)
		return SL_SFLOW_NET_UNREACHABLE;
	return reason1 && reason1 <= SL_DROP_COUNT && codes[reason1 - 1] ? codes[reason1 - 1]
									 : SL_SFLOW_DROP_UNKNOWN;
}

static uint32_t output_of(const struct sl_sighting *sighting)
{
	switch (sighting->outcome) {
	case SL_OUTCOME_FORWARD:
		return sighting->other_ifindex;
	case SL_OUTCOME_DROPPED:
		return SL_SFLOW_OUT_DROPPED | drop_code(sighting->reason);
	case SL_OUTCOME_KERNEL:
		return sighting->reason == SL_PUNT_LOCAL + 1 ? SL_SFLOW_OUT_INTERNAL
							     : SL_SFLOW_OUT_UNKNOWN;
	default:
		return SL_SFLOW_OUT_UNKNOWN;
	}
}

static bool slot_of(const struct sl_capture_loop *loop, uint32_t ifindex, uint32_t *slot)
{
	uint32_t n;
	const struct sl_capture_port *port = sl_xdp_capture_ports(loop->capture, &n);

	for (*slot = 0; *slot < n; (*slot)++)
		if (port[*slot].ifindex == ifindex)
			return true;
	return false;
}

static void seen(struct sl_capture_loop *loop, const struct sl_sighting *sighting)
{
	struct sflow *s = loop->user;
	struct sl_capture_count count;
	struct sl_sflow_flow flow;
	uint32_t slot;

	if (!slot_of(loop, sighting->ifindex, &slot))
		return;
	sl_xdp_capture_counts(loop->capture, slot, 0, &count);
	flow = (struct sl_sflow_flow){
		.sequence = ++s->flow_sequence[slot],
		.ifindex = sighting->ifindex,
		.sampling = s->settings->sampling,
		.pool = (uint32_t)count.pool,
		.drops = (uint32_t)count.lost,
		.out = output_of(sighting),
		.frame_bytes = sighting->frame_bytes,
		.header_bytes = sighting->copied_bytes,
		.header = sighting->bytes,
	};
	if (!sl_sflow_datagram_flow(&s->datagram, &flow)) {
		flush_datagram(s);
		sl_sflow_datagram_flow(&s->datagram, &flow);
	}
	s->n_samples++;
}

/* --- Counters --- */

/* A port that is not there now has no counters, and keeps its sequence. What the fast path drops,
 * the netdev knows as received. */
static void add_counters(struct sflow *s, const struct sl_capture_port *port, uint32_t slot)
{
	struct sl_sflow_counters counters;
	struct sl_counter dropped;

	if (sl_netdev_counters_read(port->name, &counters) || counters.ifindex != port->ifindex)
		return;
	if (!sl_port_drops_read_pinned(s->pin_dir, port->ifindex, &dropped))
		counters.in_discards += (uint32_t)dropped.packets;
	counters.sequence = ++s->counters_sequence[slot];
	if (!sl_sflow_datagram_counters(&s->datagram, &counters)) {
		flush_datagram(s);
		sl_sflow_datagram_counters(&s->datagram, &counters);
	}
	s->n_samples++;
}

static void shown(struct sl_capture_loop *loop)
{
	struct sflow *s = loop->user;
	uint64_t now_ns = sl_now_ns();
	uint32_t n;
	const struct sl_capture_port *port = sl_xdp_capture_ports(loop->capture, &n);

	if (s->settings->polling_s &&
	    (!s->polled_ns || now_ns - s->polled_ns >= s->settings->polling_s * SECOND_NS)) {
		s->polled_ns = now_ns;
		for (uint32_t slot = 0; slot < n; slot++)
			add_counters(s, &port[slot], slot);
	}
	flush_datagram(s);
}

/* --- The command --- */

static void begun(struct sl_capture_loop *loop)
{
	struct sflow *s = loop->user;
	char agent[SL_PREFIX_STRLEN];

	fprintf(stderr, "sluice: sflow: agent %s samples 1 of %u frames for %u collector%s\n",
		sl_addr_format(s->agent.family, s->agent.address, agent), s->settings->sampling,
		s->settings->collectors.n, s->settings->collectors.n == 1 ? "" : "s");
}

static void ended(struct sl_capture_loop *loop)
{
	struct sflow *s = loop->user;
	struct sl_capture_count count;
	uint64_t pool = 0;
	uint32_t n;

	sl_xdp_capture_ports(loop->capture, &n);
	for (uint32_t slot = 0; slot < n; slot++) {
		sl_xdp_capture_counts(loop->capture, slot, 0, &count);
		pool += count.pool;
	}
	fprintf(stderr,
		"sluice: sflow: %" PRIu64 " frames entered; %" PRIu64 " samples, %" PRIu64
		" lost; %" PRIu64 " datagrams, %" PRIu64 " not sent\n",
		pool, s->n_samples, loop->n_lost, s->n_datagrams, s->n_unsent);
}

static socklen_t make_address(uint8_t family, const uint8_t *bytes, uint16_t port,
			      struct sockaddr_storage *out)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (family == AF_INET6) {
		memcpy(&in6.sin6_addr, bytes, sizeof(in6.sin6_addr));
		memcpy(out, &in6, sizeof(in6));
		return sizeof(in6);
	}
	memcpy(&in.sin_addr, bytes, sizeof(in.sin_addr));
	memcpy(out, &in, sizeof(in));
	return sizeof(in);
}

/* The address that this node sends from to a collector. 0 or -errno. */
static int choose_agent(const struct collector *to, struct sl_sflow_agent *agent)
{
	int fd = socket(to->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	struct sockaddr_storage from;
	socklen_t bytes = sizeof(from);
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to->address, to->address_bytes) ||
	    getsockname(fd, (struct sockaddr *)&from, &bytes))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		return err;
	agent->family = (uint8_t)from.ss_family;
	memcpy(&in, &from, sizeof(in));
	memcpy(&in6, &from, sizeof(in6));
	if (agent->family == AF_INET6)
		memcpy(agent->address, &in6.sin6_addr, sizeof(in6.sin6_addr));
	else
		memcpy(agent->address, &in.sin_addr, sizeof(in.sin_addr));
	return 0;
}

/* Returns an exit status, after a message unless it is SL_EXIT_OK. */
static int prepare(struct sflow *s)
{
	const struct sl_sflow_settings *settings = s->settings;
	uint8_t family, bytes[16];
	int err = 0;

	for (uint32_t i = 0; i < settings->collectors.n; i++) {
		const struct sl_sflow_collector *c = sl_sflow_collector(settings, i);
		struct collector *to = &s->collector[i];
		int *fd;

		sl_addr_parse(c->address, &family, bytes);
		to->address_bytes = make_address(
			family, bytes, (uint16_t)(c->port ?: SL_SFLOW_PORT_DEFAULT), &to->address);
		fd = family == AF_INET6 ? &s->fd6 : &s->fd4;
		if (*fd < 0)
			*fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (*fd < 0) {
			fprintf(stderr, "sluice: sflow: no socket for \"%s\": %s\n", c->address,
				strerror(errno));
			return SL_EXIT_FAILED;
		}
	}
	if (settings->agent)
		sl_addr_parse(settings->agent, &s->agent.family, s->agent.address);
	else
		err = choose_agent(&s->collector[0], &s->agent);
	if (err) {
		fprintf(stderr,
			"sluice: sflow: no address for the agent, since \"%s\" cannot be reached: "
			"%s: write \"agent: ADDRESS\" under sflow\n",
			sl_sflow_collector(settings, 0)->address, strerror(-err));
		return SL_EXIT_FAILED;
	}
	return SL_EXIT_OK;
}

static int run(const struct sl_cmd_options *options, const struct sl_settings *settings)
{
	struct sflow *s = calloc(1, sizeof(*s));
	const char **ports = calloc(settings->ports.n + 1, sizeof(*ports));
	struct sl_capture_loop loop = {
		.command = "sflow",
		.ports = ports,
		.n_ports = settings->ports.n,
		.snap_bytes = settings->sflow.header_bytes,
		.sampling = settings->sflow.sampling,
		.ring_bytes = RING_BYTES,
		.round_ms = ROUND_MS,
		.seen = seen,
		.begun = begun,
		.shown = shown,
		.user = s,
	};
	int status = SL_EXIT_FAILED;

	if (!s || !ports) {
		fprintf(stderr, "sluice: sflow: not enough memory\n");
		goto out;
	}
	for (uint32_t i = 0; i < settings->ports.n; i++)
		ports[i] = sl_settings_port(settings, i)->name;
	s->settings = &settings->sflow;
	s->pin_dir = options->pin_dir;
	s->fd4 = s->fd6 = -1;
	s->begun_ns = sl_now_ns();
	status = prepare(s);
	if (status == SL_EXIT_OK) {
		begin_datagram(s);
		if (sl_capture_loop_run(&loop, ended))
			status = SL_EXIT_FAILED;
	}
	if (s->fd4 >= 0)
		close(s->fd4);
	if (s->fd6 >= 0)
		close(s->fd6);
out:
	free(ports);
	free(s);
	return status;
}

int sl_cmd_sflow(const struct sl_cmd_options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = SL_CONFIG_DEFAULT_PATH;
	char error[SL_YAML_ERROR_BYTES] = "";
	struct sl_settings *settings;
	int option, status;

	optind = 0;
	argv--; /* getopt wants a name before the arguments; the command's is there */
	argc++;
	while ((option = getopt_long(argc, argv, "+c:h", longs, NULL)) != -1) {
		if (option != 'c')
			return sl_cmd_other_option(option, usage, "sflow");
		path = optarg;
	}
	if (optind < argc) {
		fprintf(stderr, "sluice: sflow: \"%s\" is one argument too many\n", argv[optind]);
		return SL_EXIT_USAGE;
	}
	if (sl_settings_load(path, &settings, error)) {
		fprintf(stderr, "sluice: sflow: %s\n", error);
		return SL_EXIT_USAGE;
	}
	if (settings->sflow.line) {
		status = run(options, settings);
	} else {
		fprintf(stderr,
			"sluice: sflow: %s names no collectors: write \"sflow: {collectors: "
			"[{address: ADDRESS}]}\"\n",
			path);
		status = SL_EXIT_USAGE;
	}
	sl_settings_free(settings);
	return status;
}
