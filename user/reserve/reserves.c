/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/reserve/reserves.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/lib/clock.h"
#include "user/lib/log.h"
#include "user/reserve/flow_way.h"
#include "user/reserve/flow_words.h"
#include "user/reserve/reserve_file.h"
#include "user/reserve/reserve_maps.h"
#include "user/rtnl/rtnl_request.h"
#include "user/text/rate.h"

#define SECOND_NS	1000000000ULL
#define LIFE_NS		(SL_CLAIM_LIFE_S * SECOND_NS)
#define REFRESH_MAX_S	3600
#define WEIGHT_MAX	1024
#define RESOLVES_A_TICK 64 /* neighbours that the kernel is asked to resolve, at most */

struct sl_reserves {
	uint32_t n;
	struct sl_reservation *all[SL_RESERVED_MAX]; /* owned */
	bool places[SL_RESERVED_MAX];		     /* that are taken */
	struct sl_ledger ledger;
	struct sl_rtnl_request *requests; /* owned; NULL: not needed yet, or it failed */
	uint32_t resolves;		  /* since the last tick */
	struct sl_setup_counts setups;
};

int sl_reserves_create(struct sl_reserves **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void sl_reserves_destroy(struct sl_reserves *r)
{
	for (uint32_t i = 0; r && i < r->n; i++)
		free(r->all[i]);
	if (r) {
		sl_ledger_free(&r->ledger);
		sl_rtnl_request_close(r->requests);
	}
	free(r);
}

/* --- The ports of this node --- */

static const struct sl_cluster_settings *cluster_of(const struct sl_reserves_use *use)
{
	return &use->settings->cluster;
}

static bool is_own(const struct sl_reserves_use *use, uint16_t system_port)
{
	return system_port >> 8 == cluster_of(use)->node;
}

/* What flows may reserve of a port of this node. */
static uint64_t limit_of(const struct sl_reserves_use *use, uint16_t system_port)
{
	const struct sl_cluster_node *self =
		sl_cluster_find_node(cluster_of(use), cluster_of(use)->node);

	for (uint32_t i = 0; self && i < self->ports.n; i++)
		if (sl_cluster_port(self, i)->number == (system_port & 0xff))
			return sl_cluster_reservable_Bps(cluster_of(use), sl_cluster_port(self, i));
	return 0;
}

static uint32_t weight_of(uint64_t rate_Bps, uint64_t limit_Bps)
{
	const uint64_t weight = limit_Bps ? rate_Bps * WEIGHT_MAX / limit_Bps : 0;

	return weight < 1 ? 1 : weight > WEIGHT_MAX ? WEIGHT_MAX : (uint32_t)weight;
}

static void tell_flow(const struct sl_reserves_use *use, const struct sl_flow_key *flow,
		      uint16_t system_port, uint64_t rate_Bps)
{
	if (use->cluster)
		sl_cluster_send_flow(use->cluster, system_port, flow,
				     rate_Bps ? weight_of(rate_Bps, limit_of(use, system_port))
					      : 0);
}

/* A claim of this or another node to a port here: into the ledger, and the bridge hears of it. */
static void ask_ledger(struct sl_reserves *r, const struct sl_reserves_use *use, uint8_t node,
		       struct sl_claim_record *record)
{
	if (!sl_ledger_ask(&r->ledger, node, limit_of(use, record->system_port), sl_now_ns(),
			   record))
		return;
	tell_flow(use, &record->flow, record->system_port,
		  record->verdict == SL_CLAIM_GRANTED ? record->rate_Bps : 0);
}

static void give_back_to_ledger(struct sl_reserves *r, const struct sl_reserves_use *use,
				uint8_t node, const struct sl_claim_record *record)
{
	if (sl_ledger_give_back(&r->ledger, node, &record->flow, record->system_port))
		tell_flow(use, &record->flow, record->system_port, 0);
}

/* --- A flow that enters here --- */

/* Does a flow in force enter at the interface? XDP looks at packets of no other interface. */
static bool has_flows(const struct sl_reserves *r, uint32_t l3_ifindex)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->all[i]->state == SL_RESERVE_IN_FORCE && r->all[i]->l3_ifindex == l3_ifindex)
			return true;
	return false;
}

static void withdraw(const struct sl_reserves *r, struct sl_reservation *v,
		     const struct sl_reserves_use *use)
{
	const bool was_in_force = v->state == SL_RESERVE_IN_FORCE;

	v->state = SL_RESERVE_ASKED;
	if (!was_in_force)
		return;
	sl_reserve_maps_delete(v, use->datapath);
	if (!has_flows(r, v->l3_ifindex))
		sl_datapath_port_reserves(use->datapath, v->l3_ifindex, false);
}

/* An answer to its claim has come. */
static void take_answer(struct sl_reserves *r, struct sl_reservation *v,
			const struct sl_reserves_use *use, const struct sl_claim_record *answer)
{
	const bool is_first = v->rule_plus1 && !v->keeps && v->state == SL_RESERVE_ASKED;
	int err = 0;

	v->claim = *answer;
	v->answered_ns = sl_now_ns();
	if (answer->verdict != SL_CLAIM_GRANTED) {
		withdraw(r, v, use);
		v->state = SL_RESERVE_REFUSED;
		r->setups.refused += is_first;
		return;
	}
	if (v->state != SL_RESERVE_IN_FORCE)
		err = sl_reserve_maps_put(v, use->datapath);
	if (err) {
		sl_reserve_maps_delete(v, use->datapath);
		sl_error("a reserved flow does not fit the fast path: %s", strerror(-err));
		v->state = SL_RESERVE_REFUSED;
		r->setups.refused += is_first;
		return;
	}
	r->setups.set_up += is_first;
	v->state = SL_RESERVE_IN_FORCE;
	v->keeps = true;
	sl_datapath_port_reserves(use->datapath, v->l3_ifindex, true);
}

static void send_one(const struct sl_reserves_use *use, uint8_t node, enum sl_claim_kind kind,
		     const struct sl_claim_record *record)
{
	struct sl_announce_part part;

	sl_claim_begin(&part, kind);
	sl_claim_add(&part, record);
	if (use->cluster)
		sl_cluster_send_claims(use->cluster, node, &part);
}

static void give_back(struct sl_reserves *r, const struct sl_reserves_use *use,
		      struct sl_reservation *v)
{
	struct sl_claim_record record = v->claim;

	withdraw(r, v, use);
	if (!record.system_port)
		return;
	v->claim.system_port = 0;
	record.rate_Bps = record.limit_Bps = record.reserved_Bps = 0;
	record.verdict = SL_CLAIM_NONE;
	if (is_own(use, record.system_port))
		give_back_to_ledger(r, use, (uint8_t)cluster_of(use)->node, &record);
	else
		send_one(use, (uint8_t)(record.system_port >> 8), SL_CLAIM_ASK, &record);
}

static void resolve(struct sl_reserves *r, const struct sl_reservation *v)
{
	const uint8_t family = sl_flow_family(&v->flow);

	if (r->resolves >= RESOLVES_A_TICK || (!r->requests && sl_rtnl_request_open(&r->requests)))
		return;
	r->resolves++;
	sl_rtnl_neigh_resolve(r->requests, family, (const uint8_t *)v->flow.destination);
	sl_rtnl_neigh_resolve(r->requests, family, (const uint8_t *)v->flow.source);
}

/* Reserved of the port that the flow enters by, by others that do. */
static uint64_t entering_Bps(const struct sl_reserves *r, const struct sl_reservation *v)
{
	uint64_t sum_Bps = 0;

	for (uint32_t i = 0; i < r->n; i++)
		if (r->all[i] != v && r->all[i]->port_ifindex == v->port_ifindex &&
		    (r->all[i]->state == SL_RESERVE_IN_FORCE ||
		     r->all[i]->state == SL_RESERVE_ASKED))
			sum_Bps += r->all[i]->rate_Bps;
	return sum_Bps;
}

/* What may be reserved of it; UINT64_MAX: its rate is not known. */
static uint64_t entry_limit(const struct sl_reserves_use *use, const struct sl_reservation *v)
{
	const struct sl_cluster_node *self =
		sl_cluster_find_node(cluster_of(use), cluster_of(use)->node);

	for (uint32_t i = 0; self && i < self->ports.n; i++) {
		const struct sl_cluster_port *port = sl_cluster_port(self, i);

		if (if_nametoindex(port->name) == v->port_ifindex && port->rate.per_s &&
		    !port->rate.frames)
			return sl_cluster_reservable_Bps(cluster_of(use), port);
	}
	return UINT64_MAX;
}

static int check_entry(const struct sl_reserves *r, const struct sl_reserves_use *use,
		       const struct sl_reservation *v, char why[SL_RESERVE_WHY_BYTES])
{
	const uint64_t limit_Bps = entry_limit(use, v), others_Bps = entering_Bps(r, v);
	char netdev[IF_NAMESIZE] = "?";

	if (limit_Bps == UINT64_MAX ||
	    (v->rate_Bps <= limit_Bps && others_Bps <= limit_Bps - v->rate_Bps))
		return 0;
	if_indextoname(v->port_ifindex, netdev);
	snprintf(why, SL_RESERVE_WHY_BYTES,
		 "%" PRIu64 " bit/s do not fit the port %s, where the flow enters: of %" PRIu64
		 " bit/s, %" PRIu64 " are reserved",
		 8 * v->rate_Bps, netdev, 8 * limit_Bps, 8 * others_Bps);
	return -ENOSPC;
}

/* Claim a rate where the flow leaves now, anew if that has changed. 0 or the errors of _add. */
static int claim(struct sl_reserves *r, const struct sl_reserves_use *use, struct sl_reservation *v,
		 char why[SL_RESERVE_WHY_BYTES])
{
	struct sl_flow_way way;
	const uint64_t now_ns = sl_now_ns();
	int err = sl_flow_way(use, v, &way, why);

	/* A neighbour is asked whether it is still there, or a route is replaced. */
	if (err == -EHOSTUNREACH && v->state == SL_RESERVE_IN_FORCE &&
	    now_ns - v->way_ns < LIFE_NS) {
		resolve(r, v);
		way = (struct sl_flow_way){ .l3_ifindex = v->l3_ifindex,
					    .port_ifindex = v->port_ifindex,
					    .system_port = v->claim.system_port,
					    .hop_family = v->hop_family };
		memcpy(way.hop, v->hop, sizeof(way.hop));
		err = 0;
	} else if (!err) {
		v->way_ns = now_ns;
	}
	if (err) {
		give_back(r, use, v);
		v->state = SL_RESERVE_NO_ROUTE;
		if (err == -EHOSTUNREACH)
			resolve(r, v);
		return err == -EHOSTUNREACH ? 0 : err;
	}
	if (v->claim.system_port != way.system_port || v->l3_ifindex != way.l3_ifindex)
		give_back(r, use, v);
	v->l3_ifindex = way.l3_ifindex;
	v->port_ifindex = way.port_ifindex;
	v->hop_family = way.hop_family;
	memcpy(v->hop, way.hop, sizeof(v->hop));
	if (v->state != SL_RESERVE_IN_FORCE) {
		err = check_entry(r, use, v, why);
		if (err) {
			v->state = SL_RESERVE_REFUSED;
			return err;
		}
		v->state = SL_RESERVE_ASKED;
	}
	v->claim.flow = v->flow;
	v->claim.system_port = way.system_port;
	v->claim.rate_Bps = v->rate_Bps;
	v->claim.verdict = SL_CLAIM_NONE;
	if (is_own(use, way.system_port)) {
		struct sl_claim_record record = v->claim;

		ask_ledger(r, use, (uint8_t)cluster_of(use)->node, &record);
		take_answer(r, v, use, &record);
	}
	return 0;
}

static struct sl_reservation *find(const struct sl_reserves *r, const struct sl_flow_key *flow)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (memcmp(&r->all[i]->flow, flow, sizeof(*flow)) == 0)
			return r->all[i];
	return NULL;
}

static void end(struct sl_reserves *r, const struct sl_reserves_use *use, struct sl_reservation *v)
{
	give_back(r, use, v);
	r->places[v->place] = false;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->all[i] == v)
			r->all[i] = r->all[--r->n];
	free(v);
}

/* --- Commands --- */

static int read_request(const json_t *request, struct sl_reservation *v,
			char why[SL_RESERVE_WHY_BYTES])
{
	const char *rate_text = json_string_value(json_object_get(request, "rate"));
	const char *netdev = json_string_value(json_object_get(request, "port"));
	const json_t *refresh = json_object_get(request, "refresh_s");
	struct sl_rate rate;
	int err = sl_flow_read(json_object_get(request, "flow"), &v->flow, why);

	if (err)
		return err;
	if (!rate_text || sl_rate_parse(rate_text, &rate) || rate.frames) {
		snprintf(why, SL_RESERVE_WHY_BYTES,
			 "rate: \"%.48s\" is not a rate in bits a second: write such as 10mbit",
			 rate_text ? rate_text : "");
		return -EINVAL;
	}
	if (netdev && (!*netdev || strlen(netdev) >= sizeof(v->netdev))) {
		snprintf(why, SL_RESERVE_WHY_BYTES, "port: \"%.48s\" is not a netdev", netdev);
		return -EINVAL;
	}
	if (refresh &&
	    (json_integer_value(refresh) < 1 || json_integer_value(refresh) > REFRESH_MAX_S)) {
		snprintf(why, SL_RESERVE_WHY_BYTES, "refresh: write a number of seconds, 1 to %d",
			 REFRESH_MAX_S);
		return -EINVAL;
	}
	v->rate_Bps = rate.per_s;
	v->refresh_s = (uint32_t)json_integer_value(refresh);
	v->pinned = json_is_true(json_object_get(request, "pin"));
	snprintf(v->netdev, sizeof(v->netdev), "%s", netdev ? netdev : "");
	return 0;
}

static int add_new(struct sl_reserves *r, const struct sl_reservation *asked,
		   struct sl_reservation **out, char why[SL_RESERVE_WHY_BYTES])
{
	struct sl_reservation *v;
	uint32_t place = 0;

	if (r->n == SL_RESERVED_MAX) {
		snprintf(why, SL_RESERVE_WHY_BYTES, "a node takes at most %u reserved flows",
			 SL_RESERVED_MAX);
		return -ENOSPC;
	}
	v = malloc(sizeof(*v));
	if (!v) {
		snprintf(why, SL_RESERVE_WHY_BYTES, "not enough memory");
		return -ENOMEM;
	}
	while (r->places[place])
		place++;
	*v = *asked;
	v->place = place;
	v->state = SL_RESERVE_NO_ROUTE;
	r->places[place] = true;
	r->all[r->n++] = v;
	*out = v;
	return 0;
}

static bool same_request(const struct sl_reservation *a, const struct sl_reservation *b)
{
	return a->rate_Bps == b->rate_Bps && a->pinned == b->pinned &&
	       strcmp(a->netdev, b->netdev) == 0;
}

static void save(const struct sl_reserves *r)
{
	int err = sl_reserve_file_write(r->all, r->n);

	if (err)
		sl_warning("cannot write " SL_RESERVES_PATH ": %s; a restart of sluiced forgets "
			   "reserved flows",
			   strerror(-err));
}

static int add(struct sl_reserves *r, const struct sl_reserves_use *use, const json_t *request,
	       struct sl_reservation **out, bool *is_new, char why[SL_RESERVE_WHY_BYTES])
{
	struct sl_reservation asked = { 0 }, *v;
	int err = 0;

	*is_new = false;
	if (!cluster_of(use)->node || !cluster_of(use)->reserve) {
		snprintf(why, SL_RESERVE_WHY_BYTES,
			 "this node reserves nothing: write `reserve` into `cluster`, see "
			 "sluice.yaml(5)");
		return -ENOTSUP;
	}
	err = read_request(request, &asked, why);
	if (err)
		return err;
	v = find(r, &asked.flow);
	if (v && v->rule_plus1) {
		end(r, use, v);
		v = NULL;
	}
	if (v && !same_request(v, &asked)) {
		snprintf(why, SL_RESERVE_WHY_BYTES,
			 "the flow is reserved in another way: delete that first");
		return -EEXIST;
	}
	if (!v) {
		err = add_new(r, &asked, &v, why);
		*is_new = !err;
	}
	if (err)
		return err;
	v->refresh_s = asked.refresh_s;
	v->heard_ns = sl_now_ns();
	*out = v;
	return 0;
}

int sl_reserves_add(struct sl_reserves *r, const struct sl_reserves_use *use, const json_t *request,
		    const struct sl_reservation **out, char why[SL_RESERVE_WHY_BYTES])
{
	struct sl_reservation *v = NULL;
	bool is_new;
	int err;

	why[0] = '\0';
	err = add(r, use, request, &v, &is_new, why);
	/* A refusal by another node is told once. */
	if (!err && !is_new && !v->keeps && v->state == SL_RESERVE_REFUSED) {
		sl_reservation_why(v, why);
		err = -ENOSPC;
	}
	if (!err)
		err = claim(r, use, v, why);
	if (!err && is_own(use, v->claim.system_port) && v->state == SL_RESERVE_REFUSED) {
		sl_reservation_why(v, why);
		err = -ENOSPC;
	}
	if (!err && v->state == SL_RESERVE_ASKED)
		send_one(use, (uint8_t)(v->claim.system_port >> 8), SL_CLAIM_ASK, &v->claim);
	*out = v;
	if (err && v && !v->keeps) {
		end(r, use, v);
		*out = NULL;
	}
	if (!err && is_new && !v->refresh_s)
		save(r);
	return err;
}

int sl_reserves_delete(struct sl_reserves *r, const struct sl_reserves_use *use, const json_t *flow,
		       char why[SL_RESERVE_WHY_BYTES])
{
	struct sl_flow_key key;
	struct sl_reservation *v;
	bool saved;
	int err = sl_flow_read(flow, &key, why);

	if (err)
		return err;
	v = find(r, &key);
	if (!v) {
		snprintf(
			why, SL_RESERVE_WHY_BYTES,
			"no such flow is reserved here: write one that `sluice reserve list` shows");
		return -ENOENT;
	}
	saved = !v->refresh_s && !v->rule_plus1;
	end(r, use, v);
	if (saved)
		save(r);
	return 0;
}

/* --- Flows for which rules reserve --- */

static const struct sl_reserving_rule *rule_of(const struct sl_reserves_use *use, uint32_t number)
{
	for (uint32_t i = 0; i < use->n_rules; i++)
		if (use->rules[i].number == number)
			return &use->rules[i];
	return NULL;
}

static uint32_t flows_of(const struct sl_reserves *r, uint32_t number)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n; i++)
		n += r->all[i]->rule_plus1 == number + 1;
	return n;
}

void sl_reserves_set_up(struct sl_reserves *r, const struct sl_reserves_use *use,
			const struct sl_flow_setup *setup)
{
	const struct sl_reserving_rule *rule = rule_of(use, setup->number);
	struct sl_reservation asked = { .flow = setup->flow, .rule_plus1 = setup->number + 1 };
	char why[SL_RESERVE_WHY_BYTES];
	struct sl_reservation *v;
	int err;

	r->setups.told++;
	/* XDP may tell again of a flow that has not been let in yet. */
	if (!rule || !cluster_of(use)->reserve || find(r, &setup->flow))
		return;
	if (!if_indextoname(setup->l3_ifindex, asked.netdev) ||
	    flows_of(r, setup->number) >= rule->template.flows_max || add_new(r, &asked, &v, why)) {
		r->setups.refused++;
		return;
	}
	v->rate_Bps = rule->template.rate_Bps;
	v->heard_ns = sl_now_ns();
	err = claim(r, use, v, why);
	if (err == -ENOTSUP) {
		v->pinned = true;
		err = claim(r, use, v, why);
	}
	if (err) {
		r->setups.refused++;
		end(r, use, v);
	} else if (v->state == SL_RESERVE_ASKED) {
		send_one(use, (uint8_t)(v->claim.system_port >> 8), SL_CLAIM_ASK, &v->claim);
	}
}

/* Has it ended, because no packet came or the rule is another one? */
static bool has_ended(const struct sl_reserves_use *use, struct sl_reservation *v, uint64_t now_ns)
{
	const struct sl_reserving_rule *rule = rule_of(use, v->rule_plus1 - 1);
	struct sl_policer policer;
	uint64_t packets = 0;

	if (!rule || rule->template.rate_Bps != v->rate_Bps)
		return true;
	if (v->state == SL_RESERVE_IN_FORCE && !sl_reservation_policer(v, use->datapath, &policer))
		packets = policer.packets[SL_COLOUR_GREEN] + policer.packets[SL_COLOUR_RED];
	if (packets > v->seen_packets)
		v->heard_ns = now_ns;
	v->seen_packets = packets;
	return now_ns - v->heard_ns >= rule->template.idle_s * SECOND_NS;
}

void sl_reserves_restore(struct sl_reserves *r, const struct sl_reserves_use *use)
{
	json_t *all = sl_reserve_file_read(), *request;
	size_t i;

	json_array_foreach(all, i, request) {
		char why[SL_RESERVE_WHY_BYTES] = "";
		struct sl_reservation *v = NULL;
		bool is_new;

		if (add(r, use, request, &v, &is_new, why)) {
			sl_warning("a reserved flow of before is given up: %s", why);
			continue;
		}
		v->keeps = true;
		claim(r, use, v, why);
	}
	json_decref(all);
}

/* --- Once a second --- */

static void ask_again(const struct sl_reserves *r, const struct sl_reserves_use *use, uint8_t node)
{
	struct sl_announce_part part;

	sl_claim_begin(&part, SL_CLAIM_ASK);
	for (uint32_t i = 0; i < r->n; i++) {
		struct sl_claim_record record = r->all[i]->claim;

		if (record.system_port >> 8 != node)
			continue;
		record.rate_Bps = r->all[i]->rate_Bps;
		record.limit_Bps = record.reserved_Bps = 0;
		record.verdict = SL_CLAIM_NONE;
		if (sl_claim_add(&part, &record))
			continue;
		sl_cluster_send_claims(use->cluster, node, &part);
		sl_claim_begin(&part, SL_CLAIM_ASK);
		sl_claim_add(&part, &record);
	}
	if (part.records)
		sl_cluster_send_claims(use->cluster, node, &part);
}

static bool is_over(const struct sl_reservation *v, uint64_t now_ns)
{
	if (v->refresh_s &&
	    now_ns - v->heard_ns >= SL_RESERVE_MISSED_MAX * v->refresh_s * SECOND_NS)
		return true;
	/* Nobody came for the answer. */
	return !v->keeps && v->state == SL_RESERVE_REFUSED && now_ns - v->heard_ns >= LIFE_NS;
}

static void tick_flows(struct sl_reserves *r, const struct sl_reserves_use *use)
{
	const uint64_t now_ns = sl_now_ns();

	for (uint32_t i = r->n; i-- > 0;) {
		struct sl_reservation *v = r->all[i];
		char why[SL_RESERVE_WHY_BYTES];

		if (v->rule_plus1 && has_ended(use, v, now_ns)) {
			r->setups.ended += v->keeps;
			end(r, use, v);
			continue;
		}
		if (is_over(v, now_ns)) {
			end(r, use, v);
			continue;
		}
		if (v->state == SL_RESERVE_REFUSED && !v->keeps)
			continue;
		claim(r, use, v, why);
		/* Its interface may have gone and come back. */
		if (v->state == SL_RESERVE_IN_FORCE)
			sl_datapath_port_reserves(use->datapath, v->l3_ifindex, true);
		/* The node of its port is silent. */
		if (v->state == SL_RESERVE_IN_FORCE && sl_now_ns() - v->answered_ns >= LIFE_NS)
			withdraw(r, v, use);
	}
}

void sl_reserves_tick(struct sl_reserves *r, const struct sl_reserves_use *use)
{
	struct sl_claim over;

	r->resolves = 0;
	if (!use->cluster)
		return;
	tick_flows(r, use);
	for (uint32_t i = 0; i < cluster_of(use)->nodes.n; i++) {
		const uint32_t node = sl_cluster_node(cluster_of(use), i)->id;

		if (node != cluster_of(use)->node)
			ask_again(r, use, (uint8_t)node);
	}
	while (sl_ledger_expire(&r->ledger, LIFE_NS, sl_now_ns(), &over))
		tell_flow(use, &over.flow, over.system_port, 0);
}

void sl_reserves_received(struct sl_reserves *r, const struct sl_reserves_use *use, uint8_t node,
			  enum sl_claim_kind kind, const struct sl_claim_record *record)
{
	struct sl_claim_record answer = *record;
	struct sl_reservation *v;

	if (kind == SL_CLAIM_ASK && !record->rate_Bps) {
		give_back_to_ledger(r, use, node, record);
	} else if (kind == SL_CLAIM_ASK) {
		ask_ledger(r, use, node, &answer);
		send_one(use, node, SL_CLAIM_ANSWER, &answer);
	} else {
		v = find(r, &record->flow);
		if (v && v->claim.system_port == record->system_port &&
		    v->rate_Bps == record->rate_Bps)
			take_answer(r, v, use, record);
	}
}

void sl_reserves_tell_bridge(const struct sl_reserves *r, const struct sl_reserves_use *use)
{
	for (uint32_t i = 0; i < r->ledger.n; i++)
		tell_flow(use, &r->ledger.claims[i].flow, r->ledger.claims[i].system_port,
			  r->ledger.claims[i].rate_Bps);
}

void sl_reserves_put(const struct sl_reserves *r, struct sl_datapath *dp)
{
	for (uint32_t i = 0; i < r->n; i++) {
		int err = 0;

		if (r->all[i]->state != SL_RESERVE_IN_FORCE)
			continue;
		err = sl_reserve_maps_put(r->all[i], dp);
		sl_datapath_port_reserves(dp, r->all[i]->l3_ifindex, true);
		if (err)
			sl_error("a reserved flow does not fit the fast path: %s", strerror(-err));
	}
}

/* --- For views --- */

const char *sl_reserve_state_name(enum sl_reserve_state state)
{
	static const char *const names[] = { "no-route", "asked", "in-force", "refused" };

	return names[state];
}

uint32_t sl_reserves_n(const struct sl_reserves *r)
{
	return r->n;
}

const struct sl_reservation *sl_reservation(const struct sl_reserves *r, uint32_t i)
{
	return r->all[i];
}

const struct sl_setup_counts *sl_reserves_setups(const struct sl_reserves *r)
{
	return &r->setups;
}

const struct sl_ledger *sl_reserves_ledger(const struct sl_reserves *r)
{
	return &r->ledger;
}

const char *sl_reservation_why(const struct sl_reservation *v, char why[SL_RESERVE_WHY_BYTES])
{
	const struct sl_claim_record *c = &v->claim;

	why[0] = '\0';
	if (v->state == SL_RESERVE_NO_ROUTE)
		snprintf(why, SL_RESERVE_WHY_BYTES,
			 "the fast path has no way for it now: `sluice explain` says why");
	else if (v->state == SL_RESERVE_ASKED)
		snprintf(why, SL_RESERVE_WHY_BYTES, "node %u has not answered",
			 c->system_port >> 8);
	else if (v->state != SL_RESERVE_REFUSED)
		return why;
	else if (c->verdict == SL_CLAIM_NO_RATE)
		snprintf(why, SL_RESERVE_WHY_BYTES,
			 "%" PRIu64 " bit/s do not fit the port n%up%u: of %" PRIu64
			 " bit/s, %" PRIu64 " are reserved",
			 8 * v->rate_Bps, c->system_port >> 8, c->system_port & 0xff,
			 8 * c->limit_Bps, 8 * c->reserved_Bps);
	else if (c->verdict == SL_CLAIM_NO_QUEUE)
		snprintf(why, SL_RESERVE_WHY_BYTES,
			 "the port n%up%u has no queue left: it takes %u reserved flows",
			 c->system_port >> 8, c->system_port & 0xff, SL_RESERVED_PORT_MAX);
	else if (c->verdict == SL_CLAIM_NO_OFFER)
		snprintf(why, SL_RESERVE_WHY_BYTES,
			 "the port n%up%u offers no reservations: its node needs `reserve` and the "
			 "port a `rate` in bits",
			 c->system_port >> 8, c->system_port & 0xff);
	else
		snprintf(why, SL_RESERVE_WHY_BYTES,
			 "it does not fit the port where it enters, or the fast path");
	return why;
}

int sl_reservation_policer(const struct sl_reservation *v, const struct sl_datapath *dp,
			   struct sl_policer *out)
{
	const uint32_t number = SL_RESERVED_NUMBER(v->place);

	return bpf_map_lookup_elem(sl_datapath_map_fd(dp, "sl_policer"), &number, out) ? -errno : 0;
}
