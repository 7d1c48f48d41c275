/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice status: the daemon's answer; while none runs, what the last one left running. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/ipc/control_client.h"
#include "user/cli/cmd.h"
#include "user/show/counter_rows.h"
#include "user/datapath/counters.h"
#include "user/datapath/pins.h"
#include "user/lib/clock.h"
#include "user/datapath/xdp.h"

static json_t *member(const json_t *row, const char *key)
{
	return json_object_get(row, key);
}

static void print_bytes(long long bytes)
{
	printf("%.1f MiB", (double)bytes / (1024 * 1024));
}

static void print_uptime(long long s)
{
	if (s >= 86400)
		printf("%lld d %lld h", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		printf("%lld h %lld min", s / 3600, s / 60 % 60);
	else
		printf("%lld min %lld s", s / 60, s % 60);
}

static void print_ports(const json_t *ports)
{
	const json_t *port;
	size_t i;

	fputs("ports     ", stdout);
	json_array_foreach(ports, i, port) {
		const char *mode = sl_cmd_text(port, "mode"), *state = sl_cmd_text(port, "state");
		bool on = strcmp(state, "on") == 0;

		printf("%s %s %s", i ? "," : "", sl_cmd_text(port, "port"), on ? mode : state);
	}
	puts(json_array_size(ports) ? "" : " none");
}

static void print_use(const json_t *tables, const char *key, const char *text)
{
	const json_t *use = member(tables, key);

	if (use)
		printf(", %lld/%lld %s", sl_cmd_number(use, "used"), sl_cmd_number(use, "size"),
		       text);
}

static void print_filters(const json_t *filters, const char *what)
{
	const bool ipv4 = json_is_true(member(filters, "ipv4"));
	const bool ipv6 = json_is_true(member(filters, "ipv6"));

	if (ipv4 || ipv6)
		printf("           %s: the kernel forwards%s%s (%s)\n", what, ipv4 ? " IPv4" : "",
		       ipv6 ? " IPv6" : "", sl_cmd_text(filters, "example"));
}

/* Of the punts that have one. */
static void print_limits(const json_t *limits)
{
	const char *reason, *before = "limits     ";
	json_t *limit;

	json_object_foreach((json_t *)limits, reason, limit) {
		if (!json_integer_value(limit))
			continue;
		printf("%s%lld %s", before, (long long)json_integer_value(limit), reason);
		before = ", ";
	}
	if (*before == ',')
		printf(", packets to the kernel a second and processor\n");
}

/* Where there is room for exact flows. */
static void print_flows(const json_t *flows)
{
	if (sl_cmd_number(flows, "limit"))
		printf("flows      %lld of %lld exact flows, which decided %lld packets\n",
		       sl_cmd_number(flows, "flows"), sl_cmd_number(flows, "limit"),
		       sl_cmd_number(flows, "packets"));
}

/* Is the bridge there? If not: what becomes of the frames that it is for? */
static void print_bridge(const json_t *bridge)
{
	if (!json_is_object(bridge))
		return;
	if (json_is_true(member(bridge, "running")))
		printf("bridge     runs (%s)\n", sl_cmd_text(bridge, "control"));
	else
		printf("bridge     is not running: frames leave ports with queues at once%s\n",
		       json_is_true(member(bridge, "fabric")) ? ", none reaches another node" : "");
}

static void print_status(void *arg, const json_t *row)
{
	const json_t *mirror = member(row, "mirror"), *tables = member(row, "tables"),
		     *packets = member(row, "packets");
	long long overflow =
		sl_cmd_number(tables, "ipv4_overflow") + sl_cmd_number(tables, "ipv6_overflow");

	(void)arg;
	printf("sluiced    %s, process %lld, up ", sl_cmd_text(row, "version"),
	       sl_cmd_number(row, "pid"));
	print_uptime(sl_cmd_number(row, "uptime_s"));
	if (sl_cmd_number(row, "heartbeat_s"))
		printf("\n           without it the kernel forwards after %lld s",
		       sl_cmd_number(row, "heartbeat_s"));
	printf("\nengine     %s (%s)\n", sl_cmd_text(row, "engine"), sl_cmd_text(row, "config"));
	print_ports(member(row, "ports"));
	print_bridge(member(row, "bridge"));
	printf("kernel     %lld IPv4 and %lld IPv6 routes, %lld neighbours, %s\n",
	       sl_cmd_number(mirror, "ipv4_routes"), sl_cmd_number(mirror, "ipv6_routes"),
	       sl_cmd_number(mirror, "neighbours"),
	       json_is_true(member(mirror, "synced")) ? "in step" : "being read");
	if (json_is_true(member(mirror, "ipv4_policy")) ||
	    json_is_true(member(mirror, "ipv6_policy")))
		printf("           policy rules: the kernel forwards%s%s\n",
		       json_is_true(member(mirror, "ipv4_policy")) ? " IPv4" : "",
		       json_is_true(member(mirror, "ipv6_policy")) ? " IPv6" : "");
	if (json_is_true(member(mirror, "ipv4_use_pmtu")))
		printf("           ip_forward_use_pmtu: the kernel forwards IPv4\n");
	if (json_is_true(member(mirror, "starved")))
		printf("           sluiced found no memory for all of it: the kernel forwards\n");
	print_filters(member(mirror, "xfrm"), "IPsec policies");
	print_filters(member(mirror, "netfilter"), "netfilter rules");
	printf("tables     %lld IPv4 and %lld IPv6 prefixes",
	       sl_cmd_number(tables, "ipv4_prefixes"), sl_cmd_number(tables, "ipv6_prefixes"));
	print_use(tables, "nexthops", "next hops");
	print_use(tables, "ipv4_pages", "IPv4 pages");
	print_use(tables, "ipv6_pages", "IPv6 pages");
	printf("\n");
	if (overflow)
		printf("           %lld routes do not fit: the kernel forwards for them\n",
		       overflow);
	fputs("memory     process ", stdout);
	print_bytes(sl_cmd_number(row, "process_bytes"));
	fputs(", maps ", stdout);
	print_bytes(sl_cmd_number(tables, "map_bytes"));
	printf("\npackets    in %lld = forwarded %lld", sl_cmd_number(packets, "rx"),
	       sl_cmd_number(packets, "forward"));
	if (sl_cmd_number(packets, "voq"))
		printf(" + into queues %lld", sl_cmd_number(packets, "voq"));
	printf(" + dropped %lld + to the kernel %lld\n", sl_cmd_number(packets, "drops"),
	       sl_cmd_number(packets, "punts"));
	print_flows(member(row, "exact_flows"));
	print_limits(member(row, "punt_limits"));
	if (sl_cmd_number(packets, "unsent"))
		printf("           %lld of those forwarded were not taken by the egress driver\n",
		       sl_cmd_number(packets, "unsent"));
}

/* --- Without a daemon --- */

/* The program that is looked for, by its id. */
struct wanted {
	uint32_t prog_id;
	bool found;
};

static int compare(void *ctx, int fd)
{
	struct wanted *wanted = ctx;

	wanted->found |= sl_xdp_prog_id(fd) == wanted->prog_id;
	close(fd);
	return 0;
}

/* Is it our program? 0: yes; -EPERM: this user may not know; else no. */
static int check_ours(const char *pin_dir, uint32_t prog_id)
{
	struct wanted wanted = { .prog_id = prog_id };
	char name[16];
	int fd;

	sl_pins_get_all(pin_dir, 0, "sl_edge", compare, &wanted);
	if (wanted.found)
		return 0;
	fd = sl_xdp_open_ours(prog_id, name);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* The netdevs that carry our program; NULL: this user may not know whose programs are there. */
static json_t *attached_ports(const char *pin_dir)
{
	struct if_nameindex *links = if_nameindex(), *link;
	json_t *ports = json_array();

	for (link = links; link && link->if_index && ports; link++) {
		struct sl_xdp_state now;
		int err;

		if (sl_xdp_query(link->if_index, &now) || now.mode == SL_XDP_NONE)
			continue;
		err = check_ours(pin_dir, now.prog_id);
		if (err == -EPERM) {
			json_decref(ports);
			ports = NULL;
		} else if (!err) {
			json_array_append_new(ports, json_pack("{s:s, s:s, s:s, s:i}", "port",
							       link->if_name, "state", "on", "mode",
							       sl_xdp_mode_name(now.mode),
							       "prog_id", (int)now.prog_id));
		}
	}
	if (links)
		if_freenameindex(links);
	return ports;
}

/*
 * For how many seconds the fast path goes on without a daemon: 0, the kernel forwards already; -1:
 * for ever, or this user may not know.
 */
static int goes_on_s(const char *pin_dir)
{
	int fd = sl_pins_get(pin_dir, 0, "sl_heartbeat"), left_s = -1;
	struct sl_heartbeat last;
	uint64_t away_s;

	if (fd < 0)
		return -1;
	if (!sl_heartbeat_read(fd, &last) && last.limit_s) {
		away_s = (sl_now_ns() - last.beat_ns) / 1000000000ULL;
		left_s = away_s < last.limit_s ? (int)(last.limit_s - away_s) : 0;
	}
	close(fd);
	return left_s;
}

static void print_without_daemon(const json_t *ports, int left_s)
{
	fputs("sluiced    is not running; ", stdout);
	if (!ports)
		puts("only root may know whose XDP programs are on the ports");
	else if (!json_array_size(ports) || !left_s)
		puts("the kernel forwards");
	else if (left_s < 0)
		puts("the fast path goes on with the routes it had");
	else
		printf("the fast path goes on with the routes it had for %d s\n", left_s);
}

static void status_without_daemon(const struct sl_cmd_options *options)
{
	json_t *ports = attached_ports(options->pin_dir), *rows = NULL;
	int left_s = goes_on_s(options->pin_dir);
	struct sl_counters counters;

	if (!sl_counters_read_pinned(options->pin_dir, &counters))
		rows = sl_counter_rows(&counters);
	if (options->json) {
		json_t *status = json_pack("{s:b, s:O?, s:O?}", "running", 0, "ports", ports,
					   "counters", rows);

		if (left_s >= 0)
			json_object_set_new(status, "goes_on_s", json_integer(left_s));

		sl_cmd_dump(status);
		json_decref(status);
	} else {
		print_without_daemon(ports, left_s);
		if (ports)
			print_ports(ports);
		if (rows)
			sl_cmd_print_counters(rows, false);
	}
	json_decref(ports);
	json_decref(rows);
}

int sl_cmd_status(const struct sl_cmd_options *options, int argc, char **argv)
{
	json_t *request;

	if (argc > 0) {
		fprintf(stderr, "sluice: status: unexpected argument \"%s\"\n", argv[0]);
		return SL_EXIT_USAGE;
	}
	if (!sl_client_listens(options->socket_path)) {
		status_without_daemon(options);
		return SL_EXIT_NOT_RUNNING;
	}
	request = json_pack("{s:s}", "command", "status");
	if (options->json)
		return sl_cmd_print_json(options, request, false);
	return sl_cmd_ask(options, request, print_status, NULL);
}
